"""Compares a level with others: whether it has the same goodput, or one that their curve allows at its load."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from ...model.intervals import ONE_SIDED_95
from ..knee.crossing import LINEAR_LIKELY
from ..ladder import LadderLevel, pooled
from ..rates.rate_level import SAME_RATE
from .shifts import LATENCY_CHANGE

FALL = 0.10
"""Significant fall of goodput, as a share, from a level on the low-load line to one with more users. Retrograde systems mostly
flatten before they fall, and then continue to fall.
"""

RISE = 0.15
"""Significant rise of goodput per user, as a share, from a level to one with more users."""

AGREES = 0.07
"""A level continues a regime if its goodput differs by at most this share of the expected one, or by two standard errors."""

FAILING = 0.2
"""A level fails if its failure ratio is this much (absolute) above that of the clean levels of a regime."""

USERS_SAME = 0.1
"""User counts that differ by at most this share are the same load."""

RECOVERING = 0.05
"""A level with more users than a regime may still recover from a fault if its failure ratio is this much (absolute) above that of
the regime's clean levels."""

LATENCY_ERRORS = 3.0
"""Standard errors between the latencies of two levels of one offered rate, from which they differ. Of 1,000 pairs of levels of
stationary M/M/1 queues at 0.5 to 0.97 of their capacity none did with 2.5 (tuning seed 780,000), but one of 60 plans whose
service has a noisy speed did."""

RESUMES_MOST = 2.0
"""A level may continue an earlier regime up to this many times its most users: far beyond them any goodput would fit."""


def continues(levels: tuple[LadderLevel, ...], now: LadderLevel) -> bool:
    """Whether a level has the goodput of these levels at its load; with more users than all of them, whether one curve fits
    all. At an offered rate it must have their latency, too.
    """
    if any(latency_differs(now, level) for level in levels):
        return False
    if failure_ratio_of(now) - min(map(failure_ratio_of, levels)) >= FAILING:
        return False
    expected = expected_goodput(levels, now.users)
    if expected is not None:
        return _agrees(now, *expected)
    curve = pooled(levels)
    best, top = max(curve, key=lambda level: level.goodput_rps), curve[-1]
    if now.users > RESUMES_MOST * top.users:
        return False
    is_straight = efficiency(curve, top) >= LINEAR_LIKELY
    most_rps = max(best.goodput_rps, top.goodput_rps * now.users / top.users) if is_straight else best.goodput_rps
    if is_straight and failure_ratio_of(now) - min(map(failure_ratio_of, levels)) >= RECOVERING:
        return _agrees(now, most_rps, best.goodput_error_rps)  # its plateau may be that of a service that recovers
    nearest_rps = min(max(now.goodput_rps, best.goodput_rps), most_rps)
    return _agrees(now, nearest_rps, best.goodput_error_rps)


def _agrees(now: LadderLevel, rate_rps: float, error: float) -> bool:
    return abs(now.goodput_rps - rate_rps) <= max(AGREES * rate_rps, 2 * math.hypot(error, now.goodput_error_rps))


def expected_goodput(levels: Sequence[LadderLevel], users: float) -> tuple[float, float] | None:
    """(goodput of these levels at a load, its standard error): interpolated; below the lowest level in proportion to users; None
    beyond the highest level.
    """
    return expected_on(pooled(levels), users)


def expected_on(curve: Sequence[LadderLevel], users: float) -> tuple[float, float] | None:
    """As `expected_goodput`, for levels that are pooled already."""
    at = [level.users for level in curve]
    if users > at[-1] * (1 + USERS_SAME):
        return None
    if users < at[0]:
        return curve[0].goodput_rps * users / at[0], curve[0].goodput_error_rps * users / at[0]
    above = bisect_left(at, users)
    near = curve[max(above - 1, 0) : above + 1]
    near_users = [level.users for level in near]
    rate = float(np.interp(users, near_users, [level.goodput_rps for level in near]))
    return rate, float(np.interp(users, near_users, [level.goodput_error_rps for level in near]))


def is_on_line(levels: Sequence[LadderLevel]) -> bool:
    """Whether the last of these levels is on the low-load line of the others."""
    relative = levels[-1].goodput_error_rps / max(levels[-1].goodput_rps, 1e-12)
    return efficiency(pooled(levels[:-1]), levels[-1]) * (1 + relative) >= LINEAR_LIKELY if len(levels) > 1 else True


def efficiency(curve: Sequence[LadderLevel], level: LadderLevel) -> float:
    """Goodput per user, divided by the slope of the line from the origin fitted to the other levels; 1 without another level."""
    others = [other for other in curve if other is not level]
    if not others:
        return 1.0
    weights = [1 / other.goodput_error_rps**2 for other in others]
    line = math.fsum(w * o.users * o.goodput_rps for w, o in zip(weights, others, strict=True))
    line /= math.fsum(w * o.users**2 for w, o in zip(weights, others, strict=True))
    return level.goodput_rps / level.users / max(line, 1e-12)


def differs(now_rps: float, before_rps: float, error: float) -> bool:
    """Whether two goodputs differ significantly, and by more than `FALL`."""
    return abs(now_rps - before_rps) - ONE_SIDED_95 * error > FALL * max(now_rps, before_rps)


def was_served_better(before: Sequence[LadderLevel], now: LadderLevel) -> bool:
    """Whether an earlier level of this load had significantly more goodput, and none so far had more load: no overload explains
    it.
    """
    if any(level.users > now.users * (1 + USERS_SAME) for level in before):
        return False
    same = [level for level in before if level.users >= now.users * (1 - USERS_SAME)]
    expected = [(level.goodput_rps * now.users / level.users, error_of(level, now)) for level in same]
    return any(now.goodput_rps < rate_rps and differs(now.goodput_rps, rate_rps, error) for rate_rps, error in expected)


def rises(before: LadderLevel, now: LadderLevel, errors: float = ONE_SIDED_95) -> bool:
    """Whether goodput per user is higher than at a level with fewer users, by RISE and so many standard errors."""
    own, earlier = now.goodput_rps / now.users, before.goodput_rps / before.users
    error = math.hypot(now.counted_error_rps / now.users, before.counted_error_rps / before.users)
    return own - earlier - errors * error > RISE * earlier


def latency_differs(now: LadderLevel, before: LadderLevel) -> bool:
    """Whether the latencies of two levels of one offered rate differ significantly, and as much as a shift does.

    A service that became slower still completes what is offered, so its goodput does not show it. At users it does.
    """
    if abs(now.users - before.users) > SAME_RATE * before.users or now.disturbed or before.disturbed:
        return False
    errors = [_relative_latency_error(level) for level in (now, before)]
    if now.latency_ms is None or before.latency_ms is None or None in errors:
        return False
    if abs(now.latency_ms - before.latency_ms) <= max(now.loop_lag_ms or 0.0, before.loop_lag_ms or 0.0):
        return False
    least = max(math.log1p(LATENCY_CHANGE), LATENCY_ERRORS * math.hypot(*(error or 0.0 for error in errors)))
    return abs(math.log(now.latency_ms / before.latency_ms)) >= least


def _relative_latency_error(level: LadderLevel) -> float | None:
    return level.steady_latency_error_ms / level.latency_ms if level.steady_latency_error_ms and level.latency_ms else None


def error_of(one: LadderLevel, other: LadderLevel) -> float:
    """Standard error of the difference between the goodputs of two levels."""
    return math.hypot(one.goodput_error_rps, other.goodput_error_rps)


def failure_ratio_of(level: LadderLevel) -> float:
    """The failure ratio; where it is not known, 1 without goodput and 0 with some."""
    return (0.0 if level.goodput_rps else 1.0) if level.failure_ratio is None else level.failure_ratio
