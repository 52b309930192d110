"""A level's figures with their standard errors, and levels of the same count pooled.

Recorded errors are taken where there are some (goodput, mean latency). Throughput, failure ratio and target CPU get theirs by the
same six batch means over the settled seconds; percentiles from their histograms (see `quantile_error`). None: noise unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...model.histogram import LatencyHistogram
from ...model.intervals import PERCENTILE_VALUES_LEAST
from ...model.level import Level
from ...model.level_fold import batch_error
from ...model.timeline import Timeline
from .quantile_error import design_effect, quantile_error

_QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure. `value` None: not measured. `se` None: noise unknown."""

    value: float | None = None
    se: float | None = None
    seconds: float = 0.0
    """Settled seconds that it rests on."""
    quiet: bool = False
    """A percentile that rests on too few values."""


MISSING = Estimate()


def level_estimates(level: Level, timeline: Timeline) -> dict[str, Estimate]:
    """Every figure of a settled level, by the names of `figures.LEVEL_FIGURES`."""
    figures, seconds = level.figures, level.figures.settled_seconds
    ticks = _settled_ticks(level, timeline)

    def by_batches(numerator: str, denominator: str = "") -> float | None:
        return _batch_error(timeline, ticks, numerator, denominator)

    found = {
        "goodput": Estimate(figures.goodput_rps, figures.goodput_se_rps, seconds),
        "throughput": Estimate(figures.throughput_rps, by_batches("throughput_rps"), seconds),
        "mean": Estimate(figures.latency_ms.mean, figures.latency_se_ms, seconds),
        "failure_ratio": Estimate(
            figures.failure_ratio,
            _ratio_error(figures.failures, figures.requests, by_batches("failures_rps", "throughput_rps")),
            seconds,
        ),
        "target_cpu": Estimate(figures.target_cpu_ratio, by_batches("target_cpu_ratio"), seconds),
    }
    return found | _percentiles(level)


def _percentiles(level: Level) -> dict[str, Estimate]:
    figures = level.figures
    histogram = _histogram(level)
    effect = design_effect(histogram, figures.latency_se_ms)
    successes = figures.requests - figures.failures
    found = {}
    for name, q in _QUANTILES.items():
        quiet = figures.counted and successes < PERCENTILE_VALUES_LEAST[name]
        se = None if quiet or effect is None else quantile_error(histogram, q, effect)
        found[name] = Estimate(getattr(figures.latency_ms, name), se, figures.settled_seconds, quiet)
    return found


def _histogram(level: Level) -> LatencyHistogram:
    """Latencies of all its successes; empty when the log holds none."""
    if level.fold is not None:
        return level.fold.histogram()
    merged = LatencyHistogram()
    for endpoint in level.endpoints:
        if endpoint.latency:
            try:
                merged.add(LatencyHistogram.decode(endpoint.latency))
            except ValueError:  # of another layout, or damaged: then its noise is unknown
                return LatencyHistogram()
    return merged


def _settled_ticks(level: Level, timeline: Timeline) -> list[int]:
    """Column indices of its settled seconds; none in a session that was imported from a table."""
    return timeline.seconds_of(level)


def _batch_error(timeline: Timeline, ticks: Sequence[int], numerator: str, denominator: str) -> float | None:
    """Of a rate's (or a reading's) mean over time, or of the ratio of two rates."""
    duration_s, above = timeline.columns["duration_s"], timeline.columns[numerator]
    below = timeline.columns[denominator] if denominator else None
    pairs = [(above[tick] * duration_s[tick], duration_s[tick] * (below[tick] if below else 1.0)) for tick in ticks]
    pairs = [pair for pair in pairs if not math.isnan(pair[0]) and not math.isnan(pair[1])]
    return batch_error(pairs)


def _ratio_error(failures: int, requests: int, by_batches: float | None) -> float | None:
    """Failures come in bursts, so by batches; but no failure in six batches is no proof of none (Agresti and Coull, 1998)."""
    if by_batches is None or not requests:
        return None
    share = (failures + 2) / (requests + 4)
    return max(by_batches, math.sqrt(share * (1 - share) / (requests + 4)))


def pooled(estimates: Sequence[Estimate]) -> Estimate:
    """Equal counts by inverse variance. Those without an error (under six settled seconds) only count where none has one.

    The error is that of the weighted mean or, where the levels disagree by more than their errors, that of their spread (Birge,
    Physical Review 40, 1932): two levels of 100 ±1 and 140 ±1 are not 120 ±0.7.
    """
    measured = [each for each in estimates if each.value is not None]
    known = [each for each in measured if each.se is not None]
    rest = known or measured
    if len(rest) < 2:
        return rest[0] if rest else MISSING
    value, se = _weighted(rest, _weight_of(known))
    return Estimate(value, se if known else None, sum(each.seconds for each in rest), all(each.quiet for each in rest))


def _weight_of(known: Sequence[Estimate]) -> Callable[[Estimate], float]:
    """Inverse variance; where an error is unknown, or zero by luck, settled seconds."""
    if known and all(each.se for each in known):
        return lambda each: 1 / (each.se or 1.0) ** 2
    return lambda each: each.seconds or 1.0


def _weighted(estimates: Sequence[Estimate], weight_of: Callable[[Estimate], float]) -> tuple[float, float]:
    weights = [weight_of(each) for each in estimates]
    values, total = [each.value or 0.0 for each in estimates], math.fsum(weights)
    mean = math.fsum(w * value for w, value in zip(weights, values, strict=True)) / total
    inner = math.sqrt(math.fsum((w * (each.se or 0.0)) ** 2 for w, each in zip(weights, estimates, strict=True))) / total
    spread = math.fsum(w * (value - mean) ** 2 for w, value in zip(weights, values, strict=True))
    return mean, max(inner, math.sqrt(spread / total / (len(values) - 1)))
