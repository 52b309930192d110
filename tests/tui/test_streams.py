"""Sessions whose replies are streams: a key chooses the latency that charts, tables and the page of a level show."""

from __future__ import annotations

import pytest
from kit.scenario import Scenario
from kit.streams import streams
from textual.geometry import Size

from capexplorer.model.events import Sample
from capexplorer.model.figures import latency_of_kind
from capexplorer.model.stages import LATENCY_KINDS, LatencyKind
from capexplorer.model.timeline import KeptLatencies, Timeline
from capexplorer.tui.display_options import DisplayOptions, next_kind
from capexplorer.tui.panes.endpoint_charts import EndpointLatency
from capexplorer.tui.panes.endpoints import EndpointsPane, rows_shown
from capexplorer.tui.panes.latency import LatencyPane, kind_titles
from capexplorer.tui.panes.level_page import LevelPage
from capexplorer.tui.screens.sessions import levels_text
from capexplorer.wording.quantities import latency_cell, rate_cell

from .drawn import SMALL, pane_text
from .session_events import session
from .stage import WIDE, Stage, says, shows, tell

PAGE = Size(78, 60)


def test_the_latencies_of_a_session_follow_each_other_in_a_circle() -> None:
    kind: LatencyKind = "total"
    seen = list[LatencyKind]()
    for _ in range(4):
        seen.append(kind := next_kind(kind, ("ttfb", "ttft", "tpot")))
    assert seen == ["ttfb", "ttft", "tpot", "total"]
    assert next_kind("itl", ("ttft",)) == "total"  # as in a replay that went back to before the first stream


@pytest.mark.parametrize("kind", LATENCY_KINDS)
def test_each_view_of_latency_shows_the_chosen_one(kind: LatencyKind) -> None:
    timeline = streams().timeline
    level = timeline.levels[-1]
    shown, options = latency_of_kind(level.figures, kind), DisplayOptions(window_s=None, latency_kind=kind)
    p95 = latency_cell(shown.p95)
    assert p95 in pane_text(EndpointsPane(), timeline, SMALL, options)
    assert p95 in pane_text(LatencyPane(), timeline, SMALL, DisplayOptions(latency_form="levels", latency_kind=kind))
    page = DisplayOptions(window_s=None, latency_kind=kind, inspected=len(timeline) - 1)
    assert f"share of {level.histogram_of(kind).count} " in pane_text(LevelPage(), timeline, PAGE, page)
    second = timeline.columns[f"{'' if kind == 'total' else f'{kind}_'}p95_ms"][-1]
    assert latency_cell(second) in pane_text(LatencyPane(), timeline, SMALL, options)


def test_the_heatmap_and_an_endpoints_chart_are_of_the_chosen_latency() -> None:
    scenario = streams()
    timeline = Timeline()
    timeline.latency_seconds = kept = KeptLatencies()
    for event in scenario.events:
        timeline.apply(event)
        if isinstance(event, Sample):
            kept.add(event)
    drawn = {
        kind: (
            pane_text(LatencyPane(), timeline, SMALL, DisplayOptions(window_s=None, latency_form="heatmap", latency_kind=kind)),
            pane_text(EndpointLatency(("GET", "/chat")), timeline, PAGE, DisplayOptions(window_s=None, latency_kind=kind)),
        )
        for kind in LATENCY_KINDS
    }
    for texts in zip(*drawn.values(), strict=True):
        assert len(set(texts)) == len(LATENCY_KINDS)


@pytest.mark.parametrize("width", [38, 58, 78, 118])
def test_a_row_of_an_endpoint_has_the_p95_of_ttft_and_tpot_at_each_width(width: int) -> None:
    timeline = streams().timeline
    figures = timeline.levels[-1].figures
    text = pane_text(EndpointsPane(), timeline, Size(width, 8))
    for stage in ("ttft", "tpot") if width >= 58 else ():
        assert latency_cell(latency_of_kind(figures, stage).p95) in text
    assert "req/s" in text and latency_cell(figures.latency_ms.p95) in text
    assert (rate_cell(figures.tokens_per_s) in text) is (width >= 78)


def test_rows_of_the_last_second_have_its_stages_while_a_level_settles() -> None:
    timeline = (
        streams(scenario=None).open(users=32).seconds(1, settled=False, p99_ms=900.0, tokens=70, stages={"ttft": 400.0}).timeline
    )
    _, (whole, row) = rows_shown(timeline, "ttft")
    assert (whole.latency.max, row.latency.max) == pytest.approx((400.0, 400.0), rel=1e-3)
    assert (whole.tokens_per_s, row.tokens_per_s) == (70.0, 70.0)
    assert latency_cell(row.stages["ttft"].p95) == latency_cell(whole.stages["ttft"].p95)


def test_at_an_offered_rate_a_stage_is_charted_in_place_of_the_time_from_plan() -> None:
    timeline = streams(at_rates=True).timeline
    text = pane_text(LatencyPane(), timeline, SMALL, DisplayOptions(window_s=None, latency_kind="ttft"))
    assert latency_cell(timeline.columns["ttft_p95_ms"][-1]) in text
    assert "from plan" not in text


def test_at_an_offered_rate_the_title_of_the_whole_is_the_time_from_plan() -> None:
    timeline, behind = streams(at_rates=True).timeline, (", time from plan", " from plan")
    titles = kind_titles("Latency", behind, timeline, DisplayOptions())
    assert titles[0] == "Latency, total  ms, time from plan  T: ttfb"
    assert all("from plan" in title for title in titles)
    of_stage = kind_titles("Latency", behind, timeline, DisplayOptions(latency_kind="ttft"))
    assert of_stage[0] == "Latency, ttft: time to first token  ms  T: tpot"
    assert not any("from plan" in title for title in of_stage)


def test_the_table_of_levels_has_stages_and_tokens_if_there_are_streams() -> None:
    level = streams().timeline.levels[-1]
    text = levels_text([level]).plain
    assert {line for line in text.splitlines() if len(line) > 78} == set()
    for stage in ("ttft", "tpot"):
        assert latency_cell(latency_of_kind(level.figures, stage).p95) in text
    assert rate_cell(level.figures.tokens_per_s) in text
    assert "ttft" not in levels_text(Scenario().level(users=4, p99_ms=9.0).timeline.levels).plain


async def test_a_key_shows_the_next_latency_everywhere_and_titles_name_it_and_the_key() -> None:
    await tell(
        Stage(streams().events),
        ("", shows("Latency, total", "Endpoints, total", "T: ttfb")),
        (
            "T T",
            shows("Latency, ttft: time to first token  ms  T: tpot", "Endpoints, ttft"),
            says("latency: ttft, time to first token"),
        ),
        ("E", shows("Endpoints, ttft")),
        ("T", shows("Endpoints, tpot: time per further token")),
        ("enter", shows("over levels", "Latency, tpot")),
        ("T", shows("Latency, itl")),
        ("escape escape i i", shows("Time between events (itl)", "gaps; T: total")),
        ("T", shows("Latency, ms: share of", "successes; T: ttfb")),
        size=WIDE,
    )


async def test_without_a_stream_the_key_says_so() -> None:
    await tell(
        Stage(session()),
        ("T", says("no reply was a stream: a request has one latency"), shows("Latency  ms")),
        size=WIDE,
    )
