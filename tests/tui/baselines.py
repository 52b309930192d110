"""Timelines of live runs, and curves of other sessions behind them."""

from __future__ import annotations

from capexplorer.model.events import Event
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import SecondLatencies, curve_of_last
from capexplorer.report.compare import Session as Compared
from capexplorer.report.compare.comparison import Curve
from capexplorer.tui.feed import LiveFeed

from .fake_source import FakeSource
from .session_events import SessionMaker, header, session


def live_timeline(levels: list[tuple[int, int]]) -> Timeline:
    """The timeline of a live run with levels of (users, seconds), which keeps the latencies of each second."""
    feed = LiveFeed(FakeSource(session(levels)))
    feed.take()
    return feed.timeline


def baseline_of(levels: list[tuple[int, int]]) -> Curve:
    """The curve of another session with levels of (users, seconds)."""
    maker = SessionMaker(seed=3, hostile=False)
    events: list[Event] = [header()]
    for users, seconds in levels:
        events += [*maker.open(users), *(maker.tick() for _ in range(seconds))]
    latencies = SecondLatencies()
    return curve_of_last(Compared(Timeline(latencies.collecting([*events, *maker.close()])), latencies=latencies))
