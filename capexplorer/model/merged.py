"""Sums over the settled seconds of a level: latency histograms by endpoint, readings, and iterations of an offered rate.

Must not know when a second is settled; rates are computed in `slice`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .events import EndpointTick, Sample
from .figures import Latency, LevelEndpoint
from .histogram import HistogramSum, LatencyHistogram, merged
from .offered import Drops, OfferedTick
from .reading_means import ReadingSums


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

    def histogram(self) -> LatencyHistogram:
        """Latencies of all successes."""
        whole = LatencyHistogram()
        for fold in self.endpoints.values():
            whole.add(fold.histogram)
        return whole

    def endpoint_figures(self, *, with_histogram: bool = False) -> tuple[LevelEndpoint, ...]:
        """Figures of each endpoint, in the order of their first request."""
        return tuple(fold.figures(with_histogram=with_histogram) for fold in self.endpoints.values())

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
