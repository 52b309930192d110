"""Keys that arrive in one burst, as over SSH, have the same effect as keys that are typed slowly."""

from __future__ import annotations

import asyncio

import pytest
from textual import events

from capexplorer.model.controls import AddNote, RestartTarget, StepTo
from capexplorer.model.load import Users
from capexplorer.model.timeline import Timeline
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.dialogs import TargetForm
from capexplorer.tui.display_options import DisplayOptions

from .fake_controls import FakeControls
from .session_events import session
from .stage import Stage
from .waiting import until


def under(wanted: int = 1) -> tuple[ExplorerApp, FakeControls]:
    """The screen of a session, and its controls."""
    stage = Stage(session(), wanted=wanted)
    return stage.app, stage.controls


def burst(app: ExplorerApp, *keys: str) -> None:
    """Post all keys at once, before the app handles the first."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_number_typed_in_one_burst_with_g_is_the_prompts_answer(size: tuple[int, int]) -> None:
    app, controls = under()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        burst(app, "g", "4", "0", "enter")
        await until(pilot, lambda: StepTo(Users(40)) in controls.calls)


async def test_tab_in_a_burst_moves_to_the_next_field_before_the_next_characters() -> None:
    app, controls = under()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        burst(app, "t", "tab", "backspace", "7", "enter")
        await until(pilot, lambda: any(isinstance(call, RestartTarget) for call in controls.calls))
        restarts = [call for call in controls.calls if isinstance(call, RestartTarget)]
        assert len(restarts) == 1
        assert "7" in str(restarts[0])


async def test_keys_after_the_one_that_closes_a_prompt_are_not_lost() -> None:
    app, controls = under()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for wanted in range(2, 10):
            burst(app, "n", "h", "i", "enter", "plus")
            while controls.state.load.users != wanted:
                await pilot.pause(0.02)
        assert [call for call in controls.calls if isinstance(call, AddNote)] == [AddNote("hi")] * 8


async def test_a_second_prompt_may_be_typed_right_after_the_first() -> None:
    app, controls = under(10)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        burst(app, "n", "h", "i", "enter", "g", "1", "2", "enter", "plus")
        await until(pilot, lambda: StepTo(Users(13)) in controls.calls)
        assert [call for call in controls.calls if isinstance(call, AddNote | StepTo)] == [
            AddNote("hi"),
            StepTo(Users(12)),
            StepTo(Users(13)),
        ]


async def test_a_key_after_enter_waits_for_the_action_of_enter() -> None:
    """A busy application handles Enter later than the prompt does; `g` must not go to the prompt that is closing."""
    app, controls = under(10)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n", "h", "i")
        check = app._check_bindings

        async def slow_check(key: str, priority: bool = False) -> bool:
            for _ in range(0 if priority else 100):  # turns of the event loop, which other widgets use
                await asyncio.sleep(0)
            return await check(key, priority)

        app._check_bindings = slow_check  # type: ignore[method-assign]
        burst(app, "enter", "g", "1", "2", "enter")
        await until(pilot, lambda: StepTo(Users(12)) in controls.calls)
        assert AddNote("hi") in controls.calls


async def test_a_key_after_enter_waits_for_a_prompt_that_closes_slowly() -> None:
    """On a busy machine a prompt may close a second after Enter; `t` must not be written into it and be lost."""
    app, controls = under(80)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("g", "9", "0")
        stalled = asyncio.Event()
        assert app.focused is not None
        app.focused.call_later(stalled.wait)
        burst(app, "enter", "t")
        app.set_timer(0.5, stalled.set)  # the prompt closes half a second late
        await until(pilot, lambda: isinstance(app.screen, TargetForm))
        assert StepTo(Users(90)) in controls.calls


async def test_a_key_that_is_held_down_moves_each_time_and_waiting_keys_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    app, _ = under()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("i")
        cursor, pane = app.explorer.inspecting, app.explorer.arrangement.panes[0]
        last, drawn, show = cursor.tick, [], pane.show
        assert last is not None

        def shown(timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
            drawn.append(options.inspected)
            show(timeline, cursor, options)

        monkeypatch.setattr(pane, "show", shown)
        burst(app, *["left"] * 20)
        await until(pilot, lambda: drawn[-1:] == [last - 20])
        assert len(drawn) < 10
        burst(app, *["down"] * 20)
        await until(pilot, lambda: cursor.level is app.explorer.shown.levels[0] and drawn[-1:] == [cursor.tick])
