"""A regime: consecutive levels during which the service did not change, and how it began."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..ladder import LadderLevel, Measured
from .level_comparison import FAILING, USERS_SAME, failure_ratio_of, is_on_line

RETURN_LEAST = 0.6
"""Of the most users that were served well before goodput fell at a step: from there on a clean return shows that load did it."""

PART_LEAST_S = 5.5
"""Settled seconds of a part of a level from which it is judged, as of an open level."""

SLOWER = 1.5
"""Times the slowest mean response of clean levels, from which those of a failing level may be a backlog's."""

UNSTEADY, UNSTEADY_COUNTS = 0.2, 1.5
"""Standard error of a level's goodput, as a share of it and over that of random counts, from which the level is not judged."""

Began = Literal["goodput", "failures"]


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
            if not _is_too_short(each) and (not _is_unsteady(each.rates) or self._is_overload(each))
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
        return any(failure_ratio_of(each.rates) - failure_ratio_of(level) >= FAILING for level in after)

    @property
    def fails(self) -> bool:
        """Whether it began with failures."""
        return self.began == "failures"

    @property
    def started_s(self) -> float:
        """Begin of its first level, seconds of the session."""
        return self.measured[0].rates.started_s

    def began_without_load(self, earlier: Sequence[Regime]) -> bool:
        """Whether time and not load began it: in the middle of a level, or failures that continue with fewer users than at first.

        Failures inside a level that had left the low-load line may be those of a queue that took its time to fill, unless as many
        users ran before without them. Those that came after a queue had filled at an offered rate may be load's, too.
        """
        goes_on = any(level.users < (1 - USERS_SAME) * self.levels[0].users for level in self.levels)
        if self.fails and goes_on and not _may_be_backlog(self.measured, earlier):
            return True
        if self.measured[0].part.after_queue:
            return False
        if self.fails and any(serves_as_many(each, self.measured[0]) for regime in earlier for each in regime.measured):
            return True
        if not (self.began_inside and self.fails):
            return self.began_inside
        first, before = self.measured[0], [each for regime in earlier for each in regime.measured if each is not self.measured[0]]
        before = [each for each in before if each.rates.started_s < first.rates.started_s]
        seen = any(each.level is not first.level and each.rates.users >= first.rates.users for each in before)
        return seen or not before or is_on_line([each.rates for each in before])


def _may_be_backlog(failing: Sequence[Measured], others: Sequence[Regime]) -> bool:
    """Whether levels of an offered rate fail slowly, as by timeouts: a backlog goes on when less is offered."""
    last = failing[-1]
    if last.level.offered_per_s is None or last.figures.response_ms is None:
        return False
    clean = [each.figures for regime in others for each in regime.measured if failure_ratio_of(each.rates) < FAILING]
    usual_ms = [figures.response_ms for figures in clean if figures.response_ms is not None]
    return bool(usual_ms) and last.figures.response_ms > SLOWER * max(usual_ms)


def serves_as_many(each: Measured, failing: Measured) -> bool:
    """Whether another level had as many users or more, and did not fail as this one did.

    At an offered rate the seconds before a level changed do not show it: a queue takes time to fill.
    """
    if each.level.offered_per_s is not None and each.part.ended_s != each.level.ended_s:
        return False
    enough = each.rates.users >= (1 - USERS_SAME) * failing.rates.users and each.level is not failing.level
    return enough and failure_ratio_of(failing.rates) - failure_ratio_of(each.rates) >= FAILING


def _is_too_short(each: Measured) -> bool:
    part, level = each.part, each.level
    return (part.began_inside or part.ended_s != level.ended_s) and part.figures.settled_seconds < PART_LEAST_S


def _is_unsteady(level: LadderLevel) -> bool:
    """Whether its seconds differ so much that their mean says nothing: it holds two states of the service."""
    error = level.goodput_se_rps or 0.0
    counted = math.sqrt(level.goodput_rps / level.seconds) if level.seconds else 0.0
    return not level.ramp and error > max(UNSTEADY * level.goodput_rps, UNSTEADY_COUNTS * counted)


def began_inside(each: Measured) -> bool:
    """Whether it began in the middle of a level, not with a step."""
    return each.part.began_inside or each.level.opened.since_s is not None


def return_users(regime: Regime, others: Sequence[Regime]) -> float | None:
    """Users of a return that would show whether load began this regime: the most that were served well before goodput fell, or
    failures began, with a step up. None: it began otherwise, or that is known."""
    first = regime.levels[0]
    before = [level for each in others for level in each.levels if level.started_s < first.started_s]
    if regime.began is None or regime.began_without_load(others) or not before:
        return None
    stepped_up = max(before, key=lambda level: level.started_s).users < first.users
    fell = regime.fails or first.goodput_rps < max(level.goodput_rps for level in before)
    well = [level.users for level in before if level.users < first.users and failure_ratio_of(level) < FAILING]
    return max(well) if stepped_up and fell and well else None
