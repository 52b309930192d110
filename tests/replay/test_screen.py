"""The replay's screen: the live one at any moment, and what each key does to that moment."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

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
from capexplorer.tui.recorded_feed import RecordedFeed
from capexplorer.tui.screens.help import Help

from .logs import as_shown, eventful, saved, small

WIDE, NARROW = (120, 40), (80, 24)
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Seconds:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Stage:
    """A replay whose time only the test moves."""

    def __init__(
        self, path: Path, *, follow: bool = False, speed: float = 1.0, start: str | None = None, whole: bool = False
    ) -> None:
        self.recording, self.clock = Replay(path, follow=follow), Seconds()
        self.playback = Playback(speed, follows=follow)
        feed = RecordedFeed(self.recording, self.playback, start_at=start, whole=whole, monotonic=self.clock)
        self.app = ExplorerApp(feed, Transport(feed), whole=whole)
        self.screen = self.app.explorer

    @contextlib.asynccontextmanager
    async def run(self, size: tuple[int, int] = NARROW) -> AsyncIterator[Pilot[Ending]]:
        with contextlib.closing(self.recording):
            async with self.app.run_test(size=size) as pilot:
                await pilot.pause(0.1)
                yield pilot

    async def pass_s(self, pilot: Pilot[Ending], seconds: float) -> None:
        self.clock.now_s += seconds
        self.screen.catch_up()
        await pilot.pause()

    def text(self) -> str:
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    def bar(self) -> str:
        return next(line for line in self.text().splitlines() if "%" in line and ("▶" in line or "‖" in line))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return saved(tmp_path / "session.jsonl", small())


async def test_it_plays_from_the_beginning_at_its_speed_and_rests_at_the_end(path: Path) -> None:
    stage = Stage(path, speed=4.0)
    async with stage.run(WIDE) as pilot:
        assert stage.bar().split()[:3] == ["▶", "4x", "00:00"]
        await stage.pass_s(pilot, 2.0)
        assert stage.bar().split()[:3] == ["▶", "4x", "00:08"]
        assert "00:08" in stage.text().splitlines()[0]
        assert "level 0" in stage.text() and "level 1" not in stage.text()
        await stage.pass_s(pilot, 60.0)
        assert stage.bar().split()[:3] == ["‖", "4x", "00:20"]
        assert "100%" in stage.bar() and "session ended by the user" in stage.text()


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_every_pane_shows_only_events_until_the_moment(path: Path, size: tuple[int, int]) -> None:
    stage = Stage(path)
    async with stage.run(size) as pilot:
        await pilot.press("space", "g", *"9s", "enter")
        then = stage.screen.timeline
        assert (len(then), len(then.levels), then.levels[0].closed, then.ended) == (8, 1, None, None)
        for pane in stage.screen.query(Pane):
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
async def test_each_key_goes_to_its_moment(path: Path, keys: list[str], position_s: float) -> None:
    stage = Stage(path)
    async with stage.run() as pilot:
        await pilot.press("space", *keys)
        assert stage.playback.position_s == pytest.approx(position_s, abs=0.01)


async def test_previous_skips_the_mark_that_a_playing_replay_has_just_reached(path: Path) -> None:
    stage = Stage(path)
    async with stage.run() as pilot:
        await pilot.press("greater_than_sign", "down", "down")
        assert stage.playback.position_s == pytest.approx(1.0, abs=0.01)


async def test_marks_of_an_eventful_session_are_found_and_the_answer_says_which(tmp_path: Path) -> None:
    stage = Stage(saved(tmp_path / "session.jsonl", eventful()))
    async with stage.run(WIDE) as pilot:
        await pilot.press("space", "m")
        assert "mark 1 of 2" in stage.text() and "cause:1" in stage.screen.timeline.marks
        await pilot.press("m", "m")
        assert "no mark after this moment" in stage.text()
        await pilot.press("M")
        assert "mark 1 of 2" in stage.text()
        await pilot.press("less_than_sign")
        assert stage.bar().count("◆") == 2 and stage.bar().count("▲") == 1


async def test_speeds_step_through_and_say_where_they_end(path: Path) -> None:
    stage = Stage(path)
    async with stage.run() as pilot:
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert "speed 0.5x, the slowest" in stage.text() and "0.5x" in stage.bar()
        await pilot.press(*["right_square_bracket"] * 9)
        assert "64x" in stage.bar()


@pytest.mark.parametrize("key", ["plus", "minus", "x", "r", "t"])
async def test_keys_that_steer_load_are_not_there(path: Path, key: str) -> None:
    stage = Stage(path)
    async with stage.run() as pilot:
        await pilot.press("space", "right")
        before = stage.text()
        await pilot.press(key)
        assert stage.text() == before


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_the_key_line_and_help_are_those_of_a_replay(path: Path, size: tuple[int, int]) -> None:
    stage = Stage(path)
    async with stage.run(size) as pilot:
        last = stage.text().splitlines()[-1]
        assert "space pause" in last
        assert "i inspect" in last
        assert "q quit" in last
        assert "x zero" not in last
        await pilot.press("question_mark")
        assert isinstance(stage.app.screen, Help)
        assert (
            "play or pause" in stage.text()
            and "zero users" not in stage.text()
            and "spawn" not in stage.text().split("Level ")[0]
        )


async def test_every_key_is_in_the_palette(path: Path) -> None:
    stage = Stage(path)
    async with stage.run():
        titles = {command.title for command in stage.app.get_system_commands(stage.app.screen)}
        assert "go to the next mark" in titles and "go to zero users at once" not in titles


async def test_view_keys_are_as_live(path: Path) -> None:
    stage = Stage(path)
    async with stage.run(WIDE) as pilot:
        await pilot.press("greater_than_sign", "w")
        assert "time window: 15 min" in stage.text()
        await pilot.press("l")
        assert "logarithmic" in stage.text()
        await pilot.press("z")
        assert len([pane for pane in stage.screen.query(Pane) if pane.display]) == 1
        await pilot.press("o")
        assert "user code says" in stage.text()


async def test_q_leaves_at_once(path: Path) -> None:
    stage = Stage(path)
    async with stage.run() as pilot:
        await pilot.press("q")
        await pilot.pause()
        assert stage.app.return_value == Ending("user")


async def test_it_begins_at_the_requested_time(path: Path) -> None:
    stage = Stage(path, start="50%")
    async with stage.run():
        assert stage.playback.position_s == pytest.approx(10.0)


async def test_nothing_is_cut_off_at_80_columns(path: Path) -> None:
    stage = Stage(path)
    async with stage.run() as pilot:
        await pilot.press("greater_than_sign")
        lines = stage.text().splitlines()
        assert len(lines) == 24 and all(len(line) <= 80 for line in lines)
        assert "00:20" in stage.bar() and "100%" in stage.bar()


async def test_the_bar_can_be_clicked_and_dragged(path: Path) -> None:
    stage = Stage(path)
    async with stage.run(WIDE) as pilot:
        await pilot.press("space")
        await pilot.click("#transport", offset=(60, 0))
        middle_s = stage.playback.position_s
        assert 8.0 < middle_s < 12.0
        await pilot.mouse_down("#transport", offset=(60, 0))
        await pilot.hover("#transport", offset=(100, 0))
        assert stage.playback.position_s > middle_s + 4
        await pilot.mouse_up("#transport", offset=(100, 0))
        reached_s = stage.playback.position_s
        await pilot.hover("#transport", offset=(30, 0))
        assert stage.playback.position_s == reached_s


async def test_a_truncated_log_is_reported_and_plays_to_its_end(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    stage = Stage(path)
    async with stage.run(WIDE):
        assert "cut off, dropped" in stage.text() and "incomplete" in stage.bar()


async def test_a_log_that_is_replaced_under_it_ends_it_with_one_line(path: Path) -> None:
    stage = Stage(path)
    async with stage.run() as pilot:
        path.write_bytes(b"{}" * path.stat().st_size)
        await pilot.press("right")
        await pilot.pause()
        assert stage.app._failure is not None and "changed while it was open" in str(stage.app._failure)


async def test_a_log_that_is_replaced_ends_it_also_where_a_pane_reads_lines_again(path: Path) -> None:
    stage = Stage(path)
    async with stage.run() as pilot:
        await pilot.press("space", "greater_than_sign")
        path.write_bytes(b"{}" * path.stat().st_size)
        await pilot.press("8")
        await pilot.pause()
        assert stage.app._failure is not None and "changed while it was open" in str(stage.app._failure)


# -- following


def grow(path: Path, events: Sequence[Event]) -> None:
    with path.open("ab") as file:
        file.writelines(log_lines(events, first=path.read_bytes().count(b"\n") + 1))


async def test_following_stays_at_the_end_until_a_seek_and_reports_the_sessions_end(tmp_path: Path) -> None:
    events, path = as_shown(small()), tmp_path / "growing.jsonl"
    grow(path, events[:9])
    stage = Stage(path, follow=True)
    async with stage.run(WIDE) as pilot:
        assert len(stage.screen.timeline) == 4 and "following" in stage.bar()
        grow(path, events[9:12])
        await stage.pass_s(pilot, 1.0)
        assert len(stage.screen.timeline) == 7
        await pilot.press("left")
        grow(path, events[12:14])
        await stage.pass_s(pilot, 1.0)
        assert len(stage.screen.timeline) == 0 and "recording continues" in stage.bar()
        await stage.pass_s(pilot, 6.0)
        assert "no new events for 6 s" in stage.bar()
        await pilot.press("greater_than_sign")
        grow(path, events[14:])
        await stage.pass_s(pilot, 1.0)
        assert stage.screen.timeline.ended is not None
        assert "recording ended" in stage.bar() and "session ended" in stage.text()


async def test_following_a_session_that_has_only_begun(tmp_path: Path) -> None:
    path = tmp_path / "begun.jsonl"
    grow(path, as_shown(small())[:1])
    stage = Stage(path, follow=True)
    async with stage.run(WIDE) as pilot:
        assert "waiting for the first second" in stage.text()
        grow(path, [ready(), Ended(t_s=1.5, reason="nothing happened")])
        await stage.pass_s(pilot, 1.0)
        assert "session ended: nothing happened" in stage.text()


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_a_session_opens_on_all_of_it_with_its_verdict(size: tuple[int, int]) -> None:
    stage = Stage(paths.sample_sessions()["sample"], whole=True)
    async with stage.run(size) as pilot:
        await until_read(stage, pilot)
        assert not stage.playback.playing
        assert stage.playback.position_s == stage.recording.duration_s
        assert stage.screen.inspecting.time.length_s is None
        text = "\n".join(strip.text for strip in stage.app.screen._compositor.render_strips())
        assert "▸ Knee at 50 users [44–59] and 134/s" in text
        assert " NEXT  e: export a report of this session" in text
        await pilot.press("home")
        assert stage.playback.position_s == 0.0
        await pilot.press("end")
        assert stage.playback.position_s == stage.recording.duration_s


async def until_read(stage: Stage, pilot: Pilot[Ending]) -> None:
    while stage.playback.position_s < stage.recording.duration_s or stage.recording.ended is None:
        await pilot.pause(0.05)
