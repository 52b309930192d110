"""The chart panes with whole timelines: steady axes, gaps, values that rest on few requests, and no exception for any input."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from textual.geometry import Size
from textual.strip import Strip

from capexplorer.model.events import Event, LevelOpened, Phase
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import DisplayOptions
from capexplorer.tui.panes.curve import LevelPoint, level_points
from capexplorer.tui.panes.latency import LatencyPane
from capexplorer.tui.panes.pane import Pane, changed_span
from capexplorer.tui.panes.throughput import ThroughputPane

from . import session_events
from .gallery import PANES, header, sample, session
from .rates import rate_events
from .stage import NARROW, WIDE, Stage

OPTIONS = DisplayOptions()
SIZE = Size(58, 11)
"""Inside of a 60 x 13 pane: a third of 120 x 40."""


def drawn(pane: Pane, timeline: Timeline, size: Size = SIZE, options: DisplayOptions = OPTIONS) -> list[Strip]:
    return pane.draw(timeline, len(timeline) - 1, options, size)


def text(strips: list[Strip]) -> str:
    return "\n".join(strip.text for strip in strips)


def legend_color(strips: list[Strip], value: str) -> str:
    styles = [segment.style for segment in strips[0] if value in segment.text]
    return next(style.color.name for style in styles if style and style.color)


def latency_session(requests: int) -> Timeline:
    opened = LevelOpened(t_s=0, index=0, users=5, spawn_rate=5, by="user")
    second = sample(1.0, 0, 5, 5, "settled", requests, 20.0, 0, random.Random(1))
    return Timeline([header(), opened, second])


@pytest.mark.parametrize(("requests", "p95_grey", "p99_grey"), [(150, True, True), (500, False, True), (1_000, False, False)])
def test_percentiles_that_rest_on_few_requests_are_grey(requests: int, p95_grey: bool, p99_grey: bool) -> None:
    timeline = latency_session(requests)
    strips = drawn(LatencyPane(), timeline)
    values = {name: f"{timeline.columns[f'{name}_ms'][0]:.1f}" for name in ("p50", "p95", "p99")}
    assert legend_color(strips, values["p50"]) == OPTIONS.palette.text
    assert (legend_color(strips, values["p95"]) == OPTIONS.palette.muted) is p95_grey
    assert (legend_color(strips, values["p99"]) == OPTIONS.palette.muted) is p99_grey


def points(*steps: tuple[int, int]) -> list[LevelPoint]:
    timeline = Timeline(session(steps))
    return level_points(timeline, timeline.levels, len(timeline) - 1)


def test_settled_levels_are_certain_and_the_last_is_current() -> None:
    assert [(point.load, point.certain, point.current) for point in points((10, 30), (20, 30), (30, 30))] == [
        (10, True, False), (20, True, False), (30, True, True),
    ]  # fmt: skip


def test_a_level_of_few_settled_seconds_is_uncertain() -> None:
    assert [point.certain for point in points((10, 30), (20, 8), (30, 30))] == [True, False, True]


def test_a_level_that_ended_before_it_settled_has_no_point() -> None:
    assert [point.load for point in points((10, 30), (40, 2), (30, 30))] == [10, 30]


def test_an_earlier_cursor_shows_no_later_second() -> None:
    events = session([(10, 30), (20, 30)])
    whole = Timeline(events)
    part = Timeline([event for event in events if event.t_s <= 31.0 and event.t_s < 60])
    for pane in (ThroughputPane(), LatencyPane()):
        assert pane.draw(whole, 20, OPTIONS, SIZE)[1:] == pane.draw(part, 20, OPTIONS, SIZE)[1:]


@pytest.mark.parametrize("pane", PANES)
@pytest.mark.parametrize("size", [SIZE, Size(118, 36)])
def test_one_more_second_changes_few_cells(pane: type[Pane], size: Size) -> None:
    """Cells that the terminal must write for one more second: 10% in the median, 15% at the 95th percentile."""
    events = session([(10, 40), (20, 80)])
    timeline = Timeline(events[:59])
    before, shares = None, []
    for event in events[59:-1]:
        timeline.apply(event)
        strips = [strip.adjust_cell_length(size.width) for strip in drawn(pane(), timeline, size)]
        if before is not None:
            spans = [changed_span(old, new) for old, new in zip(before, strips, strict=True)]
            shares.append(sum(span[1] - span[0] for span in spans if span) / size.area)
        before = strips
    assert sorted(shares)[len(shares) // 2] <= 0.10
    assert sorted(shares)[int(len(shares) * 0.95)] <= 0.15


values = st.one_of(st.none(), st.sampled_from([0.0, 1e-9, 1.0, 1e300, math.nan, math.inf, -5.0]), st.floats(0, 1e6))


RANDOM_COLUMNS = (
    "throughput_rps", "goodput_rps", "failures_rps", "p50_ms", "p95_ms", "p99_ms", "users", "loop_lag_p99_ms", "settled",
)  # fmt: skip
PHASES: tuple[Phase, ...] = ("spawning", "settling", "settled")


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    """Timelines with random columns, levels and gaps, and with values that no probe reports."""
    timeline = Timeline([header()])
    now_s = draw(st.sampled_from([0.0, 50.0, 3_599.0, 200_000.0]))
    for index in range(draw(st.integers(0, 4))):
        users = draw(st.sampled_from([0, 1, 7, 10_000_000]))
        timeline.apply(LevelOpened(t_s=now_s, index=index, users=users, spawn_rate=1.0, by="user", epoch=index // 2))
        for _ in range(draw(st.integers(0, 12))):
            now_s += draw(st.sampled_from([1.0, 1.0, 0.5, 30.0]))
            phase = draw(st.sampled_from(PHASES))
            timeline.apply(sample(now_s, index, users, users, phase, 3, 20.0, 1, random.Random(1)))
    for name in RANDOM_COLUMNS:
        random_values = (draw(values) for _ in range(len(timeline)))
        # an array of its own: columns that were equal so far are one
        timeline.columns[name] = array("d", (math.nan if value is None else value for value in random_values))
    return timeline


@hypothesis_settings(max_examples=60, deadline=None)
@given(timelines(), st.integers(1, 130), st.integers(1, 45), st.booleans(), st.sampled_from([60.0, None]), st.integers(-1, 60))
def test_no_columns_and_no_size_break_a_pane(
    timeline: Timeline, width: int, height: int, flag: bool, window_s: float | None, cursor: int
) -> None:
    options = DisplayOptions(window_s=window_s, log_latency=flag, large=flag)
    for pane in PANES:
        strips = pane().draw(timeline, min(cursor, len(timeline) - 1), options, Size(width, height))
        assert len(strips) <= height
        assert all(strip.cell_length <= width for strip in strips)


@pytest.mark.parametrize("size", [NARROW, WIDE])
@pytest.mark.parametrize("events_of_session", [rate_events, session_events.session], ids=["offered rates", "users"])
async def test_no_title_of_a_pane_is_shortened_in_any_arrangement(
    events_of_session: Callable[[], Sequence[Event]], size: tuple[int, int]
) -> None:
    stage = Stage(events_of_session())
    async with stage.run(size) as pilot:
        for key in ("l", "L", "L", "f", "d"):
            top_borders = [line for line in stage.screen_text().splitlines() if "╭" in line]
            assert top_borders, "no pane is shown"
            assert [line for line in top_borders if "…" in line] == [], f"before the key {key}"
            await pilot.press(key)
            await pilot.pause()
