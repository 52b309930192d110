"""The screen of a run in another process: who has the controls, keys that may not act, quitting without ending the run."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from capexplorer.model.controls import AddNote, AskControls, Control, EndRun, GiveControls, State, StepTo
from capexplorer.model.load import Rate, Users
from capexplorer.tui.actions import watching
from capexplorer.tui.actions.steering import AttachedRunActions, LiveRunActions
from capexplorer.tui.actions.watching import ViewOnlyActions
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.display_options import Palette
from capexplorer.tui.feed import LiveFeed
from capexplorer.tui.panes.status import controls as banner
from capexplorer.tui.protocols import View

from .fake_controls import FakeControls
from .fake_source import FakeSource
from .session_events import session

HERE = State(holder="pts/0", screens=2)
ELSEWHERE = State(holds=False, holder="pts/3", screens=2)
NOBODY = State(holds=False, screens=2)
LOST = State(holds=False, holder="pts/3", connected=False)


@pytest.mark.parametrize(
    ("state", "controls_shown"),
    [
        (State(), ""),
        (State(holder="pts/0"), ""),
        (HERE, "this screen has the controls; 2 screens"),
        (replace(HERE, asked_by="pts/4"), "pts/4 asks for the controls: c gives them, steering keeps them"),
        (ELSEWHERE, "pts/3 has the controls; c asks for them"),
        (replace(ELSEWHERE, asked_by="pts/4"), "pts/3 has the controls; pts/4 asks for them"),
        (NOBODY, "no screen has the controls; c takes them"),
        (LOST, "the run cannot be reached; what is recorded is still shown"),
    ],
)
def test_the_status_says_who_has_the_controls(state: State, controls_shown: str) -> None:
    assert watching.controls_line(state) == controls_shown


@pytest.mark.parametrize(
    ("state", "controls_shown"),
    [
        (replace(ELSEWHERE, holder="pts/0"), "pts/0 has the controls; this screen only watches"),
        (replace(NOBODY, screens=1), "no screen has the controls; this screen only watches"),
        (LOST, "the run cannot be reached; what is recorded is still shown"),
    ],
)
def test_the_status_names_a_screen_that_only_watches(state: State, controls_shown: str) -> None:
    assert watching.who_steers(state) == controls_shown


def test_the_line_of_the_controls_is_shown_only_if_it_has_a_text() -> None:
    assert banner(View(load=Users(1)), Palette(), 80) == []
    (line,) = banner(View(load=Users(1), controls="pts/3 has the controls; c asks for them"), Palette(), 80)
    assert line.text.startswith(" CONTROLS  pts/3 has the controls; c asks for them ")
    assert line.cell_length == 80


def controls_of(state: State = HERE, *, wanted: int = 10) -> FakeControls:
    """The controls of a run under load, as the screen with this state sees them."""
    controls = FakeControls(unattended_s=300.0)
    controls.state = replace(state, load=Users(wanted))
    return controls


def app(controls: FakeControls, *, attached: bool = False) -> ExplorerApp:
    feed = LiveFeed(FakeSource(session(((10, 6),))))
    return ExplorerApp(feed, AttachedRunActions(controls) if attached else LiveRunActions(controls))


def controls_shown(screen: ExplorerApp) -> str:
    return screen.explorer.status_lines.message


@pytest.mark.parametrize("key", ["plus", "minus", "x", "a", "m", "v", "p", "g", "r", "t"])
async def test_a_key_that_steers_does_nothing_without_the_controls_and_says_who_has_them(key: str) -> None:
    controls = controls_of(ELSEWHERE)
    screen = app(controls)
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        assert controls_shown(screen) == "pts/3 has the controls; c asks for them"
        assert len(screen.screen_stack) == 1
    assert controls.calls == []


async def test_a_note_needs_no_controls() -> None:
    controls = controls_of(ELSEWHERE)
    screen = app(controls)
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("n", *"ok", "enter")
    assert controls.calls == [AddNote("ok")]


@pytest.mark.parametrize("keys", [["g", *"40"], ["g", *"900", "enter"], ["h", *"db=here:pid 7"], ["p"]])
async def test_an_answer_after_the_controls_were_handed_over_has_no_effect(keys: list[str]) -> None:
    controls = controls_of()
    screen = app(controls)
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press(*keys)
        controls.change(holds=False, holder="pts/3")
        await pilot.press("enter")
        assert controls_shown(screen) == "pts/3 has the controls; c asks for them"
    assert controls.calls == []


@pytest.mark.parametrize(
    ("state", "answer", "done"),
    [
        (ELSEWHERE, "pts/3 is asked for the controls", [AskControls()]),
        (NOBODY, "this screen takes the controls", [AskControls()]),
        (replace(ELSEWHERE, asked_by="pts/4"), "pts/4 asks for the controls already: one screen at a time", []),
        (replace(HERE, asked_by="pts/4"), "pts/4 has the controls now", [GiveControls()]),
        (HERE, "this screen has the controls; no other one asks for them", []),
    ],
)
async def test_c_asks_for_the_controls_and_hands_them_over(state: State, answer: str, done: list[Control]) -> None:
    controls = controls_of(state)
    screen = app(controls)
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("c")
        assert controls_shown(screen) == answer
    assert controls.calls == done


async def test_quitting_an_attached_screen_leaves_the_run_going_with_a_message() -> None:
    controls = controls_of()
    screen = app(controls, attached=True)
    async with screen.run_test(size=(120, 40)) as pilot:
        question = screen.actions.quit_question
        assert question is not None
        assert "The run goes on." in question
        assert "Q ends the run now" in question
        await pilot.press("q", "q")
    assert controls.calls == []


async def test_an_attached_screen_without_the_controls_quits_without_a_question() -> None:
    screen = app(controls_of(ELSEWHERE), attached=True)
    async with screen.run_test(size=(120, 40)):
        assert screen.actions.quit_question is None


async def test_on_an_attached_screen_capital_q_ends_the_run_after_a_question() -> None:
    controls = controls_of()
    screen = app(controls, attached=True)
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("Q", "escape")
        assert controls.calls == []
        await pilot.press("Q", "y")
        assert controls.calls == [EndRun()]


async def test_on_the_runs_own_screen_capital_q_quits_after_the_same_question_as_q() -> None:
    controls = controls_of(State(holder="pts/0"))
    screen = app(controls)
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("Q")
        await pilot.pause()
        assert len(screen.screen_stack) == 2
        await pilot.press("q")
    assert controls.calls == [EndRun()]


async def test_quitting_the_runs_own_screen_names_who_loses_the_controls() -> None:
    screen = app(controls_of(ELSEWHERE))
    async with screen.run_test(size=(120, 40)):
        question = screen.actions.quit_question
        assert question is not None and question.startswith("pts/3 has the controls. The load of 10 users will stop.")


async def test_the_question_before_quitting_says_1_user_and_2000_users() -> None:
    for wanted, load in ((1, "The load of 1 user will stop."), (2_000, "The load of 2,000 users will stop.")):
        screen = app(controls_of(wanted=wanted))
        async with screen.run_test(size=(120, 40)):
            assert (screen.actions.quit_question or "").startswith(load)


async def test_the_question_before_quitting_and_the_unit_of_steps_say_1_iteration_a_second() -> None:
    controls = controls_of(State(holder="pts/0"), wanted=0)
    screen = app(controls)
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("u")
        await pilot.pause()
        shown = "\n".join(strip.text for strip in screen.screen._compositor.render_strips())
        assert "+ offers 1 iteration a second" in shown
        controls.do(StepTo(Rate(1.0)))
        assert (screen.actions.quit_question or "").startswith("The load of 1 iteration a second will stop.")


async def test_a_key_on_a_screen_that_only_watches_is_refused_with_a_message() -> None:
    screen = ExplorerApp(LiveFeed(FakeSource(session(((10, 6),)))), ViewOnlyActions(controls_of(ELSEWHERE)))
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("plus")
        assert screen.actions.view.controls == "pts/3 has the controls; this screen only watches"
