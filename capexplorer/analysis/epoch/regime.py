"""A regime: consecutive levels during which the service did not change, and how it began."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ...model.intervals import ONE_SIDED_95
from ...model.load import Rate
from ..ladder import USERS_SAME, LadderLevel, Measured

FAILING = 0.2
"""A level fails if its failure ratio is this much (absolute) above that of the clean levels of a regime."""


def failure_ratio_of(level: LadderLevel) -> float:
    """The failure ratio; where it is not known, 1 without goodput and 0 with some."""
    return (0.0 if level.goodput_rps else 1.0) if level.failure_ratio is None else level.failure_ratio


RETURN_LEAST = 0.6
"""Share of the most users served without failures before goodput fell at a step: a clean level between this share and that step
shows that load made goodput fall."""

SECONDS_LEAST = 5.5
"""Settled seconds from which an open level counts, and a part of a level is judged: before six batches of a second goodput has no
standard error."""

SLOWER = 1.5
"""A failing level may have a backlog if its mean response takes this many times the slowest mean response of clean levels."""

UNSTEADY, UNSTEADY_COUNTS = 0.2, 1.5
"""A level is not judged if the standard error of its goodput is above this share of goodput, and above this many times that of a
Poisson count."""

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
        """Levels that can be judged: steady ones, and parts of levels that are long enough for a standard error."""
        return tuple(
            each.ladder_level for each in self.measured if not _is_too_short(each) and not _is_unsteady(each.ladder_level)
        )

    @property
    def fails(self) -> bool:
        """Whether it began with failures."""
        return self.began == "failures"

    @property
    def started_s(self) -> float:
        """Start of its first level, in seconds of the session."""
        return self.measured[0].ladder_level.started_s

    def began_without_load(self, others: Sequence[Regime]) -> bool:
        """Whether load does not explain its beginning: another latency, more goodput with a step up, a change in the middle of a
        level, or failures or less goodput at a load that was served before. Failures at an offered rate after a queue had filled
        may be explained by load. `others`: the other regimes.
        """
        first, goodput = self.measured[0], self.began == "goodput" and not self.began_inside
        earlier = (each for regime in others for each in regime.measured if each.ladder_level.started_s < self.started_s)
        before = [each.ladder_level for each in earlier if each.level is not first.level]
        last = max(before, key=lambda level: level.started_s, default=first.ladder_level)
        rose = last.users < first.ladder_level.users and first.ladder_level.goodput_rps > max(each.goodput_rps for each in before)
        if self.began == "latency" or (goodput and (rose or self._was_served(before))):
            return True
        failing = [level for level in self.levels if failure_ratio_of(level) >= FAILING]
        goes_on = any(level.users < (1 - USERS_SAME) * first.ladder_level.users for level in failing)
        if self.fails and goes_on and not _may_be_backlog(self.measured, others):
            return True
        if first.part.after_queue:
            return False
        return self.began_inside or (self.fails and any(serves_as_many(each, first) for one in others for each in one.measured))

    def _was_served(self, before: Sequence[LadderLevel]) -> bool:
        """Whether a level of its first load had more goodput, and none so far had more load, so that no overload explains it."""
        first = self.levels[0]
        same = [level for level in before if level.users >= first.users * (1 - USERS_SAME)]
        is_most = all(level.users <= first.users * (1 + USERS_SAME) for level in before)
        return is_most and any(level.goodput_rps / level.users > first.goodput_rps / first.users for level in same)


def _may_be_backlog(failing: Sequence[Measured], others: Sequence[Regime]) -> bool:
    """Whether the latest of these levels fails slowly, as by timeouts: a backlog outlasts a step down. Levels that were split off
    the first one do not count as `others`, since its queue filled in them.
    """
    earlier = [each for regime in others for each in regime.measured if each.level is not failing[0].level]
    return _is_slower(failing[-1], earlier)


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
        each.ladder_level.ramp or part.ended_s != each.level.ended_s or part.figures.settled_seconds < SECONDS_LEAST
    ):
        return False
    enough = each.ladder_level.users >= (1 - USERS_SAME) * failing.ladder_level.users and each.level is not failing.level
    return enough and fails_more(failing.ladder_level, each.ladder_level)


def fails_more(now: LadderLevel, other: LadderLevel) -> bool:
    """Whether a level surely has more failures than another, by FAILING at least."""
    more = failure_ratio_of(now) - failure_ratio_of(other)
    return more >= FAILING and more > ONE_SIDED_95 * math.hypot(now.failure_error, other.failure_error)


def _is_too_short(each: Measured) -> bool:
    return each.is_part and each.figures.settled_seconds < SECONDS_LEAST


def _is_unsteady(level: LadderLevel) -> bool:
    """Whether the seconds of a level differ so much that their mean says nothing, as if the service had been in two states."""
    error = level.goodput_se_rps or 0.0
    counted = math.sqrt(max(level.goodput_rps * level.seconds, 1.0)) / level.seconds if level.seconds else 0.0
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
