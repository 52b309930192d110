"""The columns of a timeline: one double per tick, by name. From some of them the figures of a level are computed (`slice`).

A value that was not measured is None, in a column NaN. Names are the same wherever a second is kept, charted or exported. Many
ticks are converted at once, column by column: the 86,400 of a day take a third of the time that they take one by one.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from . import one_blas_thread  # noqa: F401  before numpy is loaded
from .events import EndpointTick, Sample
from .figures import LevelFigures
from .histogram import percentiles_ms
from .readings import GeneratorReading, HostReading, NeighboursReading, PortsReading, TargetReading, TcpReading
from .stages import STAGES, LatencyKind, qualified, texts

# isort: split
from itertools import chain

import numpy as np

Values = Sequence[float | None]
"""Values of a column, one per tick; None: not measured."""

SecondValues = Mapping[str, float | None]
"""The values of one tick by column; None: not measured."""

Columns: TypeAlias = "dict[str, array[float]]"
"""Columns of equal length, by name. Several may be one array, so only `extend_all` changes them."""


class EndpointSums(NamedTuple):
    """Sums over the endpoints of a tick."""

    requests: int
    failures: int
    latency_sum_ms: float
    failure_latency_sum_ms: float
    warmup_requests: int
    warmup_failures: int
    beyond_ttft: int
    beyond_tpot: int
    beyond_total: int
    within_limits_tokens: int
    tokens: int
    streams: bool
    """Whether some reply was a stream."""

    @classmethod
    def of(cls, endpoints: Iterable[EndpointTick]) -> EndpointSums:
        """The sums over these endpoints, in one loop, which takes two thirds of the time of a loop for each sum."""
        requests = failures = warmup_requests = warmup_failures = 0
        ttft = tpot = total = within_tokens = tokens = 0
        latencies_ms, failure_latencies_ms, streams = [], [], False
        for tick in endpoints:
            requests += tick.requests
            failures += tick.failures
            latencies_ms.append(tick.latency_sum_ms)
            failure_latencies_ms.append(tick.failure_latency_sum_ms)
            warmup_requests += tick.warmup_requests
            warmup_failures += tick.warmup_failures
            if tick.within_limits is not None:
                ttft += tick.beyond_ttft
                tpot += tick.beyond_tpot
                total += tick.beyond_total
                within_tokens += tick.within_limits_tokens
            if tick.stages:
                tokens, streams = tokens + tick.tokens, True
        latency_sum_ms, failure_latency_sum_ms = math.fsum(latencies_ms), math.fsum(failure_latencies_ms)
        warmup, limits = (warmup_requests, warmup_failures), (ttft, tpot, total, within_tokens)
        return cls(requests, failures, latency_sum_ms, failure_latency_sum_ms, *warmup, *limits, tokens, streams)


class Column(NamedTuple):
    """One column. Its name ends with its unit."""

    name: str
    read: str | Callable[[Sample, EndpointSums], float | None]
    """How a second is read: a field of the sample, of one of its readings, or of the sums over its endpoints; or a function of
    both. Values of several targets are added.
    """
    level: Literal["sum", "mean", "greatest"] | None = None
    """How the seconds of a level fold into its figures; a mean counts those in which it was measured. None: they do not, or in a
    way of their own.
    """
    written: Literal["number", "whole"] | None = None
    """How seconds.csv has it; None: it is neither exported nor charted."""


# -- values that are computed


def _per_s(value: float | None, sample: Sample) -> float | None:
    """The value divided by the length of its tick; NaN for a tick of no length, which a corrupted log may have."""
    return None if value is None else value / sample.duration_s if sample.duration_s > 0 else math.nan


def _throughput_rps(sample: Sample, sums: EndpointSums) -> float | None:
    """Rates of a second include warm-up requests."""
    return _per_s(sums.requests + sums.warmup_requests, sample)


def _failures_rps(sample: Sample, sums: EndpointSums) -> float | None:
    return _per_s(sums.failures + sums.warmup_failures, sample)


def _goodput_rps(sample: Sample, _: EndpointSums) -> float | None:
    return None if sample.work is None else _per_s(sample.work + sample.warmup_work, sample)


def _served(sample: Sample, _: EndpointSums) -> float | None:
    """Finished work irrespective of limits on a single request."""
    return None if sample.work is None else sample.work + (sample.work_beyond_limits or 0.0)


def _within_limits(sample: Sample, _: EndpointSums) -> float | None:
    """Finished iterations without a request beyond a limit."""
    return None if sample.offered is None else sample.offered.finished - sample.offered.beyond_limits


def _finished_per_s(sample: Sample, _: EndpointSums) -> float | None:
    return None if sample.offered is None else _per_s(sample.offered.finished, sample)


def _dropped_per_s(sample: Sample, _: EndpointSums) -> float | None:
    return None if sample.offered is None else _per_s(sample.offered.dropped.total, sample)


def _unsettled_failures(sample: Sample, sums: EndpointSums) -> float:
    """Failed requests that the level's failure ratio does not count: warm-up, and all before it settled."""
    return sums.warmup_failures + (0 if sample.settled else sums.failures)


def _tokens_per_s(sample: Sample, sums: EndpointSums) -> float | None:
    """None in a second without a stream that ended well."""
    return _per_s(sums.tokens, sample) if sums.streams else None


def _app_backlog(sample: Sample, _: EndpointSums) -> float | None:
    """Work that the target has accepted and not finished, by its own metrics: queued plus running, or accepted minus finished and
    failed. None without such metrics.
    """
    app = sample.app
    if "queued" in app:
        return app["queued"] + app.get("running", 0.0)
    if "accepted" in app and "finished" in app:
        return app["accepted"] - app["finished"] - app.get("failed", 0.0)
    return None


def _fds_fullest(sample: Sample, _: EndpointSums) -> float | None:
    return _fullest(sample.targets)[0]


def _fds_limit(sample: Sample, _: EndpointSums) -> float | None:
    return _fullest(sample.targets)[1]


def _fullest(targets: Sequence[TargetReading]) -> tuple[float | None, float | None]:
    """(open files, their limit) of the process that is nearest to its limit."""
    if len(targets) == 1:
        return targets[0].fds_fullest, targets[0].fds_limit
    both = [(each.fds_fullest, each.fds_limit) for each in targets if each.fds_fullest is not None and each.fds_limit]
    return max(both, key=lambda each: each[0] / each[1], default=(None, None))


# -- the table


PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
"""Those of a second that are columns."""


def percentile_column(kind: LatencyKind, percentile: str) -> str:
    """The name of the column."""
    return qualified(kind, f"{percentile}_ms")


_STAGE_COLUMNS = tuple(percentile_column(stage, name) for stage in STAGES for name in PERCENTILES)

TABLE = (
    Column("t_s", "sample.t_s", written="number"),
    Column("duration_s", "sample.duration_s", written="number"),
    Column("level", "sample.level", written="whole"),
    Column("users", "sample.users", written="whole"),
    Column("wanted", "sample.wanted", written="whole"),
    Column("settled", "sample.settled", written="whole"),
    Column("throughput_rps", _throughput_rps, written="number"),
    Column("goodput_rps", _goodput_rps, written="number"),
    Column("failures_rps", _failures_rps, written="number"),
    Column("p50_ms", "sample.p50_ms", written="number"),
    Column("p95_ms", "sample.p95_ms", written="number"),
    Column("p99_ms", "sample.p99_ms", written="number"),
    Column("max_ms", "sample.max_ms", written="number"),
    Column("target_cpu_ratio", "targets.cpu_ratio", level="mean", written="number"),
    Column("target_rss_bytes", "targets.rss_bytes", level="mean", written="number"),
    Column("target_fds", "targets.fds", written="number"),
    Column("target_fds_fullest", _fds_fullest, written="number"),
    Column("target_fds_limit", _fds_limit, written="number"),
    Column("host_cpu_ratio", "host.cpu_ratio", level="mean", written="number"),
    Column("host_memory_bytes", "host.memory_used_bytes", written="number"),
    Column("load_average_1m", "host.load_average_1m", level="mean", written="number"),
    Column("received_bytes_per_s", "host.received_bytes_per_s", level="mean", written="number"),
    Column("sent_bytes_per_s", "host.sent_bytes_per_s", level="mean", written="number"),
    Column("generator_cpu_ratio", "generator.cpu_ratio", level="mean", written="number"),
    Column("screen_cpu_ratio", "generator.screen_cpu_ratio", written="number"),
    Column("recorder_cpu_ratio", "generator.recorder_cpu_ratio", written="number"),
    Column("loop_lag_p99_ms", "generator.loop_lag_p99_ms", level="mean", written="number"),
    Column("generator_rss_bytes", "generator.rss_bytes", written="number"),
    Column("generator_fds", "generator.fds", written="number"),
    Column("ports_used", "ports.used", level="greatest", written="number"),
    Column("ports_capacity", "ports.capacity", level="mean", written="number"),
    Column("ports_time_wait", "ports.time_wait", written="number"),
    Column("ports_burn_rate_per_s", "ports.burn_rate_per_s", written="number"),
    Column("ports_exhausted_in_s", "ports.exhausted_in_s", written="number"),
    Column("others_cpu_ratio", "neighbours.cpu_ratio", written="number"),
    Column("offered_per_s", "offered.offered_per_s", written="number"),
    Column("finished_per_s", _finished_per_s, written="number"),
    Column("dropped_per_s", _dropped_per_s, written="number"),
    Column("in_flight", "offered.in_flight", written="number"),
    Column("queued", "offered.queued", written="number"),
    Column("from_plan_p50_ms", "offered.p50_ms", written="number"),
    Column("from_plan_p95_ms", "offered.p95_ms", written="number"),
    Column("from_plan_p99_ms", "offered.p99_ms", written="number"),
    Column("from_plan_max_ms", "offered.max_ms", written="number"),
    Column("late_p99_ms", "offered.late_p99_ms", written="number"),
    Column("tokens_per_s", _tokens_per_s, written="number"),
    *(Column(name, f"stages.{name}", written="number") for name in _STAGE_COLUMNS),
    Column("work", "sample.work", level="sum"),
    Column("work_beyond_limits", "sample.work_beyond_limits", level="sum"),
    Column("served", _served, level="sum"),
    Column("beyond_ttft", "endpoints.beyond_ttft", level="sum"),
    Column("beyond_tpot", "endpoints.beyond_tpot", level="sum"),
    Column("beyond_total", "endpoints.beyond_total", level="sum"),
    Column("within_limits_tokens", "endpoints.within_limits_tokens", level="sum"),
    Column("waits", "sample.waits", level="sum"),
    Column("wait_sum_s", "sample.wait_sum_s", level="sum"),
    Column("sleep_sum_s", "sample.sleep_sum_s", level="sum"),
    Column("tasks", "sample.tasks", level="sum"),
    Column("task_sum_s", "sample.task_sum_s", level="sum"),
    Column("requests", "endpoints.requests", level="sum"),
    Column("failures", "endpoints.failures", level="sum"),
    Column("latency_sum_ms", "endpoints.latency_sum_ms", level="sum"),
    Column("failure_latency_sum_ms", "endpoints.failure_latency_sum_ms", level="sum"),
    Column("tokens", "endpoints.tokens", level="sum"),
    Column("generator_run_delay_ratio", "generator.run_delay_ratio", level="mean"),
    Column("open_sockets", "tcp.sockets_in_use", level="mean"),
    Column("disk_busy_ratio", "host.disk_busy_ratio", level="mean"),
    Column("unsettled_failures", _unsettled_failures),
    Column("app_backlog", _app_backlog),
    Column("warm_users", "sample.warm_users"),
    Column("target_run_delay_ratio", "targets.run_delay_ratio"),
    Column("planned", "offered.planned"),
    Column("finished", "offered.finished"),
    Column("finished_within_limits", _within_limits),
    Column("from_plan_sum_ms", "offered.from_plan_sum_ms"),
    Column("dropped_by_target", "offered.dropped.target"),
    Column("dropped_at_stop", "offered.dropped.stopped"),
)
"""All columns; those of seconds.csv in its order."""

NAMES = tuple(column.name for column in TABLE)
WRITTEN = {column.name: column.written for column in TABLE if column.written is not None}
"""The columns that are exported and charted, and how they are written."""
OF_STREAMS = ("tokens_per_s", *_STAGE_COLUMNS)
"""Those that only a session with streams has."""
FOLDED = {column.name: column.level for column in TABLE if column.level is not None}
SUMS = tuple(name for name, how in FOLDED.items() if how == "sum")
READINGS = tuple(name for name in LevelFigures.__struct_fields__ if FOLDED.get(name, "sum") != "sum")
"""Readings whose mean or greatest value is a figure of a level."""

_NOTHING_READ: dict[str, object] = {
    "generator": GeneratorReading(), "host": HostReading(), "neighbours": NeighboursReading(), "ports": PortsReading(),
    "tcp": TcpReading(),
}  # fmt: skip


class _Source:
    """Columns that are fields of one part of a sample."""

    def __init__(self, name: str, columns: Mapping[str, str]) -> None:
        self._name, self._columns, fields = name, tuple(columns), tuple(columns.values())
        self._values: Callable[[Any], tuple[float | None, ...]] = (
            attrgetter(*fields) if len(fields) > 1 else lambda reading: (getattr(reading, fields[0]),)
        )

    def values(self, samples: Sequence[Sample], sums: Sequence[EndpointSums]) -> dict[str, Values]:
        """The values of its columns, one per tick."""
        has_none = {
            "offered": lambda: all(sample.offered is None for sample in samples),
            "stages": lambda: not any(each.streams for each in sums),
        }
        if self._name in has_none and has_none[self._name]():
            return dict.fromkeys(self._columns, (None,) * len(samples))
        return dict(zip(self._columns, zip(*self._by_tick(samples, sums), strict=True), strict=True))

    def _by_tick(self, samples: Sequence[Sample], sums: Sequence[EndpointSums]) -> Iterable[tuple[float | None, ...]]:
        nothing, values = (None,) * len(self._columns), self._values
        match self._name:
            case "sample":
                return map(values, samples)
            case "endpoints":
                return map(values, sums)
            case "offered":
                return [nothing if sample.offered is None else values(sample.offered) for sample in samples]
            case "stages":
                return [_of_stages(sample) if each.streams else nothing for sample, each in zip(samples, sums, strict=True)]
            case "targets":
                return [self._total(sample.targets) or nothing for sample in samples]
        unread, of = _NOTHING_READ[self._name], attrgetter(self._name)
        return [values(of(sample) or unread) for sample in samples]

    def _total(self, targets: Sequence[TargetReading]) -> tuple[float | None, ...]:
        """Sums over targets; empty without any."""
        if len(targets) == 1:
            return self._values(targets[0])
        return tuple([total(values) for values in zip(*map(self._values, targets), strict=True)])


def _of_stages(sample: Sample) -> tuple[float | None, ...]:
    """The percentiles of each stage over all endpoints, in the order of the columns."""
    found = (percentiles_ms(texts(sample.endpoints, stage), tuple(PERCENTILES.values())) for stage in STAGES)
    return tuple(chain.from_iterable(found))


def _sources() -> list[_Source]:
    by_source: dict[str, dict[str, str]] = {}
    for column in TABLE:
        if isinstance(column.read, str):
            source, _, field = column.read.partition(".")
            by_source.setdefault(source, {})[column.name] = field
    return [_Source(source, columns) for source, columns in by_source.items()]


_SOURCES = _sources()
_COMPUTED = [(column.name, column.read) for column in TABLE if not isinstance(column.read, str)]


def row(sample: Sample) -> dict[str, float | None]:
    """The values of one tick by column."""
    return {name: values[0] for name, values in rows((sample,)).items()}


def rows(samples: Sequence[Sample]) -> dict[str, Values]:
    """The values of ticks, at least one, by column."""
    sums = [EndpointSums.of(sample.endpoints) for sample in samples]
    found: dict[str, Values] = {}
    for source in _SOURCES:
        found |= source.values(samples, sums)
    for name, read in _COMPUTED:
        found[name] = list(map(read, samples, sums))
    return found


def total(values: Iterable[float | None]) -> float | None:
    """Sum of the values; None if there are none, or one was not measured."""
    given = list(values)
    if len(given) == 1:
        return given[0]
    known = [value for value in given if value is not None]
    return math.fsum(known) if known and len(known) == len(given) else None


# -- arrays


def empty(names: Iterable[str] = NAMES) -> Columns:
    """Columns of these names, at least one, without a tick."""
    return dict.fromkeys(names, array("d"))


def append(columns: Columns, values: SecondValues) -> None:
    """Append one tick's values to the columns of the same names, None as NaN."""
    doubles = array("d", [math.nan if (value := values[name]) is None else value for name in columns])
    extend_all(columns, array("q", doubles.tobytes()))


def extend(columns: Columns, found: Mapping[str, Values]) -> None:
    """Append the values to the columns of the same names, None as NaN."""
    ticks, in_order = len(found["t_s"]), (found[name] for name in columns)
    values = np.fromiter(chain.from_iterable(in_order), np.float64, len(columns) * ticks)  # half of the time of np.array
    extend_all(columns, [column.tobytes() for column in values.reshape(-1, ticks)])


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


def ticks_of(columns: Columns, level: int, first: int, stop: int, named: int, *, settled: bool) -> list[int]:
    """Column indices of a level's ticks within [first, stop), all or only settled ones.

    Ticks before `named` belong to it even if they have the index of another one: it was opened by a shift, which is detected
    later than it happens.
    """
    own = np.frombuffer(columns["level"][first:stop]) == level
    own[: max(0, named - first)] = True
    if settled:
        own &= np.frombuffer(columns["settled"][first:stop]) == 1.0
    ticks: list[int] = (np.flatnonzero(own) + first).tolist()
    return ticks


# -- Figures of each endpoint as columns with one value per tick, like those of the timeline, for charts of one endpoint.
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
