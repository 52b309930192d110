"""Whether the curve of its load counts a level, and why not.

The log has this in several lists of a verdict. Only this module reads them; `wording` and the signs of charts and tables say it.
"""

from __future__ import annotations

from typing import get_args

import msgspec

from .events import Verdict
from .figures import LevelFigures
from .level import Level
from .timeline import Timeline
from .verdicts import RegimeVerdict, Why

WHYS: tuple[Why, ...] = get_args(Why)


class LevelUse(msgspec.Struct, frozen=True):
    """What the verdict on its epoch makes of a level."""

    level: int
    """Index of the level."""
    whys: tuple[Why, ...] = ()
    """Why it is not counted; empty: it is."""
    is_disturbed: bool = False
    """Whether other processes used CPU that it needed, counted or not."""

    @property
    def why(self) -> Why | None:
        """The first reason why it is not counted; None: it is counted."""
        return self.whys[0] if self.whys else None


def level_uses(timeline: Timeline) -> dict[int, LevelUse]:
    """The uses of all levels, by index."""
    return {level.opened.index: level_use(level, timeline.verdicts.get(level.opened.epoch)) for level in timeline.levels}


def level_use(level: Level, verdict: Verdict | None) -> LevelUse:
    """The use of one level. `verdict`: on its epoch; None: all levels are counted but those that are in no curve (`is_aside`)."""
    index = level.opened.index
    if level.opened.is_aside:
        return LevelUse(index, ("stacks" if level.opened.stacks else "experiment",))
    if verdict is None:
        return LevelUse(index)
    found = _whys(level, index, verdict)
    return LevelUse(index, tuple(why for why in WHYS if why in found), is_disturbed=index in verdict.disturbed_levels)


def _whys(level: Level, index: int, verdict: Verdict) -> set[Why]:
    """Of a level of an offered rate the reason is that for which its curve does not use it."""
    rates, load = verdict.rates, level.load.amount
    levels, regimes = (rates.levels, rates.regimes) if rates is not None else ((), ())
    of_users = [each for each in verdict.regimes if index in each.levels]
    is_part = len(of_users) + sum(index in each.levels for each in regimes) > 1
    known: dict[Why, bool] = {
        "changed": is_part,
        "other_service": any(not each.judged and not _may_be_load(each, load) for each in of_users),
        "recovery": index in verdict.recovery_levels,
        "disturbed": index in verdict.left_out_levels,
    }
    return {why for why, holds in known.items() if holds} | {each.why for each in levels if each.level == index and each.why}


def _may_be_load(regime: RegimeVerdict, load: float) -> bool:
    """Whether load may be the reason why a level differs: a return to a lower load has not shown it yet. Then it is counted."""
    return regime.return_users is not None and load > regime.return_users


# -- How much of the users' activity a level's figures cover. Users count from the end of their first task cycle on (warm users).

USERS_MISSING_MOST = 0.05
"""Greatest share of a level's users that may be missing, or not warm, in a settled second."""


def are_warm(figures: LevelFigures) -> bool:
    """Whether enough users were warm at the end of the level for it to settle; True if not known."""
    return figures.warm_ratio is None or figures.warm_ratio >= 1 - USERS_MISSING_MOST
