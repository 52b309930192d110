"""The runner in its native thread: steps, shapes, users that die, and the end."""

from __future__ import annotations

import pytest

from .patched import Played, play

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("load.scenes.hosted")


def test_each_step_is_reported_once_when_all_users_are_there(seen: Played) -> None:
    assert seen["steps_are_told_when_all_users_are_there"] == [True, True, True, True, True, 0]


def test_a_step_takes_over_at_once_while_another_is_spawning(seen: Played) -> None:
    assert seen["a_step_takes_over_while_another_is_spawning"] == [True, True, True, True, 0]


def test_of_many_steps_at_once_the_last_one_applies(seen: Played) -> None:
    assert seen["many_steps_at_once_end_at_the_last"] == [[True, last, 1] for last in (7, 0, 4)]


def test_users_go_to_zero_and_return(seen: Played) -> None:
    assert seen["to_zero_and_back"] == [True, True, True, True, 7]


def test_zero_is_at_once_even_while_users_go_down_slowly(seen: Played) -> None:
    assert seen["zero_is_at_once_even_while_users_go_down_slowly"] == [True, True, True]


def test_users_that_die_in_on_start_are_replaced_and_their_error_reported_with_its_place(seen: Played) -> None:
    *found, line = seen["users_whose_on_start_raises_half_the_time_are_replaced"]
    assert found == [True, 1, True, True, "RuntimeError", "no luck today"]
    assert line.startswith("hosted.py:")
    assert line.endswith(" in __call__")


def test_users_that_always_die_are_replaced_ever_more_slowly(seen: Played) -> None:
    assert seen["users_whose_on_start_always_raises_do_not_spin"] == [1, True, True]


def test_users_that_stop_themselves_are_replaced_without_an_error(seen: Played) -> None:
    assert seen["users_that_stop_themselves_are_replaced_without_an_error"] == [True, 0]


def test_users_that_die_while_others_are_stopped_do_not_block_the_step(seen: Played) -> None:
    assert seen["users_that_die_while_others_are_stopped_do_not_hold_up_the_step"] == [True, True]


def test_a_fixed_count_below_the_requested_users_does_not_block_the_step(seen: Played) -> None:
    assert seen["a_fixed_count_below_what_is_wanted_does_not_hold_up_the_step"] == [True, 1]


def test_a_user_class_that_cannot_be_instantiated_is_reported_and_blocks_nothing(seen: Played) -> None:
    assert seen["a_user_class_that_cannot_be_made_is_a_user_error"] == [True, True, "ValueError: not with me", True, True]


def test_an_error_in_a_task_shows_its_place_and_the_user_lives(seen: Played) -> None:
    assert seen["errors_in_tasks_tell_their_place"] == ["KeyError", "'lost'", "hosted.py", "helper", 1]


def test_a_shape_steps_and_ends(seen: Played) -> None:
    assert seen["a_shape_steps_and_ends"] == [True, [[2, 100], [4, 100]], 1, 1]


def test_a_shape_may_pick_the_user_classes_of_a_step(seen: Played) -> None:
    only_first, then_second = seen["a_shape_picks_user_classes"]
    assert only_first == 3
    assert then_second >= 3


def test_a_step_by_hand_ends_the_shape(seen: Played) -> None:
    assert seen["a_step_by_hand_ends_the_shape"] == [True, 1, False]


def test_a_shape_step_that_is_refused_is_not_reported(seen: Played) -> None:
    assert seen["a_shape_step_that_is_refused_is_not_told"] == [True, True, False]


def test_a_shapes_time_begins_with_its_users(seen: Played) -> None:
    assert seen["a_shapes_time_begins_with_its_users"] == [True, True]


def test_a_shape_may_ask_how_many_users_run(seen: Played) -> None:
    assert seen["a_shape_knows_its_runner"] == [0, 3]


def test_a_shape_that_raises_ends_and_is_a_user_error(seen: Played) -> None:
    assert seen["a_shape_that_raises_is_a_user_error_and_over"] == [True, ["ZeroDivisionError: in the shape"]]


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
    assert seen["stopping_without_a_start_is_quiet"] == [True, True]


def test_a_call_into_the_load_thread_gives_its_value_or_its_exception(seen: Played) -> None:
    assert seen["a_call_gives_its_value_or_its_exception"] == [42, "over there"]
