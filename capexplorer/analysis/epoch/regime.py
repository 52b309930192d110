"""A regime: consecutive levels during which the service did not change, and how it began."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ...model.intervals import ONE_SIDED_95
from ...model.load import Rate
from ..knee.measured_curve import LINEAR_LIKELY
from ..knee.rate_level import SAME_RATE
from ..ladder import USERS_SAME, LadderLevel, Measured, expected_goodput, pooled
from .segments import LATENCY_CHANGE

# -- Compares a level with others: whether it has the same goodput, or one that their curve allows at its load.

FALL = 0.10
"""Significant fall of goodput, as a share, from a level on the low-load line to one with more users. Retrograde systems mostly
flatten before they fall, and then continue to fall.
"""

RISE = 0.15
"""Significant rise of goodput per user, as a share, from a level to one with more users."""

AGREES = 0.07
"""A level continues a regime if its goodput differs by at most this share of the expected one, or by two standard errors."""

FAILING = 0.2
"""A level fails if its failure ratio is this much (absolute) above that of the clean levels of a regime."""

LATENCY_ERRORS = 3.0
"""Standard errors between the latencies of two levels of one offered rate, from which they differ. Of 1,000 pairs of levels of
stationary M/M/1 queues at 0.5 to 0.97 of their capacity none did with 2.5 (tuning seed 780,000), but one of 60 plans whose
service has a noisy speed did."""

RESUMES_MOST = 2.0
"""A level may continue an earlier regime up to this many times its most users: far beyond them any goodput would fit."""


def continues(levels: tuple[LadderLevel, ...], now: LadderLevel) -> bool:
    """Whether a level has the goodput of these levels at its load; with more users than all of them, whether one curve fits
    all. At an offered rate it must have their latency, too.
    """
    if any(latency_differs(now, level) for level in levels):
        return False
    if failure_ratio_of(now) - min(map(failure_ratio_of, levels)) >= FAILING:
        return False
    expected = expected_goodput(levels, now.users)
    if expected is not None:
        return _agrees(now, *expected)
    curve = pooled(levels)
    best, top = max(curve, key=lambda level: level.goodput_rps), curve[-1]
    if now.users > RESUMES_MOST * top.users:
        return False
    is_straight = efficiency(curve, top) >= LINEAR_LIKELY
    most_rps = max(best.goodput_rps, top.goodput_rps * now.users / top.users) if is_straight else best.goodput_rps
    nearest_rps = min(max(now.goodput_rps, best.goodput_rps), most_rps)
    return _agrees(now, nearest_rps, best.goodput_error_rps)


def _agrees(now: LadderLevel, rate_rps: float, error: float) -> bool:
    return abs(now.goodput_rps - rate_rps) <= max(AGREES * rate_rps, 2 * math.hypot(error, now.goodput_error_rps))


def is_on_line(levels: Sequence[LadderLevel]) -> bool:
    """Whether the last of these levels is on the low-load line of the others."""
    relative = levels[-1].goodput_error_rps / max(levels[-1].goodput_rps, 1e-12)
    return efficiency(pooled(levels[:-1]), levels[-1]) * (1 + relative) >= LINEAR_LIKELY if len(levels) > 1 else True


def efficiency(curve: Sequence[LadderLevel], level: LadderLevel) -> float:
    """Goodput per user, divided by the slope of the line from the origin fitted to the other levels; 1 without another level."""
    others = [other for other in curve if other is not level]
    if not others:
        return 1.0
    weights = [1 / other.goodput_error_rps**2 for other in others]
    line = math.fsum(w * o.users * o.goodput_rps for w, o in zip(weights, others, strict=True))
    line /= math.fsum(w * o.users**2 for w, o in zip(weights, others, strict=True))
    return level.goodput_rps / level.users / max(line, 1e-12)


def differs(now_rps: float, before_rps: float, error: float) -> bool:
    """Whether two goodputs differ significantly, and by more than `FALL`."""
    return abs(now_rps - before_rps) - ONE_SIDED_95 * error > FALL * max(now_rps, before_rps)


def was_served_better(before: Sequence[LadderLevel], now: LadderLevel) -> bool:
    """Whether an earlier level of this load had significantly more goodput, and none so far had more load: no overload explains
    it.
    """
    if any(level.users > now.users * (1 + USERS_SAME) for level in before):
        return False
    same = [level for level in before if level.users >= now.users * (1 - USERS_SAME)]
    expected = [(level.goodput_rps * now.users / level.users, error_of(level, now)) for level in same]
    return any(now.goodput_rps < rate_rps and differs(now.goodput_rps, rate_rps, error) for rate_rps, error in expected)


def rises(before: LadderLevel, now: LadderLevel, errors: float = ONE_SIDED_95) -> bool:
    """Whether goodput per user is higher than at a level with fewer users, by RISE and so many standard errors, with the pauses
    that users had: who polls for a result makes shorter ones the longer it waits for it.
    """
    paced = _paced(before, now) / before.users
    own, earlier = now.goodput_rps / now.users, before.goodput_rps * paced
    error = math.hypot(now.counted_error_rps / now.users, before.counted_error_rps * paced)
    return own - earlier - errors * error > RISE * earlier


def _paced(before: LadderLevel, now: LadderLevel) -> float:
    """Factor of goodput that the pauses of users alone make, (R + Z) / (R + Z now); 1 where they are not known."""
    pauses_s = [level.wait_s for level in (before, now) if level.wait_includes_sleeps and level.wait_s is not None]
    if len(pauses_s) < 2 or before.response_s is None or before.response_s + pauses_s[1] <= 0:
        return 1.0
    return (before.response_s + pauses_s[0]) / (before.response_s + pauses_s[1])


def latency_differs(now: LadderLevel, before: LadderLevel) -> bool:
    """Whether the latencies of two levels of one offered rate differ significantly, and as much as a shift does.

    A service that became slower still completes what is offered, so its goodput does not show it. At users it does.
    """
    if abs(now.users - before.users) > SAME_RATE * before.users or now.disturbed or before.disturbed:
        return False
    errors = [_relative_latency_error(level) for level in (now, before)]
    if now.latency_ms is None or before.latency_ms is None or None in errors:
        return False
    if abs(now.latency_ms - before.latency_ms) <= max(now.loop_lag_ms or 0.0, before.loop_lag_ms or 0.0):
        return False
    least = max(math.log1p(LATENCY_CHANGE), LATENCY_ERRORS * math.hypot(*(error or 0.0 for error in errors)))
    return abs(math.log(now.latency_ms / before.latency_ms)) >= least


def _relative_latency_error(level: LadderLevel) -> float | None:
    return level.steady_latency_error_ms / level.latency_ms if level.steady_latency_error_ms and level.latency_ms else None


def error_of(one: LadderLevel, other: LadderLevel) -> float:
    """Standard error of the difference between the goodputs of two levels."""
    return math.hypot(one.goodput_error_rps, other.goodput_error_rps)


def failure_ratio_of(level: LadderLevel) -> float:
    """The failure ratio; where it is not known, 1 without goodput and 0 with some."""
    return (0.0 if level.goodput_rps else 1.0) if level.failure_ratio is None else level.failure_ratio


RETURN_LEAST = 0.6
"""Share of the most users served without failures before goodput fell at a step: a clean level between this share and that step
shows that load made goodput fall."""

PART_LEAST_S = 5.5
"""A part of a level is judged from so many settled seconds on, as an open level is (`measured_epoch.SECONDS_LEAST`)."""

SLOWER = 1.5
"""A failing level may have a backlog if its mean response takes this many times the slowest mean response of clean levels."""

UNSTEADY, UNSTEADY_COUNTS = 0.2, 1.5
"""A level is not judged if the standard error of its goodput is above this share of goodput, and above this many times that of a
Poisson count."""

ROSE_ERRORS = 3.0
"""Standard errors by which goodput per user must rise with a step up to show a change of the service for sure; with fewer it
shows one that load may explain: of few arrivals some levels get more by chance."""

Began = Literal["goodput", "failures", "latency"]


@dataclass(slots=True, eq=False)
class Regime:
    """Consecutive levels during which the service did not change."""

    measured: list[Measured] = field(default_factory=list)
    began: Began | None = None
    """What changed at its beginning; None for the first regime."""
    began_inside: bool = False
    """Whether it began in the middle of a level, not with a step of load."""

    @property
    def levels(self) -> tuple[LadderLevel, ...]:
        """The ladder levels of `measured`."""
        return tuple(each.ladder_level for each in self.measured)

    @property
    def steady(self) -> tuple[LadderLevel, ...]:
        """Levels that can be judged: parts of levels only if they are long enough for a standard error, and unsteady levels
        only if overload explains them.
        """
        return tuple(
            each.ladder_level
            for each in self.measured
            if not _is_too_short(each) and (not _is_unsteady(each.ladder_level) or self._is_overload(each))
        )

    def _is_overload(self, each: Measured) -> bool:
        """Whether a level failed by overload, not by a fault: it had more users than before, and later levels with fewer users
        did not fail.
        """
        at_s, users = each.ladder_level.started_s, each.ladder_level.users
        under = [one.ladder_level for one in self.measured if one.ladder_level.users < users]
        before = [level.users for level in under if level.started_s < at_s]
        if not before:
            return False
        least = math.floor(RETURN_LEAST * max(before))
        after = [level for level in under if level.started_s > at_s and level.users >= least]
        return any(failure_ratio_of(each.ladder_level) - failure_ratio_of(level) >= FAILING for level in after)

    @property
    def fails(self) -> bool:
        """Whether it began with failures."""
        return self.began == "failures"

    @property
    def started_s(self) -> float:
        """Start of its first level, in seconds of the session."""
        return self.measured[0].ladder_level.started_s

    def began_without_load(self, earlier: Sequence[Regime]) -> bool:
        """Whether load does not explain its beginning: it began in the middle of a level, or its failures go on with less load.

        Two exceptions may be explained by load: failures inside a level that had left the low-load line, since a queue takes time
        to fill, unless as many users ran before without failures; and failures at an offered rate after a queue had filled.
        Load never explains a change of latency, or less goodput than at the same load before: levels of the same load are
        compared. Nor does it explain a rise of goodput per user with a step up. `earlier`: the other regimes.
        """
        if self.began == "latency" or (
            self.began == "goodput" and was_served_better(self._levels_before(earlier), self.levels[0])
        ):
            return True
        if self.rose(earlier):
            return True
        failing = [level for level in self.levels if failure_ratio_of(level) >= FAILING]
        goes_on = any(level.users < (1 - USERS_SAME) * self.levels[0].users for level in failing)
        if self.fails and goes_on and not _may_be_backlog(self.measured, earlier):
            return True
        if self.measured[0].part.after_queue:
            return False
        if self.fails and any(serves_as_many(each, self.measured[0]) for regime in earlier for each in regime.measured):
            return True
        if not (self.began_inside and self.fails):
            return self.began_inside
        first = self.measured[0]
        ran = [
            each for regime in earlier for each in regime.measured if each.ladder_level.started_s < first.ladder_level.started_s
        ]
        seen = any(each.level is not first.level and each.ladder_level.users >= first.ladder_level.users for each in ran)
        return seen or not ran or is_on_line([each.ladder_level for each in ran])

    def rose(self, others: Sequence[Regime]) -> bool:
        """Whether it began with a step up with which goodput per user surely rose. `others`: the other regimes."""
        before = self._levels_before(others)
        first, last = self.levels[0], max(before, key=lambda level: level.started_s, default=None)
        if last is None or self.began != "goodput" or self.began_inside or first.users <= last.users:
            return False
        return rises(last, first, ROSE_ERRORS)

    def _levels_before(self, others: Sequence[Regime]) -> list[LadderLevel]:
        """Levels of other regimes that ran before this one, without an earlier part of its first level."""
        first = self.measured[0]
        earlier = (each for regime in others for each in regime.measured if each.level is not first.level)
        return [each.ladder_level for each in earlier if each.ladder_level.started_s < first.ladder_level.started_s]


def _may_be_backlog(failing: Sequence[Measured], others: Sequence[Regime]) -> bool:
    """Whether the latest of these levels fails slowly, as by timeouts: a backlog outlasts a step down. Levels that were split off
    the first one do not count as `others`, since its queue filled in them.
    """
    earlier = [each for regime in others for each in regime.measured if each.level is not failing[0].level]
    return _is_slower(failing[-1], earlier)


def has_backlog(each: Measured, found: Sequence[Regime]) -> bool:
    """Whether requests of an offered rate are slow, compared with levels of lower rates before."""
    return _is_slower(
        each, [one for regime in found for one in regime.measured if one.ladder_level.users < each.ladder_level.users]
    )


def _is_slower(each: Measured, others: Sequence[Measured]) -> bool:
    """Whether a level of an offered rate takes SLOWER times the slowest mean response of the others that do not fail."""
    clean = [other.figures.response_ms for other in others if failure_ratio_of(other.ladder_level) < FAILING]
    usual_ms, response_ms = [value for value in clean if value is not None], each.figures.response_ms
    return isinstance(each.level.load, Rate) and bool(usual_ms) and (response_ms or 0.0) > SLOWER * max(usual_ms)


def serves_as_many(each: Measured, failing: Measured) -> bool:
    """Whether `each` has at least as much load as `failing`, another level, without failing like it.

    At an offered rate only the last part of a level can show it, if it is long enough: a queue takes time to fill. So no bin of a
    ramp can.
    """
    by_offered_rate, part = isinstance(each.level.load, Rate), each.part
    if by_offered_rate and (
        each.ladder_level.ramp or part.ended_s != each.level.ended_s or part.figures.settled_seconds < PART_LEAST_S
    ):
        return False
    enough = each.ladder_level.users >= (1 - USERS_SAME) * failing.ladder_level.users and each.level is not failing.level
    return enough and fails_more(failing.ladder_level, each.ladder_level)


def fails_more(now: LadderLevel, other: LadderLevel) -> bool:
    """Whether a level surely has more failures than another, by FAILING at least."""
    more = failure_ratio_of(now) - failure_ratio_of(other)
    return more >= FAILING and more > ONE_SIDED_95 * math.hypot(now.failure_error, other.failure_error)


def _is_too_short(each: Measured) -> bool:
    return each.is_part and each.figures.settled_seconds < PART_LEAST_S


def _is_unsteady(level: LadderLevel) -> bool:
    """Whether the seconds of a level differ so much that their mean says nothing, as if the service had been in two states."""
    error = level.goodput_se_rps or 0.0
    counted = math.sqrt(level.goodput_rps / level.seconds) if level.seconds else 0.0
    return not level.ramp and error > max(UNSTEADY * level.goodput_rps, UNSTEADY_COUNTS * counted)


def began_inside(each: Measured) -> bool:
    """Whether it began with a change in the middle of a level, not with a step of load. A rate limiter whose allowance is used up
    refuses by load.
    """
    return not each.part.limited and (each.part.began_inside or each.level.opened.since_s is not None)


def return_users(regime: Regime, others: Sequence[Regime]) -> float | None:
    """Users of a step down that would show whether load began this regime: the most that ran without failures before goodput fell
    or failures began with a step up. None if it began otherwise, or the reason is known. `others`: the other regimes.
    """
    first = regime.levels[0]
    before = [level for each in others for level in each.levels if level.started_s < first.started_s]
    if regime.began is None or regime.began_without_load(others) or not before:
        return None
    stepped_up = max(before, key=lambda level: level.started_s).users < first.users
    fell = regime.fails or first.goodput_rps < max(level.goodput_rps for level in before)
    clean_users = [level.users for level in before if level.users < first.users and failure_ratio_of(level) < FAILING]
    return max(clean_users) if stepped_up and fell and clean_users else None
