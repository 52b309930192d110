"""Errors of user code are counted, and the load thread continues; if it ends, that is reported."""

from __future__ import annotations

import pytest

from .patched import Played, play

pytestmark = pytest.mark.slow


def with_errors(*types: str) -> dict[str, object]:
    """What is observed of two users that raise errors of these types, and keep running."""
    return {
        "step reported": True, "errors counted": True, "both users run": True, "types of errors": list(types),
        "stopped in time": True, "load thread alive until then": True,
    }  # fmt: skip


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("load.scenes.hostile")


@pytest.mark.parametrize(
    ("raised", "type_name"),
    [
        ("sys.exit", "SystemExit"),
        ("beside", "SystemExit"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        ("GeneratorExit", "GeneratorExit"),
        ("SystemError", "SystemError"),
        ("Timeout", "Timeout"),
    ],
)
def test_an_exception_of_a_task_is_counted_and_the_load_thread_continues(seen: Played, raised: str, type_name: str) -> None:
    assert seen["raising"][raised] == with_errors(type_name)


def test_exceptions_of_on_start_and_init_are_counted_too(seen: Played) -> None:
    on_start, init = seen["exits_in_on_start_and_in_init"]
    assert on_start == with_errors("SystemExit")
    assert init["step reported"]
    assert init["errors counted"]


def test_an_error_that_locust_reports_before_it_ends_the_user_counts_once(seen: Played) -> None:
    assert seen["each_death_counts_once"] in (0, 1)  # the latest may not be replaced yet


@pytest.mark.parametrize(
    ("wait", "message"),
    [
        ("text", "WaitTimeError: wait_time of Waiter returned 'soon': expected seconds, a number from 0 up"),
        ("none", "WaitTimeError: wait_time of Waiter returned None: expected seconds, a number from 0 up"),
        ("negative", "WaitTimeError: wait_time of Waiter returned -1: expected seconds, a number from 0 up"),
        ("nan", "WaitTimeError: wait_time of Waiter returned nan: expected seconds, a number from 0 up"),
        ("inf", "WaitTimeError: wait_time of Waiter returned inf: expected seconds, a number from 0 up"),
        ("raises", "ZeroDivisionError: "),
    ],
)
def test_an_invalid_wait_time_is_a_user_error_and_not_a_wait(seen: Played, wait: str, message: str) -> None:
    assert seen["waits"][wait] == [message, 0, 0.0, True]


@pytest.mark.parametrize(("value", "shown"), [("nan", "nan"), ("inf", "inf"), ("text", "'soon'")])
def test_an_invalid_request_event_is_left_out_and_reported(seen: Played, value: str, shown: str) -> None:
    """Infinite response times once ended the pump thread."""
    text = f"InvalidRequestEvent: request '{value}' took {shown} ms, 3 bytes: expected a name and two numbers"
    assert seen["odd_requests"][value] == [text, ["well"], True]


@pytest.mark.parametrize("how", ["kills", "stops", "reschedules"])
def test_users_that_end_or_reschedule_themselves_raise_no_error(seen: Played, how: str) -> None:
    assert seen["users_that_end_by_themselves"][how] == with_errors()


def test_a_user_without_tasks_is_an_error(seen: Played) -> None:
    found = seen["no_tasks"]
    assert {**found, "step reported": True} == with_errors("Exception")


def test_an_on_stop_that_never_returns_does_not_block_a_step_and_is_reported(seen: Played) -> None:
    reported, gone, again, stopped, texts = seen["an_on_stop_that_never_returns"]
    assert [reported, gone, again, stopped] == [True] * 4
    assert texts == [
        "1 users did not end: on_stop did not return within 2 s",
        "3 users did not end: on_stop did not return within 1 s",
    ]


def test_users_can_start_child_processes_and_wait_for_them(seen: Played) -> None:
    played = seen["children"]
    assert played["errors"] == []
    expected = {
        "run": "hi",
        "communicate": ["through", 0],
        "fork": 5,
        "multiprocessing": 6,
        "system": 3,
        "killed": -9,
        "missing": "FileNotFoundError",
    }
    assert played["found"] == [expected, expected]
    assert played["stopped"]


@pytest.mark.parametrize("how", ["stop", "quit"])
def test_after_a_locustfile_ended_the_load_a_step_starts_users_again(seen: Played, how: str) -> None:
    assert seen["ended_by_the_locustfile"][how] == [True, True, 1, True, True, True]


def test_a_destroyed_hub_ends_the_load_thread_and_is_reported(seen: Played) -> None:
    assert seen["a_hub_that_is_destroyed"] == [True, 0, True, True]
