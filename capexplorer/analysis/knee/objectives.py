"""Capacity at an objective: the greatest load that keeps p95, p99 or the failure ratio at or below its limit.

The metric is first made monotonic in users by isotonic regression, so that no single noisy level decides. It is then
interpolated between the last level that keeps the objective and the first that breaks it. The interval runs from the last level
that keeps it by its upper bound to the first that breaks it by its lower bound, because interpolation says nothing about the
curve between two levels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...model.intervals import ONE_SIDED_95, PERCENTILE_VALUES_LEAST
from ...model.verdicts import SloVerdict
from ..ladder import LadderLevel, pooled
from ..statistics import wilson

Name = Literal["p95_ms", "p99_ms", "failure_ratio"]

QUANTILE_ERROR = {"p95_ms": 1.5, "p99_ms": 2.2}
"""Relative standard error of a quantile of n exponential latencies, times sqrt(n): sqrt(p / (1 - p)) / -ln(1 - p)."""

QUANTILE_ERROR_FLOOR = 0.03
"""Least relative error: latencies within a level are correlated, so 1/sqrt(n) is too small."""

QUANTILE_ERROR_UNKNOWN = 0.10
"""Relative error if the number of requests is not known."""

VALUES_LEAST = {"p95_ms": PERCENTILE_VALUES_LEAST["p95"], "p99_ms": PERCENTILE_VALUES_LEAST["p99"]}
"""With fewer successes a percentile rests on too few values (`thin`)."""


@dataclass(frozen=True, slots=True)
class _Point:
    """The metric at one level, with its 90% bounds; infinite where nothing succeeded."""

    users: float
    goodput_rps: float
    value: float
    low: float
    high: float
    weight: float
    thin: bool


def capacity_at(levels: Sequence[LadderLevel], name: Name, limit: float, *, epoch: int = 0) -> SloVerdict | None:
    """The greatest load that keeps the metric `name` at or below `limit`; None if no level has it.

    `levels`: without those of recovery. `limit`: ms, or a ratio.
    """
    ladder = pooled(levels)
    points = _monotonic([point for level in ladder if (point := _point(level, name)) is not None])
    if not points:
        return None
    keeps = [point for point in points if point.value <= limit]
    if not keeps:
        return SloVerdict(name=name, limit=limit, state="broken", users_high=points[0].users, epoch=epoch, thin=points[0].thin)
    last = keeps[-1]
    if len(keeps) == len(points):
        sure = [point for point in points if point.high <= limit]
        return SloVerdict(
            name=name, limit=limit, state="kept", users=last.users, users_low=sure[-1].users if sure else None,
            goodput_rps=last.goodput_rps, goodput_low_rps=sure[-1].goodput_rps if sure else None, epoch=epoch, thin=last.thin,
        )  # fmt: skip
    return _crossed(points, last, points[len(keeps)], name, limit, epoch)


def _crossed(points: list[_Point], last: _Point, first: _Point, name: Name, limit: float, epoch: int) -> SloVerdict:
    share = _share(last.value, first.value, limit)
    sure = [point for point in points if point.high <= limit and point.users <= last.users]
    broken = [point for point in points if point.low > limit and point.users >= first.users]
    low, high = (sure[-1] if sure else None), (broken[0] if broken else None)
    rates = [point.goodput_rps for point in points if (low or points[0]).users <= point.users <= (high or points[-1]).users]
    return SloVerdict(
        name=name,
        limit=limit,
        state="crossed",
        users=last.users + share * (first.users - last.users),
        users_low=low.users if low else None,
        users_high=high.users if high else None,
        goodput_rps=last.goodput_rps + share * (first.goodput_rps - last.goodput_rps),
        goodput_low_rps=min(rates) if low else None,
        goodput_high_rps=max(rates) if high else None,
        epoch=epoch,
        thin=last.thin or first.thin,
    )


def _share(keeps: float, breaks: float, limit: float) -> float:
    """Where between two levels the metric meets its limit, 0 to 1. Interpolated geometrically where the lower value is above
    zero, since latencies grow exponentially.
    """
    if keeps > 0 and not math.isinf(breaks):
        return math.log(limit / keeps) / math.log(breaks / keeps)
    return 0.0 if math.isinf(breaks) else (limit - keeps) / (breaks - keeps)


def _point(level: LadderLevel, name: Name) -> _Point | None:
    if name == "failure_ratio":
        return _failure_point(level)
    value: float | None = getattr(level, name)
    count = None if level.requests is None else level.requests * (1 - (level.failure_ratio or 0.0))
    if value is None:
        if level.goodput_rps > 0 or level.failure_ratio != 1.0:
            return None
        return _Point(level.users, 0.0, math.inf, math.inf, math.inf, 1.0, False)  # nothing succeeded: no objective is kept
    error = (
        QUANTILE_ERROR_UNKNOWN if count is None else max(QUANTILE_ERROR_FLOOR, QUANTILE_ERROR[name] / math.sqrt(max(count, 1.0)))
    )
    spread = math.exp(ONE_SIDED_95 * error)
    thin = count is not None and count < VALUES_LEAST[name]
    return _Point(level.users, level.goodput_rps, value, value / spread, value * spread, error**-2, thin)


def _failure_point(level: LadderLevel) -> _Point | None:
    if level.failure_ratio is None:
        return None
    if level.requests is None:
        return _Point(level.users, level.goodput_rps, level.failure_ratio, level.failure_ratio, level.failure_ratio, 1.0, False)
    low, high = wilson(level.failure_ratio, level.requests)
    return _Point(level.users, level.goodput_rps, level.failure_ratio, low, high, float(level.requests or 1), False)


def _monotonic(points: list[_Point]) -> list[_Point]:
    """Isotonic regression by pool adjacent violators: values never fall with users, each pool has its weighted mean."""
    pools: list[list[_Point]] = []
    for point in points:
        pools.append([point])
        while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    return [_at(point, pool) for pool in pools for point in pool]


def _at(point: _Point, pool: list[_Point]) -> _Point:
    value = _mean(pool)
    if math.isinf(value) or math.isinf(point.value):
        return _Point(point.users, point.goodput_rps, value, value, value, point.weight, point.thin)
    low, high = point.low - point.value, point.high - point.value
    return _Point(point.users, point.goodput_rps, value, value + low, value + high, point.weight, point.thin)


def _mean(pool: list[_Point]) -> float:
    if any(math.isinf(point.value) for point in pool):
        return math.inf
    return math.fsum(point.value * point.weight for point in pool) / math.fsum(point.weight for point in pool)
