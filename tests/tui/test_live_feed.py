"""The feed of a live run folds new events into its timeline and returns which part of the screen must be drawn again."""

from __future__ import annotations

import pytest

from capexplorer.model.events import Command, Event, Log, Note
from capexplorer.tui.feed import Change, LiveFeed

from .fake_source import FakeSource
from .session_events import SessionMaker, header, ready


@pytest.mark.parametrize(
    "event",
    [Note(t_s=1.0, text="deployed"), Log(t_s=1.0, source="stdout", text="a line"), Command(t_s=1.0, name="zero"), ready()],
    ids=lambda event: type(event).__name__,
)
def test_an_event_between_two_samples_changes_only_the_panes_that_list_events(event: Event) -> None:
    assert LiveFeed(FakeSource([header(), event])).take() is Change.ENTRIES


def test_a_sample_changes_all_panes_even_if_another_event_follows_it() -> None:
    maker = SessionMaker()
    feed = LiveFeed(FakeSource([header(), *maker.open(10), maker.tick(), Note(t_s=2.5, text="after it")]))
    assert feed.take() is Change.PANES
    assert len(feed.timeline) == 1


def test_the_timeline_of_a_feed_is_one_object_with_and_without_new_events() -> None:
    source = FakeSource([header()])
    feed = LiveFeed(source)
    feed.take()
    before = feed.timeline
    assert feed.take() is Change.NOTHING
    source.send(ready())
    feed.take()
    assert feed.timeline is before


def test_the_feed_wakes_the_screen_when_the_source_has_an_event() -> None:
    source, wakes = FakeSource(), []
    feed = LiveFeed(source)
    feed.start(lambda: wakes.append("wake"))
    assert feed.pause_s is None, "events are taken at intervals"
    assert wakes == []
    source.send(header())
    assert wakes == ["wake"]


def test_what_a_run_warns_of_before_users_run_is_a_notice_once() -> None:
    early = Log(t_s=0.0, source="capexplorer", level="warning", text="before users run")
    late = Log(t_s=3.0, source="capexplorer", level="warning", text="later")
    of_target = Log(t_s=0.0, source="target", level="warning", text="of the target")
    maker = SessionMaker()
    feed = LiveFeed(FakeSource([header(), early, of_target, *maker.open(10), maker.tick(), late]))
    feed.take()
    assert feed.notices() == ["before users run"]
    assert feed.notices() == []
