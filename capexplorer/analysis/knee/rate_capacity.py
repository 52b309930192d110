"""The capacity as a rate: plateau, what happens beyond it, verdict (docs/knee.md, section 18)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from ...model.intervals import ONE_SIDED_95, Z90
from ...model.verdicts import Confidence, LevelState, Overload, RateCapacity, RateLimit
from ..statistics import BEYOND, MOSTLY, NOTABLE, SURE_ERRORS
from .crossing import PLATEAU_ERRORS, PLATEAU_LEAST, SELECTION_ERRORS
from .curve import BATCHES, SHAPE_ERROR, batch_variance
from .curve_gates import BENT_MOST
from .rate_level import SLOWER_AT_CAP, LowLoad, RateLevel, failure_bounds, is_overloaded, low_load, pooled, slower, state_of

RAMP_SPEED_ERROR = 0.2
"""Relative error of one second of a ramp above the capacity; that of n seconds is smaller by sqrt(n). Few short bins do not show
how a machine's speed varies over seconds (10%, with a correlation of 0.6, gives 0.2). On 63 simulated ramps intervals contained
the capacity in 84% without this error, in 90% with 0.1, 95% with 0.15, 98% with 0.2."""

UNSTEADY_ERRORS = 1.75
"""Goodput of a level is not constant if its standard error by batch means is above this many times that of a Poisson count."""

RISES_LEAST = 0.45
"""Goodput beyond is no plateau if it surely rises (95%, one-sided), and by this share of the rise of the rate (both relative).
1 for a dependency that fails half of the time. If one of two endpoints is saturated, and the other is not, at least the share of
the other: 0.5 if they are called equally often. A queue without bound: 0. M/M/4 with 4 places: 0.33 if the lower rate is 0.7 of
the capacity and the higher one 1.6 of it, 0.43 from 0.95 to 1.25. With 2.5 errors instead of 1.64 12 of 60 services with two
endpoints had a capacity, with 1.64 9, and other services as many."""


class JudgedLevel(msgspec.Struct, frozen=True):
    """A level and whether it was served in full."""

    level: RateLevel
    state: LevelState


def plateau(overloaded: Sequence[JudgedLevel]) -> tuple[float, float]:
    """(goodput, standard error) of the plateau, 1/s. `overloaded`: at least one level that was not served in full."""
    return _mean(_plateau_levels(overloaded))


def _plateau_levels(overloaded: Sequence[JudgedLevel]) -> list[RateLevel]:
    best = max((each.level for each in overloaded), key=without_selection_bias)
    near = [each.level for each in overloaded if _is_near(each, best)]
    beyond = [level for level in near if level.offered_per_s >= BEYOND * _mean(near)[0]]
    return beyond or near


def is_constant(overloaded: Sequence[JudgedLevel]) -> bool:
    """Whether goodput was constant over the seconds of each level, as it is beyond a capacity unless the service changes."""
    return all(_is_constant(each.level) for each in overloaded)


def _is_constant(level: RateLevel) -> bool:
    if level.ramp or level.goodput_se_per_s is None:
        return True
    return level.goodput_se_per_s * level.seconds <= UNSTEADY_ERRORS * math.sqrt(max(level.succeeded, 1))


def rises_with_rate(overloaded: Sequence[JudgedLevel]) -> bool:
    """Whether goodput still rises with the rate, from the lowest rate to the greatest; of a ramp, from the lower half of its bins
    to the upper one. Then only a part of the requests is limited. `overloaded`: by rate, ascending.
    """
    levels = [each.level for each in overloaded]
    is_ramp = all(level.ramp for level in levels)
    if len(levels) < 2 or any(level.ramp for level in levels) != is_ramp:
        return False
    half = len(levels) // 2
    lower, upper = (levels[:half], levels[half:]) if is_ramp else (levels[:1], levels[-1:])
    (before, error_before), (now, error_now) = _mean(lower), _mean(upper)
    is_sure = now - before > ONE_SIDED_95 * math.hypot(error_before, error_now)
    return is_sure and before > 0 and now / before - 1.0 >= RISES_LEAST * (_offered_per_s(upper) / _offered_per_s(lower) - 1.0)


def _offered_per_s(levels: Sequence[RateLevel]) -> float:
    return sum(level.due for level in levels) / math.fsum(level.seconds for level in levels)


def _is_near(each: JudgedLevel, best: RateLevel) -> bool:
    """Whether the goodput of a level is near that of `best`, the one with the greatest."""
    level = each.level
    if each.state != "fails":
        return level.goodput_per_s >= PLATEAU_LEAST * without_selection_bias(best)
    error = math.hypot(level.goodput_error_per_s, best.goodput_error_per_s)
    lost = best.goodput_per_s - level.goodput_per_s
    return lost <= PLATEAU_ERRORS * error


def without_selection_bias(level: RateLevel) -> float:
    """Goodput; for a bin of a ramp a lower bound, since the highest of many noisy bins is high by chance."""
    return level.goodput_per_s - (SELECTION_ERRORS * level.goodput_error_per_s if level.ramp else 0.0)


def _mean(levels: Sequence[RateLevel]) -> tuple[float, float]:
    """(goodput, standard error): weighted by inverse variance, for bins of a ramp by time."""
    if all(level.ramp for level in levels):
        return _mean_of_bins(levels)
    weights = [level.goodput_error_per_s**-2 for level in levels]
    mean = math.fsum(w * level.goodput_per_s for w, level in zip(weights, levels, strict=True)) / math.fsum(weights)
    return mean, math.fsum(weights) ** -0.5


def _mean_of_bins(bins: Sequence[RateLevel]) -> tuple[float, float]:
    """(goodput over all seconds of the bins, standard error). A bin's error comes from its own count, so weights by inverse
    variance would favour low bins.
    """
    seconds = math.fsum(each.seconds for each in bins)
    mean = sum(each.succeeded for each in bins) / seconds
    counted = math.sqrt(math.fsum((each.goodput_error_per_s * each.seconds) ** 2 for each in bins)) / seconds
    return mean, math.hypot(counted, RAMP_SPEED_ERROR / math.sqrt(seconds) * mean)


def least_goodput(best: RateLevel, rate: float, error: float) -> float:
    """Lower bound of the goodput of `best`, the best level served in full, in 1/s; 0 where a ramp is too short to distinguish a
    collapse from chance. `rate`, `error`: mean goodput of the plateau and its standard error.
    """
    if not best.ramp:
        return best.goodput_per_s - ONE_SIDED_95 * best.goodput_error_per_s
    surely = without_selection_bias(best)
    return 0.0 if rate < surely <= rate + ONE_SIDED_95 * error else surely


def _plateau_error(overloaded: Sequence[JudgedLevel]) -> float:
    """Relative error of the plateau by the batches of its levels: services of equal times vary less than Poisson counts, those
    with slow ends more. Of a ramp, and without batches, that of `plateau`.
    """
    levels = _plateau_levels(overloaded)
    rate, error = _mean(levels)
    errors = np.array([math.nan if level.goodput_se_per_s is None else level.goodput_se_per_s for level in levels])
    goodput, seconds = np.array([(level.goodput_per_s, level.seconds) for level in levels]).T
    variance = batch_variance(goodput, errors, seconds)
    if any(level.ramp for level in levels) or not np.isfinite(variance).all():
        return math.hypot(_relative(error, rate), STRUCTURAL_ERROR)
    freedom = BATCHES * len(levels)
    error = math.sqrt(freedom / (freedom - 2) / float((1 / variance).sum()))  # of Student's t
    return math.hypot(_relative(error, rate), SHAPE_ERROR)


def _relative(error: float, rate: float) -> float:
    """At most 1: of a ramp beyond which all requests fail the rate is 0."""
    return error / rate if error < rate else 1.0


def has_ramp(served: Sequence[RateLevel], overloaded: Sequence[JudgedLevel]) -> bool:
    """Whether bins of a ramp are among the levels."""
    return any(level.ramp for level in (*served, *(each.level for each in overloaded)))


# -- How a service behaves at rates beyond its capacity, and whether its goodput falls there.


def lost_beyond(overloaded: Sequence[JudgedLevel], rate: float, error: float) -> float | None:
    """Share of the capacity that is surely lost at the greatest rate; None: it is not. `rate`, `error`: the capacity and its
    standard error; 1/s.
    """
    level = overloaded[-1].level
    lost = rate - level.goodput_per_s
    surely = lost > SURE_ERRORS * math.hypot(error, level.goodput_error_per_s) and lost > NOTABLE * rate
    return lost / rate if surely else None


def overload_of(overloaded: Sequence[JudgedLevel], usual: LowLoad, fall_ratio: float | None) -> Overload:
    """The behaviour at the greatest overloaded rate. `fall_ratio`: share of goodput that is lost there."""
    top = overloaded[-1]
    level = top.level
    return Overload(
        kind="queues" if top.state != "fails" else "refuses" if _refuses(level, usual) else "times_out",
        offered_per_s=level.offered_per_s,
        goodput_per_s=level.goodput_per_s,
        failure_ratio=level.failure_ratio,
        growth_per_s=level.growth / level.seconds,
        dropped_ratio=level.dropped_ratio,
        fall_ratio=fall_ratio,
    )


def falls(below: Sequence[RateLevel], overloaded: Sequence[JudgedLevel], plateau: tuple[float, float]) -> bool:
    """Whether goodput is significantly lower at a higher rate than at a lower one; False for bins of a ramp.

    `below`: levels at lower rates than all of `overloaded`. `plateau`: (goodput, standard error) of the plateau, 1/s.
    """
    if has_ramp(below, overloaded):
        return False
    if any(_is_less(plateau, level) for level in below):
        return True
    best = max(overloaded, key=lambda each: each.level.goodput_per_s).level
    beyond = [each.level for each in overloaded if each.level.offered_per_s > best.offered_per_s]
    known = [(level.goodput_per_s, level.goodput_error_per_s) for level in beyond]
    return any(_is_less(each, best) for each in known)


def _is_less(goodput: tuple[float, float], best: RateLevel) -> bool:
    """Whether `goodput`, (1/s, standard error), is surely less than that of `best`, and by more than a machine's speed varies."""
    per_s, error_per_s = goodput
    lost = best.goodput_per_s - per_s
    return lost > max(SURE_ERRORS * math.hypot(best.goodput_error_per_s, error_per_s), NOTABLE * best.goodput_per_s)


def fall_ratio(below: Sequence[RateLevel], overloaded: Sequence[JudgedLevel]) -> float:
    """Share of the greatest goodput that is lost at the greatest rate."""
    most = max(level.goodput_per_s for level in (*below, *(each.level for each in overloaded)))
    return 1.0 - overloaded[-1].level.goodput_per_s / most


def _refuses(level: RateLevel, usual: LowLoad) -> bool:
    """Whether failures are replies that refuse, not timeouts. Where statuses are not known: whether failures take no longer than
    successes do, or than SLOWER_AT_CAP times the service time at low load.
    """
    if level.replied_ratio is not None:
        return level.replied_ratio >= MOSTLY
    at_least_ms = max(level.service_ms or 0.0, SLOWER_AT_CAP * (usual.service_ms or 0.0))
    return level.failed_ms is None or level.failed_ms <= at_least_ms


# -- The capacity as a rate: the greatest goodput that the service reaches as the offered rate grows (docs/knee.md, section 18).
#
# The method is that of the knee: the low-load line of goodput over offered rate has slope 1 and needs no fit, so the crossing
# lies at the goodput of the plateau. A wrong mark is worse than none: levels at which the generator is at its own limit are left
# out.
#
# "Served" levels were served in full, "overloaded" ones were not, by their `state` (`rate_level`).

STRUCTURAL_ERROR = 0.03
"""Relative error of ramps and of levels without batches in addition to that of their counts: a machine's speed varies."""

REFUSING_ERROR = 0.02
"""Relative error in addition for a service that refuses: with a short queue its goodput still rises slowly (M/M/4 with 4 places:
0.95 of the capacity at 1.3 times as much offered)."""

HALF_WIDTH_MOST = 0.1
"""Half-width of the interval, as a share of the capacity, for high confidence."""

SIDE_LEVELS = 2
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
        most = max(most, *(level.goodput_per_s - SURE_ERRORS * level.goodput_error_per_s for level in ladder))
    above = [each for each in overloaded if each.level.offered_per_s > most]
    contradicted = len(above) < len(overloaded)  # a higher rate was served in full
    if not above:
        return _keeps_up(judged, served, contradicted, left_out_per_s)
    perhaps_served = [each.level for each in judged if each.state in ("kept", "unsure")]
    below = [level for level in perhaps_served if level.offered_per_s < above[0].level.offered_per_s]
    if not below:
        return _at_or_below(above, low) if _load_is_the_cause(above) else None
    return _beyond(
        served or below, below, above, low, contradicted, [JudgedLevel(level, state_of(level, low)) for level in levels]
    )


def _keeps_up(
    judged: Sequence[JudgedLevel], served: Sequence[RateLevel], contradicted: bool, left_out_per_s: Sequence[float]
) -> RateCapacity | None:
    if not served:
        return None
    most = served[-1].offered_per_s
    slower_times = _slower_times(judged[0].level, served[-1])
    limited = [*left_out_per_s, *(each.level.offered_per_s for each in judged if each.state == "generator")]
    is_sure = len(served) >= SIDE_LEVELS and not served[-1].ramp and slower_times is None
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
    served: Sequence[RateLevel],
    below: Sequence[RateLevel],
    overloaded: Sequence[JudgedLevel],
    usual: LowLoad,
    contradicted: bool,
    single: Sequence[JudgedLevel],
) -> RateCapacity:
    """The capacity, or only that goodput is less than the offered rate. Where goodput still rises, what exceeds the offered rate
    at which all is served may be one kind of requests: that rate is then at most the goodput at the lowest overloaded rate.

    `served`: levels served in full, or unsure ones if there are none. `below`: served and unsure levels at lower rates than all
    of `overloaded`. `single`: all levels, each as it was measured.
    """
    best = max(served, key=without_selection_bias)
    rate, error = plateau(overloaded)
    limit = _limit(overloaded)
    has_fallen = limit == "queue_growth" and falls(below, overloaded, (rate, error)) and not _falls_again(single, (rate, error))
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
        len(served) < SIDE_LEVELS,
        len(overloaded) < SIDE_LEVELS,
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


def _falls_again(single: Sequence[JudgedLevel], plateau: tuple[float, float]) -> bool:
    """Whether load surely makes goodput fall: levels with more of it than the plateau were measured before and after one that was
    overloaded, or the other way round. A service that changed once does not come back."""
    order: list[bool] = []
    for each in sorted(single, key=lambda each: each.level.started_s):
        is_served = each.state == "kept" and _is_less(plateau, each.level)
        if (is_served or is_overloaded(each.state)) and order[-1:] != [is_served]:
            order.append(is_served)
    return len(order) > 2


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
        refusing = REFUSING_ERROR if overloaded[0].state == "fails" else 0.0
        spread = math.exp(Z90 * math.hypot(_plateau_error(overloaded), refusing))
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


def _limit(overloaded: Sequence[JudgedLevel]) -> RateLimit:
    return "errors" if overloaded[0].state == "fails" else "queue_growth"
