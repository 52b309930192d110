"""The load host in its native thread: steps, users that raise or stop themselves, listeners, and the end."""

from __future__ import annotations

import pytest

from .patched import Played, play

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("load.scenes.hosted")


def test_each_step_is_reported_once_when_all_its_users_run(seen: Played) -> None:
    assert seen["steps_are_reported_when_all_users_run"] == [True, True, True, True, True, 0]


def test_a_step_replaces_another_that_is_still_spawning(seen: Played) -> None:
    assert seen["a_step_replaces_another_that_is_still_spawning"] == [True, True, True, True, 0]


def test_of_many_steps_at_once_the_last_one_applies(seen: Played) -> None:
    assert seen["the_last_of_many_steps_at_once_applies"] == [[True, last, 1] for last in (7, 0, 4)]


def test_users_go_to_zero_and_return(seen: Played) -> None:
    assert seen["to_zero_and_back"] == [True, True, True, True, 7]


def test_a_step_to_zero_is_at_once_even_while_users_end_slowly(seen: Played) -> None:
    assert seen["a_step_to_zero_is_at_once_even_while_users_end_slowly"] == [True, True, True]


def test_users_that_raise_in_on_start_are_replaced_and_their_error_is_reported_with_its_place(seen: Played) -> None:
    *found, line = seen["users_whose_on_start_raises_half_the_time_are_replaced"]
    assert found == [True, 1, True, True, "RuntimeError", "failed on start"]
    assert line.startswith("hosted.py:")
    assert line.endswith(" in __call__")


def test_users_that_always_raise_in_on_start_are_replaced_at_a_limited_rate(seen: Played) -> None:
    assert seen["users_whose_on_start_always_raises_are_replaced_slowly"] == [1, True, True]


def test_users_that_stop_themselves_are_replaced_without_an_error(seen: Played) -> None:
    assert seen["users_that_stop_themselves_are_replaced_without_an_error"] == [True, 0]


def test_users_that_end_while_others_are_stopped_do_not_block_the_step(seen: Played) -> None:
    assert seen["users_that_end_while_others_are_stopped_do_not_block_the_step"] == [True, True]


def test_a_fixed_count_below_the_requested_users_does_not_block_the_step(seen: Played) -> None:
    assert seen["a_fixed_count_below_the_requested_users_does_not_block_the_step"] == [True, 1]


def test_a_user_class_that_cannot_be_instantiated_is_reported_and_blocks_nothing(seen: Played) -> None:
    assert seen["a_user_class_that_cannot_be_instantiated_is_a_user_error"] == [True, True, "ValueError: not with me", True, True]


def test_an_error_in_a_task_is_reported_with_its_place_and_the_user_continues(seen: Played) -> None:
    assert seen["an_error_in_a_task_has_its_place"] == ["KeyError", "'lost'", "hosted.py", "helper", 1]


def test_listeners_of_a_locustfile_and_on_stop_are_fired(seen: Played) -> None:
    assert seen["listeners_and_on_stop_are_fired"] == [
        "init",
        "test_start",
        "on_stop",
        "on_stop",
        "test_stop",
        "quitting",
        "quit",
    ]


def test_a_listener_that_raises_stops_nothing(seen: Played) -> None:
    assert seen["a_listener_that_raises_stops_nothing"] == [True, True, True]


def test_stopping_before_a_start_does_nothing(seen: Played) -> None:
    assert seen["stopping_without_a_start_does_nothing"] == [True, True]


def test_a_call_into_the_load_thread_gives_its_value_or_its_exception(seen: Played) -> None:
    assert seen["a_call_gives_its_value_or_its_exception"] == [42, "over there"]
