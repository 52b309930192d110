"""A sweep's results by setting, which differences are said, and its tables, chart and picture in every format."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from kit.scenario import HEADER, Scenario, header
from msgspec.structs import replace

from capexplorer.model.events import Command, Sweep, Target, Verdict
from capexplorer.model.figures import LevelFigures
from capexplorer.model.intervals import Latency
from capexplorer.model.load import OfferedFigures
from capexplorer.model.sweep import Params, SettingResult
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import (
    CapacityVerdict,
    KneeVerdict,
    RateCapacity,
    RateLevelVerdict,
    RateVerdict,
    Verification,
)
from capexplorer.report.formats import html, markdown
from capexplorer.report.summary import summarise
from capexplorer.report.sweep.drawing import chart, drawing
from capexplorer.report.sweep.findings import Row, SweepFindings, compared, findings
from capexplorer.report.sweep.results import results
from capexplorer.report.sweep.texts import table
from capexplorer.session.codec import decode, encode

from .made_sweeps import knee, swept


def row(per_s: float | None, error: float = 0.01, params: Params | None = None, **fields: Any) -> Row:
    """A setting with a capacity and its relative standard error; `threads` is about that capacity."""
    named = params or {"threads": round(per_s or 0)}
    usual: dict[str, Any] = {
        "session": "s", "epoch": 0, "ended": "done", "per_s": per_s, "se_per_s": per_s and error * per_s,
        "knee": knee(per_s=per_s) if per_s else None,
    }  # fmt: skip
    return Row(named, SettingResult(params=named, **(usual | fields)))


def judged(*rows: Row) -> SweepFindings:
    return compared(rows, finds_rate=False)


def test_a_difference_beyond_its_noise_is_said_and_a_setting_near_the_best_is_enough() -> None:
    found = judged(row(38), row(76), row(150), row(151))
    assert [each.is_lower for each in found.rows] == [True, True, False, False]
    assert [each.is_enough for each in found.rows] == [False, False, True, True]
    assert (found.best, found.enough) == (found.rows[3], (found.rows[2],))


def test_with_wide_intervals_a_setting_is_neither_lower_nor_enough() -> None:
    found = judged(row(130, error=0.1), row(150, error=0.1))
    assert [(each.is_lower, each.is_enough) for each in found.rows] == [(False, False), (False, True)]
    assert found.enough == (found.rows[1],)


def test_among_many_settings_a_difference_must_be_surer() -> None:
    pair = (row(92, error=0.008), row(100, error=0.008))
    assert judged(*pair).rows[0].is_lower
    many = [row(per_s, error=0.2) for per_s in range(60, 90, 2)]
    assert not judged(*many, *pair).rows[-2].is_lower


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"is_disturbed": True}, "other processes"),
        ({"knee": knee(verification=Verification(state="contradicted", steps=()))}, "a contradicted knee"),
    ],
)
def test_what_does_not_describe_the_setting_is_compared_with_none(fields: dict[str, Any], what: str) -> None:
    found = judged(row(100), row(300, **fields))
    assert found.best == found.rows[0], what
    assert not found.rows[1].is_compared
    assert found.rows[1].against_best is None


def test_a_target_that_did_not_run_is_compared_with_none() -> None:
    found = judged(row(100), row(None, params={"threads": 8}, ended="failed"))
    assert found.enough == (found.best,) == found.rows[:1]


def test_a_least_capacity_is_never_lower_and_is_the_best_only_if_it_surely_exceeds_all_others() -> None:
    found = judged(row(100), row(60, is_least=True), row(101, is_least=True))
    assert (found.best, found.enough) == (found.rows[0], found.rows[:1])
    assert not any(each.is_lower or each.is_enough for each in found.rows[1:])
    found = judged(row(100), row(199), row(250, is_least=True), row(260, is_least=True))
    assert (found.best, found.enough) == (found.rows[3], ())
    assert [each.is_lower for each in found.rows] == [True, True, False, False]


def test_of_several_parameters_all_settings_are_enough_that_have_none_below_them() -> None:
    rows = [
        row(min(workers, pool) * 10.0, params={"workers": workers, "pool": pool, "store": store})
        for workers in (1, 2, 4)
        for pool in (1, 2)
        for store in ("a", "b")
    ]
    assert [each.params for each in judged(*rows).enough] == [
        {"workers": 2, "pool": 2, "store": "a"},
        {"workers": 2, "pool": 2, "store": "b"},
    ]


@pytest.mark.parametrize(
    ("values", "enough"),
    [(("10", "2"), ["2"]), (("0.5", "1e1"), ["0.5"]), ((True, False), [True, False]), (("disk", "memory"), ["disk", "memory"])],
)
def test_texts_that_are_numbers_are_ordered_and_other_values_are_not(values: tuple[Any, ...], enough: list[Any]) -> None:
    found = judged(*(row(100, params={"pool": value}) for value in values))
    assert [each.params["pool"] for each in found.enough] == enough


# -- from a session


def test_each_setting_has_the_verdict_of_its_epoch_its_end_and_the_latency_near_its_knee() -> None:
    first, second, third, fourth = results(swept().timeline)
    assert first is not None
    assert (first.epoch, first.ended, first.per_s, first.se_per_s, first.is_least) == (0, "done", 40.0, 0.5, False)
    assert (first.p95_at, first.levels, first.has_verdict) == (4.0, 3, True)
    assert second is not None
    assert (second.epoch, second.per_s) == (2, 80.0)
    assert third is not None
    assert (third.ended, third.why, third.has_verdict) == ("failed", "exit code 1: <no memory>", False)
    assert fourth is None


@pytest.mark.parametrize("verdict", [knee(16, None, kind="no_knee"), knee(8, 85.0, limit="generator")])
def test_without_a_knee_of_the_service_the_greatest_goodput_is_the_least_that_the_capacity_can_be(verdict: KneeVerdict) -> None:
    found = swept()
    curve = found.timeline.verdicts[2].capacity.curve
    found.add(Verdict(t_s=found.t_s, epoch=2, capacity=CapacityVerdict(epoch=2, knee=verdict, curve=curve)))
    second = results(found.timeline)[1]
    assert second is not None
    assert (second.per_s, second.is_least) == (80.0, True)


def test_by_offered_rate_the_capacity_is_that_of_the_rates() -> None:
    first = results(swept(finds_rate=True).timeline)[0]
    assert first is not None
    assert first.knee is None
    assert first.rates is not None
    assert first.per_s == 40.0
    assert first.se_per_s == pytest.approx(0.1 * 40 / (2 * 1.645))


def at_rates(capacity: RateCapacity) -> SettingResult:
    """One setting at the rates 20/s and 40/s, of which the first was served in full."""
    found = Scenario(HEADER).add(Sweep(t_s=0.0, settings=({"threads": 1},), finds_rate=True))
    found.add(Target(t_s=0.5, state="starting", params={"threads": 1}))
    for per_s in (20.0, 40.0):
        offered = OfferedFigures(offered_per_s=per_s, from_plan_ms=Latency(p95=10 * per_s))
        found.measured(offered_per_s=per_s, figures=LevelFigures(settled=True, offered=offered))
    kept = RateLevelVerdict(
        level=0,
        offered_per_s=20.0,
        goodput_per_s=20.0,
        goodput_se_per_s=0.1,
        state="kept",
        failure_ratio=0,
        dropped_ratio=0,
        growth_per_s=0,
    )
    levels = (kept, replace(kept, level=1, offered_per_s=40.0, state="queue_grows"))
    (result,) = results(found.add(Verdict(t_s=found.t_s, rates=RateVerdict(capacity=capacity, levels=levels))).timeline)
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("capacity", "per_s", "is_least"),
    [
        (RateCapacity(kind="capacity", per_s=30.0, low_per_s=28.0, high_per_s=32.0), 30.0, False),
        (RateCapacity(kind="capacity", per_s=30.0, low_per_s=28.0, high_per_s=32.0, limit="generator"), 20.0, True),
        (RateCapacity(kind="keeps_up", per_s=40.0), 20.0, True),
        (RateCapacity(kind="departs", per_s=40.0, kept_per_s=20.0), 20.0, True),
    ],
)
def test_of_rates_the_latency_is_that_of_the_highest_that_was_served_which_is_a_least_capacity(
    capacity: RateCapacity, per_s: float, is_least: bool
) -> None:
    result = at_rates(capacity)
    assert (result.per_s, result.is_least, result.p95_at, result.p95_ms) == (per_s, is_least, 20.0, 200.0)


@pytest.mark.parametrize(("level", "is_disturbed"), [(0, False), (2, True)])
def test_only_levels_at_the_knee_or_beyond_it_disturb_its_capacity(level: int, is_disturbed: bool) -> None:
    found = swept()
    verdict = replace(found.timeline.verdicts[0], disturbed_levels=(level,))
    first = results(found.add(verdict).timeline)[0]
    assert first is not None
    assert (first.is_disturbed, first.disturbed_levels) == (is_disturbed, 1)


def test_of_a_machine_that_others_use_it_is_said_although_the_verdict_counts_the_levels() -> None:
    found = swept()
    for level in found.timeline.levels:
        figures = replace(level.figures, host_cpu_ratio=2.0, target_cpu_ratio=0.1, generator_cpu_ratio=0.1)
        assert level.closed is not None
        level.close(replace(level.closed, figures=replace(figures, readings={"neighbours.cpu_ratio": 1.5})))
    found_busy = [each for each in results(found.timeline)[:2] if each is not None]
    assert [(each.is_disturbed, each.are_others_busy) for each in found_busy] == [(False, True)] * 2


def test_results_of_the_sweep_that_is_continued_are_reported_with_the_new_ones_and_survive_the_log() -> None:
    earlier = SettingResult(
        params={"threads": 8}, session="before", epoch=3, ended="done", per_s=81.0, se_per_s=0.6, knee=knee(8, 81.0)
    )
    events = [decode(encode(event)) for event in swept(earlier=(earlier,)).events]
    found = findings(Timeline(events))
    assert found is not None
    assert found.rows[3].result == earlier
    assert [each.params for each in found.enough] == [{"threads": 2}]


def test_a_setting_whose_session_ended_before_its_search_has_no_verdict_yet() -> None:
    stopped = Scenario(HEADER).add(*[each for each in swept().events if not (isinstance(each, Command) and each.args.get("end"))])
    assert [each is not None and each.has_verdict for each in results(stopped.timeline)] == [False] * 4


def test_every_format_has_the_sweep_and_escapes_texts_of_the_target() -> None:
    timeline = swept().timeline
    document = summarise(timeline)["sweep"]
    assert [each["state"] for each in document["settings"]] == ["explored", "explored", "failed", "not_explored"]
    assert (document["best"], document["enough"], document["complete"]) == ({"threads": 2}, [{"threads": 2}], False)
    first = document["settings"][0]
    assert (first["params"], first["session"], first["epoch"], first["ended"]) == ({"threads": 1}, HEADER.id, 0, "done")
    assert (first["capacity_per_s"], first["capacity_low_per_s"], first["at_least"]) == (40.0, 39.178, False)
    assert (first["compared"], first["lower_than_best"], first["enough"], first["rate"]) == (True, True, False, None)
    assert first["against_best"]["low"] < first["against_best"]["ratio"] == -0.5 < first["against_best"]["high"] < 0
    assert (document["load"], document["settings"][1]["against_best"]) == ("users", None)
    by_rate = summarise(swept(finds_rate=True).timeline)["sweep"]
    assert (by_rate["load"], by_rate["settings"][0]["rate"]["per_s"], by_rate["settings"][0]["knee"]) == ("rate", 40.0, None)
    page = html.render(timeline).decode()
    assert '<table id="sweep"' in page
    assert "&lt;no memory&gt;" in page
    assert "<no memory>" not in page
    files = markdown.with_picture(timeline, "a.md")
    assert {"a.md", "a-capacity.svg", "a-sweep.svg"} == files.keys()
    assert b"## Sweep" in files["a.md"]
    assert b"(a-sweep.svg)" in files["a.md"]


def test_a_session_that_is_no_sweep_has_none_of_it() -> None:
    plain = Scenario(header()).level(users=4, rps=10).timeline
    assert findings(plain) is None
    assert "sweep" not in summarise(plain)
    assert b"Sweep" not in markdown.render(plain)


@pytest.mark.parametrize("finds_rate", [False, True])
def test_the_picture_is_xml_with_each_value_and_the_chart_has_a_line_a_setting(finds_rate: bool) -> None:
    found = findings(swept(finds_rate=finds_rate).timeline)
    assert found is not None
    texts = [each.text for each in ET.fromstring(drawing(found)).iter() if each.text]
    assert {"1", "2", "4", "8", "threads", "failed", "?"} <= set(texts)
    assert [line.split()[0] for line in chart(found)] == ["threads=1", "threads=2", "threads=4", "threads=8"]
    assert len({len(cells) for cells in table(found).rows}) == 1


def test_the_picture_of_two_parameters_has_a_colour_for_each_combination_of_the_others() -> None:
    rows = [row(10.0 * workers, params={"workers": workers, "pool": pool}) for workers in (1, 2, 4) for pool in (1, 2)]
    drawn = drawing(judged(*rows))
    assert "pool=1" in drawn
    assert "pool=2" in drawn
    assert drawn.count('class="e0 thin"') == drawn.count('class="e1 thin"') == 1


def test_a_line_of_the_chart_has_the_interval_on_a_common_axis() -> None:
    named = [
        replace(each, params={"n": number})
        for number, each in enumerate((row(40, error=0.1), row(60, is_least=True), row(75), row(80, is_disturbed=True)))
    ]
    assert chart(judged(*named)) == [
        "n=0  ··················├──●───┤                    40/s [33.4–46.6]",
        "n=1  ································▶             at least 60/s",
        "n=2  ·······································├●     75/s [73.8–76.2]",
        "n=3  ··········································○┤  80/s [78.7–81.3]",
    ]


def test_a_chart_without_any_capacity_has_only_names() -> None:
    nothing = judged(replace(row(None, params={"threads": 1})), Row({"threads": 2}))
    assert all("●" not in line for line in chart(nothing))
    ET.fromstring(drawing(nothing))
