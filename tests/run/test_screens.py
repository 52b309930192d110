"""The controls of a run with several screens: at most one has them, screens hand them over; the end of a run that none has."""

from __future__ import annotations

import random

import pytest
from tui.fake_controls import FakeControls

from capexplorer.model.controls import AddNote, AskControls, EndRun, GiveControls, Param, State, StepTo
from capexplorer.model.events import Command
from capexplorer.model.load import Users
from capexplorer.run.run_outcome import Failure
from capexplorer.run.screens import ANSWER_S, ELSEWHERE, RunScreen, Screens, Unattended

from .bare_context import VirtualPump, bare_context


class ScreensWithClock:
    """The screens of a run with a clock that the test sets, and the recorded changes of the controls."""

    own: RunScreen

    def __init__(self) -> None:
        self.pump, self.controls = VirtualPump(), FakeControls()
        self._context = bare_context(self.pump)
        self.screens = Screens(self.controls, self._context)

    @property
    def recorded(self) -> list[dict[str, Param | None]]:
        """The arguments of each command so far."""
        return [event.args for event in self._context.timeline.journal if isinstance(event, Command)]

    @property
    def state(self) -> State:
        """The state as one sees it who is no screen of the run."""
        return self.screens.state_of(RunScreen(self.screens, "", may_steer=False))

    def join(self, name: str, *, may_steer: bool = True) -> RunScreen:
        """Attach another screen."""
        return self.screens.join(name, may_steer=may_steer)


@pytest.fixture
def run() -> ScreensWithClock:
    """A run with a screen of its own."""
    run = ScreensWithClock()
    run.own = run.screens.begin("pts/0")
    return run


def test_the_runs_own_screen_has_the_controls_and_one_that_attaches_does_not_get_them(run: ScreensWithClock) -> None:
    run.join("pts/1")
    assert (run.screens.holder, run.state.screens, run.recorded) == ("pts/0", 2, [])


def test_the_first_screen_that_may_steer_gets_the_controls_of_a_run_without_a_screen() -> None:
    run = ScreensWithClock()
    run.join("pts/1", may_steer=False)
    assert run.screens.holder is None
    run.join("pts/2")
    assert run.screens.holder == "pts/2"
    assert run.recorded == [{"holder": "pts/2"}]


def test_a_screen_hands_its_controls_to_the_screen_that_asks(run: ScreensWithClock) -> None:
    other = run.join("pts/1")
    other.do(AskControls())
    assert (run.screens.holder, run.state.asked_by) == ("pts/0", "pts/1")
    run.own.do(GiveControls())
    assert (run.screens.holder, run.state.asked_by) == ("pts/1", None)
    assert run.recorded == [{"asked_by": "pts/1"}, {"holder": "pts/1"}]


def test_a_screen_that_steers_after_it_was_asked_keeps_the_controls(run: ScreensWithClock) -> None:
    other = run.join("pts/1")
    other.do(AskControls())
    assert run.own.do(StepTo(Users(4))) is None
    run.pump.seconds += ANSWER_S
    run.screens.hand_over_when_due()
    assert (run.screens.holder, run.state.asked_by) == ("pts/0", None)
    assert run.recorded == [{"asked_by": "pts/1"}, {"holder": "pts/0", "kept": True}]


def test_a_screen_that_does_not_answer_in_time_loses_the_controls(run: ScreensWithClock) -> None:
    other = run.join("pts/1")
    other.do(AskControls())
    run.pump.seconds += ANSWER_S - 0.1
    run.screens.hand_over_when_due()
    assert run.screens.holder == "pts/0"
    run.pump.seconds += 0.1
    run.screens.hand_over_when_due()
    assert run.screens.holder == "pts/1"


def test_a_screen_without_the_controls_cannot_steer_or_hand_them_over(run: ScreensWithClock) -> None:
    other, third = run.join("pts/1"), run.join("pts/2")
    third.do(AskControls())
    other.do(GiveControls())
    assert other.do(StepTo(Users(4))) == ELSEWHERE
    assert run.controls.calls == []
    assert (run.screens.holder, run.state.asked_by) == ("pts/0", "pts/2")


def test_each_screen_that_may_steer_may_make_a_note_and_end_the_run(run: ScreensWithClock) -> None:
    note, watching = AddNote("slower now"), run.join("pts/1", may_steer=False)
    for control in (note, EndRun()):
        assert run.join("pts/2").do(control) is None
        assert watching.do(control) is not None
    assert run.controls.calls == [note, EndRun()]


def test_one_screen_at_a_time_may_ask_and_none_that_only_watches(run: ScreensWithClock) -> None:
    run.join("pts/3", may_steer=False).do(AskControls())
    assert run.state.asked_by is None
    first, second = run.join("pts/1"), run.join("pts/2")
    first.do(AskControls())
    second.do(AskControls())
    assert run.state.asked_by == "pts/1"


def test_controls_of_a_screen_that_leaves_go_to_the_one_that_asks_or_else_to_the_first(run: ScreensWithClock) -> None:
    first, second = run.join("pts/1"), run.join("pts/2")
    second.do(AskControls())
    run.own.leave()
    assert run.screens.holder == "pts/2"
    second.leave()
    assert run.screens.holder == "pts/1"
    first.leave()
    assert run.screens.holder is None
    assert run.recorded[-1] == {"holder": None}


def test_a_screen_that_asks_and_leaves_no_longer_asks(run: ScreensWithClock) -> None:
    other = run.join("pts/1")
    other.do(AskControls())
    other.leave()
    run.pump.seconds += 10 * ANSWER_S
    run.screens.hand_over_when_due()
    assert (run.screens.holder, run.state.asked_by, run.state.screens) == ("pts/0", None, 1)


@pytest.mark.parametrize("seed", range(50))
def test_in_random_orders_one_screen_that_may_steer_has_the_controls_if_there_is_one(seed: int) -> None:
    rng, run = random.Random(seed), ScreensWithClock()
    attached: list[RunScreen] = []
    for index in range(200):
        action = rng.choice(("join", "leave", AskControls(), GiveControls(), StepTo(Users(4)), "time"))
        screen = rng.choice(attached) if attached else None
        if action == "join":
            attached.append(run.join(f"pts/{index}", may_steer=rng.random() < 0.7))
        elif action == "time":
            run.pump.seconds += rng.uniform(0.0, ANSWER_S)
            run.screens.hand_over_when_due()
        elif screen is not None and action == "leave":
            attached.remove(screen)
            screen.leave()
        elif screen is not None and not isinstance(action, str):
            held, done = screen.state.holds, len(run.controls.calls)
            screen.do(action)
            assert len(run.controls.calls) - done == (held and action == StepTo(Users(4)))
        holders = [each for each in attached if each.state.holds]
        assert len(holders) == (1 if any(each.may_steer for each in attached) else 0)
        assert all(each.may_steer for each in holders)
        assert run.screens.holder == (holders[0].name if holders else None)
        if run.state.asked_by is not None:
            (asking,) = (each for each in attached if each.name == run.state.asked_by)
            assert asking.may_steer
            assert asking not in holders


FAILURES = {"failing": Failure("target: died", 4), "failing again": Failure("log: no space", 4)}


class RunLeftAlone:
    """A run with at most one screen; it is looked at when `reason` is read."""

    def __init__(self, *, driven: bool = False) -> None:
        self.pump, self.driven = VirtualPump(), driven
        self.context = bare_context(self.pump)
        self.outcome, self.screens = self.context.outcome, Screens(FakeControls(unattended_s=300.0), self.context)
        self.screen: RunScreen | None = None
        self._unattended: Unattended | None = None

    @property
    def reason(self) -> str | None:
        self._unattended = self._unattended or Unattended(self.context, self.screens, lambda: self.driven)
        return self._unattended.reason


Look = tuple[float, str, bool]
"""Session time; what is so then: `attended`, `driven`, a failure; whether the run ends."""


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([(1_000.0, "", False), (1_299.9, "", False), (1_300.0, "", True)], id="manual load ends at the limit"),
        pytest.param(
            [(0.0, "", False), (299.0, "attended", False), (5_001.0, "", False), (5_300.0, "", False), (5_301.0, "", True)],
            id="a screen that attaches restarts the limit",
        ),
        pytest.param([(0.0, "driven", False), (86_400.0, "driven", False), (86_401.0, "", True)], id="a plan runs to its end"),
        pytest.param(
            [
                (0.0, "attended,driven", False),
                (10.0, "attended", False),
                (11.0, "", False),
                (310.0, "", False),
                (311.0, "", True),
            ],
            id="the plan ended before the screen left",
        ),
        pytest.param(
            [(0.0, "driven,failing", False), (1.0, "driven,failing", False), (2.0, "driven,failing again", True)],
            id="a new failure ends a plan, one known before does not",
        ),
        pytest.param(
            [(0.0, "", False), (1.0, "failing", False), (300.0, "failing", True)], id="a failure does not end manual load"
        ),
    ],
)
def test_a_run_without_a_screen_ends(looks: list[Look]) -> None:
    run, found = RunLeftAlone(), list[bool]()
    for now_s, state, _ in looks:
        now = state.split(",")
        run.pump.seconds, run.driven = now_s, "driven" in now
        run.outcome.recover("target")
        if error := next((each for each in now if each in FAILURES), None):
            run.outcome._failures["target"] = FAILURES[error]
        if "attended" in now:
            run.screen = run.screen or run.screens.join("pts/1", may_steer=True)
        elif run.screen is not None:
            run.screen.leave()
            run.screen = None
        found.append(run.reason is not None)
    assert found == [ends for _, _, ends in looks]


def test_a_failure_before_the_first_check_ends_the_run() -> None:
    """A headless run whose sessions folder could not be made once continued for ever."""
    run = RunLeftAlone(driven=True)
    unattended = Unattended(run.context, run.screens, lambda: True)
    run.outcome.fail("log", "the sessions folder cannot be made", 4)
    assert unattended.reason == "the sessions folder cannot be made"
