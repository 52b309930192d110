"""Who has the controls of a run with several screens: at most one, and how they are handed over."""

from __future__ import annotations

import random

import pytest

from capexplorer.run.screens import ANSWER_S, Screen, Screens


class Clocked:
    """Screens with a clock of their own, and what was recorded."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.recorded: list[dict[str, object]] = []
        self.screens = Screens(lambda args: self.recorded.append(dict(args)), lambda: self.now_s)
        self.own = Screen("pts/0", may_steer=True)

    def join(self, name: str, *, may_steer: bool = True) -> Screen:
        screen = Screen(name, may_steer)
        self.screens.join(screen)
        return screen


@pytest.fixture
def rig() -> Clocked:
    """A run with a screen of its own."""
    clocked = Clocked()
    clocked.screens.begin(clocked.own)
    return clocked


def test_the_runs_own_screen_has_the_controls_and_nothing_is_recorded(rig: Clocked) -> None:
    assert (rig.screens.holder, rig.recorded) == ("pts/0", [])


def test_a_screen_that_joins_leaves_the_controls_where_they_are(rig: Clocked) -> None:
    rig.join("pts/1")
    assert (rig.screens.holder, rig.screens.count, rig.recorded) == ("pts/0", 2, [])


def test_the_first_screen_of_a_run_without_one_gets_them_but_not_one_that_watches() -> None:
    rig = Clocked()
    rig.join("pts/1", may_steer=False)
    assert rig.screens.holder is None
    rig.join("pts/2")
    assert rig.screens.holder == "pts/2"
    assert rig.recorded == [{"holder": "pts/2"}]


def test_the_screen_that_is_asked_hands_the_controls_over(rig: Clocked) -> None:
    other = rig.join("pts/1")
    rig.screens.ask(other)
    assert (rig.screens.holder, rig.screens.asked_by) == ("pts/0", "pts/1")
    rig.screens.give(rig.own)
    assert (rig.screens.holder, rig.screens.asked_by) == ("pts/1", None)
    assert rig.recorded == [{"asked_by": "pts/1"}, {"holder": "pts/1"}]


def test_a_screen_that_continues_to_steer_keeps_the_controls(rig: Clocked) -> None:
    other = rig.join("pts/1")
    rig.screens.ask(other)
    with rig.screens.turn(rig.own) as holds:
        assert holds
    rig.now_s += ANSWER_S
    rig.screens.look()
    assert (rig.screens.holder, rig.screens.asked_by) == ("pts/0", None)
    assert rig.recorded == [{"asked_by": "pts/1"}, {"holder": "pts/0", "kept": True}]


def test_a_screen_that_does_not_answer_loses_the_controls(rig: Clocked) -> None:
    other = rig.join("pts/1")
    rig.screens.ask(other)
    rig.now_s += ANSWER_S - 0.1
    rig.screens.look()
    assert rig.screens.holder == "pts/0"
    rig.now_s += 0.1
    rig.screens.look()
    assert rig.screens.holder == "pts/1"


def test_a_screen_without_the_controls_cannot_steer_or_hand_them_over(rig: Clocked) -> None:
    other, third = rig.join("pts/1"), rig.join("pts/2")
    rig.screens.ask(third)
    rig.screens.give(other)
    with rig.screens.turn(other) as holds:
        assert not holds
    assert (rig.screens.holder, rig.screens.asked_by) == ("pts/0", "pts/2")


def test_while_one_screen_asks_the_question_of_another_changes_nothing(rig: Clocked) -> None:
    first, second = rig.join("pts/1"), rig.join("pts/2")
    rig.screens.ask(first)
    rig.screens.ask(second)
    assert rig.screens.asked_by == "pts/1"


def test_a_screen_that_only_watches_cannot_ask(rig: Clocked) -> None:
    rig.screens.ask(rig.join("pts/1", may_steer=False))
    assert rig.screens.asked_by is None


def test_when_the_holder_leaves_the_screen_that_asks_gets_the_controls_else_the_one_that_joined_first(rig: Clocked) -> None:
    first, second = rig.join("pts/1"), rig.join("pts/2")
    rig.screens.ask(second)
    rig.screens.leave(rig.own)
    assert rig.screens.holder == "pts/2"
    rig.screens.leave(second)
    assert rig.screens.holder == "pts/1"
    rig.screens.leave(first)
    assert rig.screens.holder is None
    assert rig.recorded[-1] == {"holder": None}


def test_a_screen_that_asks_and_leaves_no_longer_asks(rig: Clocked) -> None:
    other = rig.join("pts/1")
    rig.screens.ask(other)
    rig.screens.leave(other)
    rig.now_s += 10 * ANSWER_S
    rig.screens.look()
    assert (rig.screens.holder, rig.screens.asked_by, rig.screens.count) == ("pts/0", None, 1)


@pytest.mark.parametrize("seed", range(50))
def test_at_most_one_screen_has_the_controls_and_it_is_there_and_may_steer(seed: int) -> None:
    chance, rig = random.Random(seed), Clocked()
    there: list[Screen] = []
    for index in range(200):
        act = chance.choice(("join", "leave", "ask", "give", "turn", "time"))
        screen = chance.choice(there) if there else None
        if act == "join":
            there.append(rig.join(f"pts/{index}", may_steer=chance.random() < 0.7))
        elif act == "time":
            rig.now_s += chance.uniform(0.0, ANSWER_S)
            rig.screens.look()
        elif screen is not None and act == "leave":
            there.remove(screen)
            rig.screens.leave(screen)
        elif screen is not None and act == "turn":
            with rig.screens.turn(screen) as holds:
                assert holds == rig.screens.holds(screen)
        elif screen is not None:
            getattr(rig.screens, act)(screen)
        holders = [each for each in there if rig.screens.holds(each)]
        assert len(holders) == (1 if any(each.may_steer for each in there) else 0)
        assert all(each.may_steer for each in holders)
        assert rig.screens.holder == (holders[0].name if holders else None)
        asker = next((each for each in there if each.name == rig.screens.asked_by), None)
        assert rig.screens.asked_by is None or (asker is not None and asker.may_steer and asker not in holders)
