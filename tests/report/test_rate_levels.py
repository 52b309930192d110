"""Rate levels in exports: service time and time from plan, the outcome of every iteration, and no point on a curve of users."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from capexplorer.model.events import (
    SCHEMA,
    EndpointTick,
    Event,
    Header,
    HostFacts,
    LevelClosed,
    LevelOpened,
    Sample,
    TargetFacts,
    Verdict,
)
from capexplorer.model.figures import LevelEndpoint, LevelFigures
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.intervals import Latency
from capexplorer.model.load import Drops, OfferedFigures, OfferedTick
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, EndpointDegradation, RateLevelVerdict, RateVerdict, RegimeVerdict
from capexplorer.report import capacity, summary
from capexplorer.report.formats import csv, hgrm, html, markdown
from capexplorer.report.formats.html import levels_of_endpoints
from capexplorer.report.rows import level_rows
from capexplorer.report.summary import summarise
from capexplorer.tui.panes.latency import level_latencies


def histogram(*values_ms: float) -> str:
    """An encoded histogram of these values."""
    latencies = LatencyHistogram()
    latencies.record_us([value * 1000 for value in values_ms])
    return latencies.encode()


def events(*, closed: bool, ramp: bool = False) -> Iterator[Event]:
    """For 6 s 40 iterations a second are offered: two of them finish, after 10 ms (300 ms from plan), and 38 are dropped."""
    yield Header(t_s=0.0, schema=SCHEMA, id="rates", started_at="", target=TargetFacts(name="a", url=""), host=HostFacts())
    opened = LevelOpened(t_s=0.0, index=0, users=0, spawn_rate=1.0, by="user", offered_per_s=40.0, arrivals="even", ramp=ramp)
    timeline = Timeline([opened])
    yield opened
    for second in range(6):
        sample = Sample(
            t_s=second + 1.0, duration_s=1.0, level=0, users=9, wanted=9, phase="settled", settled=not ramp, work=2.0,
            endpoints=(EndpointTick(name="/a", requests=2, latency=histogram(10, 10), latency_sum_ms=20.0),),
            offered=OfferedTick(
                offered_per_s=40.0, planned=40, started=2, finished=2, dropped=Drops(target=38),
                from_plan=histogram(300, 300), from_plan_sum_ms=600.0, late_p99_ms=1.25, late_max_ms=3.0,
            ),
        )  # fmt: skip
        timeline.apply(sample)
        yield sample
    if closed:
        yield timeline.levels[0].ending(6.0)


@pytest.mark.parametrize("closed", [True, False])
def test_hgrm_has_a_file_of_service_times_and_one_of_times_from_plan(closed: bool) -> None:
    files = hgrm.render(Timeline(events(closed=closed)))
    assert list(files) == ["level-00-rate-40-service-time.hgrm", "level-00-rate-40-time-from-plan.hgrm"]
    service, from_plan = (next(line for line in text.decode().splitlines() if "Max " in line) for text in files.values())
    assert "10.0" in service
    assert "300." in from_plan


def test_hgrm_has_both_files_for_a_bin_of_a_ramp_of_rates() -> None:
    files = hgrm.render(Timeline(events(closed=True, ramp=True)))
    assert list(files) == ["level-00-bin-00-rate-40-service-time.hgrm", "level-00-bin-00-rate-40-time-from-plan.hgrm"]


def test_the_json_accounts_for_every_iteration() -> None:
    (level,) = summarise(Timeline(events(closed=True)))["levels"]
    offered = level["offered"]
    assert (level["users"], level["kind"], offered["offered_per_s"], offered["arrivals"]) == (0, "rate", 40.0, "even")
    assert (offered["planned"], offered["finished"]) == (240, 12)
    assert (offered["dropped"]["target"], offered["dropped"]["total"]) == (228, 228)
    assert offered["planned"] + offered["in_flight_before"] == (
        offered["finished"] + offered["failed"] + offered["dropped"]["total"] + offered["in_flight"]
    )
    assert (offered["finished_per_s"], offered["late_p99_ms"], offered["late_max_ms"]) == (2.0, 1.25, 3.0)
    assert (level["latency_ms"]["mean"], offered["from_plan_ms"]["mean"]) == (10.0, 300.0)


def test_the_json_of_an_unsettled_rate_level_has_its_rate_and_no_counts() -> None:
    opened = LevelOpened(t_s=0.0, index=0, users=0, spawn_rate=1.0, by="user", offered_per_s=40.0)
    header = next(events(closed=False))
    (level,) = summarise(Timeline([header, opened]))["levels"]
    assert level["offered"] == {"offered_per_s": 40.0, "arrivals": "poisson"}
    assert set(summary.columns(level["offered"])) == set(summary.COLUMNS)


def test_the_json_of_rates_has_the_levels_of_each_state_of_the_service() -> None:
    timeline = Timeline(events(closed=True))
    before = RegimeVerdict(began_s=0.0, users=50, after_rps=50.0, most_users=50, most_rps=50.0, judged=True, levels=(0, 1))
    rates = RateVerdict(levels=(), regimes=(before, replace(before, began_s=48.0, began="goodput", judged=False, levels=(1, 2))))
    timeline.verdicts = {0: Verdict(t_s=60.0, epoch=0, capacity=CapacityVerdict(), rates=rates)}
    assert [regime["levels"] for regime in summarise(timeline)["rates"]["regimes"]] == [[0, 1], [1, 2]]


def test_csv_has_the_iterations_of_each_level_and_each_second() -> None:
    timeline = Timeline(events(closed=True))
    titles, level = (line.split(",") for line in csv.levels(timeline).decode().splitlines())
    shown = dict(zip(titles, level, strict=True))
    assert (shown["offered_per_s"], shown["iterations_planned"], shown["iterations_dropped_target"]) == ("40.0", "240", "228")
    assert (shown["latency_mean_ms"], shown["from_plan_mean_ms"]) == ("10.0", "300.0")
    titles, second, *_ = (line.split(",") for line in csv.seconds(timeline).decode().splitlines())
    shown = dict(zip(titles, second, strict=True))
    assert (shown["offered_per_s"], shown["finished_per_s"], shown["dropped_per_s"]) == ("40", "2", "38")


@pytest.mark.parametrize("ramp", [False, True])
def test_a_rate_level_is_named_by_its_rate_and_is_not_a_point_of_a_user_curve(ramp: bool) -> None:
    timeline = Timeline(events(closed=True, ramp=ramp))
    assert b"| 40/s |" in markdown.render(timeline)
    assert capacity.drawing(timeline) is None


def recovering() -> Timeline:
    """Two levels of 40/s with two endpoints; by the verdict the second one is recovery from overload."""
    found: list[Event] = [
        Header(t_s=0.0, schema=SCHEMA, id="r", started_at="", target=TargetFacts(name="a", url=""), host=HostFacts())
    ]
    endpoints = tuple(
        LevelEndpoint(name=name, method="GET", requests=400, failures=0, latency_ms=Latency(mean=50.0)) for name in ("/a", "/b")
    )
    figures = LevelFigures(
        settled=True, settled_seconds=10.0, requests=800, latency_ms=Latency(mean=50.0, p50=50.0, p95=80.0, p99=90.0),
        offered=OfferedFigures(offered_per_s=40.0, planned=400, finished=400, from_plan_ms=Latency(p50=60.0, p95=7500.0)),
    )  # fmt: skip
    for index in (0, 1):
        t_s = 20.0 * index
        found += [
            LevelOpened(t_s=t_s, index=index, users=0, spawn_rate=1.0, by="user", offered_per_s=40.0),
            LevelClosed(
                t_s=t_s + 20, index=index, users=0, offered_per_s=40.0, started_s=t_s, settled_s=t_s + 10, figures=figures,
                endpoints=endpoints,
            ),
        ]  # fmt: skip
    judged = RateLevelVerdict(
        level=1, offered_per_s=40.0, goodput_per_s=50.0, goodput_se_per_s=1.0, state="kept", failure_ratio=0.0, dropped_ratio=0.0,
        growth_per_s=0.0, recovery=True,
    )  # fmt: skip
    return Timeline([*found, Verdict(t_s=40.0, rates=RateVerdict(levels=(judged,)))])


def test_the_endpoints_of_a_rate_of_recovery_are_marked_as_those_of_users_are() -> None:
    text = markdown.render(recovering()).decode()
    assert [line.split("|")[2].strip() for line in text.splitlines() if line.startswith("| `GET /a`")] == ["40/s", "↓ 40/s"]
    assert "recovery from overload; these rows" in text
    page = levels_of_endpoints(recovering())
    assert page is not None
    assert [row.cells[1].shown for row in page.rows if row.name == "GET /a"] == ["40/s", "↓40/s"]
    assert (page.epochs, page.recovery, page.disturbed) == (False, True, False)


def test_the_page_of_a_session_without_levels_of_users_has_the_endpoints_of_its_rates() -> None:
    page = html.render(recovering()).decode()
    assert 'id="endpoint-levels"' in page
    assert 'id="levels"' not in page


def test_a_rate_of_recovery_is_not_part_of_a_curve() -> None:
    assert [row.off_curve for row in level_rows(recovering())] == [None, "recovery"]
    assert [row.kind for row in level_rows(recovering())] == ["rate", "rate"]


def test_latency_by_rate_has_levels_of_recovery_off_the_curve() -> None:
    assert [point.off_curve for point in level_latencies(recovering())] == [False, True]


def test_the_endpoint_that_degrades_first_at_offered_rates_is_marked_in_all_tables_of_endpoints() -> None:
    timeline = recovering()
    first = EndpointDegradation(method="GET", name="/a", users=40.0, column="latency", before=1.0, after=9.0, at_rates=True)
    timeline.apply(Verdict(t_s=40.0, rates=RateVerdict(first_endpoint=first)))
    lines = csv.endpoints(timeline).decode().splitlines()
    marked = [dict(zip(lines[0].split(","), line.split(","), strict=True)) for line in lines[1:]]
    assert {(row["name"], row["leaves_first"], row["offered_per_s"]) for row in marked} == {
        ("/a", "1", "40.0"),
        ("/b", "0", "40.0"),
    }
    summary = summarise(timeline)
    assert {(each["name"], each["leaves_first"]) for level in summary["levels"] for each in level["endpoints"]} == {
        ("/a", True),
        ("/b", False),
    }
    assert summary["rates"]["first_endpoint"]["users"] == 40.0
    assert summary["first_endpoint"] is None
    assert "**`GET /a`** | 40/s" in markdown.render(timeline).decode()
    page = levels_of_endpoints(timeline)
    assert page is not None and page.leaves
