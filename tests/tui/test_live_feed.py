"""The feed of a live run: events are folded as they come, and the screen learns how much of it they change."""

from __future__ import annotations

import pytest

from capexplorer.model.events import Command, Event, Log, Note
from capexplorer.tui.feed import Change
from capexplorer.tui.live_feed import LiveFeed

from .fake_source import FakeSource
from .session_events import SessionMaker, header, ready


@pytest.mark.parametrize(
    "event",
    [Note(t_s=1.0, text="deployed"), Log(t_s=1.0, source="stdout", text="said"), Command(t_s=1.0, name="zero"), ready()],
    ids=lambda event: type(event).__name__,
)
def test_an_event_between_two_samples_changes_only_the_panes_that_list_events(event: Event) -> None:
    assert LiveFeed(FakeSource([header(), event])).take() is Change.ENTRIES


def test_a_sample_changes_all_panes() -> None:
    maker = SessionMaker()
    feed = LiveFeed(FakeSource([header(), *maker.open(10), maker.tick(), Note(t_s=2.5, text="after it")]))
    assert feed.take() is Change.PANES
    assert len(feed.timeline) == 1


def test_without_events_the_timeline_stays_the_same_object() -> None:
    source = FakeSource([header()])
    feed = LiveFeed(source)
    feed.take()
    before = feed.timeline
    assert feed.take() is Change.NOTHING
    source.send(ready())
    feed.take()
    assert feed.timeline is before


def test_events_are_taken_only_when_the_source_wakes() -> None:
    source, woken = FakeSource(), []
    feed = LiveFeed(source)
    feed.start(lambda: woken.append(True))
    assert (woken, feed.pause_s) == ([], None)
    source.send(header())
    assert woken == [True]
