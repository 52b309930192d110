"""A tick as numbers: the columns of a timeline, and those from which a level makes its figures.

Each is a double; None, NaN in a column: not measured. Names are the same wherever a second is kept, charted or exported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from .events import Sample
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
)  # fmt: skip

FOLD_COLUMNS = (
    "work", "waits", "wait_sum_s", "requests", "failures", "latency_sum_ms", "failure_latency_sum_ms",
    "generator_run_delay_ratio", "open_sockets", "disk_busy_ratio", "unsettled_failures",
    "app_backlog",
)  # fmt: skip
"""What a level's figures need beside those (SECOND_COLUMNS): settled traffic, as counts and sums; and what only
detectors look at."""

READINGS = (
    "target_cpu_ratio", "target_rss_bytes", "host_cpu_ratio", "load_average_1m",
    "generator_cpu_ratio", "generator_run_delay_ratio", "loop_lag_p99_ms",
    "received_bytes_per_s", "sent_bytes_per_s", "open_sockets", "disk_busy_ratio", "ports_used", "ports_capacity",
)  # fmt: skip
"""Readings that a level averages."""

SECOND_COLUMNS = (
    "duration_s", "users", "work", "waits", "wait_sum_s",
    "requests", "failures", "latency_sum_ms", "failure_latency_sum_ms",
    *READINGS,
)  # fmt: skip
"""What a level's figures need of a second, its histograms apart; names of the timeline's columns."""


def row(sample: Sample) -> tuple[float | None, ...]:
    """One tick by COLUMNS, then FOLD_COLUMNS. Rates count all requests, warm-up included: what the wire saw."""
    ticks, targets = sample.endpoints, sample.targets
    duration_s = sample.duration_s if sample.duration_s > 0 else math.nan  # a log may be corrupted
    generator, host, ports = sample.generator or _NO_GENERATOR, sample.host or _NO_HOST, sample.ports or _NO_PORTS
    _, _, work, waits, wait_sum_s, requests, failures, latency_sum_ms, failure_latency_sum_ms, *readings = second_values(sample)
    target_cpu, target_rss, host_cpu, load, generator_cpu, run_delay, lag, received, sent, sockets, disk_busy, used, capacity = (
        readings
    )
    return (
        sample.t_s,
        sample.duration_s,
        sample.level,
        sample.users,
        sample.wanted,
        float(sample.settled),
        sum([tick.requests + tick.warmup_requests for tick in ticks]) / duration_s,
        None if work is None else (work + sample.warmup_work) / duration_s,
        sum([tick.failures + tick.warmup_failures for tick in ticks]) / duration_s,
        sample.p50_ms,
        sample.p95_ms,
        sample.p99_ms,
        sample.max_ms,
        target_cpu,
        target_rss,
        total([target.fds for target in targets]),
        *_fullest(targets),
        host_cpu,
        host.memory_used_bytes,
        load,
        received,
        sent,
        generator_cpu,
        generator.screen_cpu_ratio,
        generator.recorder_cpu_ratio,
        lag,
        generator.rss_bytes,
        generator.fds,
        used,
        capacity,
        ports.time_wait,
        ports.burn_rate_per_s,
        ports.exhausted_in_s,
        work,
        waits,
        wait_sum_s,
        requests,
        failures,
        latency_sum_ms,
        failure_latency_sum_ms,
        run_delay,
        sockets,
        disk_busy,
        unsettled_failures(sample),
        _backlog(sample.app),
    )


def _backlog(app: Mapping[str, float]) -> float | None:
    """Work that the target took and has not finished, by its own metrics: what it queues and runs, or accepted less finished."""
    if "queued" in app:
        return app["queued"] + app.get("running", 0.0)
    if "accepted" in app and "finished" in app:
        return app["accepted"] - app["finished"] - app.get("failed", 0.0)
    return None


def _fullest(targets: Sequence[TargetReading]) -> tuple[float | None, float | None]:
    """Open files and their limit of the process that is nearest to it."""
    known = [(each.fds_fullest, each.fds_limit) for each in targets]
    if len(known) == 1:
        return known[0]
    both = [(fds, limit) for fds, limit in known if fds is not None and limit]
    return max(both, key=lambda each: each[0] / each[1], default=(None, None))


def second_values(sample: Sample) -> tuple[float | None, ...]:
    """A tick's values by SECOND_COLUMNS; None: not measured."""
    generator, host = sample.generator or _NO_GENERATOR, sample.host or _NO_HOST
    ports, tcp, ticks = sample.ports or _NO_PORTS, sample.tcp or _NO_TCP, sample.endpoints
    return (
        sample.duration_s,
        sample.users,
        sample.work,
        sample.waits,
        sample.wait_sum_s,
        sum([tick.requests for tick in ticks]),
        sum([tick.failures for tick in ticks]),
        math.fsum([tick.latency_sum_ms for tick in ticks]),
        math.fsum([tick.failure_latency_sum_ms for tick in ticks]),
        total([target.cpu_ratio for target in sample.targets]),
        total([target.rss_bytes for target in sample.targets]),
        host.cpu_ratio,
        host.load_average_1m,
        generator.cpu_ratio,
        generator.run_delay_ratio,
        generator.loop_lag_p99_ms,
        host.received_bytes_per_s,
        host.sent_bytes_per_s,
        tcp.sockets_in_use,
        host.disk_busy_ratio,
        ports.used,
        ports.capacity,
    )


def unsettled_failures(sample: Sample) -> int:
    """Failures of a tick that are in no figure of its level but this count."""
    return sum([tick.warmup_failures + (0 if sample.settled else tick.failures) for tick in sample.endpoints])


def total(values: Iterable[float | None]) -> float | None:
    """Sum of what was measured; None when nothing was, or when part of it could not be."""
    known = list(values)
    if len(known) == 1:
        return known[0]
    return math.fsum(value for value in known if value is not None) if known and None not in known else None


_NO_GENERATOR, _NO_HOST, _NO_PORTS, _NO_TCP = GeneratorReading(), HostReading(), PortsReading(), TcpReading()
