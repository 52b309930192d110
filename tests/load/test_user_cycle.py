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


def test_a_task_of_many_requests_counts_from_2_s_on() -> None:
    assert requests(in_tasks(), 0.1, 1.1, 2.1, 3.1) == [False, False, True, True]


def test_later_tasks_do_not_begin_the_first_cycle_again() -> None:
    user = in_tasks()
    assert requests(user, 1.0) == [False]
    user.task_begins(1.5)  # a task set that interrupts itself goes on without a wait
    assert requests(user, 2.0) == [True]


def test_a_slow_service_makes_users_warm_after_twice_their_longest_response() -> None:
    assert requests(in_tasks(), 4.0, 8.0, 12.0, response_s=4.0) == [False, True, True]


def test_the_first_request_is_warm_up_even_if_it_is_slow() -> None:
    assert requests(in_tasks(), 14.0, response_s=14.0) == [False]


def test_after_30_s_in_its_tasks_a_user_is_warm_even_without_a_response() -> None:
    user = in_tasks(5.0)
    assert not user.is_warm_at(5.0 + WARM_MOST_S - 0.1)
    assert user.is_warm_at(5.0 + WARM_MOST_S)
    assert requests(user, 60.0, response_s=55.0) == [True]


def test_sleeps_between_two_requests_are_think_time() -> None:
    user = in_tasks()
    user.sleeps(0.1, 1.0)
    user.sleeps(1.1, 0.5)
    assert user.think_s(now_s=1.9, response_s=0.3) == pytest.approx(1.5)
    assert user.slept_s == 0.0


def test_sleeps_within_a_response_are_not_think_time() -> None:
    """A client of user code that polls until its task has finished, and fires one event for all polls."""
    user = in_tasks()
    for at_s in (0.0, 0.1, 0.2):
        user.sleeps(at_s, 0.1)
    assert user.think_s(now_s=0.3, response_s=0.3) == pytest.approx(0.0)


def test_a_sleep_before_a_response_that_sleeps_itself_is_think_time_alone() -> None:
    user = in_tasks()
    user.sleeps(0.0, 1.0)
    for at_s in (1.0, 1.1, 1.2):
        user.sleeps(at_s, 0.1)
    assert user.think_s(now_s=1.3, response_s=0.3) == pytest.approx(1.0)


def test_the_time_that_a_sleep_is_late_is_not_think_time() -> None:
    """Time that the generator adds stays unaccounted for, which Little's law shows."""
    user = in_tasks()
    user.sleeps(0.0, 1.0)
    assert user.think_s(now_s=1.5, response_s=0.1) == pytest.approx(1.0)


def test_sleeps_of_on_start_are_not_think_time() -> None:
    user = UserCycle()
    user.sleeps(0.0, 5.0)
    user.task_begins(5.0)
    assert user.think_s(now_s=5.1, response_s=0.1) == 0.0
