"""The page of one level, which key i opens: figures, histogram, endpoints, resources, marks and notes of that level alone."""

from __future__ import annotations

import re

import pytest
from textual.geometry import Size

from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import DisplayOptions
from capexplorer.tui.panes.level_page import LevelPage, histogram_lines, part_at, shares
from capexplorer.tui.screens.view_options import frozen_copy

from . import gallery
from .session_events import SessionMaker, header, session
from .stage import NARROW, Stage


def page(timeline: Timeline, tick: int, width: int = 78, height: int = 60) -> str:
    """The text of the page of the level with this second, whose lines do not exceed the width."""
    pane = LevelPage()
    strips = pane.draw(timeline, len(timeline) - 1, DisplayOptions(inspected=tick), Size(width, height))
    assert all(strip.cell_length <= width for strip in strips)
    return "\n".join(strip.text for strip in strips)


@pytest.mark.parametrize("width", [40, 78])
def test_no_line_ends_between_a_name_and_its_figure(width: int) -> None:
    figures, _, _ = page(Timeline(session([(1, 12)])), 10, width).partition("Endpoints")
    lines = [line.rstrip() for line in figures.splitlines()]
    assert [line for line in lines if re.search(r"(min|mean|max|\(few\)|p99\.9|\d–\d+ ms)$", line)] == []


def test_the_histogram_of_an_open_level_grows_but_not_while_the_display_is_paused() -> None:
    maker = SessionMaker()
    timeline = Timeline([header(), *maker.open(10), *(maker.tick() for _ in range(10))])
    paused = frozen_copy(timeline)
    count_at_pause = paused.levels[0].histogram.count
    assert count_at_pause == timeline.levels[0].histogram.count > 0
    timeline.apply(maker.tick())
    assert timeline.levels[0].histogram.count > count_at_pause
    assert paused.levels[0].histogram.count == count_at_pause


def test_in_a_ramp_the_page_shows_the_bin_with_the_users_of_the_inspected_second() -> None:
    timeline = Timeline(gallery.ramped())
    early, late = part_at(timeline, 20), part_at(timeline, 200)
    assert early is not None
    assert late is not None
    assert early.is_bin
    assert early.figures.users_mean == pytest.approx(timeline.columns["users"][20], rel=0.5)
    assert late.figures.users_mean == pytest.approx(timeline.columns["users"][200], rel=0.1)


def test_a_histogram_in_words_has_the_share_of_each_range_of_latencies() -> None:
    histogram = LatencyHistogram()
    histogram.record_us([1_500.0] * 30 + [15_000.0] * 60 + [55_000.0] * 10)
    assert shares(histogram, 1.5, 55.0) == ["1–2 ms 30%", "10–20 ms 60%", "50–100 ms 10%"]


def test_counts_between_edges_include_the_values_beyond_the_first_and_the_last_edge() -> None:
    histogram = LatencyHistogram()
    histogram.record_us([1_500.0] * 30 + [15_000.0] * 60 + [55_000.0] * 10)
    assert histogram.counts_between([2_000, 20_000]).tolist() == [30, 60, 10]


LEAST_US, GREATEST_US = 1.0, 3_600_000_000.0
"""The range that a histogram records."""


@pytest.mark.parametrize("latencies_us", [[LEAST_US], [GREATEST_US], [LEAST_US, GREATEST_US], [1_000.0] * 5])
def test_a_histogram_of_extreme_or_equal_latencies_has_a_filled_bar(latencies_us: list[float]) -> None:
    histogram = LatencyHistogram()
    histogram.record_us(latencies_us)
    text = "\n".join(line.text for line in histogram_lines(histogram, DisplayOptions(), 78))
    assert "⣿" in text or "⣶" in text


async def test_i_at_the_cursor_opens_the_page_arrows_change_the_level_and_escape_returns_to_the_cursor() -> None:
    stage = Stage(session([(10, 12), (80, 12), (30, 12)]), wanted=30)
    async with stage.run(NARROW) as pilot:
        await pilot.press("i", "i")
        await pilot.pause()
        assert "Level 2: 30 users" in stage.screen_text()
        await pilot.press("left")
        await pilot.pause()
        assert "Level 1: 80 users" in stage.screen_text()
        assert "Esc close" in stage.screen_text()
        await pilot.press("up", "down", "escape")
        await pilot.pause()
        text = stage.screen_text()
        assert "INSPECT" in text
        assert "level 1, 80 users" in text
        assert stage.controls.calls == []
