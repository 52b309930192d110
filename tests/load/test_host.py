"""The load thread in its native thread: steps, users that raise or stop themselves, listeners, and the end."""

from __future__ import annotations

import pytest

from .patched import Played, play

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("load.scenes.hosted")


def test_each_step_is_reported_once_when_all_its_users_run(seen: Played) -> None:
    assert seen["steps_are_reported_when_all_users_run"] == {
        "5 users run": True, "5 users are reported": True, "2 users run": True, "2 users are reported": True,
        "stopped in time": True, "users at the end": 0,
    }  # fmt: skip


def test_a_step_replaces_another_that_is_still_spawning(seen: Played) -> None:
    assert seen["a_step_replaces_another_that_is_still_spawning"] == {
        "first step spawns": True, "3 users run": True, "3 users are reported": True, "users afterwards": 3,
        "reports of the first step": 0,
    }  # fmt: skip


def test_of_many_steps_at_once_the_last_one_applies(seen: Played) -> None:
    assert seen["the_last_of_many_steps_at_once_applies"] == [
        {"last": last, "reached": True, "users afterwards": last, "reports": 1} for last in (7, 0, 4)
    ]


def test_users_go_to_zero_and_return(seen: Played) -> None:
    assert seen["to_zero_and_back"] == {"reached": [4, 0, 3, 0], "users started": 7}


def test_a_step_to_zero_is_at_once_even_while_users_end_slowly(seen: Played) -> None:
    found = seen["a_step_to_zero_is_at_once_even_while_users_end_slowly"]
    assert found["30 users run"]
    assert found["rate"] >= 25
    assert found["no user runs"]


def test_users_that_raise_in_on_start_are_replaced_and_their_error_is_reported_with_its_place(seen: Played) -> None:
    found = seen["users_whose_on_start_raises_half_the_time_are_replaced"]
    assert found["10 users run"]
    assert found["reports"] == 1
    assert found["errors"] >= 5
    assert found["replaced"] >= 5
    assert found["error"] == "RuntimeError: failed on start"
    assert found["place"].startswith("hosted.py:")
    assert found["place"].endswith(" in __call__")


def test_users_that_always_raise_in_on_start_are_replaced_at_a_limited_rate(seen: Played) -> None:
    found = seen["users_whose_on_start_always_raises_are_replaced_slowly"]
    assert found["reports"] == 1
    assert found["starts from 2 s to 4 s"] <= 5 * 4
    assert found["starts"] > 5


def test_users_that_stop_themselves_are_replaced_and_reported_as_no_error(seen: Played) -> None:
    assert seen["users_that_stop_themselves_are_replaced_and_reported_as_no_error"] == {
        "replaced": True,
        "reported": ["StopUser"],
    }


def test_users_that_end_while_others_are_stopped_do_not_block_the_step(seen: Played) -> None:
    found = seen["users_that_end_while_others_are_stopped_do_not_block_the_step"]
    assert found == {"10 users are reported": True, "10 users run": True}


def test_a_fixed_count_below_the_requested_users_does_not_block_the_step(seen: Played) -> None:
    found = seen["a_fixed_count_below_the_requested_users_does_not_block_the_step"]
    assert found == {"5 users are reported": True, "users": 1}


def test_a_user_class_that_cannot_be_instantiated_is_reported_and_blocks_nothing(seen: Played) -> None:
    found = seen["a_user_class_that_cannot_be_instantiated_is_a_user_error"]
    assert found["an error"]
    assert found["2 users are reported"]
    assert found["first error"] == "ValueError: not with me"
    assert found["errors"] <= 20
    assert found["stopped"]


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
