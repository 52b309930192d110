"""The columns of a timeline: one double per tick, by name. From some of them a level computes its figures.

A value that was not measured is None, in a column NaN. Names are the same wherever a second is kept, charted or exported. Many
ticks are converted at once, column by column: the 86,400 of a day take a third of the time that they take one by one.
"""

from __future__ import annotations

from . import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
import math
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from .events import Sample
from .readings import NeighboursReading, TargetReading
from .second_columns import (
    NO_GENERATOR,
    NO_HOST,
    NO_PORTS,
    Columns,
    EndpointSums,
    Fields,
    Values,
    extend_all,
    second_columns,
    unsettled_failures,
)

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
    "dropped_by_target", "dropped_at_stop",
)  # fmt: skip
"""Further columns, which are not charted or exported: counts and sums of settled requests, from which a level's figures are
computed (SECOND_COLUMNS), and columns that only detectors use."""

_FURTHER_OF_SAMPLE = Fields.named("t_s", "level", "wanted", "settled", "p50_ms", "p95_ms", "p99_ms", "max_ms", "warm_users")
_FURTHER_OF_OFFERED = Fields(
    {
        "from_plan_p50_ms": "p50_ms",
        "from_plan_p95_ms": "p95_ms",
        "from_plan_p99_ms": "p99_ms",
        "from_plan_max_ms": "max_ms",
        "dropped_by_target": "dropped.target",
        "dropped_at_stop": "dropped.stopped",
    }
)
_FURTHER_OF_TARGETS = Fields({"target_fds": "fds", "target_run_delay_ratio": "run_delay_ratio"})
_FURTHER_OF_GENERATOR = Fields(
    {
        "screen_cpu_ratio": "screen_cpu_ratio",
        "recorder_cpu_ratio": "recorder_cpu_ratio",
        "generator_rss_bytes": "rss_bytes",
        "generator_fds": "fds",
    }
)
_FURTHER_OF_PORTS = Fields(
    {"ports_time_wait": "time_wait", "ports_burn_rate_per_s": "burn_rate_per_s", "ports_exhausted_in_s": "exhausted_in_s"}
)
"""Columns that are not among SECOND_COLUMNS, by the reading that they come from."""


def row(sample: Sample) -> dict[str, float | None]:
    """The values of one tick by column, for all of COLUMNS and FOLD_COLUMNS."""
    return {name: values[0] for name, values in rows((sample,)).items()}


def rows(samples: Sequence[Sample]) -> dict[str, Values]:
    """The values of ticks, at least one, by column, for all of COLUMNS and FOLD_COLUMNS. Rates include warm-up requests."""
    sums = [EndpointSums.of(sample.endpoints) for sample in samples]
    seconds, fullest = second_columns(samples, sums), [_fullest(sample.targets) for sample in samples]
    return {
        **seconds,
        **_FURTHER_OF_SAMPLE.of(samples),
        **_FURTHER_OF_GENERATOR.of([sample.generator or NO_GENERATOR for sample in samples]),
        "host_memory_bytes": [(sample.host or NO_HOST).memory_used_bytes for sample in samples],
        "others_cpu_ratio": [(sample.neighbours or _NO_NEIGHBOURS).cpu_ratio for sample in samples],
        **_FURTHER_OF_PORTS.of([sample.ports or NO_PORTS for sample in samples]),
        "throughput_rps": _per_s([each.requests + each.warmup_requests for each in sums], samples),
        "goodput_rps": _per_s([_all_work(sample) for sample in samples], samples),
        "failures_rps": _per_s([each.failures + each.warmup_failures for each in sums], samples),
        **_FURTHER_OF_TARGETS.totals(samples),
        "target_fds_fullest": [fds for fds, _ in fullest],
        "target_fds_limit": [limit for _, limit in fullest],
        "unsettled_failures": [unsettled_failures(sample, each) for sample, each in zip(samples, sums, strict=True)],
        "app_backlog": [_backlog(sample.app) for sample in samples],
        **_FURTHER_OF_OFFERED.of_offered(samples),
        "finished_per_s": _per_s(seconds["finished"], samples),
        "dropped_per_s": _per_s([_dropped(sample) for sample in samples], samples),
    }


def extend(columns: Columns, found: Mapping[str, Values]) -> None:
    """Append the values to the columns of the same names, None as NaN."""
    ticks, in_order = len(found["t_s"]), (found[name] for name in columns)
    values = np.fromiter(chain.from_iterable(in_order), np.float64, len(columns) * ticks)  # half of the time of np.array
    extend_all(columns, [column.tobytes() for column in values.reshape(-1, ticks)])


def _dropped(sample: Sample) -> float | None:
    return sample.offered.dropped.total if sample.offered is not None else None


def _all_work(sample: Sample) -> float | None:
    return None if sample.work is None else sample.work + sample.warmup_work


def _per_s(values: Values, samples: Sequence[Sample]) -> Values:
    """Values divided by the length of their ticks; NaN for a tick of no length, which a corrupted log may have."""
    return [
        None if value is None else value / sample.duration_s if sample.duration_s > 0 else math.nan
        for value, sample in zip(values, samples, strict=True)
    ]


def _backlog(app: Mapping[str, float]) -> float | None:
    """Work that the target has accepted and not finished, by its own metrics: queued plus running, or accepted minus finished and
    failed. None without such metrics.
    """
    if "queued" in app:
        return app["queued"] + app.get("running", 0.0)
    if "accepted" in app and "finished" in app:
        return app["accepted"] - app["finished"] - app.get("failed", 0.0)
    return None


def _fullest(targets: Sequence[TargetReading]) -> tuple[float | None, float | None]:
    """(open files, their limit) of the process that is nearest to its limit."""
    if len(targets) == 1:
        return targets[0].fds_fullest, targets[0].fds_limit
    both = [(each.fds_fullest, each.fds_limit) for each in targets if each.fds_fullest is not None and each.fds_limit]
    return max(both, key=lambda each: each[0] / each[1], default=(None, None))


_NO_NEIGHBOURS = NeighboursReading()
