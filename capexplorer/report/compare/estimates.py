"""Estimates of a level's figures with standard errors, and the pooling of levels with the same user count.

Errors are computed from the settled seconds by overlapping batches (`moving_block_error`): those of rates and ratios from the
timeline's columns, those of percentiles from the seconds' histograms. If the seconds are not known (imported tables), recorded
errors are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from ...model.events import Event, Sample
from ...model.histogram import LatencyHistogram, merged
from ...model.intervals import PERCENTILE_VALUES_LEAST, Latency
from ...model.level import Level
from ...model.slice import BATCHES
from ...model.stages import TABLED, LatencyKind, qualified, texts
from ...model.timeline import Timeline

# -- significance --------------------------------------------------------------------------------------------------------------
# p-values of differences, and which of many differences are significant together.
#
# The spread of a few batches is known only roughly, so Student's t is used instead of the normal distribution, with Welch's
# degrees of freedom for two spreads (Biometrika 34, 1947). Wallace's transformation (Annals of Mathematical Statistics 30, 1959)
# converts between t and a normal deviate, with an error below 1% for the degrees of freedom that occur here.


FALSE_MOST = 0.05
"""Level of significance: of each row of a table by itself, and of all claims of a verdict together."""

DEGREES_MOST = 1e6
"""Degrees of freedom at which t does not differ from a normal distribution."""

Key = TypeVar("Key")


def probability(change: float, se: float, degrees: float) -> float:
    """Two-sided p-value: the probability of a change at least as large if nothing differs."""
    if se <= 0:
        return 0.0 if change else 1.0
    squared = min((change / se) ** 2, 1e12)
    normal = math.sqrt(degrees * math.log1p(squared / degrees)) * (8 * degrees + 1) / (8 * degrees + 3)
    return math.erfc(normal / math.sqrt(2))


def threshold(degrees: float, p: float = FALSE_MOST) -> float:
    """The number of standard errors that a change must exceed for a p-value under `p`."""
    normal = NormalDist().inv_cdf(1 - p / 2) * (8 * degrees + 3) / (8 * degrees + 1)
    return math.sqrt(degrees * math.expm1(min(normal**2 / degrees, 500.0)))


def welch(*spreads: tuple[float, float]) -> tuple[float, float]:
    """(standard error, degrees of freedom) of a sum of independent terms, each (standard error, degrees of freedom)."""
    variance = math.fsum(se**2 for se, _ in spreads)
    if variance <= 0:
        return 0.0, DEGREES_MOST
    unsure = math.fsum(se**4 / degrees for se, degrees in spreads)
    return math.sqrt(variance), min(variance**2 / unsure, DEGREES_MOST) if unsure > 0 else DEGREES_MOST


def significant_by_holm(probabilities: Mapping[Key, float], false_most: float) -> frozenset[Key]:
    """The keys that are significant if at most a share `false_most` of whole families may have a false one (Holm, Scand. J.
    Statistics 6, 1979).
    """
    found = []
    for rank, (key, p) in enumerate(sorted(probabilities.items(), key=lambda each: each[1])):
        if p > false_most / (len(probabilities) - rank):
            break
        found.append(key)
    return frozenset(found)


# -- moving blocks -------------------------------------------------------------------------------------------------------------
# Standard errors by overlapping batches: the figure is computed for every batch of consecutive seconds a third as long as the
# level.
#
# Seconds of a service are correlated, and in a closed system a slow second shifts the whole distribution of latency. Batches that
# are longer than this correlation contain it. Overlapping batches use the data better than disjoint ones (Meketon & Schmeiser,
# Overlapping batch means, Proc. Winter Simulation Conference 1984). The figure may be a rate, a mean or a quantile.
#
# With n parts and batches of m parts the variance of the whole is m / ((n - m + 1)(n - m)) times the sum of squared differences
# of the batches from the whole, with 1.5 (n / m - 1) degrees of freedom. On simulated queues at levels of 20 s (720 A/A pairs per
# figure), batches of a third gave 5-7% of false differences in mean, p50 and p95 at a nominal 5%, batches of a quarter 8-10%, and
# six disjoint batches 10-16%.


PARTS_LEAST = 6
"""Least number of settled seconds for which an error is given."""

PARTS_MOST = 24
"""Most parts of a level: more would take time without a better estimate, since batches are a third of it."""

DISJOINT_BATCHES = 3
"""Number of disjoint batches that would fill the level."""


class Spread(NamedTuple):
    """A standard error with its degrees of freedom."""

    se: float
    degrees: float


def parts(ticks: Sequence[int]) -> list[Sequence[int]]:
    """The consecutive ticks of a level in parts of one tick, or in PARTS_MOST equal parts if there are more; none if there are
    too few.
    """
    if len(ticks) < PARTS_LEAST:
        return []
    count = min(len(ticks), PARTS_MOST)
    return [ticks[index * len(ticks) // count : (index + 1) * len(ticks) // count] for index in range(count)]


def moving_block_error(count: int, whole: float, of_batch: Callable[[int, int], float | None]) -> Spread | None:
    """The error of `whole`, a figure over `count` parts. `of_batch(first, end)` returns the figure over these parts; None:
    unknown.

    None if there are too few parts, or if the figure of a batch is unknown.
    """
    if count < PARTS_LEAST:
        return None
    length = round(count / DISJOINT_BATCHES)
    values = [of_batch(first, first + length) for first in range(count - length + 1)]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    squares = math.fsum((value - whole) ** 2 for value in known)
    variance = squares * length / (len(values) * (count - length))
    return Spread(math.sqrt(variance), 1.5 * (count / length - 1))


# -- second latencies ----------------------------------------------------------------------------------------------------------
# The latency histograms of every second of a session, from which those of parts of a level are merged.
#
# A timeline keeps only the merged histogram of a level. The variation of a percentile in time is seen only in its seconds, so a
# comparison keeps them: about 150 bytes per endpoint and second.


class SecondLatencies:
    """Encoded histograms of successes by tick, in the order of the timeline's columns."""

    def __init__(self) -> None:
        kinds: tuple[LatencyKind, ...] = ("total", *TABLED)
        self._ticks: dict[LatencyKind, list[Sequence[str]]] = {kind: [] for kind in kinds}
        self._from_plan: list[str | None] = []

    def collecting(self, events: Iterable[Event]) -> Iterator[Event]:
        """Pass the events through unchanged, and keep the histograms of each sample."""
        for event in events:
            if isinstance(event, Sample):
                for kind, ticks in self._ticks.items():
                    ticks.append(tuple(texts(event.endpoints, kind)))
                self._from_plan.append(event.offered.from_plan if event.offered is not None else None)
            yield event

    def histogram(self, ticks: Sequence[int], kind: LatencyKind = "total") -> LatencyHistogram:
        """All latencies of these ticks (column indices), merged."""
        kept = self._ticks[kind]
        return merged([text for tick in ticks if tick < len(kept) for text in kept[tick]])

    def from_plan(self, ticks: Sequence[int]) -> LatencyHistogram:
        """Times from plan of all iterations at offered rates in these ticks, merged."""
        return merged([text for tick in ticks if tick < len(self._from_plan) and (text := self._from_plan[tick])])


_QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


class Estimate(msgspec.Struct, frozen=True):
    """A figure. `value` None: not measured. `se` None: noise unknown."""

    value: float | None = None
    se: float | None = None
    seconds: float = 0.0
    """Settled seconds from which it is computed."""
    is_thin: bool = False
    """Whether it is a percentile of too few values."""
    degrees: float = DEGREES_MOST
    """Degrees of freedom of `se`."""
    requests: int = 0
    """Number of requests of which it is a share; 0: it is none."""


MISSING = Estimate()


def estimate(value: float | None, spread: Spread | None, seconds: float, *, is_thin: bool = False) -> Estimate:
    """A figure over `seconds` with this error; None: unknown."""
    se, degrees = (None, DEGREES_MOST) if spread is None else spread
    return Estimate(value, se, seconds, is_thin, degrees)


def recorded(se: float | None) -> Spread | None:
    """A standard error as a level's figures have it."""
    return None if se is None else Spread(se, BATCHES - 1.0)


def level_estimates(level: Level, timeline: Timeline, latencies: SecondLatencies) -> dict[str, Estimate]:
    """Every figure of a settled level, by the names of `difference.LEVEL_FIGURES`; with streams also of `STAGE_FIGURES`."""
    figures = level.figures
    cut = parts(timeline.seconds_of(level))

    def by_batches(value: float | None, numerator: str, denominator: str = "duration_s") -> Spread | None:
        return _batch_error(timeline, cut, value, numerator, denominator)

    goodput, mean, failed = figures.goodput_rps, figures.latency_ms.mean, figures.failure_ratio
    errors = {
        "goodput": by_batches(goodput, "work") or recorded(figures.goodput_se_rps),
        "throughput": by_batches(figures.throughput_rps, "requests"),
        "mean": by_batches(mean, "latency_sum_ms", "successes") or recorded(figures.latency_se_ms),
        "failure_ratio": _ratio_error(figures.failures, figures.requests, by_batches(failed, "failures", "requests")),
        "target_cpu": None,
    }
    values = (goodput, figures.throughput_rps, mean, failed, figures.target_cpu_ratio)
    found = {
        name: estimate(value, error, figures.settled_seconds) for (name, error), value in zip(errors.items(), values, strict=True)
    }
    found["failure_ratio"] = replace(found["failure_ratio"], requests=figures.requests)
    successes = figures.requests - figures.failures if figures.counted else None
    histograms = [latencies.histogram(each) for each in cut]
    found |= percentile_estimates(figures.latency_ms, successes, figures.settled_seconds, histograms)
    for stage in (stage for stage in TABLED if stage in figures.stages):
        count, whole = level.histogram_of(stage).count or None, figures.stages[stage].ms
        own = percentile_estimates(whole, count, figures.settled_seconds, [latencies.histogram(each, stage) for each in cut])
        found |= {qualified(stage, name): each for name, each in own.items()}
    return found


def percentile_estimates(
    whole: Latency, values: int | None, seconds: float, histograms: Sequence[LatencyHistogram]
) -> dict[str, Estimate]:
    """p50, p95 and p99 over `seconds`. `values`: number of values; None: not counted. `histograms`: those of the level's parts,
    from which the errors are computed; without any the noise is unknown.
    """
    found = {}
    for name, q in _QUANTILES.items():
        value: float | None = getattr(whole, name)
        is_thin = values is not None and values < PERCENTILE_VALUES_LEAST[name]
        spread = None if is_thin or value is None else moving_block_error(len(histograms), value, _quantile_of(histograms, q))
        found[name] = estimate(value, spread, seconds, is_thin=is_thin)
    return found


def _quantile_of(histograms: Sequence[LatencyHistogram], q: float) -> Callable[[int, int], float | None]:
    def of_batch(first: int, end: int) -> float | None:
        batch = LatencyHistogram()
        for histogram in histograms[first:end]:
            batch.add(histogram)
        return batch.percentile_ms(q)

    return of_batch


def _batch_error(
    timeline: Timeline, cut: Sequence[Sequence[int]], value: float | None, numerator: str, denominator: str
) -> Spread | None:
    """The error of the ratio of two sums over settled seconds; None if one of them was not measured."""
    if value is None or not cut:
        return None
    above, below = (
        [math.fsum(_second(timeline, name, tick) for tick in ticks) for ticks in cut] for name in (numerator, denominator)
    )

    def of_batch(first: int, end: int) -> float | None:
        over, under = math.fsum(above[first:end]), math.fsum(below[first:end])
        return None if math.isnan(over) or not under > 0 else over / under

    return moving_block_error(len(cut), value, of_batch)


def _second(timeline: Timeline, name: str, tick: int) -> float:
    columns = timeline.columns
    return columns["requests"][tick] - columns["failures"][tick] if name == "successes" else columns[name][tick]


def _ratio_error(failures: int, requests: int, by_batches: Spread | None) -> Spread | None:
    """The error of the failure ratio: by batches, since failures come in bursts, but at least that of a binomial share with few
    failures or none (`counted_error`; Agresti and Coull, 1998).
    """
    if by_batches is None or not requests:
        return None
    return max(by_batches, Spread(counted_error(failures, requests), DEGREES_MOST), key=lambda each: each.se)


def counted_error(failures: float, requests: int) -> float:
    """The standard error of the share of failed requests if they failed independently of each other."""
    share = (failures + 2) / (requests + 4)
    return math.sqrt(share * (1 - share) / (requests + 4))


def pooled(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of levels with the same user count, weighted by inverse variance. Levels without an error (under six settled
    seconds) are used only if none has one.

    The error is that of the weighted mean or, if the levels differ by more than their errors, that of their spread (Birge,
    Physical Review 40, 1932): two levels of 100 ±1 and 140 ±1 do not give 120 ±0.7.
    """
    measured = [each for each in estimates if each.value is not None]
    known = [each for each in measured if each.se is not None]
    rest = known or measured
    if len(rest) < 2:
        return rest[0] if rest else MISSING
    value, se = _weighted(rest, _weight_of(known))
    seconds, is_thin = sum(each.seconds for each in rest), all(each.is_thin for each in rest)
    degrees = min(sum(each.degrees for each in known), DEGREES_MOST) if known else DEGREES_MOST
    requests = sum(each.requests for each in rest)
    return Estimate(value, se if known else None, seconds, is_thin, degrees, requests)


def _weight_of(known: Sequence[Estimate]) -> Callable[[Estimate], float]:
    """The weight of each level: inverse variance, or settled seconds if an error is unknown or zero by chance."""
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
