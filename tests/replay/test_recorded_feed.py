"""The feed of a recording: read in first, then one frame after another; a moved position is shown at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from session.samples import log_lines

from capexplorer.replay import Replay
from capexplorer.tui.feed import Change
from capexplorer.tui.playback import Playback
from capexplorer.tui.recorded_feed import FRAME_S, RecordedFeed

from .logs import as_shown, saved, small


class Watched:
    """A feed whose time only the test moves."""

    def __init__(self, path: Path, *, follow: bool = False, start_at: str | None = None) -> None:
        self.now_s = 100.0
        self.recording, self.playback = Replay(path, follow=follow), Playback(follows=follow)
        self.feed = RecordedFeed(self.recording, self.playback, start_at=start_at, monotonic=lambda: self.now_s)

    def read_in(self) -> None:
        while self.feed.pause_s < FRAME_S:
            self.feed.take()

    def pass_s(self, seconds: float) -> Change:
        self.now_s += seconds
        return self.feed.take()


@contextlib.contextmanager
def watched(path: Path, *, follow: bool = False, start_at: str | None = None) -> Iterator[Watched]:
    found = Watched(path, follow=follow, start_at=start_at)
    with contextlib.closing(found.recording):
        yield found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return saved(tmp_path / "session.jsonl", small())


def test_it_is_read_in_without_a_pause_and_says_how_far(path: Path) -> None:
    with watched(path) as seen:
        assert (seen.feed.pause_s, seen.feed.progress[:7]) == (0.0, "reading")
        seen.read_in()
        assert (seen.feed.pause_s, seen.feed.progress) == (FRAME_S, "")
        assert seen.recording.ended is not None


def test_time_passes_in_frames_and_not_between_them(path: Path) -> None:
    with watched(path) as seen:
        seen.read_in()
        assert seen.pass_s(FRAME_S / 2) is Change.NOTHING
        assert seen.playback.position_s == 0.0
        assert seen.pass_s(FRAME_S) is not Change.NOTHING
        assert seen.playback.position_s == pytest.approx(1.5 * FRAME_S)


def test_panes_change_only_where_something_happened_since_the_last_frame(path: Path) -> None:
    with watched(path) as seen:
        seen.read_in()
        assert seen.pass_s(5.0) is Change.PANES
        before = seen.feed.timeline
        assert (seen.pass_s(FRAME_S), seen.feed.timeline is before) == (Change.STATUS, True)


def test_a_moved_position_is_shown_at_once_and_no_time_passes(path: Path) -> None:
    with watched(path) as seen:
        seen.read_in()
        seen.playback.seek(9.0, seen.recording.duration_s)
        seen.feed.moved()
        assert seen.feed.take() is Change.PANES
        assert (seen.playback.position_s, len(seen.feed.timeline)) == (9.0, 8)


def test_it_begins_at_the_requested_time_once_its_length_is_known(path: Path) -> None:
    with watched(path, start_at="50%") as seen:
        assert seen.playback.position_s == 0.0
        seen.read_in()
        assert seen.playback.position_s == pytest.approx(seen.recording.duration_s / 2)


def test_skipped_lines_are_reported_once(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with watched(path) as seen:
        assert list(seen.feed.notices()) == []
        seen.read_in()
        assert [("cut off" in notice) for notice in seen.feed.notices()] == [True]
        assert list(seen.feed.notices()) == []
        assert seen.feed.progress == "incomplete"


def test_a_followed_session_is_looked_at_for_new_lines_and_stays_at_its_end(tmp_path: Path) -> None:
    lines, path = log_lines(as_shown(small()), first=1), tmp_path / "growing.jsonl"
    lines = list(lines)
    path.write_bytes(b"".join(lines[:9]))
    with watched(path, follow=True) as seen:
        seen.read_in()
        seen.pass_s(1.0)
        assert (len(seen.feed.timeline), seen.feed.progress) == (4, "following")
        with path.open("ab") as file:
            file.writelines(lines[9:12])
        assert seen.pass_s(1.0) is Change.PANES
        assert len(seen.feed.timeline) == 7
        seen.pass_s(6.0)
        assert seen.feed.progress == "no new events for 6 s"
