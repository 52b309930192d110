"""What the screen shows of offered rates, live and replayed: the same panes from (timeline, cursor). At 80x24 and 120x40."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from textual.geometry import Size

from capexplorer.model.events import Event
from capexplorer.model.timeline import Timeline
from capexplorer.tui.look import Look, Palette
from capexplorer.tui.panes.curve import CurvePane
from capexplorer.tui.panes.latency import LatencyPane
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.status import status
from capexplorer.tui.panes.status_view import View, watched
from capexplorer.tui.panes.throughput import ThroughputPane
from trials.simulation.open_queue import OpenRun
from trials.simulation.queues import System
from trials.simulation.virtual_rates import VirtualRates

from .session_events import session
from .stage import NARROW, Stage
from .stage import WIDE as WIDE_SCREEN

SMALL, ALONE, WIDE = Size(58, 10), Size(78, 17), Size(118, 33)
"""Inside of a pane: a sixth of 120x40, alone at 80x24, maximised at 120x40."""


@cache
def events() -> tuple[Event, ...]:
    session = VirtualRates(OpenRun(System(1 / 100, 0), np.random.default_rng(200_002)))
    session.climb([40, 60, 80, 125, 150], 14)
    return tuple(session.sink.take())


def timeline() -> Timeline:
    return Timeline(events())


def shown(pane: Pane, size: Size) -> str:
    found = timeline()
    return "\n".join(strip.text for strip in pane.draw(found, len(found) - 1, Look(window_s=None, large=size == WIDE), size))


def lines(view: View, width: int) -> list[str]:
    return [strip.text for strip in status(timeline(), view, Palette(), width)]


@pytest.mark.parametrize("size", [SMALL, ALONE, WIDE])
def test_the_capacity_curve_is_goodput_over_the_offered_rate(size: Size) -> None:
    text = shown(CurvePane(), size)
    assert "capacity" in text
    assert all(len(line) <= size.width for line in text.splitlines())
    if size != SMALL:
        assert "all served" in text  # the diagonal
        assert "not stationary: the queue grows by" in text


@pytest.mark.parametrize("size", [SMALL, ALONE, WIDE])
def test_the_throughput_chart_has_the_offered_staircase(size: Size) -> None:
    text = shown(ThroughputPane(), size)
    assert "150/s" in text  # where the level begins
    assert ("offered" if size != SMALL else "off") in text


@pytest.mark.parametrize("size", [ALONE, WIDE])
def test_the_latency_chart_names_both_times(size: Size) -> None:
    text = shown(LatencyPane(), size)
    assert ("from plan p50" in text and "service p99" in text) or ("p50" in text and "svc" in text)


def test_the_status_shows_offered_achieved_in_flight_and_dropped_rates() -> None:
    view = View(wanted=0, max_users=500, step=10, unit="rate", offered_per_s=150.0)
    first, second = lines(view, 119)[:2]
    for each in ("offered 150/s", "achieved ", "in flight ", "dropped 0.00/s", "step 10/s"):
        assert each in first
    assert "not stationary " in second and "the queue grows by" in second
    narrow = lines(view, 79)
    assert "offered 150/s" in narrow[0] and "in flight" in narrow[0]
    assert "not stationary" in narrow[1] and "capacity" in narrow[1]


def test_a_screen_that_only_watches_shows_the_rate_as_well() -> None:
    assert "offered 150/s" in lines(watched(timeline()), 119)[0]


def test_a_rate_just_asked_for_is_shown_at_once() -> None:
    assert "offered → 200/s" in lines(View(wanted=0, max_users=500, unit="rate", offered_per_s=200.0), 119)[0]


@pytest.mark.anyio
@pytest.mark.parametrize("size", [NARROW, WIDE_SCREEN])
@pytest.mark.parametrize("shown_events", [events, session], ids=["a rate", "users"])
async def test_the_title_of_every_pane_is_whole(shown_events: Callable[[], Sequence[Event]], size: tuple[int, int]) -> None:
    stage = Stage(shown_events())
    async with stage.run(size) as pilot:
        for key in ("l", "L", "L", "f", "d"):
            tops = [line for line in stage.screen_text().splitlines() if "╭" in line]
            assert tops and not any("…" in top for top in tops)
            await pilot.press(key)
            await pilot.pause()
