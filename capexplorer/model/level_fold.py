"""Computes a level's figures from its seconds. Only settled seconds count for rates, latencies and readings.

Standard errors are those of batch means: the settled seconds are divided into six consecutive batches of equal length, and the
standard deviation of the batch means divided by sqrt(6) is the standard error of the whole (Law & Kelton, Simulation Modeling and
Analysis, section 9.5.3). They are reported without a lower bound; detectors apply one, since they may be small by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from . import one_blas_thread  # noqa: F401  before numpy is loaded
from .events import EndpointTick, Sample
from .figures import Latency, LevelEndpoint
from .histogram import HistogramSum, LatencyHistogram, merged
from .offered import Drops, OfferedTick
from .reading_means import ReadingSums

# isort: split
from array import array
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from .columns import READINGS, SECOND_COLUMNS, Columns, EndpointSums, append, second_values, unsettled_failures, without_ticks
from .events import LevelOpened
from .figures import LevelBin, LevelFigures
from .offered import NO_DROPS, OfferedFigures

# -- merged --------------------------------------------------------------------------------------------------------------------
# Sums over a level's settled seconds: latency histograms by endpoint, readings, and iterations of an offered rate.
#
# Must not know when a second is settled; rates are computed in `level_fold`.


# -- offered fold --------------------------------------------------------------------------------------------------------------
# Sums over the settled seconds of a level of an offered rate: counts of iterations, drops by reason, times from plan.


class OfferedSums:
    """Sums of the ticks that were added. For a level of users `ticks` is 0."""

    def __init__(self) -> None:
        self.ticks = 0
        self.planned = self.started = self.finished = self.failed = 0
        self.dropped = Drops()
        self.in_flight_before = self.in_flight = 0
        self.from_plan_sum_ms = 0.0
        self.late_max_ms: float | None = None
        self.miscounted = False
        self._from_plan = HistogramSum()

    @property
    def histogram(self) -> LatencyHistogram:
        """Time from plan of finished iterations."""
        return self._from_plan.histogram

    def add(self, tick: OfferedTick | None) -> None:
        """Add one settled second; None: no rate was offered in it."""
        if tick is None:
            return
        if not self.ticks:
            self.in_flight_before = tick.in_flight_before
        self.ticks += 1
        self._count(tick, 1)
        self.in_flight = tick.in_flight
        self.miscounted = self.miscounted or tick.is_miscounted
        if tick.late_max_ms is not None:
            self.late_max_ms = max(tick.late_max_ms, self.late_max_ms or 0.0)
        if tick.from_plan:
            self._from_plan.add(tick.from_plan)

    def _count(self, tick: OfferedTick, sign: int) -> None:
        self.planned += sign * tick.planned
        self.started += sign * tick.started
        self.finished += sign * tick.finished
        self.failed += sign * tick.failed
        self.dropped = self.dropped + tick.dropped if sign > 0 else self.dropped - tick.dropped
        self.from_plan_sum_ms += sign * tick.from_plan_sum_ms

    def copy(self) -> OfferedSums:
        """An independent copy."""
        twin = OfferedSums()
        for name in vars(self).keys() - {"_from_plan"}:
            setattr(twin, name, getattr(self, name))
        twin._from_plan = self._from_plan.copy()
        return twin

    def without(self, later: Iterable[OfferedTick | None]) -> OfferedSums:
        """An independent copy without these ticks, the last ones that were added. `late_max_ms` is not reduced."""
        twin, ticks = self.copy(), [tick for tick in later if tick is not None]
        for tick in ticks:
            twin._count(tick, -1)
        if ticks:
            twin.ticks -= len(ticks)
            twin.in_flight = ticks[0].in_flight_before
            twin.histogram.subtract(merged([tick.from_plan for tick in ticks if tick.from_plan]))
        return twin


_QUANTILES = (0.50, 0.90, 0.95, 0.99, 0.999)


class EndpointFold:
    """Sums over one endpoint's settled seconds. Its histograms are decoded together, when figures are needed."""

    def __init__(self, name: str, method: str) -> None:
        self.name, self.method = name, method
        self.requests = self.failures = self.received_bytes = 0
        self.latency_sum_ms = 0.0
        self._latencies = HistogramSum()

    def copy(self) -> EndpointFold:
        """An independent copy; it is small until its figures are computed."""
        twin = EndpointFold(self.name, self.method)
        twin.requests, twin.failures, twin.received_bytes = self.requests, self.failures, self.received_bytes
        twin.latency_sum_ms = self.latency_sum_ms
        twin._latencies = self._latencies.copy()
        return twin

    def add(self, tick: EndpointTick) -> None:
        """Add one settled second."""
        self.requests += tick.requests
        self.failures += tick.failures
        self.received_bytes += tick.received_bytes
        self.latency_sum_ms += tick.latency_sum_ms
        if tick.latency:
            self._latencies.add(tick.latency)

    @property
    def histogram(self) -> LatencyHistogram:
        """Latencies of successes so far."""
        return self._latencies.histogram

    def without(self, ticks: Iterable[EndpointTick]) -> EndpointFold:
        """An independent copy without these ticks."""
        given, twin = list(ticks), self.copy()
        twin.requests -= sum(tick.requests for tick in given)
        twin.failures -= sum(tick.failures for tick in given)
        twin.received_bytes -= sum(tick.received_bytes for tick in given)
        twin.latency_sum_ms -= math.fsum(tick.latency_sum_ms for tick in given)
        twin.histogram.subtract(merged([tick.latency for tick in given if tick.latency]))
        return twin

    def figures(self, *, with_histogram: bool = False) -> LevelEndpoint:
        """This endpoint's figures so far."""
        histogram = self.histogram
        return LevelEndpoint(
            name=self.name,
            method=self.method,
            requests=self.requests,
            failures=self.failures,
            mean_bytes=self.received_bytes / self.requests if self.requests else None,
            latency_ms=latency_of(histogram, self.latency_sum_ms),
            latency=histogram.encode() if with_histogram and histogram.count else None,
        )


class Merged:
    """Sums over the settled seconds of a level."""

    def __init__(self) -> None:
        self.endpoints: dict[tuple[str, str], EndpointFold] = {}
        self.readings = ReadingSums()
        self.offered = OfferedSums()

    def add(self, sample: Sample) -> None:
        """Add one settled second."""
        self.readings.add(sample)
        self.offered.add(sample.offered)
        self.add_endpoints(sample.endpoints)

    def add_endpoints(self, ticks: Iterable[EndpointTick]) -> None:
        """Add the endpoints of one settled second."""
        for tick in ticks:
            fold = self.endpoints.get((tick.name, tick.method))
            if fold is None:
                fold = self.endpoints[tick.name, tick.method] = EndpointFold(tick.name, tick.method)
            fold.add(tick)

    def copy(self) -> Merged:
        """An independent copy."""
        twin = Merged()
        twin.endpoints = {key: fold.copy() for key, fold in self.endpoints.items()}
        twin.readings, twin.offered = self.readings.copy(), self.offered.copy()
        return twin

    def without(self, samples: Sequence[Sample]) -> Merged:
        """An independent copy without these settled seconds."""
        twin = Merged()
        twin.readings = self.readings.without(samples)
        twin.offered = self.offered.without(sample.offered for sample in samples)
        for key, fold in self.endpoints.items():
            rest = fold.without(tick for sample in samples for tick in sample.endpoints if (tick.name, tick.method) == key)
            if rest.requests:
                twin.endpoints[key] = rest
        return twin


def tick_latency(tick: EndpointTick) -> Latency:
    """Percentiles and mean of one endpoint in one tick."""
    return latency_of(merged([tick.latency] if tick.latency else []), tick.latency_sum_ms)


def latency_of(histogram: LatencyHistogram, sum_ms: float) -> Latency:
    """Percentiles of a histogram, and the exact mean from the sum of its values."""
    if not histogram.count:
        return Latency()
    p50, p90, p95, p99, p999 = histogram.percentiles_ms(_QUANTILES)
    return Latency(
        min=histogram.min_ms, mean=sum_ms / histogram.count, p50=p50, p90=p90, p95=p95, p99=p99, p999=p999, max=histogram.max_ms
    )


BATCHES = 6


class LevelFold:
    """Accumulates the seconds of a level; `figures` may be called at any time."""

    def __init__(self, columns: Columns | None = None, ticks: Iterable[int] = ()) -> None:
        """`columns`: those of a timeline, among them SECOND_COLUMNS; None: its own. `ticks`: its settled seconds in them."""
        self.merged = Merged()
        self.failures_while_unsettled = 0
        self.settled_s: float | None = None
        self.warm_ratio: float | None = None
        """Share of the users that were warm at the end of its last tick."""
        self._columns = without_ticks(SECOND_COLUMNS) if columns is None else columns
        self.ticks = array("I", ticks)
        """Column indices of the settled seconds."""

    @property
    def columns(self) -> Columns:
        """SECOND_COLUMNS of the settled seconds, by name; NaN: not measured."""
        return {name: self._settled(name) for name in SECOND_COLUMNS}

    def _settled(self, name: str) -> array[float]:
        """The values of the settled seconds, which mostly are consecutive ones."""
        if not self.ticks:
            return array("d")
        first, stop = self.ticks[0], self.ticks[-1] + 1
        values = self._columns[name][first:stop]
        return values if stop - first == len(self.ticks) else array("d", [values[tick - first] for tick in self.ticks])

    @property
    def settled_seconds(self) -> float:
        """Length of the settled seconds so far."""
        return sum(self._settled("duration_s"))

    def add(self, sample: Sample, tick: int | None = None) -> None:
        """Add one tick of this level. `tick`: its index in the columns of the timeline; None: it goes to those of its own."""
        self.failures_while_unsettled += _unsettled_failures(sample)
        if sample.warm_users is not None and sample.users:
            self.warm_ratio = sample.warm_users / sample.users
        if not sample.settled:
            return
        if self.settled_s is None:
            self.settled_s = sample.t_s - sample.duration_s
        if tick is None:
            tick = len(self.ticks)
            append(self._columns, second_values(sample))
        self.ticks.append(tick)
        self.merged.add(sample)

    @property
    def endpoints(self) -> dict[tuple[str, str], EndpointFold]:
        """The endpoints by (name, method), in the order of their first request."""
        return self.merged.endpoints

    def without(self, samples: Sequence[Sample]) -> LevelFold:
        """A copy without the level's last ticks, `samples`, at whose beginning a shift was found."""
        settled = [sample for sample in samples if sample.settled]
        left = len(self.ticks) - len(settled)
        earlier = LevelFold(self._columns, self.ticks[:left])
        earlier.failures_while_unsettled = self.failures_while_unsettled - sum(map(_unsettled_failures, samples))
        earlier.settled_s = self.settled_s if left else None
        earlier.warm_ratio = self.warm_ratio
        earlier.merged = self.merged.without(settled)
        return earlier

    def figures(self, *, with_histogram: bool = False) -> LevelFigures:
        """The level's figures so far; rates are None while it has not settled."""
        duration_s = self.settled_seconds
        if duration_s <= 0:
            failed = self.failures_while_unsettled
            return LevelFigures(settled=False, failures_while_unsettled=failed, warm_ratio=self.warm_ratio)
        columns = self.columns
        requests, failures, waits, tasks = (int(sum(columns[name])) for name in ("requests", "failures", "waits", "tasks"))
        latency_sum_ms = sum(columns["latency_sum_ms"])
        work, durations = columns["work"], columns["duration_s"]
        worked = not any(map(math.isnan, work))
        successes = [all_ - bad for all_, bad in zip(columns["requests"], columns["failures"], strict=True)]
        users_seconds = (users * seconds for users, seconds in zip(columns["users"], durations, strict=True))
        return LevelFigures(
            settled=True,
            settled_seconds=duration_s,
            requests=requests,
            failures=failures,
            failure_ratio=failures / requests if requests else None,
            failures_while_unsettled=self.failures_while_unsettled,
            throughput_rps=requests / duration_s,
            goodput_rps=sum(work) / duration_s if worked else None,
            goodput_se_rps=batch_error(list(zip(work, durations, strict=True))) if worked else None,
            latency_ms=latency_of(self.histogram(), latency_sum_ms),
            latency_se_ms=batch_error(list(zip(columns["latency_sum_ms"], successes, strict=True))),
            response_ms=(latency_sum_ms + sum(columns["failure_latency_sum_ms"])) / requests if requests else None,
            wait_s=sum(columns["wait_sum_s"]) / waits if waits else None,
            think_s=_think_s(columns, requests),
            think_se_s=_think_error_s(columns),
            requests_per_task=requests / tasks if tasks else None,
            task_s=sum(columns["task_sum_s"]) / tasks if tasks else None,
            warm_ratio=self.warm_ratio,
            users_mean=round(sum(users_seconds) / duration_s, 6),  # 40 users are not 40.000000000000014
            **_reading_figures(columns),
            offered=self._offered(columns, with_histogram) if self.merged.offered.ticks else None,
            readings=self.merged.readings.means(),
            other_processes=self.merged.readings.other_processes(),
        )

    def histogram(self) -> LatencyHistogram:
        """Latencies of all successes in settled seconds."""
        whole = LatencyHistogram()
        for fold in self.endpoints.values():
            whole.add(fold.histogram)
        return whole

    def endpoint_figures(self, *, with_histogram: bool = False) -> tuple[LevelEndpoint, ...]:
        """Figures of each endpoint, in the order of their first request."""
        return tuple(fold.figures(with_histogram=with_histogram) for fold in self.endpoints.values())

    def _offered(self, columns: Columns, with_histogram: bool) -> OfferedFigures:
        """The iterations of a level of an offered rate."""
        sums, durations = self.merged.offered, columns["duration_s"]
        known = {name: _measured(columns[name]) for name in _OFFERED_MEANS}
        means = {name: math.fsum(values) / len(values) for name, values in known.items() if values}
        finished = list(zip(columns["finished"], durations, strict=True))
        return OfferedFigures(
            offered_per_s=round(means["offered_per_s"], 6),
            planned=sums.planned,
            started=sums.started,
            finished=sums.finished,
            failed=sums.failed,
            dropped=sums.dropped if sums.dropped.total else NO_DROPS,
            in_flight_before=sums.in_flight_before,
            in_flight=sums.in_flight,
            miscounted=sums.miscounted,
            finished_per_s=sums.finished / self.settled_seconds,
            finished_se_per_s=batch_error(finished) if sums.ticks == len(durations) else None,
            in_flight_mean=means["in_flight"],
            queued_mean=means["queued"],
            from_plan_ms=latency_of(sums.histogram, sums.from_plan_sum_ms),
            late_p99_ms=means.get("late_p99_ms"),
            late_max_ms=sums.late_max_ms,
            from_plan=sums.histogram.encode() if with_histogram and sums.histogram.count else None,
        )


_OFFERED_MEANS = ("offered_per_s", "in_flight", "queued", "late_p99_ms")

RAMP_BINS = 24
"""Greatest number of bins of a ramp: with more, a bin of a short ramp would have too few seconds."""


class RampFold:
    """Accumulates the seconds of a ramp, to be binned by user count or offered rate. Keeps about 2 KB a tick."""

    def __init__(self, binned_by: Literal["users", "offered_per_s"] = "users") -> None:
        """`binned_by`: the column by which seconds are binned."""
        self._binned_by = binned_by
        self._offered: list[OfferedTick | None] = []
        self._columns = without_ticks(SECOND_COLUMNS)
        self._endpoints: list[tuple[EndpointTick, ...]] = []
        self._warmup_failures: list[int] = []
        self._readings: dict[float, ReadingSums] = {}
        """Sums of readings by user count or rate: each belongs to one bin as a whole."""

    @classmethod
    def of(cls, opened: LevelOpened) -> RampFold:
        """For a ramp of users, or of an offered rate."""
        return cls("users" if opened.offered_per_s is None else "offered_per_s")

    def add(self, sample: Sample) -> None:
        """Add one tick, unless the process was suspended in it."""
        values = second_values(sample)
        at = values[self._binned_by]
        if sample.suspended_s is not None or at is None:
            return
        append(self._columns, values)
        self._offered.append(sample.offered)
        self._endpoints.append(sample.endpoints)
        self._warmup_failures.append(sum(tick.warmup_failures for tick in sample.endpoints))
        self._readings.setdefault(at, ReadingSums()).add(sample)

    def bins(self, *, with_histogram: bool = False) -> tuple[LevelBin, ...]:
        """At most RAMP_BINS bins of equal width, without empty ones, ascending."""
        counts = self._columns[self._binned_by]
        if not counts:
            return ()
        least = min(counts)
        width = max(1.0, (max(counts) - least + 1) / RAMP_BINS)
        members: dict[int, list[int]] = {}
        for tick, count in enumerate(counts):
            members.setdefault(int((count - least) / width), []).append(tick)
        return tuple(_bin(self._fold(members[index]), with_histogram) for index in sorted(members))

    def _fold(self, ticks: Sequence[int]) -> LevelFold:
        fold = LevelFold(self._columns, ticks)
        fold.failures_while_unsettled = sum(self._warmup_failures[tick] for tick in ticks)
        for tick in ticks:
            fold.merged.add_endpoints(self._endpoints[tick])
            fold.merged.offered.add(self._offered[tick])
        for at in {self._columns[self._binned_by][tick] for tick in ticks}:
            fold.merged.readings.merge(self._readings[at])
        return fold


def _reading_figures(columns: Columns) -> dict[str, Any]:
    """Means over the seconds in which a reading was measured; for used ports the greatest value."""
    known = {name: _measured(columns[name]) for name in READINGS}
    figures = {name: math.fsum(values) / len(values) for name, values in known.items() if values}
    if "ports_used" in figures:
        figures["ports_used"] = max(known["ports_used"])
    return figures


def _measured(column: array[float]) -> list[float]:
    """The values that were measured."""
    values = np.frombuffer(column)
    known: list[float] = values[~np.isnan(values)].tolist()
    return known


def _think_s(columns: Mapping[str, array[float]], requests: int) -> float | None:
    """Think time per request: waits and sleeps; None without requests, or if an older log does not record sleeps."""
    slept_s = sum(columns["sleep_sum_s"])
    return (sum(columns["wait_sum_s"]) + slept_s) / requests if requests and not math.isnan(slept_s) else None


def _think_error_s(columns: Mapping[str, array[float]]) -> float | None:
    """Standard error of the think time per request; None where that is not known, or with too few seconds for batches."""
    thought_s = [waited + slept for waited, slept in zip(columns["wait_sum_s"], columns["sleep_sum_s"], strict=True)]
    if any(map(math.isnan, thought_s)):
        return None
    return batch_error(list(zip(thought_s, columns["requests"], strict=True)))


def _bin(fold: LevelFold, with_histogram: bool) -> LevelBin:
    figures = fold.figures(with_histogram=with_histogram)
    endpoints = fold.endpoint_figures(with_histogram=with_histogram)
    return LevelBin(users=figures.users_mean or 0.0, figures=figures, endpoints=endpoints)


def batch_error(pairs: Sequence[tuple[float, float]], batches: int = BATCHES) -> float | None:
    """Standard error of sum(a) / sum(b) over consecutive pairs (a, b), by batch means; None if there are fewer pairs than
    batches, or a batch has no b.
    """
    if len(pairs) < batches:
        return None
    means = []
    for index in range(batches):
        above, below = zip(*pairs[index * len(pairs) // batches : (index + 1) * len(pairs) // batches], strict=True)
        total = math.fsum(below)
        if total <= 0:
            return None
        means.append(math.fsum(above) / total)
    centre = math.fsum(means) / batches
    return math.sqrt(math.fsum((mean - centre) ** 2 for mean in means) / (batches - 1) / batches)


def _unsettled_failures(sample: Sample) -> int:
    """Failed requests of a tick that its level's failure ratio does not count."""
    return unsettled_failures(sample, EndpointSums.of(sample.endpoints))
