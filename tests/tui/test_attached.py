"""The screen of a run in another process: who has the controls, keys that may not act, quitting without ending the run."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from capexplorer.model.controls_lock import OnlyScreen
from capexplorer.tui.actions import controls_text
from capexplorer.tui.actions.steering import LiveRunActions
from capexplorer.tui.actions.steering_attached import AttachedRunActions
from capexplorer.tui.actions.view_only import ViewOnlyActions
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.display_options import Palette
from capexplorer.tui.feed import LiveFeed
from capexplorer.tui.panes.status import controls as banner
from capexplorer.tui.panes.status_view import View

from .fake_controls import FakeControls
from .fake_source import FakeSource
from .session_events import session

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class FakeLock:
    """The lock of the controls, as one of several screens sees it."""

    holds: bool = True
    holder: str | None = "pts/0"
    asked_by: str | None = None
    screens: int = 2
    connected: bool = True
    asked: int = 0
    given: int = 0

    def ask(self) -> None:
        self.asked += 1

    def give(self) -> None:
        self.given += 1


ELSEWHERE = FakeLock(holds=False, holder="pts/3")
NOBODY = FakeLock(holds=False, holder=None)
LOST = FakeLock(holds=False, holder="pts/3", connected=False)


@pytest.mark.parametrize(
    ("lock", "controls_shown"),
    [
        (OnlyScreen(), ""),
        (FakeLock(screens=1), ""),
        (FakeLock(), "this screen has the controls; 2 screens"),
        (FakeLock(asked_by="pts/4"), "pts/4 asks for the controls: c gives them, steering keeps them"),
        (ELSEWHERE, "pts/3 has the controls; c asks for them"),
        (FakeLock(holds=False, holder="pts/3", asked_by="pts/4"), "pts/3 has the controls; pts/4 asks for them"),
        (NOBODY, "no screen has the controls; c takes them"),
        (LOST, "the run cannot be reached; what is recorded is still shown"),
    ],
)
def test_the_status_says_who_has_the_controls(lock: FakeLock | OnlyScreen, controls_shown: str) -> None:
    assert controls_text.controls_line(lock) == controls_shown


@pytest.mark.parametrize(
    ("lock", "controls_shown"),
    [
        (FakeLock(holds=False, screens=2), "pts/0 has the controls; this screen only watches"),
        (FakeLock(holds=False, holder=None, screens=1), "no screen has the controls; this screen only watches"),
        (LOST, "the run cannot be reached; what is recorded is still shown"),
    ],
)
def test_the_status_names_a_screen_that_only_watches(lock: FakeLock, controls_shown: str) -> None:
    assert controls_text.watched(lock) == controls_shown


def test_the_line_of_the_controls_is_shown_only_if_it_has_a_text() -> None:
    assert banner(View(wanted=1), Palette(), 80) == []
    (line,) = banner(View(wanted=1, controls="pts/3 has the controls; c asks for them"), Palette(), 80)
    assert line.text.startswith(" CONTROLS  pts/3 has the controls; c asks for them ")
    assert line.cell_length == 80


def app(controls: FakeControls, lock: FakeLock, *, attached: bool = False) -> ExplorerApp:
    feed = LiveFeed(FakeSource(session(((10, 6),))))
    return ExplorerApp(feed, AttachedRunActions(controls, lock, 300.0) if attached else LiveRunActions(controls, lock))


def controls_shown(screen: ExplorerApp) -> str:
    return screen.explorer.status_lines.message


@pytest.mark.parametrize("key", ["plus", "minus", "x", "a", "m", "v", "p", "g", "r", "t"])
async def test_a_key_that_steers_does_nothing_without_the_controls_and_says_who_has_them(key: str) -> None:
    controls = FakeControls(wanted=10)
    screen = app(controls, FakeLock(holds=False, holder="pts/3"))
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        assert controls_shown(screen) == "pts/3 has the controls; c asks for them"
        assert len(screen.screen_stack) == 1
    assert controls.calls == []


async def test_a_note_needs_no_controls() -> None:
    controls = FakeControls()
    screen = app(controls, FakeLock(holds=False))
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("n", *"ok", "enter")
    assert controls.calls == [("note", "ok")]


@pytest.mark.parametrize("keys", [["g", *"40"], ["g", *"900", "enter"], ["h", *"db=here:pid 7"], ["p"]])
async def test_an_answer_after_the_controls_were_handed_over_has_no_effect(keys: list[str]) -> None:
    controls, lock = FakeControls(), FakeLock()
    screen = app(controls, lock)
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press(*keys)
        lock.holds, lock.holder = False, "pts/3"
        await pilot.press("enter")
        assert controls_shown(screen) == "pts/3 has the controls; c asks for them"
    assert controls.calls == []


@pytest.mark.parametrize(
    ("lock", "answer", "asked", "given"),
    [
        (FakeLock(holds=False, holder="pts/3"), "pts/3 is asked for the controls", 1, 0),
        (FakeLock(holds=False, holder=None), "this screen takes the controls", 1, 0),
        (
            FakeLock(holds=False, holder="pts/3", asked_by="pts/4"),
            "pts/4 asks for the controls already: one screen at a time",
            0,
            0,
        ),
        (FakeLock(asked_by="pts/4"), "pts/4 has the controls now", 0, 1),
        (FakeLock(), "this screen has the controls; no other one asks for them", 0, 0),
    ],
)
async def test_c_asks_for_the_controls_and_hands_them_over(lock: FakeLock, answer: str, asked: int, given: int) -> None:
    screen = app(FakeControls(), lock)
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("c")
        assert controls_shown(screen) == answer
    assert (lock.asked, lock.given) == (asked, given)


async def test_quitting_an_attached_screen_leaves_the_run_going_with_a_message() -> None:
    controls = FakeControls(wanted=10)
    screen = app(controls, FakeLock(), attached=True)
    async with screen.run_test(size=(120, 40)) as pilot:
        question = screen.actions.quit_question
        assert question is not None
        assert "The run goes on." in question
        assert "Q ends the run now" in question
        await pilot.press("q", "q")
    assert controls.calls == []


async def test_an_attached_screen_without_the_controls_quits_without_a_question() -> None:
    screen = app(FakeControls(wanted=10), FakeLock(holds=False), attached=True)
    async with screen.run_test(size=(120, 40)):
        assert screen.actions.quit_question is None


async def test_on_an_attached_screen_capital_q_ends_the_run_after_a_question() -> None:
    controls = FakeControls(wanted=10)
    screen = app(controls, FakeLock(), attached=True)
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("Q", "escape")
        assert controls.calls == []
        await pilot.press("Q", "y")
        assert controls.calls == [("quit",)]


async def test_on_the_runs_own_screen_capital_q_quits_after_the_same_question_as_q() -> None:
    controls = FakeControls(wanted=10)
    screen = app(controls, FakeLock(screens=1))
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("Q")
        await pilot.pause()
        assert len(screen.screen_stack) == 2
        await pilot.press("q")
    assert controls.calls == [("quit",)]


async def test_quitting_the_runs_own_screen_names_who_loses_the_controls() -> None:
    screen = app(FakeControls(wanted=10), FakeLock(holds=False, holder="pts/3"))
    async with screen.run_test(size=(120, 40)):
        question = screen.actions.quit_question
        assert question is not None and question.startswith("pts/3 has the controls. The load of 10 users will stop.")


async def test_the_question_before_quitting_says_1_user_and_2000_users() -> None:
    for wanted, load in ((1, "The load of 1 user will stop."), (2_000, "The load of 2,000 users will stop.")):
        screen = app(FakeControls(wanted=wanted), FakeLock(screens=1))
        async with screen.run_test(size=(120, 40)):
            assert (screen.actions.quit_question or "").startswith(load)


async def test_the_question_before_quitting_and_the_unit_of_steps_say_1_iteration_a_second() -> None:
    controls = FakeControls(wanted=0)
    screen = app(controls, FakeLock(screens=1))
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("u")
        await pilot.pause()
        shown = "\n".join(strip.text for strip in screen.screen._compositor.render_strips())
        assert "+ offers 1 iteration a second" in shown
        controls.set_rate(1.0)
        assert (screen.actions.quit_question or "").startswith("The load of 1 iteration a second will stop.")


async def test_a_key_on_a_screen_that_only_watches_is_refused_with_a_message() -> None:
    screen = ExplorerApp(LiveFeed(FakeSource(session(((10, 6),)))), ViewOnlyActions(FakeLock(holds=False, holder="pts/3")))
    async with screen.run_test(size=(120, 40)) as pilot:
        await pilot.press("plus")
        assert screen.actions.view.controls == "pts/3 has the controls; this screen only watches"
