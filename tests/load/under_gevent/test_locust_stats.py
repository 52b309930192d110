"""Locust's own statistics are bounded: they count every request, under the names of the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack  # type: ignore[import-untyped]
from locust.event import Events
from locust.stats import RequestStats, setup_distributed_stats_event_listeners

from capexplorer.load.locust_bounds import ERRORS_MOST, SECONDS_MOST, BoundedStats

from .rig import Rig, user_class


def _log(stats: RequestStats, first: int, count: int) -> None:
    for index in range(first, first + count):
        name = f"/item/{index:032x}"
        stats.log_request("GET", name, 12, 2)
        if index % 3 == 0:
            stats.log_error("GET", name, RuntimeError(f"{name} broke"))


def _counts(stats: RequestStats) -> list[Any]:
    """[requests, failures, failures by error, requests and failures of the total]."""
    return [
        sum(entry.num_requests for entry in stats.entries.values()),
        sum(entry.num_failures for entry in stats.entries.values()),
        sum(error.occurrences for error in stats.errors.values()),
        (stats.total.num_requests, stats.total.num_failures),
    ]


def _names(stats: RequestStats) -> list[str]:
    return sorted(entry.name for entry in stats.entries.values())


def test_names_with_ids_have_one_entry_every_request_is_counted_and_further_errors_together() -> None:
    stats = BoundedStats()
    stats.log_request("GET", "/", 3, 2)
    _log(stats, 0, 3_000)
    assert stats.get(f"/item/{7:032x}", "GET").num_requests == 3_000  # by a raw name
    assert _names(stats) == ["/", "/item/{id}"]
    assert _counts(stats) == [3_001, 1_000, 1_000, (3_001, 1_000)]
    assert len(stats.errors) == ERRORS_MOST + 1


def test_reports_of_workers_are_bounded_as_well() -> None:
    """Locust's own worker reports to a run, by Locust's listeners and encoding."""
    here, worker, of_run, of_worker = BoundedStats(), RequestStats(), Events(), Events()  # type: ignore[no-untyped-call]
    setup_distributed_stats_event_listeners(of_run, here)
    setup_distributed_stats_event_listeners(of_worker, worker)
    for part in range(10):
        _log(worker, part * 300, 300)
        data: dict[str, Any] = {}
        of_worker.report_to_master.fire(client_id="w", data=data)  # type: ignore[no-untyped-call]
        sent = msgpack.unpackb(msgpack.packb(data), strict_map_key=False)
        of_run.worker_report.fire(client_id="w", data=sent)  # type: ignore[no-untyped-call]
    assert (_names(here), _counts(here)) == (["/item/{id}"], [3_000, 1_000, 1_000, (3_000, 1_000)])
    assert len(here.errors) == ERRORS_MOST + 1


def test_a_test_that_begins_again_is_counted_from_zero() -> None:
    stats = BoundedStats()
    _log(stats, 0, 3_000)
    stats.clear_all()
    _log(stats, 0, 30)
    assert (_names(stats), _counts(stats)) == ([f"/item/{index:032x}" for index in range(30)], [30, 10, 10, (30, 10)])


def test_single_seconds_are_forgotten() -> None:
    stats = BoundedStats()
    kinds = (stats.total.num_reqs_per_sec, stats.get("/", "GET").num_fail_per_sec)
    for second in range(1_700_000_000, 1_700_000_000 + 10 * SECONDS_MOST):
        for counts in kinds:
            counts[second] += 1
    assert list(map(len, kinds)) == [SECONDS_MOST] * 2


def test_a_run_has_these_statistics(rig: Callable[..., Rig]) -> None:
    made = rig(user_class("U"), own_events=False)
    assert isinstance(made.host.engine.runner.environment.stats, BoundedStats)
