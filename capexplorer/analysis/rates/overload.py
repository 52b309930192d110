"""What a service does at rates beyond its capacity, and whether its goodput falls there."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.rate_verdicts import Overload
from .departure import SLOWER_AT_CAP, LowLoad
from .plateau import JudgedLevel, has_ramp
from .rate_level import RateLevel

FALL_ERRORS = 2.5
FALL_LEAST = 0.05
"""Standard errors and share by which goodput at the greatest rate is less than the capacity, before it is said to fall."""

SLOWED_ERRORS, SLOWED_LEAST = 2.0, 0.1
"""Standard errors and share by which the plateau is less than a level below it, before a service whose requests only queue may
have become slower. Queues alone do not lower goodput; a machine's speed varies by some percent from one level to the next."""

SLOWED_BEYOND_LEAST = 0.15
"""The same share of two levels beyond the capacity, with FALL_ERRORS."""

REPLIED_LEAST = 0.5
"""Share of the failures with an HTTP status from which a service refuses; the others are timeouts and closed connections."""


def overload_of(departed: Sequence[JudgedLevel], usual: LowLoad, rate: float, error: float) -> Overload:
    """At the greatest rate beyond the capacity."""
    top = departed[-1]
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


def falls(below: Sequence[RateLevel], departed: Sequence[JudgedLevel], plateau: tuple[float, float]) -> bool:
    """Whether a higher rate surely got less goodput than a lower one, of levels that are not bins of a ramp."""
    if has_ramp(below, departed):
        return False
    if any(_is_less(plateau, level, SLOWED_ERRORS, SLOWED_LEAST) for level in below):
        return True
    best = max(departed, key=lambda each: each.level.goodput_per_s).level
    beyond = [each.level for each in departed if each.level.offered_per_s > best.offered_per_s]
    known = [(level.goodput_per_s, level.goodput_error_per_s) for level in beyond]
    return any(_is_less(each, best, FALL_ERRORS, SLOWED_BEYOND_LEAST) for each in known)


def _is_less(goodput: tuple[float, float], best: RateLevel, errors: float, share: float) -> bool:
    """Whether (goodput, standard error), 1/s, is less than that of a level by so many standard errors, and by this share."""
    per_s, error_per_s = goodput
    lost = best.goodput_per_s - per_s
    return lost > max(errors * math.hypot(best.goodput_error_per_s, error_per_s), share * best.goodput_per_s)


def fall_ratio(below: Sequence[RateLevel], departed: Sequence[JudgedLevel]) -> float:
    """Share of the greatest goodput that is missing at the greatest rate."""
    most = max(level.goodput_per_s for level in (*below, *(each.level for each in departed)))
    return 1.0 - departed[-1].level.goodput_per_s / most


def _refuses(level: RateLevel, usual: LowLoad) -> bool:
    """Whether failures are replies; where that is not known, whether they come sooner than replies, or as soon as at low load."""
    if level.replied_ratio is not None:
        return level.replied_ratio >= REPLIED_LEAST
    at_least_ms = max(level.service_ms or 0.0, SLOWER_AT_CAP * (usual.service_ms or 0.0))
    return level.failed_ms is None or level.failed_ms <= at_least_ms
