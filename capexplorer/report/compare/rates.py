"""The rate levels of one session or epoch, and the comparison of those with the same rate. They are never compared with levels
of users.

Goodput is that of iterations, and latencies are times from plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from ... import wording
from ...model.histogram import LatencyHistogram
from ...model.intervals import Z90
from ...model.level import Level
from ...model.rate_verdicts import RateLevelVerdict
from ...model.slice import BATCHES
from ...model.timeline import Timeline
from .comparison import Curve, MatchedRate, RatePoint
from .difference import Difference, difference
from .estimates import Estimate, SecondLatencies, parts, percentile_estimates

NOT_STATIONARY = ("queue_grows", "dropped")
"""States of levels whose queue grew: their percentiles depend on how long they lasted."""

FIGURES = ("goodput", "p50", "p95", "p99", "failure_ratio")


def rate_points(timeline: Timeline, epoch: int, latencies: SecondLatencies) -> tuple[RatePoint, ...]:
    """The longest settled level of each rate, by ascending rate, without ramps, recovery, levels disturbed by other
    processes, and those of another state of the service or during which it changed.
    """
    verdict = wording.reported(timeline).get(epoch)
    judged = {each.level: each for each in verdict.rates.levels} if verdict is not None and verdict.rates is not None else {}
    longest: dict[float, Level] = {}
    for level in timeline.levels:
        per_s = level.load.per_s
        if per_s is None or level.opened.epoch != epoch or not _counts(level, judged.get(level.opened.index)):
            continue
        before = longest.get(per_s)
        if before is None or before.figures.settled_seconds < level.figures.settled_seconds:
            longest[per_s] = level
    growing = {index for index, each in judged.items() if each.state in NOT_STATIONARY}
    return tuple(
        RatePoint(per_s, _estimates(level, [] if level.opened.index in growing else _histograms(level, timeline, latencies)))
        for per_s, level in sorted(longest.items())
    )


def _counts(level: Level, judged: RateLevelVerdict | None) -> bool:
    is_measured = level.figures.settled and not level.opened.ramp and level.figures.offered is not None
    is_whole = judged is None or (judged.why is None and not judged.is_part)
    return is_measured and is_whole and (judged is None or judged.state != "generator")


def _histograms(level: Level, timeline: Timeline, latencies: SecondLatencies) -> list[LatencyHistogram]:
    return [latencies.from_plan(ticks) for ticks in parts(timeline.seconds_of(level))]


def _estimates(level: Level, histograms: Sequence[LatencyHistogram]) -> dict[str, Estimate]:
    """Estimates by the names of FIGURES, with percentiles of the time from plan. `histograms`: those of the level's parts;
    empty for a level whose latency grew with its length, so that the noise is unknown.
    """
    found, seconds = level.figures.offered, level.figures.settled_seconds
    assert found is not None
    lost, ended = found.failed + found.dropped.total, found.finished + found.failed + found.dropped.total
    share = lost / ended if ended else None
    error = None if share is None else math.sqrt(max(share * (1 - share), 1 / ended) / ended)
    latency = percentile_estimates(found.from_plan_ms, found.finished, seconds, histograms)
    goodput = Estimate(found.finished_per_s, found.finished_se_per_s, seconds, degrees=BATCHES - 1.0)
    return {"goodput": goodput, **latency, "failure_ratio": Estimate(share, error, seconds)}


def rate_capacity(timeline: Timeline, epoch: int) -> Estimate | None:
    """The capacity as a rate, with the standard error of its 90% interval; None if its maximum was not measured."""
    verdict = wording.reported(timeline).get(epoch)
    found = verdict.rate_capacity if verdict is not None else None
    if found is None or found.low_per_s is None or found.high_per_s is None:
        return None
    return Estimate(found.per_s, (found.high_per_s - found.low_per_s) / (2 * Z90))


def matched(before: Curve, after: Curve, compared: Callable[[str, Estimate, Estimate], Difference]) -> Iterator[MatchedRate]:
    """Rates that were offered in both. `compared`: the difference of a figure, which may be due to the clients."""
    theirs = {point.per_s: point for point in after.rate_points}
    for ours in before.rate_points:
        other = theirs.get(ours.per_s)
        if other is not None:
            yield MatchedRate(ours.per_s, tuple(compared(name, ours.figures[name], other.figures[name]) for name in FIGURES))


def capacity_moved(before: Curve, after: Curve) -> Difference:
    """The difference of the capacities as rates; `not_measured` unless both are known."""
    return difference("capacity", before.rate_capacity, after.rate_capacity)


def only(ours: Sequence[RatePoint], theirs: Sequence[RatePoint]) -> tuple[float, ...]:
    """Rates of `ours` that were not offered in `theirs`."""
    return tuple(sorted({point.per_s for point in ours} - {point.per_s for point in theirs}))
