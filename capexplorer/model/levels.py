"""One level's seconds folded into its figures. Only settled seconds make rates, latencies and readings.

Standard errors are by batch means: the settled seconds are cut into six consecutive batches of equal length, and the spread of
the batch means over sqrt(6) is the error of the whole (Law & Kelton, Simulation Modeling and Analysis, section 9.5.3). It is
told as it is; floors against lucky spreads belong to the detectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from .events import EndpointTick, Latency, LevelBin, LevelEndpoint, LevelFigures, Sample
from .histogram import LatencyHistogram
from .readings import GeneratorReading, HostReading, PortsReading, TcpReading

BATCHES = 6

_QUANTILES = (0.50, 0.90, 0.95, 0.99, 0.999)


class EndpointFold:
    """One endpoint's settled seconds. Histograms are decoded only when figures are asked for."""

    def __init__(self, name: str, method: str) -> None:
        self.name, self.method = name, method
        self.requests = self.failures = self.received_bytes = 0
        self.latency_sum_ms = 0.0
        self._merged = LatencyHistogram()
        self._waiting: list[str] = []

    def add(self, tick: EndpointTick) -> None:
        """Fold one settled second."""
        self.requests += tick.requests
        self.failures += tick.failures
        self.received_bytes += tick.received_bytes
        self.latency_sum_ms += tick.latency_sum_ms
        if tick.latency:
            self._waiting.append(tick.latency)

    @property
    def histogram(self) -> LatencyHistogram:
        """Latencies of successes so far."""
        for text in self._waiting:
            self._merged.add(LatencyHistogram.decode(text))
        self._waiting.clear()
        return self._merged

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


class LevelFold:
    """A level's seconds as they come; `figures` at any time."""

    def __init__(self) -> None:
        self.endpoints: dict[tuple[str, str], EndpointFold] = {}
        self.failures_while_unsettled = 0
        self.settled_s: float | None = None
        self._settled: list[_Second] = []
        self._readings: dict[str, list[float]] = {}

    @property
    def settled_seconds(self) -> float:
        """Length of the settled part so far."""
        return sum(second.duration_s for second in self._settled)

    def add(self, sample: Sample) -> None:
        """Fold one tick of this level."""
        self.failures_while_unsettled += sum(
            tick.warmup_failures + (0 if sample.settled else tick.failures) for tick in sample.endpoints
        )
        if not sample.settled:
            return
        if self.settled_s is None:
            self.settled_s = sample.t_s - sample.duration_s
        self._settled.append(_Second(sample))
        for tick in sample.endpoints:
            fold = self.endpoints.get((tick.name, tick.method))
            if fold is None:
                fold = self.endpoints[tick.name, tick.method] = EndpointFold(tick.name, tick.method)
            fold.add(tick)
        for name, value in readings_of(sample):
            self._readings.setdefault(name, []).append(value)

    def figures(self) -> LevelFigures:
        """The level's figures so far; rates are None while nothing has settled."""
        seconds = self._settled
        if not seconds:
            return LevelFigures(settled=False, failures_while_unsettled=self.failures_while_unsettled)
        duration_s = self.settled_seconds
        requests = sum(second.requests for second in seconds)
        failures = sum(second.failures for second in seconds)
        waits = sum(second.waits for second in seconds)
        latency_sum_ms = sum(second.latency_sum_ms for second in seconds)
        all_latency_ms = latency_sum_ms + sum(second.failure_latency_sum_ms for second in seconds)
        worked = None not in {second.work for second in seconds}
        return LevelFigures(
            settled=True,
            settled_seconds=duration_s,
            requests=requests,
            failures=failures,
            failure_ratio=failures / requests if requests else None,
            failures_while_unsettled=self.failures_while_unsettled,
            throughput_rps=requests / duration_s,
            goodput_rps=sum(second.work or 0.0 for second in seconds) / duration_s if worked else None,
            goodput_se_rps=batch_error([(s.work or 0.0, s.duration_s) for s in seconds]) if worked else None,
            latency_ms=latency_of(self.histogram(), latency_sum_ms),
            latency_se_ms=batch_error([(s.latency_sum_ms, s.requests - s.failures) for s in seconds]),
            response_ms=all_latency_ms / requests if requests else None,
            wait_s=sum(second.wait_sum_s for second in seconds) / waits if waits else None,
            users_mean=sum(second.users * second.duration_s for second in seconds) / duration_s,
            **self._reading_figures(),
        )

    def histogram(self) -> LatencyHistogram:
        """Latencies of all successes in settled seconds."""
        merged = LatencyHistogram()
        for fold in self.endpoints.values():
            merged.add(fold.histogram)
        return merged

    def endpoint_figures(self, *, with_histogram: bool = False) -> tuple[LevelEndpoint, ...]:
        """Per endpoint, in the order first seen."""
        return tuple(fold.figures(with_histogram=with_histogram) for fold in self.endpoints.values())

    def _reading_figures(self) -> dict[str, float]:
        figures = {name: math.fsum(values) / len(values) for name, values in self._readings.items()}
        if "ports_used" in figures:
            figures["ports_used"] = max(self._readings["ports_used"])
        return figures


RAMP_BINS = 24
"""DESIGN section 4."""


class RampFold:
    """A ramp's seconds, binned by user count when asked."""

    def __init__(self) -> None:
        self._samples: list[Sample] = []

    def add(self, sample: Sample) -> None:
        """Keep one tick."""
        self._samples.append(sample)

    def bins(self, *, with_histogram: bool = False) -> tuple[LevelBin, ...]:
        """At most RAMP_BINS bins of equal width in users, empty ones left out."""
        if not self._samples:
            return ()
        least = min(sample.users for sample in self._samples)
        width = max(1.0, (max(sample.users for sample in self._samples) - least + 1) / RAMP_BINS)
        folds: dict[int, LevelFold] = {}
        for sample in self._samples:
            fold = folds.setdefault(int((sample.users - least) / width), LevelFold())
            fold.add(msgspec.structs.replace(sample, settled=True))
        return tuple(_bin(folds[index], with_histogram) for index in sorted(folds))


def _bin(fold: LevelFold, with_histogram: bool) -> LevelBin:
    figures = fold.figures()
    endpoints = fold.endpoint_figures(with_histogram=with_histogram)
    return LevelBin(users=figures.users_mean or 0.0, figures=figures, endpoints=endpoints)


class _Second:
    """What batch means need of a settled tick."""

    __slots__ = (
        "duration_s", "failure_latency_sum_ms", "failures", "latency_sum_ms", "requests", "users", "wait_sum_s", "waits", "work",
    )  # fmt: skip

    def __init__(self, sample: Sample) -> None:
        self.duration_s = sample.duration_s
        self.users = sample.users
        self.work = sample.work
        self.waits, self.wait_sum_s = sample.waits, sample.wait_sum_s
        self.requests = sum(tick.requests for tick in sample.endpoints)
        self.failures = sum(tick.failures for tick in sample.endpoints)
        self.latency_sum_ms = math.fsum(tick.latency_sum_ms for tick in sample.endpoints)
        self.failure_latency_sum_ms = math.fsum(tick.failure_latency_sum_ms for tick in sample.endpoints)


def latency_of(histogram: LatencyHistogram, sum_ms: float) -> Latency:
    """Percentiles of a histogram beside the exact mean."""
    if not histogram.count:
        return Latency()
    p50, p90, p95, p99, p999 = histogram.percentiles_ms(_QUANTILES)
    return Latency(
        min=histogram.min_ms, mean=sum_ms / histogram.count, p50=p50, p90=p90, p95=p95, p99=p99, p999=p999, max=histogram.max_ms
    )


def batch_error(pairs: Sequence[tuple[float, float]], batches: int = BATCHES) -> float | None:
    """Standard error of sum(a)/sum(b) by batch means over consecutive (a, b) pairs; None when pairs are few or a batch empty."""
    if len(pairs) < batches:
        return None
    means = []
    for index in range(batches):
        batch = pairs[index * len(pairs) // batches : (index + 1) * len(pairs) // batches]
        total = math.fsum(b for _, b in batch)
        if total <= 0:
            return None
        means.append(math.fsum(a for a, _ in batch) / total)
    centre = math.fsum(means) / batches
    return math.sqrt(math.fsum((mean - centre) ** 2 for mean in means) / (batches - 1) / batches)


def readings_of(sample: Sample) -> Iterable[tuple[str, float]]:
    """(figure, value) for each reading of a tick that a level averages, unmeasured ones left out."""
    generator, host = sample.generator or GeneratorReading(), sample.host or HostReading()
    ports, tcp = sample.ports or PortsReading(), sample.tcp or TcpReading()
    values = {
        "target_cpu_ratio": total(target.cpu_ratio for target in sample.targets),
        "target_rss_bytes": total(target.rss_bytes for target in sample.targets),
        "host_cpu_ratio": host.cpu_ratio,
        "load_average_1m": host.load_average_1m,
        "generator_cpu_ratio": generator.cpu_ratio,
        "loop_lag_p99_ms": generator.loop_lag_p99_ms,
        "received_bytes_per_s": host.received_bytes_per_s,
        "sent_bytes_per_s": host.sent_bytes_per_s,
        "open_sockets": tcp.sockets_in_use,
        "disk_busy_ratio": host.disk_busy_ratio,
        "ports_used": ports.used,
        "ports_capacity": ports.capacity,
    }
    return [(name, value) for name, value in values.items() if value is not None]


def total(values: Iterable[float | None]) -> float | None:
    """Sum of what was measured; None when nothing was, or when part of it could not be."""
    known = list(values)
    return math.fsum(value for value in known if value is not None) if known and None not in known else None
