"""Marks of exceptions in user code."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from capexplorer.load.user_code import UserError, UserErrors
from capexplorer.model.events import EndpointTick, Mark
from capexplorer.model.findings import Cause
from capexplorer.model.load import Users
from capexplorer.run.run_failures import ObservedMarks, cause_of

OF_CODE = UserError("KeyError", "'x'", "users.py:7 in buy")


def marks(observed: ObservedMarks, *errors: UserError, t_s: float = 0.0, replaced: int = 0, is_end: bool = False) -> list[Mark]:
    """The marks of a tick with these exceptions."""
    load_thread: Any = SimpleNamespace(errors=UserErrors(), replaced=replaced)
    load_thread.errors.waiting.extend(errors)
    return list(observed.marks(load_thread, (), t_s, epoch=1, load=Users(10), all_changes=is_end))


def test_metrics_of_a_locustfile_are_named_in_one_mark_with_their_counts() -> None:
    observed, load_thread = ObservedMarks(), SimpleNamespace(errors=UserErrors(), replaced=0)
    ticks = (
        EndpointTick(name="ttft", method="METRIC", requests=7, warmup_requests=3),
        EndpointTick(name="tokens", method="", requests=1),
    )
    [mark] = observed.marks(load_thread, (), 5.0, epoch=0, load=Users(10), metrics=ticks)  # type: ignore[arg-type]
    assert (mark.id, mark.severity) == ("custom_metrics", "info")
    assert isinstance(mark.finding, Cause)
    assert mark.finding.endpoints == {"METRIC ttft": 10, "tokens": 1}


def test_exceptions_in_user_code_are_one_mark_with_revisions() -> None:
    observed = ObservedMarks()
    ticks = ((0.0, 0, 0), (10.0, 0, 3), (20.0, 2, 3), (30.0, 1, 3), (31.0, 1, 3), (50.0, 0, 4), (60.0, 3, 4), (70.0, 1, 4))
    found = [
        marks(observed, *[OF_CODE] * exceptions, t_s=t_s, replaced=replaced, is_end=t_s == 70.0)
        for t_s, exceptions, replaced in ticks
    ]
    assert [[(mark.revision, mark.state) for mark in each] for each in found] == [
        [], [], [(1, "open")], [(2, "updated")], [], [(3, "closed")], [(4, "open")], [(5, "updated")],
    ]  # fmt: skip
    [first], [last] = found[2], found[-1]
    assert (first.key, first.severity, first.epoch) == ("cause:user_code_error", "error", 1)
    assert first.finding == Cause(
        name="user_code_error", count=2, first_s=20.0, last_s=20.0, rate_per_s=2.0, readings={"users_replaced": 3},
        example="KeyError: 'x' (users.py:7 in buy)",
    )  # fmt: skip
    assert isinstance(last.finding, Cause)
    assert (last.finding.count, last.finding.first_s, last.finding.last_s) == (8, 20.0, 70.0)
    assert last.finding.readings == {"users_replaced": 4}


@pytest.mark.parametrize(
    ("kind", "text", "cause"),
    [
        ("gaierror", "[Errno -2] Name or service not known", "dns_failure"),
        ("gaierror", "no errno", "dns_failure"),
        ("ConnectionRefusedError", "[Errno 111] Connection refused", "connection_refused"),
        ("OSError", "[Errno 24] Too many open files", "fd_exhaustion_generator"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'users.csv'", "user_code_error"),
        ("KeyError", "'x'", "user_code_error"),
        ("TimeoutError", "the order took too long", "user_code_error"),
    ],
)
def test_an_error_of_the_network_or_the_system_is_no_error_of_the_user_code_that_raised_it(
    kind: str, text: str, cause: str
) -> None:
    assert cause_of(UserError(kind, text, "users.py:7 in buy")) == cause


def test_exceptions_of_the_resolver_have_a_mark_of_their_own() -> None:
    found = marks(ObservedMarks(), UserError("gaierror", "[Errno -2] Name or service not known", ""), OF_CODE, t_s=20.0)
    assert sorted((mark.key, mark.severity) for mark in found) == [
        ("cause:dns_failure:raised", "critical"),
        ("cause:user_code_error", "error"),
    ]
