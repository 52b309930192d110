"""Stop rules: which limits of a profile's `[stop]` the current level surely breaks. Pure; `run` decides what is ended.

Only settled seconds count, and a limit is broken when the one-sided bound of the figure passes it, not by one bad second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..model.intervals import ONE_SIDED_95
from .knee.objectives import wilson
from .ladder import LadderLevel

SUCCESSES_LEAST = {"p95_ms": 20, "p99_ms": 100}
"""Least successes before a percentile may break a rule: one of them is expected beyond it."""

REQUESTS_LEAST = 20
"""Least requests before a failure ratio may break a rule."""

USERS_MORE = 1.05
"""Least ratio of users to those of a lower level, from which growth is computed."""

METRIC = "metric:"
"""Limits of the target's own metrics are named `metric:NAME`."""


@dataclass(frozen=True, slots=True)
class TriggeredRule:
    """A rule whose limit was broken."""

    rule: str
    limit: float
    measured: float


def struck(
    limits: Mapping[str, float], levels: Sequence[LadderLevel], readings: Mapping[str, Sequence[float]]
) -> tuple[TriggeredRule, ...]:
    """Rules that the last of `levels` (one epoch's, in the order they ran, recovery left out) breaks.

    `limits`: by rule, `p95_ms`, `p99_ms`, `failure_ratio`, `load_average`, `throughput_growth_ratio`, `latency_growth_ratio`,
    `metric:NAME`. `readings`: the last few seconds of `load_average` and of each `metric:NAME`.
    """
    found = ((rule, limit, _measured(rule, limit, levels, readings)) for rule, limit in limits.items())
    return tuple(TriggeredRule(rule, limit, measured) for rule, limit, measured in found if measured is not None)


def _measured(rule: str, limit: float, levels: Sequence[LadderLevel], readings: Mapping[str, Sequence[float]]) -> float | None:
    """The figure that breaks the limit; None if it does not or is not known."""
    level = levels[-1]
    match rule:
        case "p95_ms" | "p99_ms":
            return _percentile(level, rule, limit)
        case "failure_ratio":
            return _failures(level, limit)
        case "throughput_growth_ratio":
            return _throughput(level, levels[:-1], limit)
        case "latency_growth_ratio":
            return _latency(level, levels[:-1], limit)
    values = [value for value in readings.get(rule, ()) if math.isfinite(value)]
    mean = math.fsum(values) / len(values) if values else None
    return mean if mean is not None and mean > limit else None


def _percentile(level: LadderLevel, rule: str, limit: float) -> float | None:
    value = level.p95_ms if rule == "p95_ms" else level.p99_ms
    successes = (level.requests or 0) * (1 - (level.failure_ratio or 0.0))
    return value if value is not None and value > limit and successes >= SUCCESSES_LEAST[rule] else None


def _failures(level: LadderLevel, limit: float) -> float | None:
    """What was dropped at an offered rate counts as failed."""
    if level.failure_ratio is None or (level.requests or 0) < REQUESTS_LEAST:
        return None
    lost = 1 - (1 - level.failure_ratio) * (1 - level.dropped_ratio)
    return lost if wilson(lost, level.requests or 0)[0] > limit else None


def _throughput(level: LadderLevel, earlier: Sequence[LadderLevel], limit: float) -> float | None:
    """Relative growth of goodput over that of users since the nearest lower level: 1 is proportional, 0 is none."""
    below = [each for each in earlier if each.users * USERS_MORE <= level.users and each.goodput_rps > 0]
    if not below:
        return None
    before = max(below, key=lambda each: each.users)
    more = level.users / before.users - 1
    grown = level.goodput_rps / before.goodput_rps
    own = level.goodput_error_rps / max(level.goodput_rps, level.goodput_error_rps)
    error = grown * math.hypot(own, before.goodput_error_rps / before.goodput_rps) / more
    growth = (grown - 1) / more
    return growth if growth + ONE_SIDED_95 * error < limit else None


def _latency(level: LadderLevel, earlier: Sequence[LadderLevel], limit: float) -> float | None:
    """Relative growth of the mean latency since the level with the fewest users."""
    known = [each for each in earlier if each.latency_ms and each.users < level.users]
    if not known or level.latency_ms is None:
        return None
    first = min(known, key=lambda each: each.users)
    assert first.latency_ms is not None
    surely = (level.latency_ms - ONE_SIDED_95 * (level.latency_error_ms or 0.0)) / first.latency_ms - 1
    return level.latency_ms / first.latency_ms - 1 if surely > limit else None
