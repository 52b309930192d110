"""Locust's statistics with an id in each name, of users here and of workers, and in an environment of a load thread."""

from __future__ import annotations

from typing import Any

import msgpack  # type: ignore[import-untyped]
from locust.event import Events
from locust.stats import RequestStats, setup_distributed_stats_event_listeners

from capexplorer.load.locust_bounds import ERRORS_MOST, SECONDS_MOST, BoundedStats

from ..under_gevent.rig import Rig, user_class

REQUESTS = 3_000


def _log(stats: RequestStats, first: int, count: int) -> None:
    for index in range(first, first + count):
        name = f"/item/{index:032x}"
        stats.log_request("GET", name, 12, 2)
        if index % 3 == 0:
            stats.log_error("GET", name, RuntimeError(f"{name} broke"))


def _found(stats: RequestStats) -> dict[str, Any]:
    return {
        "names": sorted(entry.name for entry in stats.entries.values()),
        "errors": len(stats.errors),
        "requests": sum(entry.num_requests for entry in stats.entries.values()),
        "failures": sum(entry.num_failures for entry in stats.entries.values()),
        "failures by error": sum(error.occurrences for error in stats.errors.values()),
        "total": [stats.total.num_requests, stats.total.num_failures],
    }


def of_users_here() -> dict[str, Any]:
    stats = BoundedStats()
    stats.log_request("GET", "/", 3, 2)
    _log(stats, 0, REQUESTS)
    by_raw_name = stats.get(f"/item/{7:032x}", "GET")
    return {**_found(stats), "of a raw name": by_raw_name.num_requests, "most errors": ERRORS_MOST + 1}


def of_workers() -> dict[str, Any]:
    """Locust's own worker reports to a run, by Locust's listeners and encoding."""
    here, worker, of_run, of_worker = BoundedStats(), RequestStats(), Events(), Events()  # type: ignore[no-untyped-call]
    setup_distributed_stats_event_listeners(of_run, here)
    setup_distributed_stats_event_listeners(of_worker, worker)
    for part in range(10):
        _log(worker, part * REQUESTS // 10, REQUESTS // 10)
        data: dict[str, Any] = {}
        of_worker.report_to_master.fire(client_id="w", data=data)  # type: ignore[no-untyped-call]
        sent = msgpack.unpackb(msgpack.packb(data), strict_map_key=False)
        of_run.worker_report.fire(client_id="w", data=sent)  # type: ignore[no-untyped-call]
    return _found(here)


def seconds_of_a_day() -> list[int]:
    stats = BoundedStats()
    for second in range(1_700_000_000, 1_700_000_000 + 10 * SECONDS_MOST):
        for counts in (stats.total.num_reqs_per_sec, stats.get("/", "GET").num_fail_per_sec):
            counts[second] += 1
    return [max(map(len, (stats.total.num_reqs_per_sec, stats.get("/", "GET").num_fail_per_sec))), SECONDS_MOST]


def a_test_that_begins_again() -> dict[str, Any]:
    stats = BoundedStats()
    _log(stats, 0, REQUESTS)
    stats.clear_all()
    _log(stats, 0, REQUESTS)
    return _found(stats)


def of_a_run() -> str:
    rig = Rig(user_class("U"), own_events=False)
    kind = type(rig.host.engine.runner.environment.stats).__name__
    rig.host.stop()
    return kind
