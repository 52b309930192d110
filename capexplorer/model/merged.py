"""Sums over a level's settled seconds: latency histograms by endpoint, readings, and iterations of an offered rate.

Must not know when a second is settled; rates are computed in `level_fold`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .events import EndpointTick, Sample
from .figures import Latency, LevelEndpoint
from .histogram import LatencyHistogram, merged
from .histogram_sum import HistogramSum
from .offered_fold import OfferedSums
from .reading_means import ReadingSums

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
