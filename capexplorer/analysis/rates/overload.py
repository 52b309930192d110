"""How a service behaves at rates beyond its capacity, and whether its goodput falls there."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.rate_verdicts import Overload
from .level_state import SLOWER_AT_CAP, LowLoad
from .plateau import JudgedLevel, has_ramp
from .rate_level import RateLevel

FALL_ERRORS = 2.5
FALL_LEAST = 0.05
"""Goodput falls beyond the capacity if at the greatest rate it is lower by more than so many standard errors and this share."""

SLOWED_ERRORS, SLOWED_LEAST = 2.0, 0.1
"""A service whose requests only queue may have become slower if the plateau is lower than a level below it by so many standard
errors and this share. Queues alone do not lower goodput; a machine's speed varies by some percent from one level to the next."""

SLOWED_BEYOND_LEAST = 0.15
"""The same share for two levels beyond the capacity, with FALL_ERRORS."""

REPLIED_LEAST = 0.5
"""A service refuses requests if at least this share of the failures has an HTTP status; otherwise they are timeouts and closed
connections."""


def overload_of(overloaded: Sequence[JudgedLevel], usual: LowLoad, rate: float, error: float) -> Overload:
    """The behaviour at the greatest overloaded rate. `rate`, `error`: the capacity and its standard error; 1/s."""
    top = overloaded[-1]
    level, lost = top.level, rate - top.level.goodput_per_s
    surely = lost > FALL_ERRORS * math.hypot(error, level.goodput_error_per_s) and lost > FALL_LEAST * rate
    return Overload(
        kind="queues" if top.state != "fails" else "refuses" if _refuses(level, usual) else "times_out",
        offered_per_s=level.offered_per_s,
        goodput_per_s=level.goodput_per_s,
        failure_ratio=level.failure_ratio,
        growth_per_s=level.growth / level.seconds,
        dropped_ratio=level.dropped_ratio,
        fall_ratio=lost / rate if surely else None,
    )


def falls(below: Sequence[RateLevel], overloaded: Sequence[JudgedLevel], plateau: tuple[float, float]) -> bool:
    """Whether goodput is significantly lower at a higher rate than at a lower one; False for bins of a ramp.

    `below`: levels at lower rates than all of `overloaded`. `plateau`: (goodput, standard error) of the plateau, 1/s.
    """
    if has_ramp(below, overloaded):
        return False
    if any(_is_less(plateau, level, SLOWED_ERRORS, SLOWED_LEAST) for level in below):
        return True
    best = max(overloaded, key=lambda each: each.level.goodput_per_s).level
    beyond = [each.level for each in overloaded if each.level.offered_per_s > best.offered_per_s]
    known = [(level.goodput_per_s, level.goodput_error_per_s) for level in beyond]
    return any(_is_less(each, best, FALL_ERRORS, SLOWED_BEYOND_LEAST) for each in known)


def _is_less(goodput: tuple[float, float], best: RateLevel, errors: float, share: float) -> bool:
    """Whether `goodput`, (1/s, standard error), is less than that of `best` by so many standard errors and by this share."""
    per_s, error_per_s = goodput
    lost = best.goodput_per_s - per_s
    return lost > max(errors * math.hypot(best.goodput_error_per_s, error_per_s), share * best.goodput_per_s)


def fall_ratio(below: Sequence[RateLevel], overloaded: Sequence[JudgedLevel]) -> float:
    """Share of the greatest goodput that is lost at the greatest rate."""
    most = max(level.goodput_per_s for level in (*below, *(each.level for each in overloaded)))
    return 1.0 - overloaded[-1].level.goodput_per_s / most


def _refuses(level: RateLevel, usual: LowLoad) -> bool:
    """Whether failures are replies that refuse, not timeouts. Where statuses are not known: whether failures take no longer than
    successes do, or than SLOWER_AT_CAP times the service time at low load.
    """
    if level.replied_ratio is not None:
        return level.replied_ratio >= REPLIED_LEAST
    at_least_ms = max(level.service_ms or 0.0, SLOWER_AT_CAP * (usual.service_ms or 0.0))
    return level.failed_ms is None or level.failed_ms <= at_least_ms
