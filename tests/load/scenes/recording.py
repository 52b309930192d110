"""The recorder and the lag meter, with requests of greenlets such as users have."""

from __future__ import annotations

import time
from _queue import SimpleQueue
from typing import Any

import gevent
from gevent.pool import Group

from capexplorer.load import native
from capexplorer.load.lag import PERIOD_S, Lag, LagMeter
from capexplorer.load.recorder import Recorder
from capexplorer.load.user_activity import UserActivity
from capexplorer.model.histogram import LatencyHistogram


def _user(recorder: Recorder, group: Group, cycles: list[list[float]]) -> None:
    """A user that makes these requests (ms), a wait after each cycle."""

    def live() -> None:
        for cycle in cycles:
            for response_ms in cycle:
                recorder.on_request("GET", "/a", response_ms, 10)
            recorder.activity.on_wait(0.5)

    group.spawn(live)


def warm_up() -> dict[str, Any]:
    group = Group()
    recorder = Recorder(UserActivity(group))
    _user(recorder, group, [[100.0, 200.0], [10.0], [20.0]])  # two requests of on_start and the first cycle
    group.join()
    tick = recorder.drain(0.0, 0)
    return {
        "requests": tick.endpoints[0].requests, "warmup_requests": tick.endpoints[0].warmup_requests,
        "latency_sum_ms": tick.endpoints[0].latency_sum_ms, "bytes": tick.endpoints[0].received_bytes,
        "waits": tick.waits, "wait_sum_s": tick.wait_sum_s, "all_requests": tick.all_requests,
        "all_latency_sum_ms": tick.all_latency_sum_ms,
        "max_ms": LatencyHistogram.decode(tick.endpoints[0].latency or "").max_ms,
    }  # fmt: skip


def requests_of_greenlets_that_a_user_spawned() -> list[int]:
    group = Group()
    recorder = Recorder(UserActivity(group))

    def live() -> None:
        recorder.activity.on_wait(0.0)
        gevent.spawn(recorder.on_request, "GET", "/a", 1.0, 1).join()

    group.spawn(live)
    group.join()
    endpoint = recorder.drain(0.0, 0).endpoints[0]
    return [endpoint.requests, endpoint.warmup_requests]


def totals() -> dict[str, Any]:
    recorder = Recorder()
    for n in range(1, 1001):
        recorder.on_request("GET", f"/{n % 3}", float(n), 5)
    for _ in range(10):
        recorder.on_request("GET", "/0", 50.0, 0, ConnectionResetError(104, "reset"))
    tick, empty = recorder.drain(0.0, 0), recorder.drain(0.0, 0)
    merged = LatencyHistogram()
    for endpoint in tick.endpoints:
        merged.add(LatencyHistogram.decode(endpoint.latency or ""))
    return {
        "names": [endpoint.name for endpoint in tick.endpoints],
        "requests": sum(endpoint.requests for endpoint in tick.endpoints),
        "failures": [[failure.name, failure.count, failure.signature.errno] for failure in tick.failures],
        "failure_latency_sum_ms": tick.endpoints[0].failure_latency_sum_ms,
        "latency_sum_ms": sum(endpoint.latency_sum_ms for endpoint in tick.endpoints),
        "count": merged.count, "of_merged": (tick.p50_ms, tick.p95_ms, tick.p99_ms) == merged.percentiles_ms((0.50, 0.95, 0.99)),
        "max_ms": tick.max_ms,
        "empty": [len(empty.endpoints), empty.all_requests, empty.p50_ms, empty.max_ms],
    }  # fmt: skip


def many_kinds_of_failure() -> dict[str, Any]:
    recorder = Recorder()
    for n in range(200):
        recorder.on_request("GET", "/a", 1.0, 0, ValueError(f"kind {chr(97 + n % 26)}{chr(97 + n // 26)}"))
    first = recorder.drain(0.0, 0)
    recorder.drain_all()
    rest = recorder.drain(0.0, 0)
    return {
        "failed": sum(each.failures for each in first.endpoints),
        "reported_at_once": len(first.failures),
        "kinds": len({each.signature for each in first.failures + rest.failures}),
        "counted": sum(each.count for each in first.failures + rest.failures),
    }


def odd_values() -> list[Any]:
    """Events that user code fires with unexpected types."""
    recorder = Recorder()
    recorder.on_request("WS", 17, None, None)  # type: ignore[arg-type]
    recorder.on_request(None, "x", 0.0, 3)
    recorder.on_request("GET", "/a", -5.0, 3, context={}, url="http://x")
    ticks = recorder.drain(0.0, 0).endpoints
    return [[each.method, each.name, each.requests, each.clamped] for each in ticks]


def a_thousand_names() -> list[Any]:
    recorder = Recorder()
    for n in range(1000):
        recorder.on_request("GET", f"/item/{n}", 1.0, 1)
    first, grouping = recorder.drain(0.0, 0), recorder.names.grouping
    recorder.on_request("GET", "/item/5", 1.0, 1)
    return [grouping, sum(each.requests for each in first.endpoints), [each.name for each in recorder.drain(0.0, 0).endpoints]]


def _next_lag(meter: LagMeter) -> Lag:
    """The lag once the meter's timer has fired (within 20 s)."""
    with gevent.Timeout(20):
        while True:
            gevent.sleep(0.001)
            if (lag := meter.drain()).max_ms is not None:
                return lag


def lag_of_a_free_hub() -> list[Any]:
    meter = LagMeter(lambda: "")
    before = meter.drain()
    running = gevent.spawn(meter.run)
    gevent.sleep(30 * PERIOD_S)
    lag = meter.drain()
    running.kill()
    assert lag.p50_ms is not None
    assert lag.p99_ms is not None
    assert lag.max_ms is not None
    return [before.p50_ms, lag.p50_ms >= 0, lag.p50_ms <= lag.p99_ms <= lag.max_ms]


def lag_of_a_blocked_hub() -> list[float]:
    """The largest lag that another thread reads while the hub is blocked, and the one that the late timer measures afterwards."""
    meter, answered = LagMeter(lambda: ""), SimpleQueue[float]()
    running = gevent.spawn(meter.run)
    _next_lag(meter)

    def ask() -> None:
        native.sleep(0.3)
        answered.put(meter.drain().max_ms or 0.0)

    native.start_thread(ask)
    deadline_s = time.perf_counter() + 20
    while answered.empty() and time.perf_counter() < deadline_s:
        native.sleep(0.01)
    after_ms = _next_lag(meter).max_ms or 0.0
    running.kill()
    return [answered.get(), after_ms]
