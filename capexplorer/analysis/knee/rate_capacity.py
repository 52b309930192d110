"""The capacity as a rate: levels against a grid of curves of goodput over the offered rate (docs/knee.md, section 18).

The curves are those of `curve` with a known slope at low load, 1: all that is offered succeeds, but for the failures that are
usual at all rates. Beyond the capacity goodput stays, falls, or still rises because only a part of the requests is limited, as
those to one of two endpoints. Where the service refuses what exceeds its capacity goodput may bend before it; a queue loses
nothing below it.

Levels at which the generator is at its own limit are left out: a wrong mark is worse than none. Levels are served in full or not
by their `state` (`rate_level`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from ...model.verdicts import LevelState, Overload, OverloadKind, RateCapacity, RateLimit
from ..statistics import MOSTLY, SURE_ERRORS
from . import curve, limited
from .curve import FALLS, Floats, LoadChances
from .knee_lines import HALF_WIDTH_MOST, REACHED_LEAST
from .rate_level import (
    LOSES_REQUESTS,
    SLOWER_AT_CAP,
    LowLoad,
    RateLevel,
    failure_bounds,
    is_overloaded,
    low_load,
    pooled,
    state_of,
)
from .verdict_kinds import confidence_of

# -- the posterior

RISES = (0.25, 0.5, 0.75)
"""Shares of the requests that have no limit: goodput beyond the capacity of the others rises by so much of the rate."""

FALLS_PRIOR, RISES_PRIOR = 0.3, 0.2
"""Probabilities, a priori, that goodput falls beyond the capacity, and that it rises. On 490 sessions of tuning seeds (false, due
capacities found of 166): with 0.1 for a rise 14, 136; 0.2: 7, 138; 0.3: 6, 132."""

_PRIOR = np.array(
    [
        1.0 - FALLS_PRIOR - RISES_PRIOR,
        *[FALLS_PRIOR / (len(FALLS) - 1)] * (len(FALLS) - 1),
        *[RISES_PRIOR / len(RISES)] * len(RISES),
    ]
)


class _Levels(msgspec.Struct, frozen=True):
    log_per_s: Floats
    """Log of the rate that would succeed without a limit."""
    goodput: Floats
    weight: Floats
    """1 / variance."""
    refuses: bool

    @classmethod
    def of(cls, levels: Sequence[RateLevel], usual: float, *, refuses: bool) -> _Levels:
        offered = np.array([max(level.received_per_s * (1 - usual), level.goodput_per_s) for level in levels])
        goodput, seconds = np.array([(level.goodput_per_s, level.seconds) for level in levels]).T
        errors = np.array([math.nan if level.goodput_se_per_s is None else level.goodput_se_per_s for level in levels])
        counted = curve.batch_variance(goodput, errors, seconds)
        counted = np.where(np.isfinite(counted), counted, [level.goodput_error_per_s**2 for level in levels])
        best = int(goodput.argmax())
        lost = np.where(np.arange(len(goodput)) > best, goodput[best] - goodput, 0.0) * refuses
        variance = counted + (curve.SHAPE_ERROR * goodput) ** 2 + (curve.LOST_ERROR * lost) ** 2
        return cls(np.log(offered), goodput, 1.0 / variance, refuses)

    def chances(self, log_capacities: Floats) -> Floats:
        """The probability of each curve, of shape (capacities, tails, shapes)."""
        flat, falls = curve.served(self.log_per_s, log_capacities)
        flat = flat[..., 1:] if self.refuses else flat[..., -1:]
        rises = np.array(RISES)[:, np.newaxis]
        # goodput is `share` of that of the limited part, and `beside`; of shape (capacities, tails, levels), (tails, levels)
        share = np.concatenate([falls, np.broadcast_to(1 - rises, (len(falls), len(rises), falls.shape[-1]))], axis=1)
        beside = np.concatenate([np.zeros(falls.shape[1:]), rises * np.exp(self.log_per_s)])
        limited = self.goodput - beside
        missed = (limited**2 @ self.weight)[:, np.newaxis]
        missed = missed - 2 * (share * limited * self.weight) @ flat + (share**2 * self.weight) @ flat**2
        missed = np.maximum(missed, 0.0)
        log_likely = np.log(_PRIOR)[:, np.newaxis] - (curve.FREEDOM + len(self.goodput)) / 2 * np.log1p(missed / curve.FREEDOM)
        chances: Floats = np.exp(log_likely - log_likely.max())
        chances /= chances.sum()
        return chances


class Capacities(msgspec.Struct, frozen=True):
    """How likely each rate is to be the capacity."""

    per_s: LoadChances
    """If goodput does not rise beyond it."""
    leaves_per_s: LoadChances
    """If it does: where goodput leaves the offered rate."""
    chance_reached: float
    """The probability that it is at most the greatest rate."""
    chance_falls: float
    chance_rises: float
    """The probability that goodput falls, or rises, beyond it."""


def capacities(levels: Sequence[RateLevel], usual: float, *, refuses: bool) -> Capacities:
    """The posterior over the capacity. `levels`: pooled, ascending, one at least with arrivals. `usual`: share of iterations that
    fail at any rate. `refuses`: whether iterations fail beyond the capacity.
    """
    known = _Levels.of(levels, usual, refuses=refuses)
    least = known.goodput.min(where=known.goodput > 0, initial=math.exp(known.log_per_s.min()))
    most = float(known.log_per_s.max())
    fine = curve.likely(known.chances, math.log(least), most)
    chances, step = known.chances(fine), float(fine[1] - fine[0])
    peaks = fine[:, np.newaxis, np.newaxis] + (curve.shapes().log_peak[:, 1:] if refuses else curve.shapes().log_peak[:, -1:])
    held, rising = chances[:, : len(FALLS)], chances[:, len(FALLS) :]
    return Capacities(
        per_s=LoadChances.of(peaks, held, step),
        leaves_per_s=LoadChances.of(fine, rising.sum(axis=(1, 2)), step),
        chance_reached=float(chances[fine <= most].sum()),
        chance_falls=float(held[:, 1:].sum() / held.sum()),
        chance_rises=float(rising.sum()),
    )


def _within_limits(levels: Sequence[RateLevel]) -> Capacities:
    """The posterior where a limit on a single request breaks first: beyond it goodput falls."""
    found = limited.by_rate(levels)
    reached = found.loads.chance_below(levels[-1].received_per_s)
    return Capacities(found.greatest, found.loads, chance_reached=reached, chance_falls=reached, chance_rises=0.0)


# -- the verdict

QUEUEING_LEAST = 5.0
"""A level whose mean time from plan is so many times that at the lowest rate is near the capacity or beyond it (M/M/1: from 0.86
of the capacity on, where the lowest rate is 0.3 of it): whether its queue stops growing is not sure. Of 40 climbs of M/M/1 queues
to 1.05 of their capacity in levels of 20 s, 37 were served in full as far as counts can show."""


class JudgedLevel(msgspec.Struct, frozen=True):
    """A level and whether it was served in full."""

    level: RateLevel
    state: LevelState

    @property
    def is_overloaded(self) -> bool:
        """Whether it surely was not."""
        return is_overloaded(self.state)


def judge_rates(levels: Sequence[RateLevel], left_out_per_s: Sequence[float] = ()) -> RateCapacity | None:
    """As `_judged`, with what it is of: iterations within limits on a single request, and their tokens."""
    found = _judged(levels, left_out_per_s)
    if found is None:
        return None
    known = [level for level in levels if level.tokens is not None and level.succeeded]
    each = math.fsum(level.tokens or 0.0 for level in known) / sum(level.succeeded for level in known) if known else None
    return msgspec.structs.replace(
        found,
        tokens_per_s=found.per_s * each if each is not None and found.kind == "capacity" else None,
        within_limits=any(level.beyond_each is not None for level in levels),
    )


def _judged(levels: Sequence[RateLevel], left_out_per_s: Sequence[float]) -> RateCapacity | None:
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
    kept = [each.level for each in judged if each.state == "kept"]
    most = max((level.offered_per_s for level in kept), default=0.0)
    if judged[0].is_overloaded:  # load is not the reason if goodput was greater at a higher rate
        most = max(most, *(level.goodput_per_s - SURE_ERRORS * level.goodput_error_per_s for level in ladder))
    above = [each for each in judged if each.is_overloaded and each.level.offered_per_s > most]
    contradicted = any(each.is_overloaded and each not in above for each in judged)  # a higher rate was served in full
    if not above:
        return _keeps_up(judged, kept, contradicted, left_out_per_s)
    used = [each.level for each in judged if each in above or not (each.is_overloaded or each.state == "generator")]
    used = [level for level in used if level.received_per_s > 0]
    usual = ladder[0].failure_ratio if low.failure_high else 0.0
    if above[0].state == "beyond_limits":
        found = _within_limits(used)
    else:
        found = capacities(used, usual, refuses=any(each.state in LOSES_REQUESTS for each in above))
    below = [level.offered_per_s for level in kept or used if level.offered_per_s < above[0].level.offered_per_s]
    if not below:
        return _at_or_below(found, above, low) if _load_is_the_cause(above) else None
    single = [JudgedLevel(level, state_of(level, low)) for level in levels]
    return _beyond(found, max(below), above, low, contradicted, single)


def _keeps_up(
    judged: Sequence[JudgedLevel], kept: Sequence[RateLevel], contradicted: bool, left_out_per_s: Sequence[float]
) -> RateCapacity | None:
    if not kept:
        return None
    most = kept[-1].offered_per_s
    slower_times = _slower_times(judged[0].level, kept[-1])
    limited = [*left_out_per_s, *(each.level.offered_per_s for each in judged if each.state == "generator")]
    is_sure = len(kept) > 1 and not kept[-1].ramp and slower_times is None
    return RateCapacity(
        kind="keeps_up",
        per_s=most,
        kept_per_s=most,
        limit="generator" if max(limited, default=0.0) > most else None,
        confidence="low" if contradicted else "high" if is_sure else "medium",
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
    if overloaded[0].state not in LOSES_REQUESTS:
        return True
    return failure_bounds(overloaded[-1].level)[0] > failure_bounds(overloaded[0].level)[1]


def _at_or_below(found: Capacities, overloaded: Sequence[JudgedLevel], low: LowLoad) -> RateCapacity:
    return RateCapacity(
        kind="at_or_below",
        per_s=found.per_s.median,
        high_per_s=overloaded[0].level.offered_per_s,
        limit=_limit(overloaded),
        overload=_overload(found, overloaded, low),
        confidence="low",
    )


def _beyond(
    found: Capacities,
    kept_per_s: float,
    overloaded: Sequence[JudgedLevel],
    low: LowLoad,
    contradicted: bool,
    single: Sequence[JudgedLevel],
) -> RateCapacity:
    """The capacity, or only that goodput is less than the offered rate. `kept_per_s`: the greatest rate that was served, if not
    surely in full. `single`: all levels, each as it was measured.
    """
    limit, overload = _limit(overloaded), _overload(found, overloaded, low)
    lowest = overloaded[0].level.offered_per_s
    rises = found.chance_rises >= MOSTLY
    # a queue of which goodput falls may be one that became slower, until a return has shown that load is the reason
    may_be_slower = overload.fall_ratio is not None and limit == "queue_growth" and not _falls_again(single)
    is_reached = found.chance_reached >= REACHED_LEAST and found.per_s.half_width <= HALF_WIDTH_MOST
    if rises or may_be_slower or not is_reached:
        return RateCapacity(
            kind="departs",
            per_s=lowest,
            high_per_s=max(min(found.leaves_per_s.interval[1], lowest), kept_per_s) if rises else None,
            kept_per_s=kept_per_s,
            limit=limit,
            overload=overload if may_be_slower and not rises else None,
            confidence="low" if contradicted or may_be_slower else "medium",
            rises=rises,
            contradicted=contradicted,
        )
    low_per_s, high_per_s = found.per_s.interval
    may_rise = found.chance_rises > 1.0 - REACHED_LEAST
    sure = confidence_of(found.per_s.half_width, falls=may_rise or overload.fall_ratio is not None)
    return RateCapacity(
        kind="capacity",
        per_s=found.per_s.median,
        low_per_s=low_per_s,
        high_per_s=high_per_s,
        kept_per_s=kept_per_s,
        limit=limit,
        overload=overload,
        confidence="low" if contradicted else sure,
        contradicted=contradicted,
        may_rise=may_rise,
    )


def _limit(overloaded: Sequence[JudgedLevel]) -> RateLimit:
    """Of a limit on a single request the one that most requests exceed at the lowest rate that was not served."""
    first = overloaded[0]
    if first.state == "beyond_limits" and first.level.beyond_each:
        return max(first.level.beyond_each, key=lambda each: each[1])[0]
    return "errors" if first.state in LOSES_REQUESTS else "queue_growth"


def _falls_again(single: Sequence[JudgedLevel]) -> bool:
    """Whether levels with more goodput than the worst overloaded one were served both before and after an overloaded one, or the
    other way round: a service that changed once does not come back.
    """
    worst = min((each.level for each in single if each.is_overloaded), key=lambda level: level.goodput_per_s)
    order: list[bool] = []
    for each in sorted(single, key=lambda each: each.level.started_s):
        is_served = each.state == "kept" and _surely_more(each.level, worst)
        if (is_served or each.is_overloaded) and order[-1:] != [is_served]:
            order.append(is_served)
    return len(order) > 2


def _surely_more(level: RateLevel, other: RateLevel) -> bool:
    error = math.hypot(level.goodput_error_per_s, other.goodput_error_per_s)
    return level.goodput_per_s - other.goodput_per_s > SURE_ERRORS * error


# -- how a service behaves at rates beyond its capacity


def _overload(found: Capacities, overloaded: Sequence[JudgedLevel], low: LowLoad) -> Overload:
    """The behaviour at the greatest overloaded rate."""
    top = overloaded[-1]
    level, capacity = top.level, found.per_s.median
    falls = found.chance_falls >= REACHED_LEAST and level.goodput_per_s < capacity
    kind: OverloadKind = "queues" if top.state != "fails" else "refuses" if _refuses(level, low) else "times_out"
    return Overload(
        kind="beyond_limits" if top.state == "beyond_limits" else kind,
        offered_per_s=level.offered_per_s,
        goodput_per_s=level.goodput_per_s,
        failure_ratio=level.served.failure_ratio,
        beyond_limits_ratio=level.failure_ratio - level.served.failure_ratio,
        growth_per_s=level.growth / level.seconds,
        dropped_ratio=level.dropped_ratio,
        fall_ratio=1.0 - level.goodput_per_s / capacity if falls else None,
    )


def _refuses(level: RateLevel, low: LowLoad) -> bool:
    """Whether failures are replies that refuse, not timeouts. Where statuses are not known: whether failures take no longer than
    successes do, or than SLOWER_AT_CAP times the service time at low load.
    """
    if level.replied_ratio is not None:
        return level.replied_ratio >= MOSTLY
    at_least_ms = max(level.service_ms or 0.0, SLOWER_AT_CAP * (low.service_ms or 0.0))
    return level.failed_ms is None or level.failed_ms <= at_least_ms
