"""The feed of a saved session: the log is read first, then frames follow; a seek is shown at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from capexplorer.replay import Replay
from capexplorer.tui.feed import FRAME_S, Change, Playback, RecordedFeed


class FeedHarness:
    """A feed with a clock that only the test advances."""

    def __init__(self, path: Path, *, follow: bool = False, start_at: str | None = None) -> None:
        self.now_s = 100.0
        self.recording, self.playback = Replay(path, follow=follow), Playback(follows=follow)
        self.feed = RecordedFeed(self.recording, self.playback, start_at=start_at, monotonic=lambda: self.now_s)

    def read_log(self) -> None:
        """Take until the log is read and the snapshots for jumps are prepared."""
        while self.feed.pause_s < FRAME_S:
            self.feed.take()

    def take_after(self, seconds: float) -> Change:
        """Advance the clock, and take the change of the next frame."""
        self.now_s += seconds
        return self.feed.take()


@contextlib.contextmanager
def opened_feed(path: Path, *, follow: bool = False, start_at: str | None = None) -> Iterator[FeedHarness]:
    """The feed of the log at `path`, which is closed afterwards."""
    harness = FeedHarness(path, follow=follow, start_at=start_at)
    with contextlib.closing(harness.recording):
        yield harness


def test_the_log_is_read_without_a_pause_and_its_progress_is_shown(path: Path) -> None:
    with opened_feed(path) as harness:
        assert harness.feed.pause_s == 0.0
        assert harness.feed.progress.startswith("reading")
        harness.read_log()
        assert harness.feed.pause_s == FRAME_S
        assert harness.feed.progress == ""
        assert harness.recording.ended is not None


def test_the_position_advances_with_each_frame_and_not_between_frames(path: Path) -> None:
    with opened_feed(path) as harness:
        harness.read_log()
        assert harness.take_after(FRAME_S / 2) is Change.NOTHING
        assert harness.playback.position_s == 0.0
        assert harness.take_after(FRAME_S) is not Change.NOTHING
        assert harness.playback.position_s == pytest.approx(1.5 * FRAME_S)


def test_panes_are_redrawn_only_if_there_are_events_since_the_last_frame(path: Path) -> None:
    with opened_feed(path) as harness:
        harness.read_log()
        assert harness.take_after(5.0) is Change.PANES
        before = harness.feed.timeline
        assert harness.take_after(FRAME_S) is Change.STATUS
        assert harness.feed.timeline is before


def test_a_seek_is_shown_at_once_and_the_position_does_not_advance(path: Path) -> None:
    with opened_feed(path) as harness:
        harness.read_log()
        harness.playback.seek(9.0, harness.recording.duration_s)
        harness.feed.moved()
        assert harness.feed.take() is Change.PANES
        assert harness.playback.position_s == 9.0
        assert len(harness.feed.timeline) == 8


def test_a_replay_begins_at_the_requested_time_once_the_log_is_read(path: Path) -> None:
    with opened_feed(path, start_at="50%") as harness:
        assert harness.playback.position_s == 0.0
        harness.read_log()
        assert harness.playback.position_s == pytest.approx(harness.recording.duration_s / 2)
