"""Reports of plain Locust workers, and clocks of workers on other machines."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.load.workers.merging import ClockOffset
from capexplorer.load.workers.messages import PlainStats


def _report(requests: int, failures: int = 0) -> dict[str, Any]:
    entry = {
        "name": "/a", "method": "GET", "num_requests": requests, "num_failures": failures, "total_content_length": 10 * requests,
        "total_response_time": 5.0 * requests, "response_times": {5: requests},
    }  # fmt: skip
    errors = {"x": {"name": "/a", "method": "GET", "error": "HTTPError('503')", "occurrences": failures}} if failures else {}
    return {"stats": [entry], "errors": errors, "user_count": 3}


def test_a_report_is_split_into_its_seconds_and_no_request_is_lost() -> None:
    stats = PlainStats()
    assert stats.seconds(_report(5), 0.5, 100.0) == [], "the length of the first report is unknown"
    seconds = stats.seconds(_report(100, failures=10), 0.5, 103.0)
    assert [(each.began_s, each.t_s, each.users) for each in seconds] == [
        (100.0, 101.0, 3),
        (101.0, 102.0, 3),
        (102.0, 103.0, 3),
    ]
    assert sum(each.all_requests for each in seconds) == 100
    assert sum(tick.failures for each in seconds for tick in each.endpoints) == 10
    assert sum(tick.count for each in seconds for tick in each.failures) == 10
    assert {tick.signature.types for each in seconds for tick in each.failures} == {("Locust",)}
    assert sum(tick.latency_sum_ms + tick.failure_latency_sum_ms for each in seconds for tick in each.endpoints) == pytest.approx(
        500.0
    )
    assert [each.generator.cpu_ratio for each in seconds if each.generator] == [0.5, 0.5, 0.5]


def test_the_offset_of_a_clock_is_that_of_the_shortest_round_trip() -> None:
    clock = ClockOffset()
    assert (clock.is_known, clock.offset_s, clock.error_s) == (False, 0.0, None)
    clock.trip(10.0, 510.4, 10.6)
    clock.trip(20.0, 520.001, 20.004)
    clock.trip(30.0, 530.3, 30.5)
    assert clock.offset_s == pytest.approx(-499.999)
    assert clock.error_s == pytest.approx(0.002)
