"""The requested load while there is no service, its spawn rates, marks of exceptions in user code, and versions in the header."""

from __future__ import annotations

import pytest
from load.patched import Played, play

RAISED = [
    ("gaierror", "[Errno -2] Name or service not known", "dns_failure"),
    ("gaierror", "no errno", "dns_failure"),
    ("ConnectionRefusedError", "[Errno 111] Connection refused", "connection_refused"),
    ("OSError", "[Errno 24] Too many open files", "fd_exhaustion_generator"),
    ("FileNotFoundError", "[Errno 2] No such file or directory: 'users.csv'", "user_code_error"),
    ("KeyError", "'x'", "user_code_error"),
    ("TimeoutError", "the order took too long", "user_code_error"),
]
"""(type, text, cause)."""


@pytest.fixture(scope="module")
def observed() -> Played:
    """The answers of `tests/run/scenes/requested_load.py`, played in a fresh process."""
    return play("run.scenes.requested_load", raised=[[kind, text] for kind, text, _ in RAISED])


def test_the_automatic_spawn_rate_makes_a_step_in_a_second_with_at_most_100_users_per_second(observed: Played) -> None:
    rates = observed["spawn_rates"]["None"]
    assert rates["0 to 10"] == 10.0
    assert rates["10 to 11"] == 1.0
    assert rates["0 to 500"] == rates["500 to 400"] == 100.0
    assert rates["10 to 10"] == 1.0


def test_a_given_spawn_rate_is_that_of_all_steps_but_those_to_zero(observed: Played) -> None:
    rates = observed["spawn_rates"]["5.0"]
    assert {step: rate for step, rate in rates.items() if not step.endswith(" to 0")} == {
        "0 to 10": 5.0, "10 to 11": 5.0, "0 to 500": 5.0, "500 to 400": 5.0, "10 to 10": 5.0,
    }  # fmt: skip


@pytest.mark.parametrize("given", ["None", "5.0"])
def test_a_step_to_zero_stops_all_users_within_a_second(observed: Played, given: str) -> None:
    rates = observed["spawn_rates"][given]
    assert (rates["50 to 0"], rates["700 to 0"], rates["0 to 0"]) == (50.0, 700.0, 1.0)


def test_a_spawn_rate_is_clamped_to_the_bounds_of_profiles(observed: Played) -> None:
    assert observed["clamped_rates"] == [0.001, 100_000.0, 7.0, None]


def test_a_step_without_a_service_takes_effect_when_the_load_opens(observed: Played) -> None:
    assert observed["step_before_opening"] == {
        "spawn rate of the step": 8.0,
        "spawn rate of the start": 8.0,
        "open after opening": True,
        "users after shutting": 8,
        "open after shutting": False,
    }


def test_exceptions_in_user_code_are_one_mark_with_revisions(observed: Played) -> None:
    marks = observed["marks_of_user_errors"]
    assert [mark and (mark.get("revision", 1), mark["state"]) for mark in marks] == [
        None, None, (1, "open"), (2, "updated"), None, (3, "closed"), (4, "open"), (5, "updated"),
    ]  # fmt: skip
    first = marks[2]
    assert (first["key"], first["severity"], first["epoch"]) == ("cause:user_code_error", "error", 1)
    assert first["finding"] == {
        "kind": "cause", "name": "user_code_error", "count": 2, "first_s": 20.0, "last_s": 20.0, "rate_per_s": 2.0,
        "readings": {"users_replaced": 3}, "example": "KeyError: 'x' (users.py:7 in buy)",
    }  # fmt: skip
    last = marks[-1]["finding"]
    assert (last["count"], last["first_s"], last["last_s"]) == (8, 20.0, 70.0)
    assert last["readings"] == {"users_replaced": 4}


@pytest.mark.parametrize(("kind", "text", "cause"), RAISED)
def test_an_error_of_the_network_or_the_system_is_no_error_of_the_user_code_that_raised_it(
    observed: Played, kind: str, text: str, cause: str
) -> None:
    assert observed["causes_of_exceptions"][RAISED.index((kind, text, cause))] == cause


def test_exceptions_of_the_resolver_have_a_mark_of_their_own(observed: Played) -> None:
    marks = observed["marks_of_a_name_that_does_not_resolve"]
    assert sorted(marks) == [["cause:dns_failure:raised", "critical"], ["cause:user_code_error", "error"]]


def test_the_header_has_the_versions_that_affect_the_figures(observed: Played) -> None:
    versions = observed["header_versions"]
    assert versions["names"] == versions["expected"]
    assert versions["unknown"] == []


def test_a_step_at_once_stops_all_users_of_a_pool_in_one_second(observed: Played) -> None:
    assert observed["step_at_once_from_a_pool"] == [790.0, 100.0]
