"""The position in a replay: play, pause, seek, speed; how the log is read meanwhile, and when panes are drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from capexplorer.replay import Replay
from capexplorer.tui.feed import FRAME_S, SPEEDS, Change, Playback, RecordedFeed, parse_position


def test_the_position_advances_at_the_speed_and_stops_at_the_end() -> None:
    playback = Playback(8.0)
    playback.advance(2.0, 100.0)
    assert (playback.position_s, playback.playing) == (16.0, True)
    playback.advance(60.0, 100.0)
    assert (playback.position_s, playback.playing) == (100.0, False)


def test_the_end_of_the_part_read_so_far_does_not_end_the_replay() -> None:
    playback = Playback(64.0)
    playback.advance(10.0, 100.0, more=True)
    assert (playback.position_s, playback.playing) == (100.0, True)
    playback.advance(1.0, 1000.0)
    assert playback.position_s == 164.0


def test_a_pause_keeps_the_position_and_play_at_the_end_restarts() -> None:
    playback = Playback()
    playback.toggle(10.0)
    playback.advance(5.0, 10.0)
    assert (playback.position_s, playback.playing) == (0.0, False)
    playback.seek(10.0, 10.0)
    playback.toggle(10.0)
    assert (playback.position_s, playback.playing) == (0.0, True)


def test_a_seek_is_clamped_to_the_session_and_does_not_pause() -> None:
    playback = Playback()
    for wanted_s, expected_s in ((-5.0, 0.0), (7.0, 7.0), (99.0, 10.0)):
        playback.seek(wanted_s, 10.0)
        assert (playback.position_s, playback.playing) == (expected_s, True)


def test_a_followed_session_stays_at_its_end_except_after_a_seek_back_or_a_pause() -> None:
    playback = Playback(follows=True)
    playback.advance(0.2, 50.0)
    playback.advance(0.2, 51.0)
    assert playback.position_s == 51.0
    playback.seek(20.0, 51.0)
    playback.advance(1.0, 52.0)
    assert (playback.position_s, playback.at_end) == (21.0, False)
    playback.seek(52.0, 52.0)
    playback.advance(0.2, 53.0)
    assert (playback.position_s, playback.at_end, playback.playing) == (53.0, True, True)
    playback.toggle(53.0)
    playback.advance(1.0, 54.0)
    assert (playback.position_s, playback.playing) == (53.0, False)
    playback.toggle(54.0)
    playback.advance(9.0, 54.0)
    assert playback.at_end


def test_the_speed_changes_from_each_listed_speed_to_the_next() -> None:
    playback, speeds = Playback(0.5), [0.5]
    while playback.change_speed(1):
        speeds.append(playback.speed)
    assert SPEEDS == (0.5, 1, 2, 4, 8, 16, 32, 64)
    assert tuple(speeds) == SPEEDS
    assert playback.change_speed(-1)
    assert playback.speed == 32


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("1:23:45", 5025.0),
        ("12:30", 750.0),
        ("90s", 90.0),
        ("90", 90.0),
        ("1.5m", 90.0),
        ("1h30m", 5400.0),
        ("2h", 7200.0),
        ("50%", 5000.0),
        ("0%", 0.0),
        ("start", 0.0),
        ("END", 10_000.0),
        ("+5m", 400.0),
        ("-30s", 70.0),
        (" 1 h 5 s ", 3605.0),
        ("-1h", 0.0),
        ("99h", 10_000.0),
    ],
)
def test_a_typed_time_is_converted_to_seconds_of_the_session(typed: str, seconds: float) -> None:
    assert parse_position(typed, now_s=100.0, duration_s=10_000.0) == seconds


@pytest.mark.parametrize("typed", ["", "x", "1:2:3:4", "5x", "%", "--5", "+", "1:", "h", "٣s", "nan", "1e9", "50%%"])
def test_an_invalid_time_is_refused_with_examples(typed: str) -> None:
    with pytest.raises(ValueError, match="expected a time such as 1:23:45"):
        parse_position(typed, 0.0, 100.0)


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
