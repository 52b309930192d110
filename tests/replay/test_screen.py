"""The screen of a replay: it shows the session at its position, and keys, clicks and a followed log move that position."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import pytest
from session.samples import log_lines
from textual.pilot import Pilot
from tui.session_events import ready

from capexplorer import paths
from capexplorer.model.events import Ended, Event
from capexplorer.replay import Replay
from capexplorer.tui.actions.transport import Transport
from capexplorer.tui.app import Ending, ExplorerApp
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.playback import Playback
from capexplorer.tui.recorded_feed import FRAME_S, RecordedFeed
from capexplorer.tui.screens.help import Help

from .logs import as_a_live_screen_receives, every_kind_of_event, two_levels, write_log

WIDE, NARROW = (120, 40), (80, 24)
"""Columns and rows of terminals."""

READ_WITHIN_S = 60.0
"""A busy machine takes seconds to read the longest log here; only a defect takes this long."""

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class ManualClock:
    """A monotonic clock that only the test advances."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class ReplayHarness:
    """The screen of a replay with a clock that only the test advances."""

    def __init__(
        self, path: Path, *, follow: bool = False, speed: float = 1.0, start: str | None = None, whole: bool = False
    ) -> None:
        self.recording, self.clock = Replay(path, follow=follow), ManualClock()
        self.playback = Playback(speed, follows=follow)
        self.feed = RecordedFeed(self.recording, self.playback, start_at=start, whole=whole, monotonic=self.clock)
        self.app = ExplorerApp(self.feed, Transport(self.feed), whole=whole)
        self.screen = self.app.explorer

    @contextlib.asynccontextmanager
    async def run(self, size: tuple[int, int] = NARROW) -> AsyncIterator[Pilot[Ending]]:
        """Show the screen; the log is read and its snapshots for jumps are prepared when this yields."""
        with contextlib.closing(self.recording):
            async with self.app.run_test(size=size) as pilot:
                with anyio.fail_after(READ_WITHIN_S):
                    while self.feed.pause_s < FRAME_S:
                        await pilot.pause(0.01)
                await pilot.pause()
                yield pilot

    async def advance_clock(self, pilot: Pilot[Ending], seconds: float) -> None:
        """Let this much time pass, and draw the next frame."""
        self.clock.now_s += seconds
        self.screen.catch_up()
        await pilot.pause()

    def text(self) -> str:
        """All lines of the screen."""
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    def bar(self) -> str:
        """The line with the play state, the speed and the position."""
        return next(line for line in self.text().splitlines() if "%" in line and ("▶" in line or "‖" in line))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_log(tmp_path / "session.jsonl", two_levels())


async def test_a_replay_plays_from_the_beginning_at_its_speed_and_pauses_at_the_end(path: Path) -> None:
    harness = ReplayHarness(path, speed=4.0)
    async with harness.run(WIDE) as pilot:
        assert harness.bar().split()[:3] == ["▶", "4x", "00:00"]
        await harness.advance_clock(pilot, 2.0)
        assert harness.bar().split()[:3] == ["▶", "4x", "00:08"]
        assert "00:08" in harness.text().splitlines()[0]
        assert "level 0" in harness.text() and "level 1" not in harness.text()
        await harness.advance_clock(pilot, 60.0)
        assert harness.bar().split()[:3] == ["‖", "4x", "00:20"]
        assert "100%" in harness.bar() and "session ended by the user" in harness.text()


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_no_pane_shows_events_after_the_position(path: Path, size: tuple[int, int]) -> None:
    harness = ReplayHarness(path)
    async with harness.run(size) as pilot:
        await pilot.press("space", "g", *"9s", "enter")
        then = harness.screen.timeline
        assert len(then) == 8, "seconds"
        (level,) = then.levels
        assert level.closed is None
        assert then.ended is None
        for pane in harness.screen.query(Pane):
            assert pane.timeline is then
            drawn = "\n".join(strip.text for strip in pane.draw(then, len(then) - 1, pane.options, stage.app.size))
            assert "60 users" not in drawn and "after 10" not in drawn
        assert "users 10" in stage.text()


@pytest.mark.parametrize(
    ("keys", "position_s"),
    [
        (["right"], 10.0),
        (["right", "left"], 0.0),
        (["shift+right"], 20.0),
        (["greater_than_sign"], 20.0),
        (["greater_than_sign", "less_than_sign"], 0.0),
        (["full_stop"], 2.0),
        (["full_stop", "full_stop", "full_stop", "comma"], 3.0),
        (["up"], 1.0),
        (["up", "up"], 10.0),
        (["greater_than_sign", "down"], 10.0),
        (["greater_than_sign", "down", "down"], 1.0),
        (["n"], 10.0),
        (["n", "n", "N"], 10.0),
        (["m"], 0.0),
        (["g", "5", "0", "percent_sign", "enter"], 10.0),
        (["g", "x", "enter", "escape"], 0.0),
    ],
)
async def test_keys_move_the_position(path: Path, keys: list[str], position_s: float) -> None:
    harness = ReplayHarness(path)
    async with harness.run() as pilot:
        await pilot.press("space", *keys)
        assert harness.playback.position_s == pytest.approx(position_s, abs=0.01)


async def test_two_presses_of_the_previous_level_skip_the_level_just_reached_while_playing(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run() as pilot:
        await pilot.press("greater_than_sign", "down", "down")
        assert harness.playback.position_s == pytest.approx(1.0, abs=0.01)


async def test_the_keys_for_the_next_and_previous_mark_show_its_number(tmp_path: Path) -> None:
    harness = ReplayHarness(write_log(tmp_path / "session.jsonl", every_kind_of_event()))
    async with harness.run(WIDE) as pilot:
        await pilot.press("space", "m")
        assert "mark 1 of 2" in harness.text() and "cause:1" in harness.screen.timeline.marks
        await pilot.press("m", "m")
        assert "no mark after this moment" in harness.text()
        await pilot.press("M")
        assert "mark 1 of 2" in harness.text()
        await pilot.press("less_than_sign")
        assert harness.bar().count("◆") == 2, "signs of marks"
        assert harness.bar().count("▲") == 1, "signs of notes"


async def test_the_speed_keys_stop_at_the_slowest_and_at_the_fastest_speed(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run() as pilot:
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert "speed 0.5x, the slowest" in harness.text() and "0.5x" in harness.bar()
        await pilot.press(*["right_square_bracket"] * 9)
        assert "64x" in harness.bar()


@pytest.mark.parametrize("key", ["plus", "minus", "x", "r", "t"])
async def test_keys_that_steer_load_do_nothing_in_a_replay(path: Path, key: str) -> None:
    harness = ReplayHarness(path)
    async with harness.run() as pilot:
        await pilot.press("space", "right")
        before = harness.text()
        await pilot.press(key)
        assert harness.text() == before


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_the_key_bar_and_the_help_list_the_keys_of_a_replay_only(path: Path, size: tuple[int, int]) -> None:
    harness = ReplayHarness(path)
    async with harness.run(size) as pilot:
        last = harness.text().splitlines()[-1]
        assert "space pause" in last
        assert "i inspect" in last
        assert "q quit" in last
        assert "x zero" not in last
        await pilot.press("question_mark")
        assert isinstance(harness.app.screen, Help)
        assert "play or pause" in harness.text()
        assert "zero users" not in harness.text()
        assert "spawn" not in harness.text().split("Level ")[0]


async def test_the_palette_has_the_commands_of_a_replay_only(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run():
        titles = {command.title for command in harness.app.get_system_commands(harness.app.screen)}
        assert "go to the next mark" in titles
        assert "go to zero users at once" not in titles


async def test_keys_of_the_view_work_as_on_the_live_screen(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run(WIDE) as pilot:
        await pilot.press("greater_than_sign", "w")
        assert "time window: 15 min" in harness.text()
        await pilot.press("l")
        assert "logarithmic" in harness.text()
        await pilot.press("z")
        assert len([pane for pane in harness.screen.query(Pane) if pane.display]) == 1
        await pilot.press("o")
        assert "user code says" in harness.text()


async def test_q_quits_without_a_question(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run() as pilot:
        await pilot.press("q")
        await pilot.pause()
        assert harness.app.return_value == Ending("user")


async def test_a_replay_begins_at_the_requested_time(path: Path) -> None:
    harness = ReplayHarness(path, start="50%")
    async with harness.run():
        assert harness.playback.position_s == pytest.approx(10.0)


async def test_every_line_fits_80_columns(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run() as pilot:
        await pilot.press("greater_than_sign")
        lines = harness.text().splitlines()
        assert len(lines) == 24
        assert max(len(line) for line in lines) <= 80
        assert "00:20" in harness.bar() and "100%" in harness.bar()


async def test_clicking_and_dragging_the_bar_moves_the_position(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run(WIDE) as pilot:
        await pilot.press("space")
        await pilot.click("#transport", offset=(60, 0))
        middle_s = harness.playback.position_s
        assert 8.0 < middle_s < 12.0
        await pilot.mouse_down("#transport", offset=(60, 0))
        await pilot.hover("#transport", offset=(100, 0))
        assert harness.playback.position_s > middle_s + 4
        await pilot.mouse_up("#transport", offset=(100, 0))
        reached_s = harness.playback.position_s
        await pilot.hover("#transport", offset=(30, 0))
        assert harness.playback.position_s == reached_s


async def test_a_truncated_log_is_reported_and_plays_to_its_end(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    harness = ReplayHarness(path)
    async with harness.run(WIDE):
        assert "cut off, dropped" in harness.text() and "incomplete" in harness.bar()


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


# -- a session that another process records


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
