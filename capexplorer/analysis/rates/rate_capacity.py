"""The capacity as a rate: where goodput leaves the diagonal, and how high it gets (docs/knee.md, section 18).

Same detector, other axis: the low-load line has slope 1 and needs no fit, so the crossing lies at the goodput of the plateau. A
wrong mark is worse than none: a level at which the generator is at its own limit takes no part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...model.grades import Confidence
from ...model.intervals import ONE_SIDED_95, Z90
from ...model.rate_verdicts import LevelState, Limit, Overload, RateCapacity
from ..knee.crossing import LUCK_ERRORS
from .departure import SLOWER_AT_CAP, LowLoad, is_departed, low_load, state_of
from .rate_level import RateLevel, pooled

PLATEAU_LEAST = 0.92
"""Of the greatest goodput, as of a ladder of users: the capacity is the mean of the departed levels above it. The greatest alone
would be the luckiest: of 60 M/M/1 services 3 came out 6% high."""

REFUSING_LEAST = 0.97
REFUSING_ERRORS = 2.0
"""The same share of levels that refuse, or standard errors of the difference: with a short queue goodput comes near the capacity
slowly (M/M/4 with 4 places: 0.92 at 1.2, 0.98 at 1.6)."""

BENT_MOST = 0.85
"""Upper bound of goodput over offered rate from which a service that refuses is at its maximum: one with a short queue refuses 5%
at 0.9 of its capacity, and has 0.95 of it at 1.2."""

PLATEAU_SHARE = 1.15
"""Times the capacity: if levels at or above it are on the plateau, it is their mean alone, as of a ladder of users."""

STRUCTURAL_ERROR = 0.03
"""Relative error beside that of the counts: a machine's speed from one minute to the next."""

REFUSING_ERROR = 0.05
"""The same of a service that refuses: with a short queue its goodput still rises slowly (M/M/4 with 4 places: 0.95 at 1.3)."""

RAMP_SPEED_ERROR = 0.2
"""Relative error of one second of a ramp above the capacity, which falls with the root of their number: few short bins do not
show how a machine's speed varies over seconds (by 10%, correlated by 0.6: 0.2). Of 63 simulated ramps intervals held the
capacity in 84% without it; 0.1 90%, 0.15 95%, 0.2 98%."""

FALL_ERRORS = 2.5
FALL_LEAST = 0.05
"""Standard errors and share by which goodput at the greatest rate is less than the capacity, before it is said to fall."""

REPLIED_LEAST = 0.5
"""Share of the failures with an HTTP status from which a service refuses; the others are timeouts and closed connections."""

HALF_WIDTH_MOST = 0.1
"""Half-width of the interval, as a share of the capacity, for high confidence."""

KEPT_LEVELS, DEPARTED_LEVELS = 2, 2
"""Levels served in full, and levels beyond, for high confidence."""


@dataclass(frozen=True, slots=True)
class _Judged:
    level: RateLevel
    state: LevelState


def judge(levels: Sequence[RateLevel]) -> RateCapacity | None:
    """The capacity by levels of one epoch, without those of recovery and disturbed ones; None: no level has enough arrivals."""
    ladder = [level for level in pooled(levels) if level.due]
    if not ladder:
        return None
    low = low_load(ladder[0])
    judged = [_Judged(level, state_of(level, low)) for level in ladder]
    kept = [each.level for each in judged if each.state == "kept"]
    departed = [each for each in judged if is_departed(each.state)]
    if not departed:
        return _keeps_up(judged, kept)
    below = kept or [each.level for each in judged if each.state == "unsure" and each.level is not departed[0].level]
    if not any(level.offered_per_s < departed[0].level.offered_per_s for level in below):
        return _at_or_below(departed, low)
    return _beyond(below, departed, low)


def _keeps_up(judged: Sequence[_Judged], kept: Sequence[RateLevel]) -> RateCapacity | None:
    if not kept:
        return None
    most = kept[-1].offered_per_s
    capped = any(each.state == "generator" and each.level.offered_per_s > most for each in judged)
    sure: Confidence = "high" if len(kept) >= KEPT_LEVELS and not kept[-1].ramp else "medium"
    return RateCapacity(kind="keeps_up", per_s=most, kept_per_s=most, limit="generator" if capped else None, confidence=sure)


def _at_or_below(departed: Sequence[_Judged], low: LowLoad) -> RateCapacity:
    rate, _ = _plateau(departed)
    return RateCapacity(
        kind="at_or_below",
        per_s=rate,
        high_per_s=departed[0].level.offered_per_s,
        limit=_limit(departed),
        overload=_overload(departed, low, rate, 0.0),
        confidence="low",
    )


def _beyond(kept: Sequence[RateLevel], departed: Sequence[_Judged], usual: LowLoad) -> RateCapacity:
    """Some levels were served in full, as far as their few arrivals can tell, and some were not."""
    best = max(kept, key=_without_luck)
    rate, error = _plateau(departed)
    least = _least(best, rate, error)
    if rate < least:  # goodput collapsed before a plateau was seen: it is at least what was served in full
        rate, error = best.goodput_per_s, best.goodput_error_per_s
        low, high = least, departed[0].level.offered_per_s
    else:
        structural = REFUSING_ERROR if departed[0].state == "fails" else STRUCTURAL_ERROR
        spread = math.exp(Z90 * math.hypot(error / max(rate, 1e-12), structural))
        low, high = max(rate / spread, least), rate * spread
    contradicted = best.offered_per_s > departed[0].level.offered_per_s
    if not any(_is_at_its_maximum(each) for each in departed):
        return RateCapacity(
            kind="departs",
            per_s=departed[0].level.offered_per_s,
            kept_per_s=best.offered_per_s,
            limit=_limit(departed),
            confidence="low" if contradicted else "medium",
            contradicted=contradicted,
        )
    limit = _limit(departed)
    grounds = (
        len(kept) >= KEPT_LEVELS,
        len(departed) >= DEPARTED_LEVELS,
        max(high - rate, rate - low) <= HALF_WIDTH_MOST * rate,
        limit != "unknown",
        not any(each.level.at_cap for each in departed),
    )
    return RateCapacity(
        kind="capacity",
        per_s=rate,
        low_per_s=min(low, rate),
        high_per_s=max(high, rate),
        kept_per_s=best.offered_per_s,
        limit=limit,
        overload=_overload(departed, usual, rate, error),
        confidence="low" if contradicted else _confidence(sum(not ground for ground in grounds), _has_ramp(kept, departed)),
        contradicted=contradicted,
    )


def _least(best: RateLevel, rate: float, error: float) -> float:
    """Goodput that the best level served in full surely had; 0 where a ramp is too short to tell a collapse from luck."""
    if not best.ramp:
        return best.goodput_per_s - ONE_SIDED_95 * best.goodput_error_per_s
    surely = _without_luck(best)
    return 0.0 if rate < surely <= rate + ONE_SIDED_95 * error else surely


def _has_ramp(kept: Sequence[RateLevel], departed: Sequence[_Judged]) -> bool:
    return any(level.ramp for level in (*kept, *(each.level for each in departed)))


def _confidence(lacking: int, has_ramp: bool) -> Confidence:
    """As of a ladder of users: a ramp gives medium at most."""
    if lacking > 1:
        return "low"
    return "medium" if lacking or has_ramp else "high"


def _is_at_its_maximum(each: _Judged) -> bool:
    """A queue that grows means a service that is busy throughout; one that refuses must refuse much."""
    if each.state != "fails":
        return True
    level = each.level
    return level.goodput_per_s + ONE_SIDED_95 * level.goodput_error_per_s < BENT_MOST * level.offered_per_s


def _plateau(departed: Sequence[_Judged]) -> tuple[float, float]:
    """(goodput, standard error) of the levels near the greatest goodput."""
    best = max((each.level for each in departed), key=_without_luck)
    near = [each.level for each in departed if _is_near(each, best)]
    beyond = [level for level in near if level.offered_per_s >= PLATEAU_SHARE * _mean(near)[0]]
    return _mean(beyond or near)


def _is_near(each: _Judged, best: RateLevel) -> bool:
    level = each.level
    if each.state != "fails":
        return level.goodput_per_s >= PLATEAU_LEAST * _without_luck(best)
    error = math.hypot(level.goodput_error_per_s, best.goodput_error_per_s)
    lost = best.goodput_per_s - level.goodput_per_s
    return lost <= max((1 - REFUSING_LEAST) * best.goodput_per_s, REFUSING_ERRORS * error)


def _without_luck(level: RateLevel) -> float:
    """Goodput; of a ramp's bin what it surely was, since the highest of many is lucky."""
    return level.goodput_per_s - (LUCK_ERRORS * level.goodput_error_per_s if level.ramp else 0.0)


def _mean(levels: Sequence[RateLevel]) -> tuple[float, float]:
    """(goodput, standard error), weighted by precision; of a ramp's bins by time."""
    if all(level.ramp for level in levels):
        return _mean_of_bins(levels)
    weights = [level.goodput_error_per_s**-2 for level in levels]
    mean = math.fsum(w * level.goodput_per_s for w, level in zip(weights, levels, strict=True)) / math.fsum(weights)
    return mean, math.fsum(weights) ** -0.5


def _mean_of_bins(bins: Sequence[RateLevel]) -> tuple[float, float]:
    """What succeeded in all of their seconds, since a bin's error comes from its own count: precision would favour low bins."""
    seconds = math.fsum(each.seconds for each in bins)
    mean = sum(each.succeeded for each in bins) / seconds
    counted = math.sqrt(math.fsum((each.goodput_error_per_s * each.seconds) ** 2 for each in bins)) / seconds
    return mean, math.hypot(counted, RAMP_SPEED_ERROR / math.sqrt(seconds) * mean)


def _refuses(level: RateLevel, usual: LowLoad) -> bool:
    """Whether failures are replies; where that is not known, whether they come sooner than replies, or as soon as at low load."""
    if level.replied_ratio is not None:
        return level.replied_ratio >= REPLIED_LEAST
    at_least_ms = max(level.service_ms or 0.0, SLOWER_AT_CAP * (usual.service_ms or 0.0))
    return level.failed_ms is None or level.failed_ms <= at_least_ms


def _limit(departed: Sequence[_Judged]) -> Limit:
    return "errors" if departed[0].state == "fails" else "queue_growth"


def _overload(departed: Sequence[_Judged], usual: LowLoad, rate: float, error: float) -> Overload:
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
