"""Seconds that workers report, as tests write them."""

from __future__ import annotations

from typing import Any

from capexplorer.load.workers.messages import WorkerSecond
from capexplorer.model.events import EndpointTick
from capexplorer.model.histogram import LatencyHistogram


def endpoint(name: str, *latencies_ms: float, failures: int = 0, method: str = "GET") -> EndpointTick:
    """One endpoint's second with these successes, and failures of 1 ms each."""
    histogram = LatencyHistogram()
    histogram.record_us([value * 1000 for value in latencies_ms])
    return EndpointTick(
        name=name,
        method=method,
        requests=len(latencies_ms) + failures,
        failures=failures,
        received_bytes=10 * len(latencies_ms),
        latency=histogram.encode() if latencies_ms else None,
        latency_sum_ms=sum(latencies_ms),
        failure_latency_sum_ms=float(failures),
    )


def second(ended_s: float, *endpoints: EndpointTick, lasted_s: float = 1.0, **more: Any) -> WorkerSecond:
    """A second of two users that ends at this moment."""
    found: dict[str, Any] = {
        "users": 2,
        "warm_users": 2,
        "closed_by_service": 0,
        "closed_by_users": 0,
        "sleep_sum_s": 0.0,
        **more,
    }
    return WorkerSecond(t_s=ended_s, duration_s=lasted_s, endpoints=endpoints, **found)
