"""Stop rules: which limits of a profile's `[stop]` table the current level breaks. Pure; `run` decides what is ended.

Only settled seconds count. Failure ratios and growth break a limit by their one-sided 95% bound; percentiles need enough
successes, and readings are means over a few seconds: no single second stops a run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from ..model.intervals import ONE_SIDED_95
from .ladder import LadderLevel
from .statistics import COUNT_LEAST, NOTABLE, wilson

SUCCESSES_LEAST = {"p95_ms": 20, "p99_ms": 100}
"""Successes from which a percentile may break a rule: with so many, one of them is expected above it."""

METRIC_PREFIX = "metric:"
"""A limit of one of the target's own metrics is named `metric:NAME`."""


class TriggeredRule(msgspec.Struct, frozen=True):
    """A rule whose limit was broken."""

    rule: str
    limit: float
    measured: float


def triggered_rules(
    limits: Mapping[str, float], levels: Sequence[LadderLevel], readings: Mapping[str, Sequence[float]]
) -> tuple[TriggeredRule, ...]:
    """Rules that the last of `levels` breaks.

    `limits`: limit by rule; rules are `p95_ms`, `p99_ms`, `failure_ratio`, `load_average`, `throughput_growth_ratio`,
    `latency_growth_ratio` and `metric:NAME`. `levels`: those of one epoch in the order they ran, without recovery levels; at
    least one. `readings`: the last few seconds of `load_average` and of each `metric:NAME`.
    """
    found = ((rule, limit, _measured(rule, limit, levels, readings)) for rule, limit in limits.items())
    return tuple(TriggeredRule(rule, limit, measured) for rule, limit, measured in found if measured is not None)


def _measured(rule: str, limit: float, levels: Sequence[LadderLevel], readings: Mapping[str, Sequence[float]]) -> float | None:
    """The figure that breaks the limit; None if it keeps the limit or is not known."""
    level = levels[-1]
    match rule:
        case "p95_ms" | "p99_ms":
            return _percentile(level, rule, limit)
        case "failure_ratio":
            return _failures(level, limit)
        case "throughput_growth_ratio":
            return _throughput_growth(level, levels[:-1], limit)
        case "latency_growth_ratio":
            return _latency_growth(level, levels[:-1], limit)
    values = [value for value in readings.get(rule, ()) if math.isfinite(value)]
    mean = math.fsum(values) / len(values) if values else None
    return mean if mean is not None and mean > limit else None


def _percentile(level: LadderLevel, rule: str, limit: float) -> float | None:
    value = level.p95_ms if rule == "p95_ms" else level.p99_ms
    successes = (level.requests or 0) * (1 - (level.failure_ratio or 0.0))
    return value if value is not None and value > limit and successes >= SUCCESSES_LEAST[rule] else None


def _failures(level: LadderLevel, limit: float) -> float | None:
    """The share of arrivals without a success: those dropped at an offered rate count as failed."""
    if level.failure_ratio is None or (level.requests or 0) < COUNT_LEAST:
        return None
    lost = 1 - (1 - level.failure_ratio) * (1 - level.dropped_ratio)
    return lost if wilson(lost, level.requests or 0)[0] > limit else None


def _throughput_growth(level: LadderLevel, earlier: Sequence[LadderLevel], limit: float) -> float | None:
    """Relative growth of goodput over that of users since the earlier level with the most users below this one's.

    1: goodput grew in proportion to users; 0: not at all.
    """
    below = [each for each in earlier if each.users * (1 + NOTABLE) <= level.users and each.goodput_rps > 0]
    if not below:
        return None
    before = max(below, key=lambda each: each.users)
    more = level.users / before.users - 1
    grown = level.goodput_rps / before.goodput_rps
    own = level.goodput_error_rps / max(level.goodput_rps, level.goodput_error_rps)
    error = grown * math.hypot(own, before.goodput_error_rps / before.goodput_rps) / more
    growth = (grown - 1) / more
    return growth if growth + ONE_SIDED_95 * error < limit else None


def _latency_growth(level: LadderLevel, earlier: Sequence[LadderLevel], limit: float) -> float | None:
    """Relative growth of the mean latency since the earlier level with the fewest users: 1 is twice the latency."""
    known = [each for each in earlier if each.latency_ms and each.users < level.users]
    if not known or level.latency_ms is None:
        return None
    first = min(known, key=lambda each: each.users)
    assert first.latency_ms is not None
    low = (level.latency_ms - ONE_SIDED_95 * (level.latency_error_ms or 0.0)) / first.latency_ms - 1
    return level.latency_ms / first.latency_ms - 1 if low > limit else None
