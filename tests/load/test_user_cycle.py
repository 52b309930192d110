"""When a user is warm, and which of its sleeps are think time. Times in seconds."""

from __future__ import annotations

import pytest

from capexplorer.load.user_activity import WARM_MOST_S, UserCycle


def in_tasks(now_s: float = 0.0) -> UserCycle:
    user = UserCycle()
    user.task_begins(now_s)
    return user


def requests(user: UserCycle, *ended_s: float, response_s: float = 0.1) -> list[bool]:
    """Whether each request counts."""
    return [user.is_warm or user.warms_up(at_s, response_s) for at_s in ended_s]


def test_requests_of_on_start_are_warm_up_even_if_it_takes_minutes() -> None:
    user = UserCycle()
    assert requests(user, 1.0, 20.0, 90.0) == [False, False, False]
    assert not user.is_warm_at(100.0)
    user.task_begins(100.0)
    assert requests(user, 100.1, 102.1) == [False, True]


@pytest.mark.parametrize(
    ("ended_s", "response_s", "counts"),
    [
        pytest.param((0.1, 1.1, 2.1, 3.1), 0.1, [False, False, True, True], id="a task of many requests: from 2 s on"),
        pytest.param((4.0, 8.0, 12.0), 4.0, [False, True, True], id="a slow service: after twice the longest response"),
        pytest.param((14.0,), 14.0, [False], id="the first request, even if it is slow"),
    ],
)
def test_requests_inside_the_first_task_count_from_when_the_user_is_warm(
    ended_s: tuple[float, ...], response_s: float, counts: list[bool]
) -> None:
    assert requests(in_tasks(), *ended_s, response_s=response_s) == counts


def test_later_tasks_do_not_begin_the_first_cycle_again() -> None:
    user = in_tasks()
    assert requests(user, 1.0) == [False]
    user.task_begins(1.5)  # a task set that interrupts itself goes on without a wait
    assert requests(user, 2.0) == [True]


def test_after_30_s_in_its_tasks_a_user_is_warm_even_without_a_response() -> None:
    user = in_tasks(5.0)
    assert not user.is_warm_at(5.0 + WARM_MOST_S - 0.1)
    assert user.is_warm_at(5.0 + WARM_MOST_S)
    assert requests(user, 60.0, response_s=55.0) == [True]


@pytest.mark.parametrize(
    ("sleeps", "ended_s", "response_s", "think_s"),
    [
        pytest.param([(0.1, 1.0), (1.1, 0.5)], 1.9, 0.3, 1.5, id="sleeps between two requests"),
        pytest.param([(0.0, 0.1), (0.1, 0.1), (0.2, 0.1)], 0.3, 0.3, 0.0, id="a client that polls until its task has finished"),
        pytest.param([(0.0, 1.0), (1.0, 0.1), (1.1, 0.1), (1.2, 0.1)], 1.3, 0.3, 1.0, id="a sleep before a client that polls"),
        pytest.param([(0.0, 1.0)], 1.5, 0.1, 1.0, id="a late sleep: what the generator adds is unaccounted for"),
    ],
)
def test_sleeps_between_two_requests_are_think_time_and_those_within_a_response_are_not(
    sleeps: list[tuple[float, float]], ended_s: float, response_s: float, think_s: float
) -> None:
    user = in_tasks()
    for at_s, seconds in sleeps:
        user.sleeps(at_s, seconds)
    assert user.think_s(ended_s, response_s) == pytest.approx(think_s)
    assert user.slept_s == 0.0


def test_sleeps_of_on_start_are_not_think_time() -> None:
    user = UserCycle()
    user.sleeps(0.0, 5.0)
    user.task_begins(5.0)
    assert user.think_s(now_s=5.1, response_s=0.1) == 0.0
