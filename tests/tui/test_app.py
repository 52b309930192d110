"""The app with a fake source: each key is one call of the controls, and the screen shows the result at once."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList

from capexplorer.model.controls import (
    AddNote,
    ChangeWorkers,
    Control,
    NewLevel,
    RestartTarget,
    SetAutopilot,
    SetSpawnRate,
    SetStep,
    StepTo,
    WatchPart,
    Zero,
)
from capexplorer.model.events import Command, Ended, Log, Target
from capexplorer.model.load import NO_LOAD, Rate, Users
from capexplorer.tui.app import Ending
from capexplorer.tui.keybar import rows
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.screens.arrangement import PANES
from capexplorer.tui.screens.help import Help

from .session_events import HOSTILE_TEXT, SessionMaker, died, header, session
from .stage import HUGE, NARROW, WIDE, Stage
from .waiting import until

# -- keys


KEYS: list[tuple[list[str], list[Control]]] = [
    (["+"], [StepTo(Users(2))]),
    (["="], [StepTo(Users(2))]),
    (["up"], [StepTo(Users(2))]),
    (["-"], [StepTo(Users(0))]),
    (["_"], [StepTo(Users(0))]),
    (["down"], [StepTo(Users(0))]),
    (["]"], [SetStep(2)]),
    (["."], [SetStep(2)]),
    (["]", "]", "["], [SetStep(2), SetStep(5), SetStep(2)]),
    (["]", "]", ","], [SetStep(2), SetStep(5), SetStep(2)]),
    (["m"], [NewLevel()]),
    (["W", "W", "ctrl+w"], [ChangeWorkers(add=True), ChangeWorkers(add=True), ChangeWorkers(add=False)]),
    (["h", *"db=pid", "space", "7", "enter"], [WatchPart("db=pid 7")]),
    (["x"], [Zero()]),
    (["g", "2", "enter"], [StepTo(Users(2))]),
    (["r", "5", "enter"], [SetSpawnRate(5.0)]),
    (["r", "enter"], [SetSpawnRate(None)]),
    (["n", "h", "i", "enter"], [AddNote("hi")]),
    (["t", "enter"], [RestartTarget({})]),
]


async def test_a_key_is_one_control_even_before_the_first_event() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        for keys, calls in KEYS:
            await pilot.press("[", "[")  # back to steps of 1
            stage.controls.calls = []
            stage.controls.change(load=Users(1), spawn_rate=None)
            await pilot.press(*keys)
            await until(pilot, lambda calls=calls: stage.controls.calls == calls, (keys, calls, stage.controls.calls))  # type: ignore[misc]


async def test_steps_typed_quickly_add_up_and_show_at_once() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        await pilot.press("+", "+", "+", "]", "-")
        assert stage.controls.state.load.users == 2
        assert "users 0 → 2" in stage.screen_text()
        assert "step 2" in stage.screen_text()


async def test_one_key_switches_the_step_between_users_and_an_offered_rate() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        await pilot.press("u")
        assert stage.controls.calls == []
        assert "step 1/s" in stage.screen_text()
        await pilot.press("]", "+", "+", "-", "g", "7", "enter")
        await until(pilot, lambda: stage.controls.calls[-1] == StepTo(Rate(7.0)), stage.controls.calls)
        assert stage.controls.calls == [SetStep(2), *(StepTo(Rate(rate)) for rate in (2.0, 4.0, 2.0, 7.0))]
        assert "→ 7/s" in stage.screen_text() and "step 2/s" in stage.screen_text()
        await pilot.press("a", "u", "+")
        assert stage.controls.calls[-2:] == [SetAutopilot(on=True, finds_rate=True), StepTo(Users(2))]


async def test_the_unit_of_the_step_follows_a_load_that_a_plan_changes() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        await pilot.press("u", "u")
        stage.controls.change(load=Rate(40.0))  # a plan's rate level
        await pilot.press("]")
        assert "step 2/s" in stage.screen_text()
        stage.controls.change(load=NO_LOAD)  # its end
        await pilot.press("]")
        assert "step 5/s" in stage.screen_text()
        stage.controls.change(load=Users(8))
        await pilot.press("]")
        assert "step 10 " in stage.screen_text() and "step 10/s" not in stage.screen_text()


async def test_steps_never_leave_the_known_sizes() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        await pilot.press("[")
        assert stage.controls.calls == []
        assert "the smallest" in stage.screen_text()
        await pilot.press(*["]"] * 12)
        assert stage.controls.calls[-1] == SetStep(500)
        assert len(stage.controls.calls) == 8


async def test_a_step_at_the_largest_number_of_users_is_refused_with_the_limit() -> None:
    stage = Stage(wanted=10, max_users=10)
    async with stage.run() as pilot:
        await pilot.press("+")
        assert stage.controls.calls == []
        assert "the limit is 10 users" in stage.screen_text()


async def test_a_step_beyond_the_limit_goes_to_the_limit_with_a_message() -> None:
    stage = Stage(wanted=9, max_users=10)
    async with stage.run() as pilot:
        await pilot.press("]", "+")
        assert stage.controls.state.load.users == 10
        assert "the limit is 10 users" in stage.screen_text()


async def test_a_screen_that_only_watches_has_nothing_to_steer() -> None:
    stage = Stage(session(), live=False)
    async with stage.run() as pilot:
        await pilot.press("+", "x", "n", "t", "g")
        assert stage.controls.calls == []
        assert "no load to steer" in stage.screen_text()
        await pilot.press("q")
    assert stage.app.return_value == Ending("user")


# -- panes and tabs


async def test_the_size_of_the_terminal_decides_how_many_panes_are_shown() -> None:
    stage = Stage(session())
    async with stage.run(WIDE) as pilot:
        assert stage.shown() == [name for name, _ in PANES[:6]]
        await pilot.resize_terminal(*NARROW)
        await pilot.pause()
        assert stage.shown() == [name for name, _ in PANES[:4]]
        assert "1 req/s" in stage.screen_text()
        await pilot.resize_terminal(*HUGE)
        await pilot.pause()
        assert stage.shown() == [name for name, _ in PANES[:8]]
        await pilot.resize_terminal(60, 20)
        await pilot.pause()
        assert stage.shown() == ["throughput"]


@pytest.mark.parametrize(
    ("keys", "shown", "in_focus"),
    [
        (["tab", "tab", "z"], ["curve"], "curve"),
        (["tab", "tab", "z", "z"], [name for name, _ in PANES[:6]], "curve"),
        (["5", "o"], ["log"], "log"),
        (["5", "o", "o"], [name for name, _ in PANES[:6]], "endpoints"),
    ],
)
async def test_a_key_shows_one_pane_alone_and_again_all(keys: list[str], shown: list[str], in_focus: str) -> None:
    stage = Stage(session())
    async with stage.run(WIDE) as pilot:
        await pilot.press(*keys)
        assert stage.shown() == shown
        assert stage.app.focused is not None and stage.app.focused.id == in_focus


async def test_panes_are_reached_by_number_and_by_tab() -> None:
    stage = Stage(session())
    async with stage.run() as pilot:
        for index, (name, _) in enumerate(PANES, 1):
            await pilot.press(str(index))
            assert stage.shown() == ([each for each, _ in PANES[:4]] if index <= 4 else [name])
            assert stage.app.focused is not None and stage.app.focused.id == name
        await pilot.press("tab")
        assert stage.shown()[0] == "throughput"
        await pilot.press("shift+tab")
        assert stage.shown() == ["parts"]


async def test_a_paused_display_keeps_its_panes_while_events_are_folded() -> None:
    maker = SessionMaker()
    stage = Stage([header(), *maker.open(10), *(maker.tick() for _ in range(8))], wanted=10)
    async with stage.run() as pilot:
        await pilot.press("5", "space")
        await pilot.pause()
        before = stage.screen_text().splitlines()[3:]
        assert "PAUSED" in stage.screen_text()
        stage.source.send(*(maker.tick() for _ in range(5)))
        await pilot.pause()
        assert stage.screen_text().splitlines()[3:] == before
        assert len(stage.app.feed.timeline) == 13
        await pilot.press("space")
        await pilot.pause()
        assert stage.screen_text().splitlines()[3:] != before
        assert "PAUSED" not in stage.screen_text()


async def test_window_and_log_scale_reach_the_panes() -> None:
    stage = Stage(session())
    async with stage.run() as pilot:
        await pilot.press("2", "z", "w", "l")
        options = stage.app.explorer.query_one("#latency", Pane).options
        assert (options.window_s, options.log_latency, options.large) == (900.0, True, True)
        await pilot.press("w", "w")
        assert stage.app.explorer.query_one("#latency", Pane).options.window_s == 60.0


async def test_help_lists_every_key_and_closes() -> None:
    stage = Stage()
    async with stage.run((120, 190)) as pilot:
        await pilot.press("?")
        await pilot.pause()
        assert isinstance(stage.app.screen, Help)
        inside = [line[15:104] for line in stage.screen_text().splitlines()]  # without the panes beside the dialog
        shown = " ".join(" ".join(inside).split())
        for text in ("settling", "Grey figure", *(part for row in rows("live") for part in row)):
            assert text in shown
        await pilot.press("escape", "+")
        assert stage.controls.calls == [StepTo(Users(2))]


async def test_the_palette_does_what_keys_do() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: len(stage.app.screen_stack) == 2, "the palette")
        await pilot.press(*"zero at once")
        commands = stage.app.screen.query_one(OptionList)
        await until(pilot, lambda: commands.option_count == 1 and commands.highlighted == 0, "the one command found")
        await pilot.press("enter")
        await until(pilot, lambda: stage.controls.calls, "the command")
        assert stage.controls.calls == [Zero()]


async def test_every_theme_can_be_drawn() -> None:
    stage = Stage(session())
    async with stage.run(WIDE) as pilot:
        for name in list(stage.app.available_themes):
            stage.app.theme = name
            await pilot.pause()
            assert "users 80" in stage.screen_text()


# -- problems are shown


async def test_while_the_target_is_dead_load_can_still_be_stepped() -> None:
    stage = Stage([*session(), died(70.0)], wanted=80)
    async with stage.run() as pilot:
        await pilot.press("-")
        assert stage.controls.calls == [StepTo(Users(79))]


async def test_a_log_that_cannot_be_written_is_reported() -> None:
    stage = Stage(session())
    async with stage.run() as pilot:
        stage.source.send(Log(t_s=62.0, source="capexplorer", level="critical", text="session log: no space left on device"))
        await pilot.pause()
        await pilot.pause()
        assert "session log: no space left on device" in stage.screen_text()


async def test_an_ended_session_shows_its_end_and_cannot_be_steered() -> None:
    stage = Stage([*session(), Ended(t_s=70.0, reason="stop rule: failure ratio")], wanted=80)
    async with stage.run() as pilot:
        assert "session ended: stop rule: failure ratio" in stage.screen_text()
        await pilot.press("+")
        assert stage.controls.calls == []
        await pilot.press("q")
    assert stage.app.return_value == Ending("user")


async def test_commands_and_target_states_show_without_waiting_for_a_sample() -> None:
    stage = Stage([header()])
    async with stage.run() as pilot:
        await pilot.press("6")
        stage.source.send(Target(t_s=0.2, state="starting"), Command(t_s=0.3, name="users", args={"users": 7}))
        await pilot.pause()
        await pilot.pause()
        assert "starting" in stage.screen_text()
        assert "users → 7" in stage.screen_text()


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_hostile_text_is_shown_as_text(size: tuple[int, int]) -> None:
    stage = Stage([*session(), died(70.0)])
    async with stage.run(size) as pilot:
        for key in "1234567d8":
            await pilot.press(key, "z")
            await pilot.pause()
            text = stage.screen_text()
            for character in ("\x1b", "\x9b", "\x07", "\u202e"):
                assert character in HOSTILE_TEXT and character not in text, key
            assert all(len(line.encode("utf-8")) > 0 for line in text.splitlines())
            await pilot.press("z")


@pytest.mark.parametrize("size", [(60, 15), (200, 60)])
async def test_nothing_is_raised_for_an_empty_timeline(size: tuple[int, int]) -> None:
    stage = Stage()
    async with stage.run(size) as pilot:
        await pilot.press(*"12345678", "f", "d", "z", "w", "l", "space", "space", "o", "?")
        await pilot.pause()
