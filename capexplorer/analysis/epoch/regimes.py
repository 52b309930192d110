"""Regimes: parts of an epoch in which the service did not change. Levels of different regimes never share a curve.

A load limit begins with a step of users, takes effect within the service's own response time, and ends when load is reduced. A
fault or a change of capacity begins at any time. So a regime ends where a level changed in its middle (`onset`, `shifts`), and
at a step after which the service does what no load explains: less finished work than fewer users got out of it while they were
still on the low-load line, more work a user than before, or failures at a load that was clean. A service that does again what it
did before is in its earlier regime. Failures that came with a step up and went with a step down are load's doing after all, and
belong to the regime around them. Pure: takes levels in the order they ran.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...model.intervals import ONE_SIDED_95
from ..ladder import LadderLevel, Measured
from .level_changes import change, falls
from .level_comparison import FAILING, FALL, continues, error_of, failure_ratio_of
from .regime import RETURN_LEAST, Began, Regime, began_inside, serves_as_many

DEAD = 0.1
"""Share of requests that succeed below which nothing is left to fall: what a dead dependency lets through now and then."""

Halves = Callable[[Measured], Sequence[Measured]]
"""A level in two parts where it seems to have changed inside; empty if it does not."""


def regimes_of(measured: Sequence[Measured], halves: Halves = lambda _: ()) -> tuple[Regime, ...]:
    """The regimes of an epoch in the order they began. A ramp cannot be cut: its bins belong to the regime that it ran in."""
    found: list[Regime] = []
    for each in measured:
        if found:
            _place(found, each, halves)
        else:
            found.append(Regime([each]))
    return tuple(sorted(found, key=lambda regime: regime.started_s))


def _place(found: list[Regime], each: Measured, halves: Halves) -> None:
    """Add a level to the latest regime, to an earlier one that it continues, or to a new one. The latest regime is the last."""
    began, current = change(found, each), found[-1]
    if _falls_on(found, each):
        found.pop()
        found[-1].measured += [*current.measured, each]
        return
    parts = halves(current.measured[-1]) if began != "failures" else ()
    if parts and not _may_be_of_queue(parts[1]) and _changed_before(found, parts, each):
        current.measured[-1:] = parts[:1]
        _begin(found, parts[1], "goodput")
        began = change(found, each)
    if began is None:
        found[-1].measured.append(each)
    else:
        _begin(found, each, began)
    _take_out_faults(found, each)
    if _went_with_load(found, each):
        fell, now = found.pop(-2), found[-1]
        now.measured = sorted([*now.measured, *fell.measured], key=lambda one: one.rates.started_s)


def _take_out_faults(found: list[Regime], each: Measured) -> None:
    """Failing levels that were taken for load's doing are a fault after all if this level, with as many users, is clean.

    Those of earlier regimes, too: once a fault has passed, the same service may seem to be another one.
    """
    for regime in (*(earlier for earlier in found[:-1] if not earlier.fails), found[-1]):
        faults = [one for one in regime.measured if serves_as_many(each, one) and not _follows_overload(one, regime)]
        if not faults or len(faults) == len(regime.measured):
            continue
        regime.measured = [one for one in regime.measured if one not in faults]
        found.insert(min(found.index(regime) + 1, len(found) - 1), Regime(faults, "failures"))


def _follows_overload(one: Measured, current: Regime) -> bool:
    """Whether a level of an offered rate failed after a greater rate did: its backlog outlasts a step down."""
    above = (before.rates for before in current.measured if before.rates.users > one.rates.users)
    failed = any(before.started_s < one.rates.started_s and failure_ratio_of(before) >= FAILING for before in above)
    return one.level.offered_per_s is not None and failed


def _succeeds_less(before: LadderLevel, now: LadderLevel) -> bool:
    """Whether the share of requests that succeed fell by FAILING of itself or more, beyond what so few successes vary by."""
    (share_before, error_before), (share_now, error_now) = map(_succeeding, (before, now))
    fell = share_before - share_now
    if share_before < DEAD:
        return False
    return fell >= FAILING * share_before and fell > ONE_SIDED_95 * math.hypot(error_before, error_now)


def _succeeding(level: LadderLevel) -> tuple[float, float]:
    """(Share of the requests that succeeded, its standard error by the count of successes)."""
    share, successes = 1 - failure_ratio_of(level), level.goodput_rps * (level.seconds or 0.0)
    return share, share / math.sqrt(max(successes, 1.0))


def _falls_on(found: Sequence[Regime], each: Measured) -> bool:
    """Whether goodput continues to fall with more users after it fell at a step: then the service is retrograde.

    Where it fell by failures, less of the requests must succeed now: a dependency that is dead fails as much at any load. A level
    that was shorter than its responses decides nothing: its queue still grows.
    """
    current, now = found[-1], each.rates
    first, last = current.levels[0], current.levels[-1]
    if len(found) < 2 or current.began is None or current.began_inside or now.users <= last.users:
        return False
    if _is_shorter_than_response(now) or (current.fails and not _succeeds_less(first, now)):
        return False
    fell = max(found[-2].levels, key=lambda level: level.users).goodput_rps > last.goodput_rps > now.goodput_rps
    return fell and first.goodput_rps - now.goodput_rps - ONE_SIDED_95 * error_of(first, now) > FALL * first.goodput_rps


def _is_shorter_than_response(level: LadderLevel) -> bool:
    """Whether its settled seconds are fewer than a response took: what was sent in them has hardly ended in them."""
    return level.seconds is not None and level.seconds < (level.response_s or 0.0)


def _went_with_load(found: Sequence[Regime], each: Measured) -> bool:
    """Whether the regime before the latest fell with a step up, and this level shows that it went when load did.

    Then load did it. A return far below would be clean at half of the capacity, too, so it shows nothing.
    """
    if len(found) < 2 or began_inside(each):
        return False
    now, fell = found[-1], found[-2]
    before = [one.rates for one in now.measured if one.rates.started_s < fell.started_s]
    first = fell.levels[0]
    if not before or before[-1].users >= first.users or not _is_under(each, fell):
        return False
    if fell.began is None or fell.began_without_load([regime for regime in found if regime is not fell]):
        return False
    well = [level.users for level in before if level.users < first.users and failure_ratio_of(level) < FAILING]
    return bool(well) and each.rates.users >= round(RETURN_LEAST * max(well))


def _changed_before(found: Sequence[Regime], parts: Sequence[Measured], each: Measured) -> bool:
    """Whether the level before had changed already: this one falls behind its first part and does what its second part did."""
    first, second = (part.rates for part in parts)
    levels = (*found[-1].levels[:-1], first)
    alike = abs(second.goodput_rps - each.rates.goodput_rps) <= 2 * error_of(second, each.rates)
    return alike and each.rates.users > first.users and falls(levels, each.rates, jumped=True)


def _may_be_of_queue(part: Measured) -> bool:
    """Whether a queue may have cost the goodput of a part of a rate level: requests fail in it, or a queue had filled."""
    fails = failure_ratio_of(part.rates) >= FAILING
    return part.level.offered_per_s is not None and (part.part.after_queue or fails)


def _begin(found: list[Regime], each: Measured, began: Began) -> None:
    for earlier in reversed(found[:-1]):
        if not earlier.fails and continues(earlier.levels, each.rates):
            found.remove(earlier)
            earlier.measured.append(each)
            found.append(earlier)
            return
    found.append(Regime([each], began, began_inside(each)))


def _is_under(each: Measured, current: Regime) -> bool:
    """Whether it has less load than the levels of a regime; at an offered rate less than the first of them, since the backlog of
    that one may outlast further steps down."""
    if each.level.offered_per_s is not None:
        return current.levels[0].users > each.rates.users
    return all(level.users > each.rates.users for level in current.levels)
