"""Which request events of user code are metrics. The same in runs of real locustfiles: `tests/e2e/test_user_code.py`."""

from __future__ import annotations

import pytest

from capexplorer.load.user_activity import MetricNames, RequestEvents


def after_a_request(ended_s: float, turn: int) -> RequestEvents:
    """The events of a user whose task began at 0 and whose client's request took until `ended_s`."""
    events = RequestEvents()
    events.task_begins(0)
    events.of_client(ended_s, turn)
    return events


def test_events_that_lie_within_the_request_before_them_are_metrics() -> None:
    """The time to the first byte, and a number of tokens that is no time at all."""
    events = after_a_request(0.1, turn=1)
    assert events.is_metric(0.07, 0.1, 1)
    assert events.is_metric(0.08, 0.1001, 1)


def test_an_event_without_a_time_is_a_metric_unless_the_user_has_waited_since_the_one_before() -> None:
    """A client of its own may round to 0 ms, but it has waited for a reply."""
    events = after_a_request(0.1, turn=1)
    assert events.is_metric(0.1002, 0.1002, 1)
    assert events.is_metric(0.1005, 0.1005, 2) is False
    assert events.is_metric(0.1006, 0.1006, 2)


def test_a_sleep_and_the_wait_for_the_next_task_are_no_wait_for_a_reply() -> None:
    events = after_a_request(0.1, turn=1)
    events.sleeps(1)
    events.wakes(5)
    assert events.is_metric(0.5, 0.5, 5)
    events.task_begins(9)
    assert events.is_metric(2.0, 2.0, 9)


def test_a_wait_for_a_reply_counts_also_if_the_user_sleeps_after_it() -> None:
    events = after_a_request(0.1, turn=1)
    events.sleeps(2)
    events.wakes(5)
    assert events.is_metric(0.5, 0.5, 5) is False


def test_the_reading_of_a_reply_belongs_to_its_request() -> None:
    """A client reports a stream at its head."""
    events = after_a_request(0.1, turn=1)
    events.reads(0.9, 4)
    assert events.is_metric(0.7, 0.9, 4)
    assert events.is_metric(0.9001, 0.9001, 4)


def test_an_event_within_a_with_block_is_a_metric_at_once_and_one_of_a_client_in_it_is_a_request() -> None:
    """Before, an event of a stream counted as a request until the with-block had ended."""
    events = RequestEvents()
    events.task_begins(0)
    events.holds(0.5, 2)
    assert events.is_metric(0.4998, 0.5001, 2), "a time to the first byte of less than the rounding"
    assert events.is_metric(0.5005, 0.53, 3) is False
    events.reads(0.6, 4)
    assert events.is_metric(0.3, 0.6, 4)
    events.of_client(1.0, 5)
    assert events.is_metric(1.0001, 1.0011, 5) is False, "the with-block has ended"


def test_events_of_a_client_of_the_users_own_are_requests() -> None:
    """One after the other, rounded to milliseconds, and between requests of another client."""
    events = after_a_request(0.1004, turn=1)
    assert events.is_metric(0.1, 0.15, 2) is False
    assert events.is_metric(0.15, 0.2, 3) is False


@pytest.mark.parametrize(("ms", "known"), [(0.0, None), (30.0, False)])
def test_events_of_users_without_another_client_are_requests(ms: float, known: bool | None) -> None:
    events = RequestEvents()
    events.task_begins(3)
    assert [events.is_metric(at_s - ms / 1000, at_s, 3) for at_s in (1.0, 1.0, 2.0)] == [known] * 3


def test_a_name_is_what_most_of_its_events_are() -> None:
    names = MetricNames()
    assert [names.takes("REDIS", "get", each) for each in (False, False, True)] == [False, False, False]
    assert [names.takes("METRIC", "ttft", each) for each in (None, True, True, False)] == [False, True, True, True]
    assert names.has("METRIC", "ttft") and not names.has("REDIS", "get")


def test_the_first_pattern_that_matches_decides_against_what_is_recognised() -> None:
    names = MetricNames(("!METRIC step", "METRIC *", "!SQL *"))
    assert [names.takes("METRIC", name, False) for name in ("step", "any")] == [False, True]
    assert not names.takes("SQL", "query", True)
    assert names.takes("OTHER", "any", True)
