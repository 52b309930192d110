"""The controls of a run with several screens: at most one screen has them, and screens hand them over."""

from __future__ import annotations

import random

import pytest

from capexplorer.run.screens import ANSWER_S, Screen, Screens


class ScreensWithClock:
    """The screens of a run with a clock that the test sets, and the recorded changes of the controls."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.recorded: list[dict[str, object]] = []
        self.screens = Screens(lambda args: self.recorded.append(dict(args)), lambda: self.now_s)
        self.own = Screen("pts/0", may_steer=True)

    def join(self, name: str, *, may_steer: bool = True) -> Screen:
        """Attach another screen."""
        screen = Screen(name, may_steer)
        self.screens.join(screen)
        return screen


@pytest.fixture
def run() -> ScreensWithClock:
    """A run with a screen of its own."""
    run = ScreensWithClock()
    run.screens.begin(run.own)
    return run


def test_the_runs_own_screen_has_the_controls_at_first(run: ScreensWithClock) -> None:
    assert run.screens.holder == "pts/0"
    assert run.recorded == []


def test_a_screen_that_attaches_does_not_get_the_controls_of_another(run: ScreensWithClock) -> None:
    run.join("pts/1")
    assert run.screens.holder == "pts/0"
    assert run.screens.count == 2
    assert run.recorded == []


def test_the_first_screen_that_may_steer_gets_the_controls_of_a_run_without_a_screen() -> None:
    run = ScreensWithClock()
    run.join("pts/1", may_steer=False)
    assert run.screens.holder is None
    run.join("pts/2")
    assert run.screens.holder == "pts/2"
    assert run.recorded == [{"holder": "pts/2"}]


def test_a_screen_hands_its_controls_to_the_screen_that_asks(run: ScreensWithClock) -> None:
    other = run.join("pts/1")
    run.screens.ask(other)
    assert (run.screens.holder, run.screens.asked_by) == ("pts/0", "pts/1")
    run.screens.give(run.own)
    assert (run.screens.holder, run.screens.asked_by) == ("pts/1", None)
    assert run.recorded == [{"asked_by": "pts/1"}, {"holder": "pts/1"}]


def test_a_screen_that_steers_after_it_was_asked_keeps_the_controls(run: ScreensWithClock) -> None:
    other = run.join("pts/1")
    run.screens.ask(other)
    with run.screens.turn(run.own) as holds:
        assert holds
    run.now_s += ANSWER_S
    run.screens.look()
    assert (run.screens.holder, run.screens.asked_by) == ("pts/0", None)
    assert run.recorded == [{"asked_by": "pts/1"}, {"holder": "pts/0", "kept": True}]


def test_a_screen_that_does_not_answer_in_time_loses_the_controls(run: ScreensWithClock) -> None:
    other = run.join("pts/1")
    run.screens.ask(other)
    run.now_s += ANSWER_S - 0.1
    run.screens.look()
    assert run.screens.holder == "pts/0"
    run.now_s += 0.1
    run.screens.look()
    assert run.screens.holder == "pts/1"


def test_a_screen_without_the_controls_cannot_steer_or_hand_them_over(run: ScreensWithClock) -> None:
    other, third = run.join("pts/1"), run.join("pts/2")
    run.screens.ask(third)
    run.screens.give(other)
    with run.screens.turn(other) as holds:
        assert not holds
    assert (run.screens.holder, run.screens.asked_by) == ("pts/0", "pts/2")


def test_while_a_screen_asks_another_one_cannot_ask(run: ScreensWithClock) -> None:
    first, second = run.join("pts/1"), run.join("pts/2")
    run.screens.ask(first)
    run.screens.ask(second)
    assert run.screens.asked_by == "pts/1"


def test_a_screen_that_only_watches_cannot_ask(run: ScreensWithClock) -> None:
    run.screens.ask(run.join("pts/1", may_steer=False))
    assert run.screens.asked_by is None


def test_controls_of_a_screen_that_leaves_go_to_the_one_that_asks_or_else_to_the_first(run: ScreensWithClock) -> None:
    first, second = run.join("pts/1"), run.join("pts/2")
    run.screens.ask(second)
    run.screens.leave(run.own)
    assert run.screens.holder == "pts/2"
    run.screens.leave(second)
    assert run.screens.holder == "pts/1"
    run.screens.leave(first)
    assert run.screens.holder is None
    assert run.recorded[-1] == {"holder": None}


def test_a_screen_that_asks_and_leaves_no_longer_asks(run: ScreensWithClock) -> None:
    other = run.join("pts/1")
    run.screens.ask(other)
    run.screens.leave(other)
    run.now_s += 10 * ANSWER_S
    run.screens.look()
    assert (run.screens.holder, run.screens.asked_by, run.screens.count) == ("pts/0", None, 1)


@pytest.mark.parametrize("seed", range(50))
def test_in_random_orders_one_screen_that_may_steer_has_the_controls_if_there_is_one(seed: int) -> None:
    rng, run = random.Random(seed), ScreensWithClock()
    attached: list[Screen] = []
    for index in range(200):
        action = rng.choice(("join", "leave", "ask", "give", "turn", "time"))
        screen = rng.choice(attached) if attached else None
        if action == "join":
            attached.append(run.join(f"pts/{index}", may_steer=rng.random() < 0.7))
        elif action == "time":
            run.now_s += rng.uniform(0.0, ANSWER_S)
            run.screens.look()
        elif screen is not None and action == "leave":
            attached.remove(screen)
            run.screens.leave(screen)
        elif screen is not None and action == "turn":
            with run.screens.turn(screen) as holds:
                assert holds == run.screens.holds(screen)
        elif screen is not None:
            getattr(run.screens, action)(screen)
        holders = [each for each in attached if run.screens.holds(each)]
        assert len(holders) == (1 if any(each.may_steer for each in attached) else 0)
        assert all(each.may_steer for each in holders)
        assert run.screens.holder == (holders[0].name if holders else None)
        if run.screens.asked_by is not None:
            (asking,) = (each for each in attached if each.name == run.screens.asked_by)
            assert asking.may_steer
            assert asking not in holders
