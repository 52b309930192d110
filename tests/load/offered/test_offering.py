"""Offered rates in the load thread: any user class, steps between rates and users, drops; every iteration is accounted for."""

from __future__ import annotations

import pytest

from ..patched import Played, play

pytestmark = pytest.mark.slow

IN_ORDER = [True, True, 0]
"""The host has stopped, every tick was conserved, and nothing is in flight."""


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("load.scenes.offered")


def test_users_run_tasks_at_the_offered_rate_and_ignore_their_wait_time(seen: Played) -> None:
    assert seen["users_run_tasks_at_the_rate_and_ignore_their_wait_time"] == [True, True, 0, 0, *IN_ORDER]


def test_a_rate_uses_the_waiting_users_of_a_level_and_a_step_back_lets_them_wait_again(seen: Played) -> None:
    assert seen["steps_of_the_rate_and_back_to_users"] == [True] * 8 + IN_ORDER


def test_a_full_pool_queues_for_a_second_and_then_drops(seen: Played) -> None:
    started, dropped, users, all_by_target, in_flight, ended, stopped, finished, *rest = seen["a_full_pool_queues_and_then_drops"]
    assert (started, dropped, users, all_by_target, in_flight) == (True, True, 4, True, 24)
    assert (ended, stopped, finished, rest) == (True, 24, 0, IN_ORDER)


def test_a_task_that_raises_has_failed_and_one_that_stops_its_user_has_not(seen: Played) -> None:
    assert seen["tasks_that_raise_fail_and_those_that_stop_their_user_do_not"] == [True, True, True, *IN_ORDER]


def test_each_task_of_a_nested_task_set_is_an_iteration(seen: Played) -> None:
    assert seen["each_task_of_a_nested_task_set_is_an_iteration"] == [True, True, 0, *IN_ORDER]


def test_arrivals_are_shared_among_classes_by_weight(seen: Played) -> None:
    assert seen["arrivals_are_shared_by_weight"] == [True, True, True, *IN_ORDER]


def test_a_worker_accepts_a_rate_that_arrives_while_it_joins(seen: Played) -> None:
    assert seen["a_rate_comes_before_a_worker_has_joined"]
