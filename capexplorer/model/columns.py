"""One tick as numbers: the columns of a timeline, and the columns from which a level computes its figures.

Each is a double; None, NaN in a column: not measured. Names are the same wherever a second is kept, charted or exported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from .events import OfferedTick, Sample
from .readings import GeneratorReading, HostReading, PortsReading, TargetReading, TcpReading

COLUMNS = (
    "t_s", "duration_s", "level", "users", "wanted", "settled",
    "throughput_rps", "goodput_rps", "failures_rps",
    "p50_ms", "p95_ms", "p99_ms", "max_ms",
    "target_cpu_ratio", "target_rss_bytes", "target_fds", "target_fds_fullest", "target_fds_limit",
    "host_cpu_ratio", "host_memory_bytes", "load_average_1m", "received_bytes_per_s", "sent_bytes_per_s",
    "generator_cpu_ratio", "screen_cpu_ratio", "recorder_cpu_ratio", "loop_lag_p99_ms",
    "generator_rss_bytes", "generator_fds",
    "ports_used", "ports_capacity", "ports_time_wait", "ports_burn_rate_per_s", "ports_exhausted_in_s",
    "others_cpu_ratio",
    "offered_per_s", "finished_per_s", "dropped_per_s", "in_flight", "queued",
    "from_plan_p50_ms", "from_plan_p95_ms", "from_plan_p99_ms", "from_plan_max_ms", "late_p99_ms",
)  # fmt: skip

FOLD_COLUMNS = (
    "work", "waits", "wait_sum_s", "sleep_sum_s", "tasks", "task_sum_s",
    "requests", "failures", "latency_sum_ms", "failure_latency_sum_ms",
    "generator_run_delay_ratio", "open_sockets", "disk_busy_ratio", "unsettled_failures",
    "app_backlog", "warm_users", "target_run_delay_ratio", "planned", "finished", "from_plan_sum_ms",
)  # fmt: skip
"""Further columns: counts and sums of settled requests, for a level's figures (SECOND_COLUMNS), and columns that only detectors
use.
"""

READINGS = (
    "target_cpu_ratio", "target_rss_bytes", "host_cpu_ratio", "load_average_1m",
    "generator_cpu_ratio", "generator_run_delay_ratio", "loop_lag_p99_ms",
    "received_bytes_per_s", "sent_bytes_per_s", "open_sockets", "disk_busy_ratio", "ports_used", "ports_capacity",
)  # fmt: skip
"""Readings that a level averages."""

SECOND_COLUMNS = (
    "duration_s", "users", "work", "waits", "wait_sum_s", "sleep_sum_s", "tasks", "task_sum_s",
    "requests", "failures", "latency_sum_ms", "failure_latency_sum_ms",
    "offered_per_s", "planned", "finished", "from_plan_sum_ms", "in_flight", "queued", "late_p99_ms",
    *READINGS,
)  # fmt: skip
"""What a level's figures need of a second, its histograms apart; names of the timeline's columns."""


def row(sample: Sample) -> dict[str, float | None]:
    """One tick by the names of COLUMNS and FOLD_COLUMNS. Rates count all requests that were sent, warm-up included."""
    targets, second = sample.targets, second_values(sample)
    requests = sum([tick.requests + tick.warmup_requests for tick in sample.endpoints])
    failures, warmup_failures = sum([tick.failures for tick in sample.endpoints]), _warmup_failures(sample)
    duration_s = sample.duration_s if sample.duration_s > 0 else math.nan  # a log may be corrupted
    generator, host, ports = sample.generator or _NO_GENERATOR, sample.host or _NO_HOST, sample.ports or _NO_PORTS
    fds_fullest, fds_limit = _fullest(targets)
    return {
        **second,
        "t_s": sample.t_s,
        "level": sample.level,
        "wanted": sample.wanted,
        "settled": float(sample.settled),
        "throughput_rps": requests / duration_s,
        "goodput_rps": None if sample.work is None else (sample.work + sample.warmup_work) / duration_s,
        "failures_rps": (failures + warmup_failures) / duration_s,
        "p50_ms": sample.p50_ms,
        "p95_ms": sample.p95_ms,
        "p99_ms": sample.p99_ms,
        "max_ms": sample.max_ms,
        "target_fds": total([target.fds for target in targets]),
        "target_fds_fullest": fds_fullest,
        "target_fds_limit": fds_limit,
        "host_memory_bytes": host.memory_used_bytes,
        "screen_cpu_ratio": generator.screen_cpu_ratio,
        "recorder_cpu_ratio": generator.recorder_cpu_ratio,
        "generator_rss_bytes": generator.rss_bytes,
        "generator_fds": generator.fds,
        "ports_time_wait": ports.time_wait,
        "ports_burn_rate_per_s": ports.burn_rate_per_s,
        "ports_exhausted_in_s": ports.exhausted_in_s,
        "others_cpu_ratio": sample.neighbours.cpu_ratio if sample.neighbours is not None else None,
        "unsettled_failures": warmup_failures if sample.settled else warmup_failures + failures,
        "app_backlog": _backlog(sample.app),
        "warm_users": sample.warm_users,
        "target_run_delay_ratio": total([target.run_delay_ratio for target in targets]),
        **_offered_row(sample.offered, duration_s),
    }


def _offered_row(offered: OfferedTick | None, duration_s: float) -> dict[str, float | None]:
    """A tick's iterations beside those of `second_values`; None: no rate was offered."""
    if offered is None:
        return dict.fromkeys(_OFFERED_ROW)
    values = (
        offered.finished / duration_s, offered.dropped.total / duration_s,
        offered.p50_ms, offered.p95_ms, offered.p99_ms, offered.max_ms,
    )  # fmt: skip
    return dict(zip(_OFFERED_ROW, values, strict=True))


_OFFERED_ROW = (
    "finished_per_s", "dropped_per_s", "from_plan_p50_ms", "from_plan_p95_ms", "from_plan_p99_ms", "from_plan_max_ms",
)  # fmt: skip


def _backlog(app: Mapping[str, float]) -> float | None:
    """Work that the target has accepted and not finished, from its own metrics: queued plus running, or accepted minus
    finished.
    """
    if "queued" in app:
        return app["queued"] + app.get("running", 0.0)
    if "accepted" in app and "finished" in app:
        return app["accepted"] - app["finished"] - app.get("failed", 0.0)
    return None


def _fullest(targets: Sequence[TargetReading]) -> tuple[float | None, float | None]:
    """Open files and their limit, of the process that is nearest to its limit."""
    if len(targets) == 1:
        return targets[0].fds_fullest, targets[0].fds_limit
    both = [(each.fds_fullest, each.fds_limit) for each in targets if each.fds_fullest is not None and each.fds_limit]
    return max(both, key=lambda each: each[0] / each[1], default=(None, None))


def second_values(sample: Sample) -> dict[str, float | None]:
    """A tick's values in the order of SECOND_COLUMNS; None: not measured."""
    generator, host = sample.generator or _NO_GENERATOR, sample.host or _NO_HOST
    ports, tcp, ticks, offered = sample.ports or _NO_PORTS, sample.tcp or _NO_TCP, sample.endpoints, sample.offered
    return {
        "duration_s": sample.duration_s,
        "users": sample.users,
        "work": sample.work,
        "waits": sample.waits,
        "wait_sum_s": sample.wait_sum_s,
        "sleep_sum_s": sample.sleep_sum_s,
        "tasks": sample.tasks,
        "task_sum_s": sample.task_sum_s,
        "requests": sum([tick.requests for tick in ticks]),
        "failures": sum([tick.failures for tick in ticks]),
        "latency_sum_ms": math.fsum([tick.latency_sum_ms for tick in ticks]),
        "failure_latency_sum_ms": math.fsum([tick.failure_latency_sum_ms for tick in ticks]),
        "offered_per_s": offered.offered_per_s if offered is not None else None,
        "planned": offered.planned if offered is not None else None,
        "finished": offered.finished if offered is not None else None,
        "from_plan_sum_ms": offered.from_plan_sum_ms if offered is not None else None,
        "in_flight": offered.in_flight if offered is not None else None,
        "queued": offered.queued if offered is not None else None,
        "late_p99_ms": offered.late_p99_ms if offered is not None else None,
        "target_cpu_ratio": total([target.cpu_ratio for target in sample.targets]),
        "target_rss_bytes": total([target.rss_bytes for target in sample.targets]),
        "host_cpu_ratio": host.cpu_ratio,
        "load_average_1m": host.load_average_1m,
        "generator_cpu_ratio": generator.cpu_ratio,
        "generator_run_delay_ratio": generator.run_delay_ratio,
        "loop_lag_p99_ms": generator.loop_lag_p99_ms,
        "received_bytes_per_s": host.received_bytes_per_s,
        "sent_bytes_per_s": host.sent_bytes_per_s,
        "open_sockets": tcp.sockets_in_use,
        "disk_busy_ratio": host.disk_busy_ratio,
        "ports_used": ports.used,
        "ports_capacity": ports.capacity,
    }


def unsettled_failures(sample: Sample) -> int:
    """Failed requests of a tick that no other figure of its level counts."""
    failures = 0 if sample.settled else sum([tick.failures for tick in sample.endpoints])
    return failures + _warmup_failures(sample)


def _warmup_failures(sample: Sample) -> int:
    return sum([tick.warmup_failures for tick in sample.endpoints])


def total(values: Iterable[float | None]) -> float | None:
    """Sum of the measured values; None if there are none, or if one of several could not be measured."""
    given = list(values)
    if len(given) == 1:
        return given[0]
    known = [value for value in given if value is not None]
    return math.fsum(known) if known and len(known) == len(given) else None


_NO_GENERATOR, _NO_HOST, _NO_PORTS, _NO_TCP = GeneratorReading(), HostReading(), PortsReading(), TcpReading()
