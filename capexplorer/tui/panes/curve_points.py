"""The measured points of the capacity curve: one for each level or bin of a ramp, and the current level so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...model.figures import LevelFigures
from ...model.intervals import Z95
from ...model.level import Level
from ...model.timeline import Timeline
from ...report.rows import Kind, bin_kind, level_kinds

SO_FAR_TICKS = 5
"""Number of latest ticks whose mean goodput is drawn for a level that has not settled. More would lag behind while users start.
"""


@dataclass(frozen=True, slots=True)
class LevelPoint:
    """A level on the curve, or one bin of a ramp."""

    level: int
    """Index of the level."""
    epoch: int
    users: float
    goodput_rps: float
    half_rps: float
    """Half of the 95% interval; NaN when settled seconds are too few for one, or the imported table has none."""
    settled: bool
    current: bool
    kind: Kind = "step"
    imported: bool = False
    """Whether it was imported from a table of rates, which counts as measured."""

    @property
    def certain(self) -> bool:
        """Whether it has settled, for long enough for a standard error, or was imported from a table."""
        return self.settled and (self.imported or not math.isnan(self.half_rps))

    @property
    def fitted(self) -> bool:
        """Whether it is part of the curve: certain, and of no kind that is off the curve (`report.rows.OffCurve`)."""
        return self.certain and self.kind in ("step", "ramp")

    @property
    def top_rps(self) -> float:
        """The highest value that the scale must include: the top of its error bar; for the current level, whose error bar still
        changes, the point itself.
        """
        bar = self.certain and not self.current and not math.isnan(self.half_rps)
        return self.goodput_rps + (self.half_rps if bar else 0.0)


def level_points(timeline: Timeline, levels: Sequence[Level], cursor: int) -> list[LevelPoint]:
    """The points in the order of the session. Levels that ended before they settled have none."""
    kinds = level_kinds(timeline)
    points = []
    for level in levels:
        current = level is levels[-1] and level.figures.counted
        kind = kinds.get(level.opened.index)
        points += [_point(level, part.users, part.figures, bin_kind(kind)) for part in level.bins]
        so_far_rps = _so_far_rps(timeline, level, cursor) if current and not level.figures.settled else None
        if not (level.opened.ramp and level.bins):
            points.append(_point(level, level.users, level.figures, kind or "step", current, so_far_rps))
    return [point for point in points if math.isfinite(point.goodput_rps)]


def inspected_point(timeline: Timeline, points: Sequence[LevelPoint], tick: int | None) -> LevelPoint | None:
    """The point of the level at this tick; for a ramp, the bin nearest to the tick's users. None if there is none."""
    level = None if tick is None else timeline.level_at(tick)
    if level is None or tick is None:
        return None
    users = timeline.columns["users"][tick] if level.opened.ramp else level.users
    own = [point for point in points if point.level == level.opened.index]
    return min(own, key=lambda point: abs(point.users - users), default=None)


def _point(
    level: Level,
    users: float,
    figures: LevelFigures,
    kind: Kind,
    current: bool = False,
    so_far_rps: float | None = None,
) -> LevelPoint:
    goodput_rps = figures.goodput_rps if figures.settled else so_far_rps
    return LevelPoint(
        level=level.opened.index,
        epoch=level.opened.epoch,
        users=users,
        goodput_rps=math.nan if goodput_rps is None else goodput_rps,
        half_rps=math.nan if figures.goodput_se_rps is None else Z95 * figures.goodput_se_rps,
        settled=figures.settled,
        current=current,
        kind=kind,
        imported=not figures.counted,
    )


def _so_far_rps(timeline: Timeline, level: Level, cursor: int) -> float | None:
    first = max(level.first_index, cursor + 1 - SO_FAR_TICKS)
    values = [value for value in timeline.columns["goodput_rps"][first : cursor + 1] if math.isfinite(value)]
    return sum(value / len(values) for value in values) if values else None
