"""Whether the service changed between the latest regime and the next level, in a way that the load does not explain."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.intervals import ONE_SIDED_95
from ..knee.crossing import LINEAR_ERRORS, LINEAR_LIKELY
from ..knee.detector import overloaded_from
from ..ladder import LadderLevel, Measured, pooled
from .level_comparison import (
    FAILING,
    FALL,
    USERS_SAME,
    continues,
    differs,
    efficiency,
    error_of,
    expected_goodput,
    failure_ratio_of,
    latency_differs,
    rises,
    was_served_better,
)
from .regime import Began, Regime, began_inside, has_backlog

DEEP_FALL = 0.7
"""As FALL, if the level with fewer users was already below the low-load line: the curve between both levels is not known."""


def change(found: Sequence[Regime], each: Measured) -> Began | None:
    """What changed between the latest regime and this level; None if nothing but the load did."""
    return _change_of_goodput_or_failures(found, each) or (
        "latency" if _latency_differs_at_same_rate(found, each.rates) else None
    )


def _latency_differs_at_same_rate(found: Sequence[Regime], now: LadderLevel) -> bool:
    """Whether latency differs from that of the same offered rate before. The first level of all may be slow: cold caches."""
    first, changed = found[0].levels[0], [before for before in found[-1].levels if latency_differs(now, before)]
    return any(before is not first or (now.latency_ms or 0.0) > (before.latency_ms or 0.0) for before in changed)


def _change_of_goodput_or_failures(found: Sequence[Regime], each: Measured) -> Began | None:
    """What changed by goodput and failures alone; None if nothing but the load did."""
    levels, now = found[-1].levels, each.rates
    last = levels[-1]
    if now.ramp or last.ramp:
        return None
    if found[-1].fails and failure_ratio_of(now) >= FAILING:
        return None  # failures go on
    more = failure_ratio_of(now) - failure_ratio_of(last)
    if abs(more) >= FAILING and began_inside(each):
        if more < 0 and has_backlog(each, found):
            return None  # a queue of which users time out fills and empties by chance, near the capacity
        return "failures" if more > 0 else "goodput"
    if abs(now.users - last.users) <= USERS_SAME * last.users:
        return "goodput" if differs(now.goodput_rps, last.goodput_rps * now.users / last.users, error_of(now, last)) else None
    if now.users < last.users:
        may_be_above = each.level.offered_per_s is not None
        return _at_step_down(found, levels, now, may_be_above=may_be_above)
    if was_served_better(levels, now):
        return "goodput"
    if falls(levels, now):
        return "failures" if more >= FAILING else "goodput"
    is_first = len(found) == 1 and len(levels) == 1  # its few requests met cold caches
    return "goodput" if not is_first and rises(last, now) else None


def falls(levels: tuple[LadderLevel, ...], now: LadderLevel, *, jumped: bool = False) -> bool:
    """Whether goodput is lower than at a level with fewer users that was on the low-load line.

    That level was on the line if it is less than LINEAR_ERRORS below it, as in `crossing.linear_levels`; where no more requests
    fail and the level before shows no jump (`jumped`), less than one error, since retrograde systems fall just beyond the line.
    """
    if now.goodput_rps >= max(level.goodput_rps for level in levels):
        return False
    under = [level for level in pooled(levels) if level.users < now.users]
    if not under:
        return False
    best = max(under, key=lambda level: level.goodput_rps)
    fallen = best.goodput_rps - now.goodput_rps - ONE_SIDED_95 * error_of(best, now)
    errors = LINEAR_ERRORS if jumped or failure_ratio_of(now) - failure_ratio_of(best) >= FAILING else 1.0
    relative = best.goodput_error_rps / max(best.goodput_rps, 1e-12)
    on_line = efficiency(under, best) * (1 + errors * relative) >= LINEAR_LIKELY
    return fallen > (FALL if on_line else DEEP_FALL) * best.goodput_rps


def _may_be_under(levels: tuple[LadderLevel, ...], now: LadderLevel) -> bool:
    """Whether a level with fewer users than all of `levels` fits their curve: a concave curve lies on or above the chord from the
    origin to the lowest of them.

    A service that lost half of its capacity keeps its low-load line, so that line is no evidence that it is as before.
    """
    lowest, best = min(levels, key=lambda level: level.users), max(levels, key=lambda level: level.goodput_rps)
    most_rps = best.goodput_rps + ONE_SIDED_95 * error_of(best, now)
    return now.users < lowest.users and lowest.goodput_rps * now.users / lowest.users <= now.goodput_rps <= most_rps


def _at_step_down(
    found: Sequence[Regime], levels: tuple[LadderLevel, ...], now: LadderLevel, *, may_be_above: bool
) -> Began | None:
    """After a step down: whether goodput or failures differ from those of earlier levels at this load.

    After overload only a return to an earlier regime counts, since a service may need time to recover (`recovery`).
    `may_be_above`: at offered rates goodput equals the rate up to the capacity, so between a rate below it and one far beyond it
    goodput is above the line between both, and no change up to the greatest goodput so far.
    """
    expected = expected_goodput(levels, now.users)
    if expected is None:
        return None
    rate_rps, error = expected
    is_other = differs(now.goodput_rps, rate_rps, math.hypot(error, now.goodput_error_rps))
    best = max(levels, key=lambda level: level.goodput_rps)
    is_between = rate_rps < now.goodput_rps <= best.goodput_rps + ONE_SIDED_95 * error_of(best, now)
    is_other = is_other and not (may_be_above and is_between)
    current = found[-1]  # where requests fail, a clean level of less load shows that load made them fail
    changed = (current.began_inside and not current.fails) or current.rose(found[:-1])
    is_other = is_other and not (changed and _may_be_under(levels, now))
    fails = failure_ratio_of(now) - min(map(failure_ratio_of, levels)) >= FAILING
    if not (is_other or fails):
        return None
    bound = overloaded_from(levels)
    if bound is not None and levels[-1].users > bound:
        resumes = any(not earlier.fails and continues(earlier.levels, now) for earlier in found[:-1])
        return "goodput" if is_other and resumes else None
    return "failures" if fails else "goodput"
