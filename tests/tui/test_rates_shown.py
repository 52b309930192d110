"""What panes and the status show of a session in which rates are offered, instead of users. At 80x24 and 120x40."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from textual.geometry import Size

from capexplorer.model.events import Event
from capexplorer.model.load import Rate
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import DisplayOptions
from capexplorer.tui.panes.curve import CurvePane
from capexplorer.tui.panes.inspected import inspected
from capexplorer.tui.panes.latency import LatencyPane
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.throughput import ThroughputPane
from capexplorer.tui.protocols import View, watched
from lab.simulation.open_queue import OpenRun
from lab.simulation.queues import System
from lab.simulation.virtual import VirtualRates

from .drawn import LARGE, MAXIMISED, SMALL, pane_text, status_lines
from .session_events import session
from .stage import NARROW, WIDE, Stage

WIDE_STATUS, NARROW_STATUS = 119, 79
"""Columns of the status line at 120x40 and at 80x24."""


@cache
def rate_events() -> tuple[Event, ...]:
    """Levels of 40 to 150 offered requests per second, 14 s each, on a simulated service whose capacity is 100/s."""
    run = VirtualRates(OpenRun(System(1 / 100, 0), np.random.default_rng(200_002)))
    run.climb([40, 60, 80, 125, 150], 14)
    return tuple(run.sink.take())


def text_of(pane: Pane, size: Size) -> str:
    return pane_text(pane, Timeline(rate_events()), size, DisplayOptions(window_s=None, large=size == MAXIMISED))


def status_with(view: View, width: int) -> list[str]:
    return status_lines(Timeline(rate_events()), view, width)


@pytest.mark.parametrize("size", [SMALL, LARGE, MAXIMISED])
def test_the_capacity_curve_has_the_capacity_as_a_rate_and_the_diagonal_of_full_service(size: Size) -> None:
    text = text_of(CurvePane(), size)
    assert "capacity" in text
    if size != SMALL:
        assert "all served" in text, "the diagonal has no entry in the legend"
        assert "not stationary: the queue grows by" in text


def test_the_capacity_curve_names_the_sign_of_a_level_that_does_not_count() -> None:
    run = VirtualRates(OpenRun(System(1 / 100, 0), np.random.default_rng(200_002)))
    run.climb([40, 60, 80, 125, 150], 14)
    run.climb([60], 50)  # its backlog of 1,000 has gone after 26 s, but it follows overload
    text = pane_text(CurvePane(), Timeline(run.sink.take()), LARGE, DisplayOptions(window_s=None))
    assert "× not counted" in text or "× recovery" in text


@pytest.mark.parametrize("size", [SMALL, LARGE, MAXIMISED])
def test_the_throughput_chart_has_the_offered_rate_of_each_level(size: Size) -> None:
    text = text_of(ThroughputPane(), size)
    assert "150/s" in text, "the begin of the last level has no label"
    assert ("offered" if size != SMALL else "rate   150") in text


def test_the_inspected_second_names_service_time_beside_the_time_from_plan() -> None:
    timeline = Timeline(rate_events())
    tick = len(timeline) - 1
    text = " ".join(line.text for line in inspected(timeline, tick, DisplayOptions(inspected=tick), 200))
    assert text.count("service time p50 ") == 2, "of the level and of the second"
    assert text.count("p50 ") == 3
    assert "from plan p50 " in text


@pytest.mark.parametrize(("size", "from_plan", "service"), [(LARGE, "p50", "svc"), (MAXIMISED, "from plan p50", "service p99")])
def test_the_latency_chart_has_the_time_from_plan_and_the_service_time(size: Size, from_plan: str, service: str) -> None:
    text = text_of(LatencyPane(), size)
    assert from_plan in text
    assert service in text


def test_the_status_shows_offered_achieved_in_flight_and_dropped_rates() -> None:
    view = View(load=Rate(150.0), max_users=500, step=10, unit="rate")
    first, second = status_with(view, WIDE_STATUS)[:2]
    for each in ("offered 150/s", "achieved ", "in flight ", "dropped 0.00/s", "step 10/s"):
        assert each in first
    assert "not stationary " in second
    assert "the queue grows by" in second


def test_the_narrow_status_keeps_the_offered_rate_requests_in_flight_and_the_capacity() -> None:
    view = View(load=Rate(150.0), max_users=500, step=10, unit="rate")
    first, second = status_with(view, NARROW_STATUS)[:2]
    assert "offered 150/s" in first
    assert "in flight" in first
    assert "not stationary" in second
    assert "capacity" in second


def test_a_screen_that_only_watches_shows_the_offered_rate() -> None:
    assert "offered 150/s" in status_with(watched(Timeline(rate_events())), WIDE_STATUS)[0]


def test_a_requested_rate_is_shown_with_an_arrow_until_it_is_offered() -> None:
    assert "offered → 200/s" in status_with(View(load=Rate(200.0), max_users=500, unit="rate"), WIDE_STATUS)[0]


@pytest.mark.anyio
@pytest.mark.parametrize("size", [NARROW, WIDE])
@pytest.mark.parametrize("events_of_session", [rate_events, session], ids=["offered rates", "users"])
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
