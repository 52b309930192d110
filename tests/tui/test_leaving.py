"""Keys that leave: a pane that fills the screen, the screen, and a run that goes on; and keys that have no effect."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from capexplorer.model.controls import EndRun
from capexplorer.tui.actions.steering import AttachedRunActions, LiveRunActions
from capexplorer.tui.actions.watching import ViewOnlyActions
from capexplorer.tui.app import Ending, ExplorerApp
from capexplorer.tui.feed import LiveFeed
from capexplorer.tui.screens.arrangement import SMALL

from .fake_controls import FakeControls
from .fake_source import FakeSource
from .session_events import session
from .stage import HUGE, NARROW, WIDE, Stage
from .waiting import until

GRID = ["throughput", "latency", "curve", "resources"]
"""The panes of a grid of four."""


def message(stage: Stage) -> str:
    return stage.app.explorer.status_lines.message


@pytest.mark.parametrize(
    ("opens", "pane"),
    [("f", "failures"), ("d", "failures"), ("o", "log"), ("5", "endpoints"), ("6", "journal"), ("9", "parts"), ("z", "latency")],
)
async def test_escape_leaves_a_pane_that_fills_the_screen_to_the_pane_before(opens: str, pane: str) -> None:
    stage = Stage(session(), wanted=10)
    async with stage.run(NARROW) as pilot:
        await pilot.press("2", opens)
        await until(pilot, lambda: stage.shown() == [pane], pane)
        await pilot.press("escape")
        await until(pilot, lambda: stage.shown() == GRID, "all panes")
        assert stage.app.explorer.focused is stage.app.explorer.arrangement.panes[1]
    assert stage.controls.calls == []


async def test_one_pane_after_another_is_left_with_one_key() -> None:
    stage = Stage(session())
    async with stage.run(NARROW) as pilot:
        await pilot.press("2", "5", "f", "o", "escape")
        await until(pilot, lambda: stage.shown() == GRID, "all panes")
        assert stage.app.explorer.focused is stage.app.explorer.arrangement.panes[1]


async def test_a_maximised_grid_is_left_after_the_failures() -> None:
    stage = Stage(session())
    async with stage.run(WIDE) as pilot:
        await pilot.press("z", "f", "escape")
        await until(pilot, lambda: stage.shown() == ["throughput"], "the maximised pane")
        await pilot.press("escape")
        await until(pilot, lambda: len(stage.shown()) == 6, "all panes")


@pytest.mark.parametrize("size", [NARROW, WIDE, HUGE, (SMALL[0] - 1, SMALL[1])])
async def test_with_all_panes_shown_escape_says_how_to_quit(size: tuple[int, int]) -> None:
    stage = Stage(session())
    async with stage.run(size) as pilot:
        await pilot.press("escape")
        assert message(stage) == "nothing to leave; q quits, ? shows the keys"
    assert stage.app.return_value is None


async def test_the_cursor_is_left_before_the_pane() -> None:
    stage = Stage(session())
    async with stage.run(NARROW) as pilot:
        await pilot.press("6", "i", "escape")
        assert not stage.app.explorer.inspecting.is_on
        assert stage.shown() == ["journal"]
        await pilot.press("escape")
        await until(pilot, lambda: stage.shown() == GRID, "all panes")


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_a_live_run_is_quit_from_a_pane_that_fills_the_screen_and_asks_under_load(key: str) -> None:
    for wanted, asks in ((0, False), (10, True)):
        stage = Stage(session(), wanted=wanted)
        async with stage.run(NARROW) as pilot:
            await pilot.press("o", key)
            await pilot.pause()
        assert (stage.app.return_value is None) == asks


# -- leaving a run that goes on


async def pressed_on(actions: LiveRunActions | ViewOnlyActions, *keys: str) -> ExplorerApp:
    """The screen of a run under load, after these keys."""
    app = ExplorerApp(LiveFeed(FakeSource(session())), actions)
    async with app.run_test(size=NARROW) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
    return app


async def test_a_run_that_goes_on_is_left_without_a_question_and_is_not_quit() -> None:
    controls = FakeControls(wanted=10, unattended_s=300.0)
    assert (await pressed_on(LiveRunActions(controls), "D")).return_value == Ending("detach")
    assert controls.calls == []


async def test_a_run_that_ends_with_its_screen_cannot_be_left() -> None:
    app = await pressed_on(LiveRunActions(FakeControls(wanted=10)), "D")
    assert app.return_value is None
    assert app.explorer.status_lines.message == "[guards] unattended_s is 0: the run ends with its screen"


async def test_an_attached_screen_is_left_with_or_without_the_controls() -> None:
    attached = AttachedRunActions(FakeControls(wanted=10))
    for actions in (attached, ViewOnlyActions()):
        assert (await pressed_on(actions, "D")).return_value == Ending("detach")
    assert not attached.ends_run


async def test_an_attached_screen_closes_when_it_has_ended_the_run() -> None:
    controls = FakeControls(wanted=10)
    actions = AttachedRunActions(controls)
    assert (await pressed_on(actions, "Q", "enter")).return_value == Ending("user")
    assert actions.ends_run
    assert controls.calls == [EndRun()]


async def test_a_screen_that_only_watches_says_that_it_cannot_end_the_run() -> None:
    app = await pressed_on(ViewOnlyActions(), "Q")
    assert app.return_value is None
    assert app.explorer.status_lines.message == "this screen only watches: it cannot end the run"


# -- keys as in other programs


@pytest.mark.parametrize("key", ["j", "k", "G", "slash", "s", "exclamation_mark"])
async def test_a_key_without_effect_is_answered_with_the_key_of_the_help(key: str) -> None:
    stage = Stage(session())
    async with stage.run(NARROW) as pilot:
        await pilot.press(key)
        assert message(stage).endswith(" has no effect here; ? shows the keys")
    assert stage.controls.calls == []


async def test_a_colon_opens_the_search_of_commands() -> None:
    stage = Stage(session())
    async with stage.run(NARROW) as pilot:
        await pilot.press("colon")
        await until(pilot, lambda: len(stage.app.screen_stack) == 2, "the commands")


async def scrolled_after(pilot: Pilot[Ending], stage: Stage, *keys: str) -> int:
    """Lines that the journal has scrolled from its end."""
    await pilot.press(*keys)
    await pilot.pause()
    journal = stage.app.explorer.arrangement.panes[5]
    return int(getattr(journal, "scrolled"))  # noqa: B009 - a pane of another kind has none


async def test_j_k_and_capital_g_move_in_a_list_as_in_less() -> None:
    stage = Stage(session([(users, 3) for users in range(1, 40)]))
    async with stage.run(NARROW) as pilot:
        await pilot.press("6")
        assert await scrolled_after(pilot, stage, "k", "k", "k") == 3
        assert await scrolled_after(pilot, stage, "j") == 2
        assert await scrolled_after(pilot, stage, "G") == 0
        assert message(stage) == ""
    assert stage.controls.calls == []
