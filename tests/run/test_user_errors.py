"""Marks of exceptions in user code, and the versions in the header."""

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
    """The answers of `tests/run/scenes/user_errors.py`, played in a fresh process."""
    return play("run.scenes.user_errors", raised=[[kind, text] for kind, text, _ in RAISED])


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
