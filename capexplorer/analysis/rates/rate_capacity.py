"""The capacity as a rate: the greatest goodput that the service reaches as the offered rate grows (docs/knee.md, section 18).

The method is that of the knee: the low-load line of goodput over offered rate has slope 1 and needs no fit, so the crossing lies
at the goodput of the plateau. A wrong mark is worse than none: levels at which the generator is at its own limit are left out.

"Served" levels were served in full, "overloaded" ones were not, by their `state` (`level_state`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.grades import Confidence
from ...model.intervals import ONE_SIDED_95, Z90
from ...model.rate_verdicts import Limit, RateCapacity
from .level_state import LowLoad, failure_bounds, is_overloaded, low_load, slower, state_of
from .plateau import (
    FALL_ERRORS,
    JudgedLevel,
    fall_ratio,
    falls,
    has_ramp,
    is_constant,
    least_goodput,
    lost_beyond,
    overload_of,
    plateau,
    rises_with_rate,
    without_selection_bias,
)
from .rate_level import RateLevel, pooled

BENT_MOST = 0.85
"""A service that refuses requests is at its maximum if the upper bound of goodput, divided by the rate that it received, is below
this: one with a short queue refuses 5% at 0.9 of its capacity, and completes 0.95 of its capacity when offered 1.2 times as
much."""

STRUCTURAL_ERROR = 0.03
"""Relative error in addition to that of the counts: a machine's speed varies from one minute to the next."""

REFUSING_ERROR = 0.05
"""The same for a service that refuses: with a short queue its goodput still rises slowly (M/M/4 with 4 places: 0.95 of the
capacity at 1.3 times as much offered)."""

HALF_WIDTH_MOST = 0.1
"""Half-width of the interval, as a share of the capacity, for high confidence."""

SERVED_LEVELS, OVERLOADED_LEVELS = 2, 2
"""Least number of served and of overloaded levels for high confidence."""


QUEUEING_LEAST = 5.0
"""A level whose mean time from plan is so many times that at the lowest rate is near the capacity or beyond it (M/M/1: from 0.86
of the capacity on, where the lowest rate is 0.3 of it): whether its queue stops growing is not sure. Of 40 climbs of M/M/1 queues
to 1.05 of their capacity in levels of 20 s, 37 were served in full as far as counts can show."""


def judge_rates(levels: Sequence[RateLevel], left_out_per_s: Sequence[float] = ()) -> RateCapacity | None:
    """The capacity from levels of one epoch; None if no level has enough arrivals, or if iterations fail at all rates and load is
    not known to be the cause.

    `levels`: without those of recovery and those that were disturbed. `left_out_per_s`: offered rates of levels that do not
    describe the service since generator, host or network failed.
    """
    ladder = [level for level in pooled(levels) if level.due]
    if not ladder:
        return None
    low = low_load(ladder)
    judged = [JudgedLevel(level, state_of(level, low)) for level in ladder]
    served = [each.level for each in judged if each.state == "kept"]
    overloaded = [each for each in judged if is_overloaded(each.state)]
    most = max((level.offered_per_s for level in served), default=0.0)
    if overloaded and overloaded[0] is judged[0]:
        # load is not why the lowest rate was not served in full if goodput was greater at a higher rate
        most = max(most, *(level.goodput_per_s - FALL_ERRORS * level.goodput_error_per_s for level in ladder))
    above = [each for each in overloaded if each.level.offered_per_s > most]
    contradicted = len(above) < len(overloaded)  # a higher rate was served in full
    if not above:
        return _keeps_up(judged, served, contradicted, left_out_per_s)
    perhaps_served = [each.level for each in judged if each.state in ("kept", "unsure")]
    below = [level for level in perhaps_served if level.offered_per_s < above[0].level.offered_per_s]
    if not below:
        return _at_or_below(above, low) if _load_is_the_cause(above) else None
    return _beyond(served or below, below, above, low, contradicted)


def _keeps_up(
    judged: Sequence[JudgedLevel], served: Sequence[RateLevel], contradicted: bool, left_out_per_s: Sequence[float]
) -> RateCapacity | None:
    if not served:
        return None
    most = served[-1].offered_per_s
    slower_times = _slower_times(judged[0].level, served[-1])
    limited = [*left_out_per_s, *(each.level.offered_per_s for each in judged if each.state == "generator")]
    is_sure = len(served) >= SERVED_LEVELS and not served[-1].ramp and slower_times is None
    sure: Confidence = "high" if is_sure else "medium"
    return RateCapacity(
        kind="keeps_up",
        per_s=most,
        kept_per_s=most,
        limit="generator" if max(limited, default=0.0) > most else None,
        confidence="low" if contradicted else sure,
        slower_times=slower_times,
        contradicted=contradicted,
    )


def _slower_times(lowest: RateLevel, most: RateLevel) -> float | None:
    """How many times the mean time from plan of the lowest rate requests took at the greatest one; None below QUEUEING_LEAST."""
    if not lowest.from_plan_ms or most.from_plan_ms is None:
        return None
    times = most.from_plan_ms / lowest.from_plan_ms
    return times if times >= QUEUEING_LEAST else None


def _load_is_the_cause(overloaded: Sequence[JudgedLevel]) -> bool:
    """Whether the offered rate is known to cause the losses although no lower rate was served. A queue that grows shows it; a
    share of failures does so only if it is surely greater at the greatest rate than at the lowest.
    """
    if _limit(overloaded) != "errors":
        return True
    return failure_bounds(overloaded[-1].level)[0] > failure_bounds(overloaded[0].level)[1]


def _at_or_below(overloaded: Sequence[JudgedLevel], low: LowLoad) -> RateCapacity:
    rate, _ = plateau(overloaded)
    return RateCapacity(
        kind="at_or_below",
        per_s=rate,
        high_per_s=overloaded[0].level.offered_per_s,
        limit=_limit(overloaded),
        overload=overload_of(overloaded, low, lost_beyond(overloaded, rate, 0.0)),
        confidence="low",
    )


def _beyond(
    served: Sequence[RateLevel], below: Sequence[RateLevel], overloaded: Sequence[JudgedLevel], usual: LowLoad, contradicted: bool
) -> RateCapacity:
    """The capacity, or only that goodput is less than the offered rate. Where goodput still rises, what exceeds the offered rate
    at which all is served may be one kind of requests: that rate is then at most the goodput at the lowest overloaded rate.

    `served`: levels served in full, or unsure ones if there are none. `below`: served and unsure levels at lower rates than all
    of `overloaded`.
    """
    best = max(served, key=without_selection_bias)
    rate, error = plateau(overloaded)
    limit = _limit(overloaded)
    has_fallen = limit == "queue_growth" and falls(below, overloaded, (rate, error))
    may_be_slower = has_fallen or (limit == "queue_growth" and not is_constant(overloaded))
    at_its_maximum = any(_is_at_its_maximum(each) for each in overloaded)
    rises = rises_with_rate(overloaded)
    if may_be_slower or not at_its_maximum or rises:
        lowest = overloaded[0].level
        most = lowest.goodput_per_s + ONE_SIDED_95 * lowest.goodput_error_per_s
        fall = fall_ratio(below, overloaded) if has_fallen else None
        return RateCapacity(
            kind="departs",
            per_s=lowest.offered_per_s,
            high_per_s=min(max(most, best.offered_per_s), lowest.offered_per_s) if rises and not may_be_slower else None,
            kept_per_s=best.offered_per_s,
            limit=limit,
            overload=overload_of(overloaded, usual, fall) if may_be_slower else None,
            confidence="low" if contradicted or may_be_slower else "medium",
            rises=rises and not may_be_slower,
            contradicted=contradicted,
        )
    rate, error, low, high = _interval(served, best, overloaded)
    lacking = (
        len(served) < SERVED_LEVELS,
        len(overloaded) < OVERLOADED_LEVELS,
        max(high - rate, rate - low) > HALF_WIDTH_MOST * rate,
        limit == "unknown",
        any(each.level.at_cap for each in overloaded),
        any(each.level.at_cap and not slower(each.level, usual) for each in overloaded),  # more users may bring more
    )
    return RateCapacity(
        kind="capacity",
        per_s=rate,
        low_per_s=low,
        high_per_s=high,
        kept_per_s=best.offered_per_s,
        limit=limit,
        overload=overload_of(overloaded, usual, lost_beyond(overloaded, rate, error)),
        confidence="low" if contradicted else _confidence(sum(lacking), has_ramp(served, overloaded)),
        contradicted=contradicted,
    )


def _interval(
    served: Sequence[RateLevel], best: RateLevel, overloaded: Sequence[JudgedLevel]
) -> tuple[float, float, float, float]:
    """The capacity, its standard error, and its 90% confidence interval, all per second: rate, error, low, high.

    If goodput collapsed before it reached a plateau, the capacity is at least the greatest rate served in full, `best`.
    """
    rate, error = plateau(overloaded)
    least = least_goodput(best, rate, error)
    if rate < least and falls(served, overloaded, (rate, error)):
        rate, error, low, high = best.goodput_per_s, best.goodput_error_per_s, least, overloaded[0].level.offered_per_s
    else:
        rate = max(rate, least)
        structural = REFUSING_ERROR if overloaded[0].state == "fails" else STRUCTURAL_ERROR
        spread = math.exp(Z90 * math.hypot(error / max(rate, 1e-12), structural))
        low, high = max(rate / spread, least), rate * spread
    return rate, error, min(low, rate), max(high, rate)


def _confidence(lacking: int, has_ramp: bool) -> Confidence:
    """High if no condition is lacking, medium if one is; a ramp gives medium at most, as for users."""
    if lacking > 1:
        return "low"
    return "medium" if lacking or has_ramp else "high"


def _is_at_its_maximum(each: JudgedLevel) -> bool:
    """Whether the service was at its maximum: it is if a queue grows, and if it refuses requests only if it refuses many of those
    that it received.
    """
    if each.state != "fails":
        return True
    level = each.level
    return level.goodput_per_s + ONE_SIDED_95 * level.goodput_error_per_s < BENT_MOST * level.received_per_s


def _limit(overloaded: Sequence[JudgedLevel]) -> Limit:
    return "errors" if overloaded[0].state == "fails" else "queue_growth"
