"""Regimes: parts of an epoch in which the service did not change. Levels of different regimes never share a curve.

A limit of load takes effect with a step of load, within the response time of the service, and ends when load is reduced. A fault
or a change of capacity begins at any time. So a regime ends

- where a level changed in its middle (`onset`, `shifts`), and
- at a step after which load does not explain what the service does: less goodput than at fewer users on the low-load line, more
  goodput per user than before, or failures at a load that was clean.

A level with the figures of an earlier regime belongs to that regime again. Failures that began with a step up and ended with a
step down are explained by load after all, and belong to the regime around them. Pure: takes levels in the order they ran.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.intervals import ONE_SIDED_95
from ...model.load import Rate
from ..knee.knee_lines import overloaded_from
from ..knee.measured_curve import LINEAR_ERRORS, LINEAR_LIKELY
from ..ladder import USERS_SAME, LadderLevel, Measured, expected_goodput, pooled
from .regime import (
    FAILING,
    FALL,
    RETURN_LEAST,
    Began,
    Regime,
    began_inside,
    continues,
    differs,
    efficiency,
    error_of,
    failure_ratio_of,
    has_backlog,
    latency_differs,
    rises,
    serves_as_many,
    was_served_better,
)

# -- Whether the service changed between the latest regime and the next level, in a way that the load does not explain.

DEEP_FALL = 0.7
"""As FALL, if the level with fewer users was already below the low-load line: the curve between both levels is not known."""


def change(found: Sequence[Regime], each: Measured) -> Began | None:
    """What changed between the latest regime and this level; None if nothing but the load did."""
    return _change_of_goodput_or_failures(found, each) or (
        "latency" if _latency_differs_at_same_rate(found, each.ladder_level) else None
    )


def _latency_differs_at_same_rate(found: Sequence[Regime], now: LadderLevel) -> bool:
    """Whether latency differs from that of the same offered rate before. The first level of all may be slow: cold caches."""
    first, changed = found[0].levels[0], [before for before in found[-1].levels if latency_differs(now, before)]
    return any(before is not first or (now.latency_ms or 0.0) > (before.latency_ms or 0.0) for before in changed)


def _change_of_goodput_or_failures(found: Sequence[Regime], each: Measured) -> Began | None:
    """What changed by goodput and failures alone; None if nothing but the load did."""
    levels, now = found[-1].levels, each.ladder_level
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
        may_be_above = isinstance(each.level.load, Rate)
        return _at_step_down(found, levels, now, may_be_above=may_be_above)
    if was_served_better(levels, now):
        return "goodput"
    if falls(levels, now):
        return "failures" if more >= FAILING else "goodput"
    is_first = len(found) == 1 and len(levels) == 1  # its few requests met cold caches
    return "goodput" if not is_first and rises(last, now) else None


def falls(levels: tuple[LadderLevel, ...], now: LadderLevel) -> bool:
    """Whether goodput is lower than at a level with fewer users that was on the low-load line.

    That level was on the line if it is less than LINEAR_ERRORS below it, where no more requests
    fail, less than one error, since retrograde systems fall just beyond the line.
    """
    if now.goodput_rps >= max(level.goodput_rps for level in levels):
        return False
    under = [level for level in pooled(levels) if level.users < now.users]
    if not under:
        return False
    best = max(under, key=lambda level: level.goodput_rps)
    fallen = best.goodput_rps - now.goodput_rps - ONE_SIDED_95 * error_of(best, now)
    errors = LINEAR_ERRORS if failure_ratio_of(now) - failure_ratio_of(best) >= FAILING else 1.0
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

    After overload only a return to an earlier regime counts, since a service may need time to recover (`knee.detector.split`).
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


def regimes_of(measured: Sequence[Measured]) -> tuple[Regime, ...]:
    """The regimes of an epoch in the order they began. `measured`: its levels in the order they ran."""
    found: list[Regime] = []
    for each in measured:
        if found:
            _assign(found, each)
        else:
            found.append(Regime([each]))
    return tuple(sorted(found, key=lambda regime: regime.started_s))


def _assign(found: list[Regime], each: Measured) -> None:
    """Add a level to the latest regime, which is the last of `found`, to an earlier one that it continues, or to a new one."""
    began, current = change(found, each), found[-1]
    if _keeps_falling(found, each):
        found.pop()
        found[-1].measured += [*current.measured, each]
        return
    if began is None:
        found[-1].measured.append(each)
    else:
        _begin_or_resume(found, each, began)
    _separate_faults(found, each)
    if _load_explains_fall(found, each):
        fell, now = found.pop(-2), found[-1]
        now.measured = sorted([*now.measured, *fell.measured], key=lambda one: one.ladder_level.started_s)


def _separate_faults(found: list[Regime], each: Measured) -> None:
    """Move failing levels into a regime of their own if this level, with as much load, is clean: then they were a fault.

    Regimes before the latest are corrected too, since after a fault the service may have begun a new one. The rest of a
    level whose requests are still slow shows nothing: near the capacity of a service whose users time out, queues fill and empty
    by chance.
    """
    if began_inside(each) and has_backlog(each, found):
        return
    for regime in (*(earlier for earlier in found[:-1] if not earlier.fails), found[-1]):
        faults = [one for one in regime.measured if serves_as_many(each, one)]
        if not faults or len(faults) == len(regime.measured):
            continue
        regime.measured = [one for one in regime.measured if one not in faults]
        found.insert(min(found.index(regime) + 1, len(found) - 1), Regime(faults, "failures"))


def _succeeds_less(before: LadderLevel, now: LadderLevel) -> bool:
    """Whether the share of successful requests fell significantly, and by at least FAILING of itself."""
    (share_before, error_before), (share_now, error_now) = map(_succeeding, (before, now))
    fell = share_before - share_now
    return fell >= FAILING * share_before and fell > ONE_SIDED_95 * math.hypot(error_before, error_now)


def _succeeding(level: LadderLevel) -> tuple[float, float]:
    """(share of successful requests, its standard error for a Poisson count of successes)."""
    share, successes = 1 - failure_ratio_of(level), level.goodput_rps * (level.seconds or 0.0)
    return share, share / math.sqrt(max(successes, 1.0))


def _keeps_falling(found: Sequence[Regime], each: Measured) -> bool:
    """Whether goodput falls again with more users after it fell at a step up: then the curve is retrograde, and load explains
    both.

    Where it fell by failures, a smaller share of requests must succeed now: a dead dependency fails alike at any load.
    """
    current, now = found[-1], each.ladder_level
    first, last = current.levels[0], current.levels[-1]
    if len(found) < 2 or current.began is None or current.began_inside or now.users <= last.users:
        return False
    if current.fails and not _succeeds_less(first, now):
        return False
    fell = max(found[-2].levels, key=lambda level: level.users).goodput_rps > last.goodput_rps > now.goodput_rps
    return fell and first.goodput_rps - now.goodput_rps - ONE_SIDED_95 * error_of(first, now) > FALL * first.goodput_rps


def _load_explains_fall(found: Sequence[Regime], each: Measured) -> bool:
    """Whether load explains the regime before the latest: it fell with a step up, and is over at this level, with less load.

    A level with much less load (RETURN_LEAST) shows nothing: it would be clean with half of the capacity too.
    """
    if len(found) < 2 or began_inside(each):
        return False
    now, fell = found[-1], found[-2]
    before = [one.ladder_level for one in now.measured if one.ladder_level.started_s < fell.started_s]
    first = fell.levels[0]
    if not before or before[-1].users >= first.users or not _has_less_load(each, fell):
        return False
    if not fell.fails and first.goodput_rps >= max(level.goodput_rps for level in before):
        return False  # it rose: with more users, but by more than they explain
    if fell.began is None or fell.began_without_load([regime for regime in found if regime is not fell]):
        return False
    clean_users = [level.users for level in before if level.users < first.users and failure_ratio_of(level) < FAILING]
    return bool(clean_users) and each.ladder_level.users >= round(RETURN_LEAST * max(clean_users))


def _begin_or_resume(found: list[Regime], each: Measured, began: Began) -> None:
    """Add a level to the latest earlier regime that it continues, which becomes the last one, or to a new regime."""
    for earlier in reversed(found[:-1]):
        if not earlier.fails and continues(earlier.levels, each.ladder_level):
            found.remove(earlier)
            earlier.measured.append(each)
            found.append(earlier)
            return
    found.append(Regime([each], began, began_inside(each)))


def _has_less_load(each: Measured, current: Regime) -> bool:
    """Whether a level has less load than all levels of a regime; at an offered rate, than the first of them, whose backlog may
    outlast further steps down.
    """
    if isinstance(each.level.load, Rate):
        return current.levels[0].users > each.ladder_level.users
    return all(level.users > each.ladder_level.users for level in current.levels)
