"""The screen of a replay: it shows the session at its position, and keys and clicks move that position."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.tui.app import Ending
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.screens.help import Help

from .logs import every_kind_of_event, write_log
from .replay_harness import NARROW, WIDE, ReplayHarness


async def test_a_replay_plays_from_the_beginning_at_its_speed_and_pauses_at_the_end(path: Path) -> None:
    harness = ReplayHarness(path, speed=4.0)
    async with harness.run(WIDE) as pilot:
        assert harness.bar().split()[:3] == ["▶", "4x", "00:00"]
        await harness.advance_clock(pilot, 2.0)
        assert harness.bar().split()[:3] == ["▶", "4x", "00:08"]
        assert "00:08" in harness.text().splitlines()[0]
        assert "level 0" in harness.text()
        assert "level 1" not in harness.text()
        await harness.advance_clock(pilot, 60.0)
        assert harness.bar().split()[:3] == ["‖", "4x", "00:20"]
        assert "100%" in harness.bar()
        assert "session ended by the user" in harness.text()


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
            drawn = "\n".join(strip.text for strip in pane.draw(then, len(then) - 1, pane.options, harness.app.size))
            assert "60 users" not in drawn, f"{pane.TITLE} shows the second level"
            assert "after 10" not in drawn, f"{pane.TITLE} shows the note after the first level"
        assert "users 10" in harness.text()


MOVES = [
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
]
"""Keys, and the position in seconds to which they lead from the beginning."""


async def test_keys_move_the_position(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run() as pilot:
        await pilot.press("space")
        for keys, position_s in MOVES:
            harness.playback.seek(0.0, harness.playback.position_s)
            await pilot.press(*keys)
            assert harness.playback.position_s == pytest.approx(position_s, abs=0.01), keys


async def test_two_presses_of_the_previous_level_skip_the_level_just_reached_while_playing(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run() as pilot:
        await pilot.press("greater_than_sign", "down", "down")
        assert harness.playback.position_s == pytest.approx(1.0, abs=0.01)


async def test_the_keys_for_the_next_and_previous_mark_show_its_number(tmp_path: Path) -> None:
    harness = ReplayHarness(write_log(tmp_path / "session.jsonl", every_kind_of_event()))
    async with harness.run(WIDE) as pilot:
        await pilot.press("space", "m")
        assert "mark 1 of 2" in harness.text()
        assert "cause:1" in harness.screen.timeline.marks
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
        assert "speed 0.5x, the slowest" in harness.text()
        assert "0.5x" in harness.bar()
        await pilot.press(*["right_square_bracket"] * 9)
        assert "64x" in harness.bar()


async def test_keys_that_steer_load_have_no_effect_in_a_replay_and_say_so(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run() as pilot:
        await pilot.press("space", "right")
        before = harness.bar()
        for key, sign in (("plus", "+"), ("minus", "-"), ("x", "x"), ("r", "r"), ("t", "t")):
            await pilot.press(key)
            assert f"{sign} has no effect here; ? shows the keys" in harness.text()
            assert harness.bar() == before


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


async def test_q_leaves_a_pane_that_fills_the_screen_before_it_quits(path: Path) -> None:
    harness = ReplayHarness(path)
    async with harness.run(NARROW) as pilot:
        await pilot.press("O")
        await pilot.pause()
        assert harness.text().splitlines()[-1].rstrip().endswith("q back")
        await pilot.press("q")
        await pilot.pause()
        assert len([pane for pane in harness.screen.query(Pane) if pane.display]) == 4
        assert harness.text().splitlines()[-1].rstrip().endswith("q quit")
        assert harness.app.return_value is None
        await pilot.press("q")
        await pilot.pause()
        assert harness.app.return_value == Ending("user")


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
