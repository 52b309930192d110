"""The columns from which a level's figures are computed (SECOND_COLUMNS), made from ticks.

Each value is a double; None: not measured. Many ticks are converted at once (`columns.rows`).
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from .events import EndpointTick, Sample
from .readings import GeneratorReading, HostReading, PortsReading, TcpReading

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
