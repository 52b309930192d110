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
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...model.intervals import ONE_SIDED_95
from ..knee.crossing import LINEAR_LIKELY
from ..knee.detector import overloaded_from
from ..ladder import LadderLevel, Measured, pooled

FALL = 0.10
"""Share by which goodput of more users surely lies under that of fewer users who were on the low-load line. Retrograde systems
mostly flatten before they fall, and then continue to fall.
"""

DEEP_FALL = 0.7
"""The same of users who were not: nothing is known of what lies between."""

RISE = 0.15
"""Share by which goodput a user surely rises with more users, or with the same load later."""

AGREES = 0.07
"""Relative difference of goodput within which a level continues a regime; two standard errors are enough as well."""

FAILING = 0.2
"""Points of failures above the clean levels of a regime, from which a level fails."""

USERS_SAME = 0.1
"""Relative distance of user counts that are the same load."""

PART_LEAST_S = 5.5
"""Settled seconds of a part of a level from which it is judged, as of an open level."""

RECOVERING = 0.05
"""Points of failures above the clean levels of a regime, from which a level beyond them may still recover from a fault."""

RESUMES_MOST = 2.0
"""Times the most users of an earlier regime, up to which a level may continue it: far beyond them any goodput would."""

RETURN_LEAST = 0.6
"""Of the most users that were served well before goodput fell at a step: from there on a clean return shows that load did it."""

UNSTEADY, UNSTEADY_COUNTS = 0.2, 1.5
"""Standard error of a level's goodput, as a share of it and over that of random counts, from which the level is not judged."""

Began = Literal["goodput", "failures"]

Halves = Callable[[Measured], Sequence[Measured]]
"""A level in two parts where it seems to have changed inside; empty if it does not."""


@dataclass(slots=True, eq=False)
class Regime:
    """Consecutive levels during which the service did not change."""

    measured: list[Measured] = field(default_factory=list)
    began: Began | None = None
    """What changed at its beginning; None: it is the first."""
    began_inside: bool = False
    """Whether it began in the middle of a level, not with a step."""

    @property
    def levels(self) -> tuple[LadderLevel, ...]:
        """Rates."""
        return tuple(each.rates for each in self.measured)

    @property
    def steady(self) -> tuple[LadderLevel, ...]:
        """Levels that can be judged: long enough for a standard error if they are parts, and steady, or unsteady by overload."""
        return tuple(
            each.rates
            for each in self.measured
            if not _is_scrap(each) and (not _is_unsteady(each.rates) or self._is_overload(each))
        )

    def _is_overload(self, each: Measured) -> bool:
        """Whether it failed with more users than before, and fewer did not fail afterwards: a queue filled up in it, no fault."""
        at_s, users = each.rates.started_s, each.rates.users
        under = [one.rates for one in self.measured if one.rates.users < users]
        before = [level.users for level in under if level.started_s < at_s]
        if not before:
            return False
        least = math.floor(RETURN_LEAST * max(before))
        after = [level for level in under if level.started_s > at_s and level.users >= least]
        return any(_failing(each.rates) - _failing(level) >= FAILING for level in after)

    @property
    def fails(self) -> bool:
        """Whether it began with failures."""
        return self.began == "failures"

    @property
    def started_s(self) -> float:
        """Begin of its first level, seconds of the session."""
        return self.measured[0].rates.started_s

    def is_in_time(self, earlier: Sequence[Regime]) -> bool:
        """Whether time and not load began it: in the middle of a level, or failures that continue with fewer users than at first.

        Failures inside a level that had left the low-load line may be those of a queue that took its time to fill, unless as many
        users ran before without them.
        """
        if self.fails and any(level.users < (1 - USERS_SAME) * self.levels[0].users for level in self.levels):
            return True
        if self.fails and any(_outdoes(each, self.measured[0]) for regime in earlier for each in regime.measured):
            return True
        if not (self.began_inside and self.fails):
            return self.began_inside
        first, before = self.measured[0], [each for regime in earlier for each in regime.measured if each is not self.measured[0]]
        before = [each for each in before if each.rates.started_s < first.rates.started_s]
        seen = any(each.level is not first.level and each.rates.users >= first.rates.users for each in before)
        return seen or not before or _is_on_line([each.rates for each in before])


def _outdoes(each: Measured, failing: Measured) -> bool:
    """Whether as many users or more, in another level, ran without what made this one fail."""
    enough = each.rates.users >= (1 - USERS_SAME) * failing.rates.users and each.level is not failing.level
    return enough and _failing(failing.rates) - _failing(each.rates) >= FAILING


def _is_scrap(each: Measured) -> bool:
    part, level = each.part, each.level
    return (part.began_inside or part.ended_s != level.ended_s) and part.figures.settled_seconds < PART_LEAST_S


def _is_unsteady(level: LadderLevel) -> bool:
    """Whether its seconds differ so much that their mean says nothing: it holds two states of the service."""
    error = level.goodput_se_rps or 0.0
    counted = math.sqrt(level.goodput_rps / level.seconds) if level.seconds else 0.0
    return not level.ramp and error > max(UNSTEADY * level.goodput_rps, UNSTEADY_COUNTS * counted)


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
    began, current = _change(found, each), found[-1]
    if _falls_on(found, each):
        found.pop()
        found[-1].measured += [*current.measured, each]
        return
    parts = halves(current.measured[-1]) if began != "failures" else ()
    if parts and _changed_before(found, parts, each):
        current.measured[-1:] = parts[:1]
        _begin(found, parts[1], "goodput")
        began = _change(found, each)
    if began is None:
        found[-1].measured.append(each)
    else:
        _begin(found, each, began)
    _take_out_faults(found, each)
    if _went_with_load(found, each):
        fell, now = found.pop(-2), found[-1]
        now.measured = sorted([*now.measured, *fell.measured], key=lambda one: one.rates.started_s)


def _take_out_faults(found: list[Regime], each: Measured) -> None:
    """Failing levels that were taken for load's doing are a fault after all if this level, with as many users, is clean."""
    current = found[-1]
    faults = [one for one in current.measured if _outdoes(each, one)]
    if not faults or len(faults) == len(current.measured):
        return
    current.measured = [one for one in current.measured if one not in faults]
    found.insert(-1, Regime(faults, "failures"))


def _falls_on(found: Sequence[Regime], each: Measured) -> bool:
    """Whether goodput continues to fall with more users after it fell at a step: then the service is retrograde."""
    current, now = found[-1], each.rates
    first, last = current.levels[0], current.levels[-1]
    if len(found) < 2 or current.began is None or current.began_inside or now.users <= last.users:
        return False
    fell = max(found[-2].levels, key=lambda level: level.users).goodput_rps > last.goodput_rps > now.goodput_rps
    return fell and first.goodput_rps - now.goodput_rps - ONE_SIDED_95 * _error(first, now) > FALL * first.goodput_rps


def _went_with_load(found: Sequence[Regime], each: Measured) -> bool:
    """Whether the regime before the latest fell with a step up, and this level shows that it went when load did.

    Then load did it. A return far below would be clean at half of the capacity, too, so it shows nothing.
    """
    if len(found) < 2 or _inside(each):
        return False
    now, fell = found[-1], found[-2]
    before = [one.rates for one in now.measured if one.rates.started_s < fell.started_s]
    first = fell.levels[0]
    if not before or before[-1].users >= first.users or not _is_under(each, fell):
        return False
    if fell.began is None or fell.is_in_time([regime for regime in found if regime is not fell]):
        return False
    well = [level.users for level in before if level.users < first.users and _failing(level) < FAILING]
    return bool(well) and each.rates.users >= math.floor(RETURN_LEAST * max(well))


def _changed_before(found: Sequence[Regime], parts: Sequence[Measured], each: Measured) -> bool:
    """Whether the level before had changed already: this one falls behind its first part and does what its second part did."""
    first, second = (part.rates for part in parts)
    levels = (*found[-1].levels[:-1], first)
    alike = abs(second.goodput_rps - each.rates.goodput_rps) <= 2 * _error(second, each.rates)
    return alike and each.rates.users > first.users and _falls(levels, each.rates)


def _begin(found: list[Regime], each: Measured, began: Began) -> None:
    for earlier in reversed(found[:-1]):
        if not earlier.fails and _continues(earlier.levels, each.rates):
            found.remove(earlier)
            earlier.measured.append(each)
            found.append(earlier)
            return
    found.append(Regime([each], began, _inside(each)))


def _is_on_line(levels: Sequence[LadderLevel]) -> bool:
    """Whether the last of these levels is on the low-load line of the others."""
    relative = levels[-1].goodput_error_rps / max(levels[-1].goodput_rps, 1e-12)
    return _efficiency(pooled(levels[:-1]), levels[-1]) * (1 + relative) >= LINEAR_LIKELY if len(levels) > 1 else True


def _is_under(each: Measured, current: Regime) -> bool:
    return all(level.users > each.rates.users for level in current.levels)


def _inside(each: Measured) -> bool:
    return each.part.began_inside or each.level.opened.since_s is not None


def return_users(regime: Regime, others: Sequence[Regime]) -> float | None:
    """Users of a return that would show whether load began this regime: the most that were served well before goodput fell, or
    failures began, with a step up. None: it began otherwise, or that is known."""
    first = regime.levels[0]
    before = [level for each in others for level in each.levels if level.started_s < first.started_s]
    if regime.began is None or regime.is_in_time(others) or not before:
        return None
    stepped_up = max(before, key=lambda level: level.started_s).users < first.users
    fell = regime.fails or first.goodput_rps < max(level.goodput_rps for level in before)
    well = [level.users for level in before if level.users < first.users and _failing(level) < FAILING]
    return max(well) if stepped_up and fell and well else None


def _change(found: Sequence[Regime], each: Measured) -> Began | None:
    """What changed between the latest regime and this level; None: nothing but the load."""
    levels, now = found[-1].levels, each.rates
    last = levels[-1]
    if now.ramp or last.ramp:
        return None
    if found[-1].fails and _failing(now) >= FAILING:
        return None  # it continues to fail
    more = _failing(now) - _failing(last)
    if abs(more) >= FAILING and _inside(each):
        return "failures" if more > 0 else "goodput"
    if abs(now.users - last.users) <= USERS_SAME * last.users:
        return "goodput" if _differs(now.goodput_rps, last.goodput_rps * now.users / last.users, _error(now, last)) else None
    if now.users < last.users:
        return _at_step_down(found, levels, now)
    if _falls(levels, now):
        return "failures" if more >= FAILING else "goodput"
    is_first = len(found) == 1 and len(levels) == 1  # few requests, cold caches
    return "goodput" if not is_first and _rises(last, now) else None


def _falls(levels: tuple[LadderLevel, ...], now: LadderLevel) -> bool:
    """Whether more users get less goodput than fewer users did on the line."""
    if now.goodput_rps >= max(level.goodput_rps for level in levels):
        return False
    under = [level for level in pooled(levels) if level.users < now.users]
    if not under:
        return False
    best = max(under, key=lambda level: level.goodput_rps)
    fallen = best.goodput_rps - now.goodput_rps - ONE_SIDED_95 * _error(best, now)
    relative = best.goodput_error_rps / max(best.goodput_rps, 1e-12)
    on_line = _efficiency(under, best) * (1 + relative) >= LINEAR_LIKELY
    return fallen > (FALL if on_line else DEEP_FALL) * best.goodput_rps


def _rises(last: LadderLevel, now: LadderLevel) -> bool:
    """Whether more users get more goodput a user."""
    own, before = now.goodput_rps / now.users, last.goodput_rps / last.users
    error = math.hypot(_counted_error(now) / now.users, _counted_error(last) / last.users)
    return own - before - ONE_SIDED_95 * error > RISE * before


def _counted_error(level: LadderLevel) -> float:
    """Error of goodput, at least that of a random count: at low load a dozen requests in six seconds are equal by luck."""
    return max(level.goodput_error_rps, math.sqrt(level.goodput_rps / level.seconds) if level.seconds else 0.0)


def _at_step_down(found: Sequence[Regime], levels: tuple[LadderLevel, ...], now: LadderLevel) -> Began | None:
    """Fewer users: other than this load made before. After overload a service may need a while (`recovery`)."""
    expected = _expected(levels, now.users)
    if expected is None:
        return None
    rate_rps, error = expected
    differs = _differs(now.goodput_rps, rate_rps, math.hypot(error, now.goodput_error_rps))
    fails = _failing(now) - min(map(_failing, levels)) >= FAILING
    if not (differs or fails):
        return None
    bound = overloaded_from(levels)
    if bound is not None and levels[-1].users > bound:
        resumes = any(not earlier.fails and _continues(earlier.levels, now) for earlier in found[:-1])
        return "goodput" if differs and resumes else None
    return "failures" if fails else "goodput"


def _continues(levels: tuple[LadderLevel, ...], now: LadderLevel) -> bool:
    """Whether the level does what these levels did at its load; beyond them, whether one curve may go through all."""
    if _failing(now) - min(map(_failing, levels)) >= FAILING:
        return False
    expected = _expected(levels, now.users)
    if expected is not None:
        return _agrees(now, *expected)
    curve = pooled(levels)
    best, top = max(curve, key=lambda level: level.goodput_rps), curve[-1]
    if now.users > RESUMES_MOST * top.users:
        return False
    is_straight = _efficiency(curve, top) >= LINEAR_LIKELY
    most_rps = max(best.goodput_rps, top.goodput_rps * now.users / top.users) if is_straight else best.goodput_rps
    if is_straight and _failing(now) - min(map(_failing, levels)) >= RECOVERING:
        return _agrees(now, most_rps, best.goodput_error_rps)  # its plateau may be that of a service that recovers
    nearest_rps = min(max(now.goodput_rps, best.goodput_rps), most_rps)
    return _agrees(now, nearest_rps, best.goodput_error_rps)


def _agrees(now: LadderLevel, rate_rps: float, error: float) -> bool:
    return abs(now.goodput_rps - rate_rps) <= max(AGREES * rate_rps, 2 * math.hypot(error, now.goodput_error_rps))


def _expected(levels: Sequence[LadderLevel], users: float) -> tuple[float, float] | None:
    """(goodput, its error) that these levels made at a load, interpolated; under the lowest on its line; None beyond."""
    curve = pooled(levels)
    at = [level.users for level in curve]
    if users > at[-1] * (1 + USERS_SAME):
        return None
    if users < at[0]:
        return curve[0].goodput_rps * users / at[0], curve[0].goodput_error_rps * users / at[0]
    rate = float(np.interp(users, at, [level.goodput_rps for level in curve]))
    return rate, float(np.interp(users, at, [level.goodput_error_rps for level in curve]))


def _efficiency(curve: Sequence[LadderLevel], level: LadderLevel) -> float:
    """Goodput a user over that of the line through the other levels; 1 without another."""
    others = [other for other in curve if other is not level]
    if not others:
        return 1.0
    weights = [1 / other.goodput_error_rps**2 for other in others]
    line = math.fsum(w * o.users * o.goodput_rps for w, o in zip(weights, others, strict=True))
    line /= math.fsum(w * o.users**2 for w, o in zip(weights, others, strict=True))
    return level.goodput_rps / level.users / max(line, 1e-12)


def _differs(now_rps: float, before_rps: float, error: float) -> bool:
    return abs(now_rps - before_rps) - ONE_SIDED_95 * error > FALL * max(now_rps, before_rps)


def _error(one: LadderLevel, other: LadderLevel) -> float:
    return math.hypot(one.goodput_error_rps, other.goodput_error_rps)


def _failing(level: LadderLevel) -> float:
    """Failure ratio; a level without any answer has failed whole."""
    return (0.0 if level.goodput_rps else 1.0) if level.failure_ratio is None else level.failure_ratio
