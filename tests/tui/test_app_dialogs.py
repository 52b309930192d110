"""Dialogs of the app: large steps, plans, notes, parameters of the target, quitting."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from textual.widgets import Input, Static

from capexplorer.model.controls import AddNote, EndRun, RestartTarget, StartPlan, StepTo
from capexplorer.model.load import Users
from capexplorer.tui.actions.steering import LiveRunActions
from capexplorer.tui.app import Ending, ExplorerApp
from capexplorer.tui.dialogs import Ask, Confirm, Quit, TargetForm
from capexplorer.tui.feed import LiveFeed

from .fake_controls import FakeControls
from .fake_source import FakeSource
from .session_events import header, session
from .stage import WIDE, Stage
from .waiting import until

# -- questions


async def test_more_than_50_users_and_twice_the_highest_so_far_need_a_confirmation() -> None:
    stage = Stage(wanted=1)
    async with stage.run() as pilot:
        for wanted, typed, asks in [(1, "50", False), (1, "51", True), (26, "52", False), (26, "53", True)]:
            stage.controls.calls = []
            stage.controls.change(load=Users(wanted))
            await pilot.press("g", *typed, "enter")
            if asks:
                await until(pilot, lambda: isinstance(stage.app.screen, Confirm), typed)
                assert stage.controls.calls == []
                await pilot.press("escape")
                await until(pilot, lambda: len(stage.app.screen_stack) == 1, "the question closed")
            else:
                await until(pilot, lambda: stage.controls.calls, typed)
                assert stage.controls.calls == [StepTo(Users(int(typed)))]
                assert len(stage.app.screen_stack) == 1


async def test_more_than_twice_the_highest_needs_a_confirmation() -> None:
    stage = Stage(session(), wanted=80)
    async with stage.run() as pilot:
        await pilot.press("g", "1", "6", "1", "enter")
        await pilot.pause()
        assert isinstance(stage.app.screen, Confirm)
        await pilot.press("escape")
        assert stage.controls.calls == []
        await pilot.press("g", "1", "6", "1", "enter", "y")
        assert stage.controls.calls == [StepTo(Users(161))]


async def test_twice_the_highest_needs_no_confirmation() -> None:
    stage = Stage(session(), wanted=80)
    async with stage.run() as pilot:
        await pilot.press("g", "1", "6", "0", "enter")
        assert stage.controls.calls == [StepTo(Users(160))]


BAD_INPUT = [
    ("g", "abc", "expected a whole number, 0 to 2,000"),
    ("g", "", "expected a whole number, 0 to 2,000"),
    ("g", "2001", "the limit is 2,000 users"),
    ("r", "-1", "expected users a second"),
    ("r", "nan", "expected users a second"),
    ("n", "", "the note is empty"),
]


async def test_bad_input_keeps_the_dialog_open_with_the_expected_form() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        for key, typed, expected in BAD_INPUT:
            await pilot.press(key)
            await until(pilot, lambda: isinstance(stage.app.screen, Ask) and stage.app.screen.query(Input), key)
            stage.app.screen.query_one(Input).value = typed
            await pilot.press("enter")
            await until(pilot, lambda expected=expected: expected in stage.screen_text(), expected)  # type: ignore[misc]
            assert isinstance(stage.app.screen, Ask)
            await pilot.press("escape")
            await until(pilot, lambda: len(stage.app.screen_stack) == 1, "the question closed")
        assert stage.controls.calls == []


async def test_a_note_is_kept_as_written() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        await pilot.press("n")
        await pilot.pause()
        stage.app.screen.query_one(Input).value = "[bold]x[/] 🎉 \u00e9"
        await pilot.press("enter")
        assert stage.controls.calls == [AddNote("[bold]x[/] 🎉 \u00e9")]


async def test_a_plan_is_started_by_name_or_as_text_and_a_wrong_one_is_reported() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        for typed in ("report", "10:30s, 20:30s", "steep"):
            await pilot.press("p")
            await pilot.pause()
            stage.app.screen.query_one(Input).value = typed
            await pilot.press("enter")
            await pilot.pause()
        assert stage.controls.calls == [StartPlan("report"), StartPlan("10:30s, 20:30s")]
        assert "expected USERS:DURATION" in str(stage.app.screen.query_one(".hint", Static).render())


async def test_the_target_restarts_with_the_changed_parameters() -> None:
    stage = Stage([header()])
    async with stage.run() as pilot:
        await pilot.press("t")
        await pilot.pause()
        assert "Restart mixed" in stage.screen_text()
        fields = {field.name: field for field in stage.app.screen.query(Input)}
        fields["threads"].value = "many"
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(stage.app.screen, TargetForm)
        assert "expected a whole number, got many" in stage.screen_text()
        fields["threads"].value, fields["server"].value = "16", ""
        await pilot.press("enter")
        assert stage.controls.calls == [RestartTarget({"threads": "16"})]


async def test_a_service_that_was_not_started_here_is_not_restarted() -> None:
    stage = Stage()
    stage.controls.setup = replace(stage.controls.setup, can_restart=False)
    async with stage.run() as pilot:
        await pilot.press("t")
        assert not isinstance(stage.app.screen, TargetForm)
        assert "not started by capexplorer" in stage.screen_text()


# -- leaving


@pytest.mark.parametrize(("quit_key", "yes"), [("q", "enter"), ("q", "y"), ("q", "q"), ("ctrl+c", "ctrl+c"), ("ctrl+q", "y")])
async def test_quitting_asks_once_while_load_runs(quit_key: str, yes: str) -> None:
    stage = Stage()
    async with stage.run() as pilot:
        await pilot.press(quit_key)
        await pilot.pause()
        assert isinstance(stage.app.screen, Quit)
        await pilot.press(yes)
    assert stage.app.return_value == Ending("user")
    assert stage.controls.calls == [EndRun()]


@pytest.mark.parametrize("no", ["escape", "n"])
async def test_quitting_can_be_cancelled(no: str) -> None:
    stage = Stage()
    async with stage.run() as pilot:
        await pilot.press("q", no, "+")
        assert stage.controls.calls == [StepTo(Users(2))]


async def test_quitting_does_not_ask_without_load() -> None:
    stage = Stage(wanted=0)
    async with stage.run() as pilot:
        await pilot.press("q")
    assert stage.app.return_value == Ending("user")


async def test_ctrl_c_quits_from_a_question_too() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        await pilot.press("n", "ctrl+c")
        await pilot.pause()
        assert isinstance(stage.app.screen, Quit)
        assert len(stage.app.screen_stack) == 2  # in place of the dialog of the note
        await pilot.press("escape", "+")
        assert stage.controls.calls == [StepTo(Users(2))]


DIALOGS = ["g", "p", "r", "n", "t", "e", "q", "question_mark", "ctrl+p"]


async def test_no_dialog_opens_over_another() -> None:
    stage = Stage([header()])
    async with stage.run() as pilot:
        for first in DIALOGS:
            await pilot.press(first)
            await until(pilot, lambda: len(stage.app.screen_stack) == 2, first)
            for second in (*DIALOGS[:6], "question_mark", "ctrl+p", "ctrl+c"):
                await pilot.press(second)
                assert len(stage.app.screen_stack) <= 2
            await pilot.pause()
            assert len(stage.app.screen_stack) == 2
            await pilot.press("escape")
            await until(pilot, lambda: len(stage.app.screen_stack) == 1, "the dialog closed")


async def test_a_signal_ends_the_app_and_is_reported() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        stage.app.request_exit("SIGTERM")
        await pilot.pause()
    assert stage.app.return_value == Ending("signal", "SIGTERM")


async def test_a_signal_before_the_first_paint_ends_the_app() -> None:
    stage = Stage()
    stage.app.request_exit("SIGINT")
    async with stage.run():
        pass
    assert stage.app.return_value == Ending("signal", "SIGINT")


async def test_without_wanted_load_q_quits_without_a_question_while_the_last_users_end() -> None:
    """The last sample still has users for a second after they were stopped; the wanted number decides whether to ask."""
    controls = FakeControls(wanted=0)
    app = ExplorerApp(LiveFeed(FakeSource(session([(20, 10)]))), LiveRunActions(controls))  # its last sample has 20 users
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause()
        await pilot.press("q")
    assert EndRun() in controls.calls
