"""The columns of a timeline: one double per tick, by name. From some of them a level computes its figures.

A value that was not measured is None, in a column NaN. Names are the same wherever a second is kept, charted or exported. Many
ticks are converted at once, column by column: the 86,400 of a day take a third of the time that they take one by one.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from . import one_blas_thread  # noqa: F401  before numpy is loaded
from .events import EndpointTick, Sample
from .readings import GeneratorReading, HostReading, PortsReading, TcpReading

# isort: split
from itertools import chain

import numpy as np

from .readings import NeighboursReading, TargetReading

# -- second columns ------------------------------------------------------------------------------------------------------------
# The columns from which a level's figures are computed (SECOND_COLUMNS), made from ticks.
#
# Each value is a double; None: not measured. Many ticks are converted at once (`columns.rows`).


Values = Sequence[float | None]
"""Values of a column, one per tick; None: not measured."""

SecondValues = Mapping[str, float | None]
"""The values of one tick by column, for SECOND_COLUMNS and perhaps more; None: not measured."""

Columns: TypeAlias = "dict[str, array[float]]"
"""Columns of equal length, by name. Several may be one array, so only `extend_all` changes them."""

READINGS = (
    "target_cpu_ratio", "target_rss_bytes", "host_cpu_ratio", "load_average_1m",
    "generator_cpu_ratio", "generator_run_delay_ratio", "loop_lag_p99_ms",
    "received_bytes_per_s", "sent_bytes_per_s", "open_sockets", "disk_busy_ratio", "ports_used", "ports_capacity",
)  # fmt: skip
"""Readings whose mean over settled seconds is a figure of a level."""

SECOND_COLUMNS = (
    "duration_s", "users", "work", "waits", "wait_sum_s", "sleep_sum_s", "tasks", "task_sum_s",
    "requests", "failures", "latency_sum_ms", "failure_latency_sum_ms",
    "offered_per_s", "planned", "finished", "from_plan_sum_ms", "in_flight", "queued", "late_p99_ms",
    *READINGS,
)  # fmt: skip
"""Columns that a level's figures need in addition to the histograms; they have the names of the timeline's columns."""


class Fields:
    """Columns that are made from at least two fields of a tick, or of one of its readings."""

    def __init__(self, by_column: Mapping[str, str]) -> None:
        self.columns = tuple(by_column)
        self.values = attrgetter(*by_column.values())

    @classmethod
    def named(cls, *names: str) -> Fields:
        """Columns with the names of their fields."""
        return cls(dict(zip(names, names, strict=True)))

    def of(self, readings: Iterable[object]) -> dict[str, Values]:
        """The values of the columns, one per reading."""
        return dict(zip(self.columns, zip(*map(self.values, readings), strict=True), strict=True))

    def of_offered(self, samples: Sequence[Sample]) -> dict[str, Values]:
        """The values of the columns from each tick's `offered`; None in ticks without an offered rate."""
        nothing = (None,) * len(self.columns)
        if all(sample.offered is None for sample in samples):
            return dict.fromkeys(self.columns, (None,) * len(samples))
        found = [nothing if sample.offered is None else self.values(sample.offered) for sample in samples]
        return dict(zip(self.columns, zip(*found, strict=True), strict=True))

    def totals(self, samples: Sequence[Sample]) -> dict[str, Values]:
        """The sums of the values of the columns over each tick's targets; None without targets, or if one was not measured."""
        if all(len(sample.targets) == 1 for sample in samples):
            return self.of([sample.targets[0] for sample in samples])
        nothing = (None,) * len(self.columns)
        by_tick = [list(zip(*map(self.values, sample.targets), strict=True)) for sample in samples]
        found = [[total(values) for values in each] or nothing for each in by_tick]
        return dict(zip(self.columns, zip(*found, strict=True), strict=True))


class EndpointSums(NamedTuple):
    """Sums over the endpoints of a tick."""

    requests: int
    failures: int
    latency_sum_ms: float
    failure_latency_sum_ms: float
    warmup_requests: int
    warmup_failures: int

    @classmethod
    def of(cls, endpoints: Iterable[EndpointTick]) -> EndpointSums:
        """The sums over these endpoints, in one loop, which takes two thirds of the time of a loop for each sum."""
        requests = failures = warmup_requests = warmup_failures = 0
        latencies_ms, failure_latencies_ms = [], []
        for tick in endpoints:
            requests += tick.requests
            failures += tick.failures
            latencies_ms.append(tick.latency_sum_ms)
            failure_latencies_ms.append(tick.failure_latency_sum_ms)
            warmup_requests += tick.warmup_requests
            warmup_failures += tick.warmup_failures
        latency_sum_ms, failure_latency_sum_ms = math.fsum(latencies_ms), math.fsum(failure_latencies_ms)
        return cls(requests, failures, latency_sum_ms, failure_latency_sum_ms, warmup_requests, warmup_failures)


_OF_SAMPLE = Fields.named("duration_s", "users", "work", "waits", "wait_sum_s", "sleep_sum_s", "tasks", "task_sum_s")
_OF_OFFERED = Fields.named("offered_per_s", "planned", "finished", "from_plan_sum_ms", "in_flight", "queued", "late_p99_ms")
_OF_TARGETS = Fields({"target_cpu_ratio": "cpu_ratio", "target_rss_bytes": "rss_bytes"})
_OF_GENERATOR = Fields(
    {
        "generator_cpu_ratio": "cpu_ratio",
        "generator_run_delay_ratio": "run_delay_ratio",
        "loop_lag_p99_ms": "loop_lag_p99_ms",
    }
)
_OF_HOST = Fields(
    {
        "host_cpu_ratio": "cpu_ratio",
        "load_average_1m": "load_average_1m",
        "disk_busy_ratio": "disk_busy_ratio",
        "received_bytes_per_s": "received_bytes_per_s",
        "sent_bytes_per_s": "sent_bytes_per_s",
    }
)
_OF_PORTS = Fields({"ports_used": "used", "ports_capacity": "capacity"})

NO_GENERATOR, NO_HOST, NO_PORTS, NO_TCP = GeneratorReading(), HostReading(), PortsReading(), TcpReading()


def second_values(sample: Sample) -> dict[str, float | None]:
    """The values of one tick by column, in the order of SECOND_COLUMNS; None: not measured."""
    found = second_columns((sample,), [EndpointSums.of(sample.endpoints)])
    return {name: found[name][0] for name in SECOND_COLUMNS}


def second_columns(samples: Sequence[Sample], sums: Sequence[EndpointSums]) -> dict[str, Values]:
    """The values of ticks, at least one, by column, for all of SECOND_COLUMNS. `sums`: those over each tick's endpoints."""
    return {
        **_OF_SAMPLE.of(samples),
        "requests": [each.requests for each in sums],
        "failures": [each.failures for each in sums],
        "latency_sum_ms": [each.latency_sum_ms for each in sums],
        "failure_latency_sum_ms": [each.failure_latency_sum_ms for each in sums],
        **_OF_OFFERED.of_offered(samples),
        **_OF_TARGETS.totals(samples),
        **_OF_GENERATOR.of([sample.generator or NO_GENERATOR for sample in samples]),
        **_OF_HOST.of([sample.host or NO_HOST for sample in samples]),
        "open_sockets": [(sample.tcp or NO_TCP).sockets_in_use for sample in samples],
        **_OF_PORTS.of([sample.ports or NO_PORTS for sample in samples]),
    }


def without_ticks(names: Iterable[str]) -> Columns:
    """Columns of these names, at least one, that are still empty."""
    return dict.fromkeys(names, array("d"))


def append(columns: Columns, values: SecondValues) -> None:
    """Append one tick's values to the columns of the same names, None as NaN."""
    doubles = array("d", [math.nan if (value := values[name]) is None else value for name in columns])
    extend_all(columns, array("q", doubles.tobytes()))


def extend_all(columns: Columns, found: Iterable[int | bytes]) -> None:
    """Append to each column, in their order, the bits of one double or the bytes of several.

    Columns that were equal in all ticks are one array, and part at the first tick in which they differ: of 67 columns a simulated
    run has 17 arrays, and a run of an offered rate whose target is measured 50.
    """
    length, alike = len(next(iter(columns.values()))), dict[tuple[int, int | bytes], list[str]]()
    for (name, column), bits in zip(columns.items(), found, strict=True):
        alike.setdefault((id(column), bits), []).append(name)
    for (_, bits), names in alike.items():
        column = columns[names[0]]
        if len(column) > length:  # it has got the values of others
            column = column[:length]
            columns.update(dict.fromkeys(names, column))
        column.frombytes(bits if isinstance(bits, bytes) else bits.to_bytes(8, sys.byteorder, signed=True))


def unsettled_failures(sample: Sample, sums: EndpointSums) -> int:
    """Failed requests of a tick that its level's failure ratio does not count: warm-up, and all before it settled. `sums`: those
    over its endpoints.
    """
    return sums.warmup_failures + (0 if sample.settled else sums.failures)


def total(values: Iterable[float | None]) -> float | None:
    """Sum of the values; None if there are none, or one was not measured."""
    given = list(values)
    if len(given) == 1:
        return given[0]
    known = [value for value in given if value is not None]
    return math.fsum(known) if known and len(known) == len(given) else None


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


# -- endpoint columns ----------------------------------------------------------------------------------------------------------
# Figures of each endpoint as columns with one value per tick, like those of the timeline, for charts of one endpoint.
#
# They have no percentiles: those would have to be computed from the histogram of each second when a log is opened.


ENDPOINTS_MOST = 50
"""Greatest number of endpoints with columns, in order of appearance: each takes 1 MB a day."""

ENDPOINT_COLUMNS = ("throughput_rps", "failures_rps", "mean_ms")
"""Requests and failures per second, mean latency of successes."""

EndpointKey = tuple[str, str]
"""(method, name)."""

_NOTHING = (0.0, 0.0, math.nan)


class EndpointColumns:
    """The columns of all endpoints. In a replay they are shared with later times, and longer than the time that is shown."""

    def __init__(self) -> None:
        self._columns: dict[EndpointKey, tuple[array[float], ...]] = {}
        self._ticks = 0

    def add(self, sample: Sample) -> None:
        """Add the next tick. An endpoint without requests costs nothing: its column is filled up at its next request."""
        duration_s = sample.duration_s
        for tick in sample.endpoints if duration_s > 0 else ():
            columns = self._columns.get((tick.method, tick.name)) or self._new_columns((tick.method, tick.name))
            if columns is None:
                continue
            throughput, failures, mean = columns
            if len(mean) < self._ticks:
                self._fill(columns)
            successes = tick.requests - tick.failures
            throughput.append(tick.requests / duration_s)
            failures.append(tick.failures / duration_s)
            mean.append(tick.latency_sum_ms / successes if successes else math.nan)
        self._ticks += 1

    def _new_columns(self, endpoint: EndpointKey) -> tuple[array[float], ...] | None:
        if len(self._columns) >= ENDPOINTS_MOST:
            return None
        columns = self._columns[endpoint] = tuple(array("f", [math.nan]) * self._ticks for _ in ENDPOINT_COLUMNS)
        return columns

    def _fill(self, columns: tuple[array[float], ...]) -> None:
        for column, nothing in zip(columns, _NOTHING, strict=True):
            column.extend([nothing] * (self._ticks - len(column)))

    def of(self, endpoint: EndpointKey) -> Mapping[str, array[float]] | None:
        """The columns of an endpoint by the names of ENDPOINT_COLUMNS, one value per tick; None: it has none."""
        columns = self._columns.get(endpoint)
        if columns is None:
            return None
        missing = self._ticks - len(columns[-1])
        if missing > 0:
            columns = tuple(column + array("f", [nothing]) * missing for column, nothing in zip(columns, _NOTHING, strict=True))
        return dict(zip(ENDPOINT_COLUMNS, columns, strict=True))
