"""Exports of a session whose replies are streams have its stages as further latencies; others have no word of them."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from kit.scenario import Scenario
from kit.streams import TOKENS, streams

from capexplorer.commands.compare import rendered
from capexplorer.model.columns import PERCENTILES, percentile_column
from capexplorer.model.figures import latency_of_kind
from capexplorer.model.level import Level
from capexplorer.model.stages import STAGES, TABLED
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import Comparison, SecondLatencies, Session, compare
from capexplorer.report.compare.fail_if import judge, parse
from capexplorer.report.formats import FORMATS
from capexplorer.tui.display_options import DisplayOptions
from capexplorer.tui.panes import baseline_curve
from capexplorer.wording.quantities import latency_in_column

STREAMS = streams()
LAST = STREAMS.timeline.levels[-1]


def exported(form: str, scenario: Scenario = STREAMS) -> dict[str, str]:
    """The text of each file by its name."""
    return {name: content.decode() for name, content in FORMATS[form].of_log(scenario.events, "x").items()}


def lines(name: str, scenario: Scenario = STREAMS) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported("csv", scenario)[name])))


def expected(level: Level) -> dict[str, float | None]:
    return {
        percentile_column(stage, name): getattr(latency_of_kind(level.figures, stage), name)
        for stage in STAGES
        for name in PERCENTILES
    }


def test_csv_has_percentiles_of_stages_and_tokens_by_level_endpoint_and_second() -> None:
    level = lines("levels.csv")[-1]
    found = {name: float(level[name]) for name in expected(LAST)}
    assert found == pytest.approx(expected(LAST), abs=1e-3)
    assert float(level["tokens_per_s"]) == pytest.approx(LAST.figures.tokens_per_s)
    endpoints = [row for row in lines("endpoints.csv") if row["level"] == "3"]
    assert [row["name"] for row in endpoints] == ["/complete", "/chat"]
    assert sum(float(row["tokens_per_s"]) for row in endpoints) == pytest.approx(LAST.figures.tokens_per_s)
    assert all(float(row["ttft_p95_ms"]) > 1_000 for row in endpoints)
    second = lines("seconds.csv")[-1]
    assert float(second["tokens_per_s"]) == TOKENS * float(second["throughput_rps"])
    assert float(second["ttft_p95_ms"]) == pytest.approx(STREAMS.timeline.columns["ttft_p95_ms"][-1], abs=1e-3)


def test_json_has_whole_latencies_of_stages_by_level_and_endpoint() -> None:
    level: Any = json.loads(exported("json")["x"])["levels"][-1]
    for entry in (level, *level["endpoints"]):
        assert [*entry["stages"]] == [*STAGES]
        assert [*entry["stages"]["ttft"]] == [*entry["latency_ms"]]
        assert entry["tokens_per_s"] > 0
    assert level["stages"]["tpot"]["p99"] == pytest.approx(latency_of_kind(LAST.figures, "tpot").p99, abs=1e-3)


@pytest.mark.parametrize("form", ["md", "html", "summary"])
@pytest.mark.parametrize("at_rates", [False, True])
def test_tables_for_people_have_the_p95_of_ttft_and_tpot(form: str, at_rates: bool) -> None:
    scenario = streams(at_rates=at_rates)
    (text,) = (content for name, content in exported(form, scenario).items() if not name.endswith(".svg"))
    text = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    figures = scenario.timeline.levels[-1].figures
    for stage in TABLED:
        assert f"{stage} p95" in text
        assert latency_in_column(latency_of_kind(figures, stage).p95) in text


def test_the_page_has_a_chart_of_each_stage_and_of_tokens() -> None:
    data = json.loads(re.search(r'id="data">(.*?)</script>', exported("html")["x"], re.DOTALL)[1])  # type: ignore[index]
    charts = [chart["id"] for chart in data["charts"]]
    assert charts[charts.index("latency") + 1 : charts.index("cpu")] == [*STAGES, "tokens"]
    assert data["series"]["ttft_p95_ms"][-1] == pytest.approx(STREAMS.timeline.columns["ttft_p95_ms"][-1], abs=1e-3)


@pytest.mark.parametrize("is_closed", [True, False])
def test_hgrm_has_a_file_of_each_stage(is_closed: bool) -> None:
    level = Scenario().level(users=4, rps=40, p99_ms=900.0, stages={"ttft": 200.0, "itl": 30.0}, is_closed=is_closed)
    found = {name: content.splitlines()[-3] for name, content in exported("hgrm", level).items()}
    assert [*found] == [f"level-00-users-4{what}.hgrm" for what in ("", "-ttft", "-itl")]
    greatest = [float(line.split("Max")[1].split("=")[1].split(",")[0]) for line in (content for content in _maxima(level))]
    assert greatest == pytest.approx([900.0, 200.0, 30.0], rel=1e-3)


def _maxima(scenario: Scenario) -> list[str]:
    """The line of each file that has its greatest value."""
    return [next(line for line in text.splitlines() if line.startswith("#[Max")) for text in exported("hgrm", scenario).values()]


@pytest.mark.parametrize("form", ["csv", "json", "md", "html", "hgrm", "summary"])
def test_an_export_without_streams_names_no_stage(form: str) -> None:
    plain = Scenario().level(users=4, p99_ms=9.0).level(users=8, p99_ms=12.0)
    text = "".join(part for pair in exported(form, plain).items() for part in pair)
    assert not re.search(r"\b(ttfb|ttft|tpot|itl|tokens)", text)


def test_the_same_log_exports_the_same_stages_after_it_was_closed_and_read_again() -> None:
    assert exported("csv") == exported("csv", streams())
    assert Timeline(STREAMS.events).stages == STAGES


# -- compared


def compared(before: Scenario, after: Scenario) -> Comparison:
    sessions = []
    for scenario in (before, after):
        latencies = SecondLatencies()
        sessions.append(Session(Timeline(latencies.collecting(scenario.events)), latencies=latencies))
    return compare(sessions)


def test_later_first_tokens_are_found_although_whole_requests_take_as_long() -> None:
    (pair,) = compared(streams(20), streams(20, slower=1.6)).pairs
    assert {one.figure for one in pair.claimed} == {"ttft_p95"}
    assert pair.directions == {False}
    at_16 = pair.levels[-1]
    assert (at_16["ttft_p95"].ratio, at_16["tpot_p95"].ratio) == pytest.approx((0.6, 0.0), abs=0.01)


def test_equal_streams_do_not_differ() -> None:
    (pair,) = compared(streams(20), streams(20)).pairs
    assert pair.claimed == ()
    assert {one.figure for one in pair.levels[-1].differences} >= {"ttft_p50", "ttft_p95", "ttft_p99", "tpot_p95"}


def test_stages_are_not_compared_with_a_session_that_has_none() -> None:
    plain = Scenario()
    for users in (1, 4, 8, 16):
        plain.level(users=users, seconds=20, rps=users, p99_ms=900.0)
    comparison = compared(plain, streams(20))
    assert not any("ttft" in one.figure for level in comparison.pairs[0].levels for one in level.differences)
    assert "ttft" not in rendered(comparison, "md").decode()
    outcome = judge(parse("ttft_p95>10%"), comparison)
    assert outcome.unjudged and not outcome.failed


def test_a_condition_on_first_tokens_fails_where_they_are_later() -> None:
    worse, same = compared(streams(20), streams(20, slower=1.6)), compared(streams(20), streams(20))
    condition = parse("ttft_p95@16>10%")
    assert (len(judge(condition, worse).failed), len(judge(condition, same).failed)) == (1, 0)
    assert judge(parse("tpot_p95>10%"), worse).failed == ()


def test_the_baseline_behind_latency_by_users_is_of_the_chosen_stage() -> None:
    curve = compared(streams(), streams(slower=2.0)).curves[0]
    options = DisplayOptions(baseline=curve, latency_kind="ttft")
    users, values = baseline_curve.latencies(options, by_offered_rate=False)[-1]
    assert users == 16
    assert values["p95"] == pytest.approx(latency_of_kind(LAST.figures, "ttft").p95)
