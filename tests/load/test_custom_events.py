"""Which request events of user code are no requests. The same in runs of real locustfiles: `tests/e2e/test_user_code.py`."""

from __future__ import annotations

import pytest

from capexplorer.load.user_activity import RequestEvents


def after_a_request(ended_s: float, turn: int) -> RequestEvents:
    """The events of a user whose task began at 0 and whose client's request took until `ended_s`."""
    events = RequestEvents()
    events.task_begins(0)
    assert events.of_client(0.0, ended_s, turn) == []
    return events


def test_events_that_lie_within_the_request_before_them_are_no_requests() -> None:
    """The time to the first byte, and a number of tokens that is no time at all."""
    events = after_a_request(0.1, turn=1)
    assert events.of_user_code("METRIC ttft", 0.07, 0.1, 1) == ["METRIC ttft"]
    assert events.of_user_code("METRIC tokens", 0.08, 0.1001, 1) == ["METRIC tokens"]


def test_an_event_without_a_time_is_no_request_unless_the_user_has_waited_since_the_one_before() -> None:
    """A client of its own may round to 0 ms, but it has waited for a reply."""
    events = after_a_request(0.1, turn=1)
    assert events.of_user_code("METRIC tokens", 0.1002, 0.1002, 1) == ["METRIC tokens"]
    assert events.of_user_code("REDIS get", 0.1005, 0.1005, 2) == []
    assert events.of_user_code("METRIC size", 0.1006, 0.1006, 2) == ["METRIC size"]


def test_a_sleep_and_the_wait_for_the_next_task_are_no_wait_for_a_reply() -> None:
    events = after_a_request(0.1, turn=1)
    events.sleeps(1)
    events.wakes(5)
    assert events.of_user_code("METRIC tokens", 0.5, 0.5, 5) == ["METRIC tokens"]
    events.task_begins(9)
    assert events.of_user_code("METRIC batch", 2.0, 2.0, 9) == ["METRIC batch"]


def test_a_wait_for_a_reply_counts_also_if_the_user_sleeps_after_it() -> None:
    events = after_a_request(0.1, turn=1)
    events.sleeps(2)
    events.wakes(5)
    assert events.of_user_code("REDIS get", 0.5, 0.5, 5) == []


def test_the_reading_of_a_reply_belongs_to_its_request() -> None:
    """A client reports a stream at its head."""
    events = after_a_request(0.1, turn=1)
    events.reads(0.9, 4)
    assert events.of_user_code("METRIC ttft", 0.7, 0.9, 4) == ["METRIC ttft"]
    assert events.of_user_code("METRIC tokens", 0.9001, 0.9001, 4) == ["METRIC tokens"]


def test_an_event_that_is_fired_during_a_request_is_none() -> None:
    """As of a stream, whose request ends with its with-block."""
    events = RequestEvents()
    assert events.of_user_code("METRIC ttft", 0.3, 0.5, 2) == []
    assert events.of_client(0.3, 1.0, 3) == ["METRIC ttft"]
    assert events.of_client(1.0, 2.0, 4) == [], "it is reported once"


def test_events_of_a_client_of_the_users_own_are_requests() -> None:
    """One after the other, rounded to milliseconds, and between requests of another client."""
    events = after_a_request(0.1004, turn=1)
    assert events.of_user_code("SQL q", 0.1, 0.15, 2) == []
    assert events.of_user_code("SQL q", 0.15, 0.2, 3) == []
    assert events.of_client(0.2, 0.3, 4) == []


@pytest.mark.parametrize("ms", [0.0, 30.0])
def test_events_of_users_without_another_client_are_requests(ms: float) -> None:
    events = RequestEvents()
    events.task_begins(3)
    assert [events.of_user_code("GRPC call", at_s - ms / 1000, at_s, 3) for at_s in (1.0, 1.0, 2.0)] == [[], [], []]
