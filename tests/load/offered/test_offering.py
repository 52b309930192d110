"""Offered rates in the load thread: any user class, steps between rates and users, drops; every iteration is accounted for."""

from __future__ import annotations

import pytest

from ..patched import Played, play

pytestmark = pytest.mark.slow

AT_THE_END = {"stopped in time": True, "every tick is conserved": True, "in flight at the end": 0}


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("load.scenes.offered")


def test_users_run_tasks_at_the_offered_rate_and_ignore_their_wait_time(seen: Played) -> None:
    assert seen["users_run_tasks_at_the_rate_and_ignore_their_wait_time"] == {
        "offered": True, "100 finished": True, "failed": 0, "dropped": 0, **AT_THE_END,
    }  # fmt: skip


def test_the_schedule_is_as_late_as_the_loop_and_no_later(seen: Played) -> None:
    assert seen["arrivals_are_handled_as_soon_as_timers_of_the_loop"] == {
        "offered": True, "400 due": True, "the timer fires": True, "300 compared": True, "later than the loop": 0, **AT_THE_END,
    }  # fmt: skip


def test_a_rate_uses_the_waiting_users_of_a_level_and_a_step_back_lets_them_wait_again(seen: Played) -> None:
    assert seen["steps_of_the_rate_and_back_to_users"] == {
        "3 users run": True, "20/s offered": True, "5 finished": True, "200/s offered": True, "100 finished": True,
        "50 users or more": True, "2 users run": True, "no rate": True, **AT_THE_END,
    }  # fmt: skip


def test_a_full_pool_queues_for_a_second_and_then_drops(seen: Played) -> None:
    assert seen["a_full_pool_queues_and_then_drops"] == {
        "offered": True, "5 dropped": True, "users": 4, "in flight": 24, "all drops are the target's": True,
        "none in flight after the step to 0": True, "dropped by the stop": 24, "finished": 0, **AT_THE_END,
    }  # fmt: skip


def test_a_task_that_raises_has_failed_and_one_that_stops_its_user_has_not(seen: Played) -> None:
    found = seen["tasks_that_raise_fail_and_those_that_stop_their_user_do_not"]
    assert found == {"offered": True, "20 finished": True, "a third failed": True, **AT_THE_END}


def test_each_task_of_a_nested_task_set_is_an_iteration(seen: Played) -> None:
    found = seen["each_task_of_a_nested_task_set_is_an_iteration"]
    assert found == {"offered": True, "30 finished": True, "failed": 0, **AT_THE_END}


def test_arrivals_are_shared_among_classes_by_weight(seen: Played) -> None:
    assert seen["arrivals_are_shared_by_weight"] == {
        "offered": True, "300 finished": True, "three of four ran in the class of weight 3": True, **AT_THE_END,
    }  # fmt: skip


def test_no_user_is_added_to_a_pool_whose_rate_has_ended(seen: Played) -> None:
    assert seen["a_rate_ends_while_its_pool_grows"]


def test_a_worker_accepts_a_rate_that_arrives_while_it_joins(seen: Played) -> None:
    assert seen["a_rate_comes_before_a_worker_has_joined"]
