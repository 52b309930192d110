"""The figures of any seconds of a timeline, from its columns: of a level, a part of one, a bin of a ramp.

Histograms, readings by name and failed iterations have no columns: with their sums over the same seconds (`Merged`) figures have
percentiles and readings, too.

Standard errors are those of batch means: the seconds are divided into six consecutive batches of equal length, and the
standard deviation of the batch means divided by sqrt(6) is the standard error of the whole (Law & Kelton, Simulation Modeling and
Analysis, section 9.5.3). They are reported without a lower bound; detectors apply one, since they may be small by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy

from . import one_blas_thread  # noqa: F401  before numpy is loaded
from .events import EndpointTick, Sample
from .figures import LevelEndpoint
from .histogram import HistogramSum, LatencyHistogram, merged
from .intervals import Latency
from .load import Drops, OfferedTick
from .reading_means import ReadingSums
from .stages import STAGES, LatencyKind, Stage, StageFigures, texts

# isort: split
from array import array
from typing import Any

import numpy as np

from .columns import FOLDED, READINGS, SUMS, Columns
from .figures import LevelFigures
from .load import NO_DROPS, OfferedFigures
from .stages import LIMIT_NAMES

# -- Sums over the settled seconds of a level: latency histograms by endpoint, readings, and iterations of an offered rate.
#
# Must not know when a second is settled; rates are computed in `Slice`.


class OfferedSums:
    """Sums of the ticks that were added. For a level of users `ticks` is 0."""

    def __init__(self) -> None:
        self.ticks = 0
        self.planned = self.started = self.finished = self.failed = self.beyond_limits = 0
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
        self.beyond_limits += sign * tick.beyond_limits
        self.dropped = self.dropped + tick.dropped if sign > 0 else self.dropped - tick.dropped
        self.from_plan_sum_ms += sign * tick.from_plan_sum_ms

    def copy(self) -> OfferedSums:
        """An independent copy."""
        twin = copy(self)
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
        self.requests = self.failures = self.received_bytes = self.tokens = 0
        self.within_limits: int | None = None
        self.sums_ms: dict[LatencyKind, float] = {"total": 0.0}
        """Of each latency of successes that there was."""
        self._latencies: dict[LatencyKind, HistogramSum] = {"total": HistogramSum()}

    def copy(self) -> EndpointFold:
        """An independent copy; it is small until its figures are computed."""
        twin = copy(self)
        twin.sums_ms = self.sums_ms.copy()
        twin._latencies = {kind: each.copy() for kind, each in self._latencies.items()}
        return twin

    def add(self, tick: EndpointTick) -> None:
        """Add one settled second."""
        self.requests += tick.requests
        self.failures += tick.failures
        self.received_bytes += tick.received_bytes
        self.tokens += tick.tokens
        if tick.within_limits is not None:
            self.within_limits = (self.within_limits or 0) + tick.within_limits
        self._add("total", tick.latency, tick.latency_sum_ms)
        for stage, found in tick.stages.items():
            self._add(stage, found.latency, found.sum_ms)

    def _add(self, kind: LatencyKind, text: str | None, sum_ms: float) -> None:
        self.sums_ms[kind] = self.sums_ms.get(kind, 0.0) + sum_ms
        if text:
            self._latencies.setdefault(kind, HistogramSum()).add(text)

    def histogram(self, kind: LatencyKind = "total") -> LatencyHistogram:
        """Latencies of successes so far."""
        found = self._latencies.get(kind)
        return LatencyHistogram() if found is None else found.histogram

    def without(self, ticks: Iterable[EndpointTick]) -> EndpointFold:
        """An independent copy without these ticks."""
        given, twin = list(ticks), self.copy()
        twin.requests -= sum(tick.requests for tick in given)
        twin.failures -= sum(tick.failures for tick in given)
        twin.received_bytes -= sum(tick.received_bytes for tick in given)
        twin.tokens -= sum(tick.tokens for tick in given)
        if twin.within_limits is not None:
            twin.within_limits -= sum(tick.within_limits or 0 for tick in given)
        twin.sums_ms["total"] -= math.fsum(tick.latency_sum_ms for tick in given)
        for stage, found in ((stage, found) for tick in given for stage, found in tick.stages.items()):
            twin.sums_ms[stage] -= found.sum_ms
        for kind in twin._latencies:
            twin.histogram(kind).subtract(merged(texts(given, kind)))
        return twin

    def figures(self, *, with_histogram: bool = False) -> LevelEndpoint:
        """This endpoint's figures so far."""
        histogram = self.histogram()
        return LevelEndpoint(
            name=self.name,
            method=self.method,
            requests=self.requests,
            failures=self.failures,
            within_limits=self.within_limits,
            mean_bytes=self.received_bytes / self.requests if self.requests else None,
            latency_ms=latency_of(histogram, self.sums_ms["total"]),
            latency=histogram.encode() if with_histogram and histogram.count else None,
            stages={stage: self._stage(stage, with_histogram) for stage in self.stages},
            tokens=self.tokens,
        )

    @property
    def stages(self) -> list[Stage]:
        """Those that some success had."""
        return [stage for stage in STAGES if stage in self._latencies and self.histogram(stage).count]

    def _stage(self, stage: Stage, with_histogram: bool) -> StageFigures:
        histogram = self.histogram(stage)
        return StageFigures(ms=latency_of(histogram, self.sums_ms[stage]), latency=histogram.encode() if with_histogram else None)


class Merged:
    """Sums over the settled seconds of a level."""

    def __init__(self) -> None:
        self.endpoints: dict[tuple[str, str], EndpointFold] = {}
        self.metrics: dict[tuple[str, str], EndpointFold] = {}
        self.readings = ReadingSums()
        self.offered = OfferedSums()

    def add(self, sample: Sample) -> None:
        """Add one settled second."""
        self.readings.add(sample)
        self.offered.add(sample.offered)
        self.add_endpoints(sample.endpoints, sample.metrics)

    def add_endpoints(self, endpoints: Iterable[EndpointTick], metrics: Iterable[EndpointTick]) -> None:
        """Add the endpoints and metrics of one settled second."""
        for folds, ticks in ((self.endpoints, endpoints), (self.metrics, metrics)):
            for tick in ticks:
                fold = folds.get((tick.name, tick.method))
                if fold is None:
                    fold = folds[tick.name, tick.method] = EndpointFold(tick.name, tick.method)
                fold.add(tick)

    def histogram(self, kind: LatencyKind = "total") -> LatencyHistogram:
        """Latencies of all successes."""
        whole = LatencyHistogram()
        for fold in self.endpoints.values():
            whole.add(fold.histogram(kind))
        return whole

    def stage_figures(self) -> dict[Stage, StageFigures]:
        """Of all endpoints together, without histograms."""
        own = {stage: [fold for fold in self.endpoints.values() if stage in fold.stages] for stage in STAGES}
        return {
            stage: StageFigures(ms=latency_of(self.histogram(stage), math.fsum(fold.sums_ms[stage] for fold in folds)))
            for stage, folds in own.items()
            if folds
        }

    def endpoint_figures(self, *, with_histogram: bool = False) -> tuple[LevelEndpoint, ...]:
        """Figures of each endpoint, in the order of their first request."""
        return tuple(fold.figures(with_histogram=with_histogram) for fold in self.endpoints.values())

    def metric_figures(self) -> tuple[LevelEndpoint, ...]:
        """Figures of each metric, in the order of their first event."""
        return tuple(fold.figures() for fold in self.metrics.values())

    def copy(self) -> Merged:
        """An independent copy."""
        twin = Merged()
        twin.endpoints = {key: fold.copy() for key, fold in self.endpoints.items()}
        twin.metrics = {key: fold.copy() for key, fold in self.metrics.items()}
        twin.readings, twin.offered = self.readings.copy(), self.offered.copy()
        return twin

    def without(self, samples: Sequence[Sample]) -> Merged:
        """An independent copy without these settled seconds."""
        twin = Merged()
        twin.readings = self.readings.without(samples)
        twin.offered = self.offered.without(sample.offered for sample in samples)
        twin.endpoints = _without(self.endpoints, [tick for sample in samples for tick in sample.endpoints])
        twin.metrics = _without(self.metrics, [tick for sample in samples for tick in sample.metrics])
        return twin


_Folds = dict[tuple[str, str], EndpointFold]


def _without(folds: _Folds, ticks: Sequence[EndpointTick]) -> _Folds:
    """Independent copies without these ticks, of those of which something is left."""
    rest = {key: fold.without(tick for tick in ticks if (tick.name, tick.method) == key) for key, fold in folds.items()}
    return {key: fold for key, fold in rest.items() if fold.requests}


def tick_latency(tick: EndpointTick, kind: LatencyKind = "total") -> Latency:
    """Percentiles and mean of one endpoint in one tick."""
    sum_ms = tick.latency_sum_ms if kind == "total" else tick.stages[kind].sum_ms if kind in tick.stages else 0.0
    return latency_of(merged(texts((tick,), kind)), sum_ms)


def latency_of(histogram: LatencyHistogram, sum_ms: float) -> Latency:
    """Percentiles of a histogram, and the exact mean from the sum of its values."""
    if not histogram.count:
        return Latency()
    p50, p90, p95, p99, p999 = histogram.percentiles_ms(_QUANTILES)
    return Latency(
        min=histogram.min_ms, mean=sum_ms / histogram.count, p50=p50, p90=p90, p95=p95, p99=p99, p999=p999, max=histogram.max_ms
    )


BATCHES = 6


class Slice:
    """Some seconds of a timeline."""

    def __init__(self, columns: Columns, ticks: Sequence[int]) -> None:
        """`ticks`: column indices, ascending."""
        self.columns, self.ticks = columns, ticks

    def values(self, name: str) -> array[float]:
        """The column's values in these seconds, which mostly are consecutive ones; NaN: not measured."""
        if not len(self.ticks):
            return array("d")
        first, stop = self.ticks[0], self.ticks[-1] + 1
        values = self.columns[name][first:stop]
        return values if stop - first == len(self.ticks) else array("d", [values[tick - first] for tick in self.ticks])

    @property
    def seconds(self) -> float:
        """Their length together."""
        return sum(self.values("duration_s"))

    @property
    def began_s(self) -> float | None:
        """When the first of them began, in seconds of the session; None if there are none."""
        return self.columns["t_s"][self.ticks[0]] - self.columns["duration_s"][self.ticks[0]] if len(self.ticks) else None

    def batch_error(self, above: str, below: str) -> float | None:
        """Standard error of the ratio of the sums of two columns that were measured in all of these seconds."""
        return batch_error(list(zip(self.values(above), self.values(below), strict=True)))

    def figures(self, merged: Merged | None = None, *, with_histogram: bool = False) -> LevelFigures:
        """The figures of these seconds, as of a level that has settled. `merged`: sums over the same seconds; without them there
        are no percentiles, and no readings by name.
        """
        seconds = self.seconds
        if seconds <= 0:
            return LevelFigures(settled=False)
        sums = {name: sum(self.values(name)) for name in SUMS}
        requests, failures, waits, tasks = (int(sums[name]) for name in ("requests", "failures", "waits", "tasks"))
        successes = requests - failures
        worked = not math.isnan(sums["work"])
        mean = Latency(mean=sums["latency_sum_ms"] / successes if successes else None)
        return LevelFigures(
            settled=True,
            settled_seconds=seconds,
            requests=requests,
            failures=failures,
            failure_ratio=failures / requests if requests else None,
            throughput_rps=requests / seconds,
            goodput_rps=sums["work"] / seconds if worked else None,
            goodput_se_rps=self.batch_error("work", "duration_s") if worked else None,
            **self._limits(sums, successes, seconds),
            latency_ms=mean if merged is None else latency_of(merged.histogram(), sums["latency_sum_ms"]),
            stages={} if merged is None else merged.stage_figures(),
            tokens_per_s=sums["tokens"] / seconds if sums["tokens"] else None,
            latency_se_ms=batch_error(list(zip(self.values("latency_sum_ms"), self._successes(), strict=True))),
            response_ms=(sums["latency_sum_ms"] + sums["failure_latency_sum_ms"]) / requests if requests else None,
            wait_s=sums["wait_sum_s"] / waits if waits else None,
            **self._think(sums, requests),
            requests_per_task=requests / tasks if tasks else None,
            task_s=sums["task_sum_s"] / tasks if tasks else None,
            users_mean=round(self._users_seconds() / seconds, 6),  # 40 users are not 40.000000000000014
            **self._readings(),
            offered=self._offered(seconds, merged.offered if merged is not None else None, with_histogram),
            readings=merged.readings.means() if merged is not None else {},
            other_processes=merged.readings.other_processes() if merged is not None else {},
        )

    def _limits(self, sums: dict[str, float], successes: int, seconds: float) -> dict[str, Any]:
        """What the limits on a single request leave; nothing if there are none."""
        if math.isnan(sums["work_beyond_limits"]):
            return {}
        beyond = {name: sums[f"beyond_{name}"] / successes for name in LIMIT_NAMES if sums[f"beyond_{name}"]}
        return {
            "served_rps": sums["served"] / seconds,
            "served_se_rps": self.batch_error("served", "duration_s"),
            "beyond_limits": beyond,
            "goodput_tokens_per_s": sums["within_limits_tokens"] / seconds if sums["within_limits_tokens"] else None,
        }

    def _successes(self) -> list[float]:
        return [every - failed for every, failed in zip(self.values("requests"), self.values("failures"), strict=True)]

    def _users_seconds(self) -> float:
        return sum(users * seconds for users, seconds in zip(self.values("users"), self.values("duration_s"), strict=True))

    def _think(self, sums: dict[str, float], requests: int) -> dict[str, Any]:
        """Think time per request, waits and sleeps, and its error; None if an older log does not record sleeps."""
        if math.isnan(sums["sleep_sum_s"]):
            return {}
        thought = [waited + slept for waited, slept in zip(self.values("wait_sum_s"), self.values("sleep_sum_s"), strict=True)]
        return {
            "think_s": (sums["wait_sum_s"] + sums["sleep_sum_s"]) / requests if requests else None,
            "think_se_s": batch_error(list(zip(thought, self.values("requests"), strict=True))),
        }

    def _readings(self) -> dict[str, Any]:
        """Means over the seconds in which a reading was measured; for used ports the greatest value."""
        known = {name: _measured(self.values(name)) for name in READINGS}
        return {
            name: math.fsum(values) / len(values) if FOLDED[name] == "mean" else max(values)
            for name, values in known.items()
            if values
        }

    def _offered(self, seconds: float, sums: OfferedSums | None, with_histogram: bool) -> OfferedFigures | None:
        """The iterations of these seconds; None if no rate was offered and none was in flight."""
        rates = _measured(self.values("offered_per_s"))
        if not rates:
            return None
        means = {name: math.fsum(values) / len(values) for name in _OFFERED if (values := _measured(self.values(name)))}
        counts = self._iterations() if sums is None else _iterations(sums, with_histogram)
        is_whole = len(rates) == len(self.ticks)
        return OfferedFigures(
            offered_per_s=round(math.fsum(rates) / len(rates), 6),
            **counts,
            finished_per_s=(counts["finished"] - counts["beyond_limits"]) / seconds,
            finished_se_per_s=self.batch_error("finished_within_limits", "duration_s") if is_whole else None,
            served_se_per_s=self.batch_error("finished", "duration_s") if is_whole and counts["beyond_limits"] else None,
            in_flight_mean=means["in_flight"],
            queued_mean=means["queued"],
            late_p99_ms=means.get("late_p99_ms"),
        )

    def _iterations(self) -> dict[str, Any]:
        """Counts from columns, which have no failed iterations: they are what remains of those planned and in flight. Drops by
        the generator, for whichever reason, are `max_users`.
        """
        counts = ("planned", "finished", "dropped_by_target", "dropped_at_stop", "finished_within_limits")
        planned, finished, by_target, at_stop, within = (round(math.fsum(_measured(self.values(name)))) for name in counts)
        per_s = zip(self.values("dropped_per_s"), self.values("duration_s"), strict=True)
        dropped = round(math.fsum(rate * length for rate, length in per_s if not math.isnan(rate)))
        before = self.columns["in_flight"][self.ticks[0] - 1] if self.ticks[0] else 0.0
        in_flight_before, in_flight = (0 if math.isnan(each) else round(each) for each in (before, self.values("in_flight")[-1]))
        from_plan_sum_ms = math.fsum(_measured(self.values("from_plan_sum_ms")))
        return {
            "planned": planned,
            "finished": finished,
            "failed": max(planned + in_flight_before - in_flight - finished - dropped, 0),
            "beyond_limits": finished - within,
            "dropped": Drops(target=by_target, stopped=at_stop, max_users=max(dropped - by_target - at_stop, 0)),
            "in_flight_before": in_flight_before,
            "in_flight": in_flight,
            "from_plan_ms": Latency(mean=from_plan_sum_ms / finished if finished else None),
        }


_OFFERED = ("in_flight", "queued", "late_p99_ms")


def _iterations(sums: OfferedSums, with_histogram: bool) -> dict[str, Any]:
    histogram = sums.histogram
    return {
        "planned": sums.planned,
        "started": sums.started,
        "finished": sums.finished,
        "failed": sums.failed,
        "beyond_limits": sums.beyond_limits,
        "dropped": sums.dropped if sums.dropped.total else NO_DROPS,
        "in_flight_before": sums.in_flight_before,
        "in_flight": sums.in_flight,
        "miscounted": sums.miscounted,
        "from_plan_ms": latency_of(histogram, sums.from_plan_sum_ms),
        "late_max_ms": sums.late_max_ms,
        "from_plan": histogram.encode() if with_histogram and histogram.count else None,
    }


def _measured(column: array[float]) -> list[float]:
    """The values that were measured."""
    values = np.frombuffer(column)
    known: list[float] = values[~np.isnan(values)].tolist()
    return known


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
