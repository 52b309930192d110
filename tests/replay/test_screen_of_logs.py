"""The screen of a replay of truncated and replaced logs, and of a log that another process records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from kit.scenario import log_lines
from tui.session_events import ready

from capexplorer import paths
from capexplorer.model.events import Ended, Event

from .logs import as_a_live_screen_receives, two_levels
from .replay_harness import NARROW, WIDE, ReplayHarness


async def test_a_truncated_log_is_reported_and_plays_to_its_end(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    harness = ReplayHarness(path)
    async with harness.run(WIDE):
        assert "cut off, dropped" in harness.text()
        assert "incomplete" in harness.bar()


async def test_a_log_that_is_replaced_during_a_replay_ends_the_app_with_an_error(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run() as pilot:
        path.write_bytes(b"{}" * path.stat().st_size)
        await pilot.press("right")
        await pilot.pause()
        assert "changed while it was open" in str(harness.app._failure)


async def test_a_replaced_log_ends_the_app_also_when_a_pane_reads_its_lines(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run() as pilot:
        await pilot.press("space", "greater_than_sign")
        path.write_bytes(b"{}" * path.stat().st_size)
        await pilot.press("8")
        await pilot.pause()
        assert "changed while it was open" in str(harness.app._failure)


def append_events(path: Path, events: Sequence[Event]) -> None:
    """Append to a log, as the process that records it does."""
    with path.open("ab") as file:
        file.writelines(log_lines(events, first=path.read_bytes().count(b"\n") + 1))


async def test_a_followed_session_stays_at_its_end_until_a_seek_and_shows_when_it_ended(tmp_path: Path) -> None:
    events, path = as_a_live_screen_receives(two_levels()), tmp_path / "growing.jsonl"
    append_events(path, events[:9])
    harness = ReplayHarness(path, follow=True)
    async with harness.run(WIDE) as pilot:
        assert len(harness.screen.timeline) == 4
        assert "following" in harness.bar()
        append_events(path, events[9:12])
        await harness.advance_clock(pilot, 1.0)
        assert len(harness.screen.timeline) == 7
        await pilot.press("left")
        append_events(path, events[12:14])
        await harness.advance_clock(pilot, 1.0)
        assert len(harness.screen.timeline) == 0
        assert "recording continues" in harness.bar()
        await harness.advance_clock(pilot, 6.0)
        assert "no new events for 6 s" in harness.bar()
        await pilot.press("greater_than_sign")
        append_events(path, events[14:])
        await harness.advance_clock(pilot, 1.0)
        assert harness.screen.timeline.ended is not None
        assert "recording ended" in harness.bar()
        assert "session ended" in harness.text()


async def test_a_followed_session_without_samples_shows_that_it_waits(tmp_path: Path) -> None:
    path = tmp_path / "begun.jsonl"
    append_events(path, as_a_live_screen_receives(two_levels())[:1])
    harness = ReplayHarness(path, follow=True)
    async with harness.run(WIDE) as pilot:
        assert "waiting for the first second" in harness.text()
        append_events(path, [ready(), Ended(t_s=1.5, reason="nothing happened")])
        await harness.advance_clock(pilot, 1.0)
        assert "session ended: nothing happened" in harness.text()


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_a_saved_session_opens_paused_at_its_end_with_its_verdict(size: tuple[int, int]) -> None:
    harness = ReplayHarness(paths.sample_sessions()["sample"], whole=True)
    async with harness.run(size) as pilot:
        assert not harness.playback.playing
        assert harness.playback.position_s == harness.recording.duration_s
        assert harness.screen.inspecting.time.length_s is None
        assert "▸ Knee at 50 users [44–59] and 134/s" in harness.text()
        assert " NEXT  e: export a report of this session" in harness.text()
        await pilot.press("home")
        assert harness.playback.position_s == 0.0
        await pilot.press("end")
        assert harness.playback.position_s == harness.recording.duration_s
