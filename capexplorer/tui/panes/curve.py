"""The capacity curve X(N): goodput of each level against the users that it held.

The fit's place: a later issue adds the fitted curve to `_lines`, the knee to `Chart.boundaries`, its interval to `Chart.aside`.
Nothing here fits or invents; the one line beyond the data, linear growth from the first settled level, is labelled as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from textual.geometry import Size
from textual.strip import Strip

from ...model.timeline import Level, Timeline
from ..look import Look, Palette
from ..render.axis import Axis, count_axis, figure, linear_axis
from ..render.chart import Chart, Point, Series, y_ticks
from ..render.draw import draw_chart, message
from ..render.legend import DOTTED, Legend
from ..render.raster import Pattern, Shape
from .pane import Pane

Z95 = 1.96
"""Half-width of a 95% interval in standard errors."""

SO_FAR_TICKS = 5
"""A level that has not settled is drawn, hollow, at the mean of its last few ticks: more would lag behind the spawning."""

KNOWN_WELL_RATIO = 0.05
"""Half an interval over goodput up to which a level may be extrapolated: a single user's rate is off by a tenth after 10 s."""

KEYS = {Shape.FILLED: "●", Shape.HOLLOW: "○", Shape.CROSS: "+"}


@dataclass(frozen=True, slots=True)
class LevelPoint:
    """A level on the curve."""

    epoch: int
    users: int
    goodput_rps: float
    half_rps: float
    """Half of the 95% interval; NaN when settled seconds are too few for one."""
    settled: bool
    current: bool

    @property
    def certain(self) -> bool:
        """Settled, and long enough for a standard error."""
        return self.settled and not math.isnan(self.half_rps)

    @property
    def top_rps(self) -> float:
        """What the scale must hold of it: its error bar; the current one may still move, so of that only the point."""
        return self.goodput_rps + (self.half_rps if self.certain and not self.current else 0.0)


class CurvePane(Pane):
    """Goodput of each level against users."""

    TITLE = "Capacity  goodput req/s by users"

    def draw(self, timeline: Timeline, cursor: int, look: Look, size: Size) -> list[Strip]:
        """Levels up to the cursor, with their figures as they are known now."""
        levels = timeline.levels
        points = level_points(timeline, levels, cursor)
        if not points:
            return message(_missing(levels), look.palette, size)
        highest = max(_highest(timeline, levels[-1], cursor), *(point.top_rps for point in points))
        return draw_chart(_chart(points, levels, highest, look, size), look.palette, size)


def level_points(timeline: Timeline, levels: Sequence[Level], cursor: int) -> list[LevelPoint]:
    """One a level that has a figure, and the current one so far. Those that ended before they settled have none."""
    points = []
    for level in levels:
        current = level is levels[-1]
        figures = level.figures
        goodput_rps = figures.goodput_rps if figures.settled else _so_far(timeline, level, cursor) if current else None
        if goodput_rps is None or not math.isfinite(goodput_rps):
            continue
        half_rps = math.nan if figures.goodput_se_rps is None else Z95 * figures.goodput_se_rps
        points.append(LevelPoint(level.opened.epoch, level.users, goodput_rps, half_rps, figures.settled, current))
    return points


def _so_far(timeline: Timeline, level: Level, cursor: int) -> float | None:
    first = max(level.first_index, cursor + 1 - SO_FAR_TICKS)
    values = [value for value in timeline.columns["goodput_rps"][first : cursor + 1] if math.isfinite(value)]
    return sum(value / len(values) for value in values) if values else None


def _highest(timeline: Timeline, level: Level, cursor: int) -> float:
    """Greatest second of the current level: unlike its mean and error that never shrinks, so the scale does not flicker."""
    seconds = timeline.columns["goodput_rps"][level.first_index : cursor + 1]
    return max((value for value in seconds if math.isfinite(value)), default=0.0)


def _missing(levels: Sequence[Level]) -> str:
    return f"no settled level yet: {levels[-1].users} users is settling" if levels else "waiting for the first level"


def _chart(points: Sequence[LevelPoint], levels: Sequence[Level], highest: float, look: Look, size: Size) -> Chart:
    epoch = levels[-1].opened.epoch
    users_axis = count_axis(max(level.users for level in levels) * 1.05, max(size.width // 8, 2))
    linear = _first_settled(points, epoch)
    return Chart(
        x=users_axis,
        y=linear_axis(highest, y_ticks(size.height)),
        legend=_legend(points, levels, linear, look.palette),
        series=_lines(points, linear, users_axis, look.palette),
        points=tuple(_drawn(point, epoch, look) for point in sorted(points, key=lambda point: (point.current, point.epoch))),
    )


def _first_settled(points: Sequence[LevelPoint], epoch: int) -> LevelPoint | None:
    """The lightest settled level of this epoch that is known well: the nearest to what users do when nothing holds them up."""
    here = [point for point in points if point.certain and point.epoch == epoch and point.users > 0]
    candidates = [point for point in here if point.half_rps <= KNOWN_WELL_RATIO * point.goodput_rps]
    return min(candidates, key=lambda point: point.users, default=None)


def _lines(points: Sequence[LevelPoint], linear: LevelPoint | None, users: Axis, palette: Palette) -> tuple[Series, ...]:
    """Linear growth, then the settled points of each epoch joined in order of users."""
    lines = []
    if linear is not None:
        slope = linear.goodput_rps / linear.users
        lines.append(Series((0.0, users.high), (0.0, slope * users.high), palette.muted, Pattern.DOTTED))
    for epoch in sorted({point.epoch for point in points}):
        joined = sorted((point.users, point.goodput_rps) for point in points if point.epoch == epoch and point.certain)
        lines.append(Series([x for x, _ in joined], [y for _, y in joined], palette.faint))
    return tuple(lines)


def _drawn(point: LevelPoint, epoch: int, look: Look) -> Point:
    """Hollow and grey when it rests on little; the current one stands out and tells its figure."""
    palette = look.palette
    low, high = max(point.goodput_rps - point.half_rps, 0.0), point.goodput_rps + point.half_rps
    shape = Shape.CROSS if point.epoch != epoch else Shape.FILLED if point.certain else Shape.HOLLOW
    color = palette.accent if point.current else palette.secondary if shape is Shape.FILLED else palette.muted
    told = point.current or (look.large and point.certain and point.epoch == epoch)
    label = figure(point.goodput_rps) if told else ""
    return Point(point.users, point.goodput_rps, shape, color, low, high, bold=point.current, label=label)


def _legend(
    points: Sequence[LevelPoint], levels: Sequence[Level], linear: LevelPoint | None, palette: Palette
) -> tuple[Legend, ...]:
    """The current level in figures; then what else is on the chart."""
    if not any(point.settled for point in points):
        return (Legend(KEYS[Shape.HOLLOW], _missing(levels), "", palette.accent),)
    entries = []
    last = points[-1]
    if last.current:
        key = KEYS[Shape.FILLED if last.certain else Shape.HOLLOW]
        value = f"{figure(last.goodput_rps)} ±{figure(last.half_rps)}" if last.certain else f"{figure(last.goodput_rps)} so far"
        entries.append(Legend(key, f"{last.users} users", value, palette.accent, width=12, quiet=not last.certain))
    if linear is not None:
        entries.append(Legend(DOTTED, f"linear from {linear.users} users, extrapolated", "", palette.muted, short="linear"))
    if any(point.epoch != levels[-1].opened.epoch for point in points):
        entries.append(Legend(KEYS[Shape.CROSS], "before restart", "", palette.muted))
    return tuple(entries)
