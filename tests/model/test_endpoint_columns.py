"""Each endpoint has a value for every second of the timeline, also before its first request and while it is idle."""

from __future__ import annotations

import math

import pytest

from capexplorer.model.columns import ENDPOINTS_MOST, EndpointColumns
from capexplorer.model.events import EndpointTick, Sample


def second(*names: str) -> Sample:
    endpoints = tuple(EndpointTick(name=name, requests=4, failures=2, latency_sum_ms=10.0) for name in names)
    return Sample(t_s=1.0, duration_s=2.0, level=0, users=1, wanted=1, phase="settled", endpoints=endpoints)


def columns(*seconds: Sample) -> EndpointColumns:
    found = EndpointColumns()
    for each in seconds:
        found.add(each)
    return found


def test_seconds_before_the_first_request_of_an_endpoint_are_unknown_and_idle_seconds_have_a_rate_of_0() -> None:
    found = columns(second("/a"), second("/a", "/b"), second("/a"), second("/b"), second("/a")).of(("GET", "/b"))
    assert found is not None
    assert list(found["throughput_rps"]) == pytest.approx([math.nan, 2.0, 0.0, 2.0, 0.0], nan_ok=True)
    assert list(found["failures_rps"]) == pytest.approx([math.nan, 1.0, 0.0, 1.0, 0.0], nan_ok=True)
    assert list(found["mean_ms"]) == pytest.approx([math.nan, 5.0, math.nan, 5.0, math.nan], nan_ok=True)


def test_an_endpoint_without_requests_and_endpoints_beyond_the_maximum_have_no_columns() -> None:
    found = columns(second(*(f"/{number}" for number in range(ENDPOINTS_MOST + 1))))
    assert found.of(("GET", "/nothing")) is None
    assert found.of(("GET", f"/{ENDPOINTS_MOST - 1}")) is not None
    assert found.of(("GET", f"/{ENDPOINTS_MOST}")) is None
