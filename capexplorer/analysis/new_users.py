"""Which levels say nothing about the service because their users were still new, or the levels too short for them."""

from __future__ import annotations

from ..model.conclusions import LevelsTooShort, PartlyCounted, UsersNotWarm
from ..model.coverage import are_warm, counted_ratio
from .epoch_view import EpochView


def partly_counted(view: EpochView) -> PartlyCounted | None:
    """The clause about levels whose figures count only a part of their requests; None without such levels. Costs a pass over
    their seconds.
    """
    partial = view.verdict.partial_levels if view.verdict is not None else ()
    levels = [level for level in view.levels() if level.opened.index in partial]
    if not levels:
        return None
    ratios = tuple(counted_ratio(view.timeline, level) or 0.0 for level in levels)
    return PartlyCounted(tuple(level.users for level in levels), ratios)


def users_not_warm(view: EpochView) -> UsersNotWarm | None:
    """The clause about levels that ended before enough of their users were warm; None without such levels."""
    ended = (level for level in view.levels() if level.ended_s is not None and level.users and not level.figures.settled)
    levels = [level for level in ended if not are_warm(level.figures)]
    if not levels:
        return None
    return UsersNotWarm(tuple(level.users for level in levels), tuple(level.figures.warm_ratio or 0.0 for level in levels))


def levels_too_short(view: EpochView) -> LevelsTooShort | None:
    """The clause about levels of warm users that ended before they could settle; None without such levels."""
    closed = [
        level.closed
        for level in view.levels()
        if level.closed is not None and level.users and level.closed.settling_s is not None and are_warm(level.figures)
    ]
    if not closed:
        return None
    longest_s = max(each.t_s - each.started_s for each in closed)
    return LevelsTooShort(tuple(each.users for each in closed), longest_s, max(each.settling_s or 0.0 for each in closed))
