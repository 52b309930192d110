"""A level as charts over the load show it: as one point or, of a ramp, as one point for each bin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from ...model.figures import LevelEndpoint, LevelFigures
from ...model.level import Level
from ...model.load import Rate, Users
from ...model.timeline import Timeline


class LevelPart(msgspec.Struct, frozen=True):
    """A level, or one bin of a ramp. Charts have points of their own, which add what they draw."""

    level: Level
    load: float
    """Users, or iterations a second: those that were offered, once there are some."""
    figures: LevelFigures
    endpoints: tuple[LevelEndpoint, ...]
    is_bin: bool = False

    @property
    def index(self) -> int:
        """That of the level."""
        return self.level.opened.index

    @property
    def epoch(self) -> int:
        """That of the level."""
        return self.level.opened.epoch


Part = TypeVar("Part", bound=LevelPart)


def parts_of(level: Level) -> list[LevelPart]:
    """The bins of a ramp in the order of their loads, or the level itself; also the ramp itself while it has no bins."""
    if level.opened.ramp and level.bins:
        return [
            LevelPart(level, _load(level, each.figures, each.users), each.figures, each.endpoints, True) for each in level.bins
        ]
    return [LevelPart(level, _load(level, level.figures, level.load.amount), level.figures, level.endpoints)]


def _load(level: Level, figures: LevelFigures, requested: float) -> float:
    return requested if isinstance(level.load, Users) or figures.offered is None else figures.offered.offered_per_s


def levels_of_load(timeline: Timeline) -> list[Level]:
    """The levels of users or, while a rate is offered, of rates."""
    return [level for level in timeline.levels if isinstance(level.load, Rate) is isinstance(timeline.load, Rate)]


def at_tick(timeline: Timeline, tick: int | None, parts: Iterable[Part]) -> Part | None:
    """The one of the level at this tick; of a ramp, the bin with the nearest load. None: there is none."""
    level = None if tick is None else timeline.level_at(tick)
    if level is None or tick is None:
        return None
    load = timeline.columns[level.load.column][tick]
    own = (part for part in parts if part.index == level.opened.index)
    return min(own, key=lambda part: abs(part.load - load) if load == load else 0.0, default=None)
