"""The charts of a comparison: the curves of all sessions in one chart, distinguished by colour, shape and letter. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from textual.geometry import Size
from textual.strip import Strip

from ...model.intervals import Z95
from ...report.compare.comparison import Comparison, Curve
from ...report.compare.estimates import Estimate
from ...wording import quantities
from ..display_options import Palette
from ..render.axis import Axis, count_axis, latency_tick, linear_axis, log_axis
from ..render.chart import Band, Boundary, Chart, Legend, Point, Series, y_ticks
from ..render.draw import draw_chart, message
from ..render.raster import Pattern, Shape
from ..render.text import safe

_SHAPES = ((Shape.FILLED, "■"), (Shape.HOLLOW, "□"), (Shape.CROSS, "+"))
_PATTERNS = (Pattern.SOLID, Pattern.DASHED, Pattern.DOTTED)

Points = list[tuple[int, Estimate]]


def colors(palette: Palette) -> tuple[str, ...]:
    """The colours of the curves, in order. They repeat after four; letters do not."""
    return palette.primary, palette.accent, palette.secondary, palette.error


def capacity(comparison: Comparison, palette: Palette, size: Size) -> list[Strip]:
    """Goodput against users with 95% error bars, knees as vertical lines with their intervals."""
    points = [_points(curve, "goodput") for curve in comparison.curves]
    if not any(points):
        return message("no session has a settled level", palette, size)
    knees = [(curve.letter, curve.knee["knee"].value) for curve in comparison.curves if curve.knee]
    tints = dict(zip((curve.letter for curve in comparison.curves), itertools.cycle(colors(palette)), strict=False))
    marked = tuple(Boundary(users, f"knee {letter}", tints[letter], solid=True) for letter, users in knees if users is not None)
    bands = tuple(Band(*curve.knee_users, tints[curve.letter]) for curve in comparison.curves if curve.knee_users is not None)
    highest = max(_top(one) for each in points for _, one in each)
    users = _users_axis(points, [boundary.x for boundary in marked], size)
    axis = linear_axis(highest, y_ticks(size.height))
    return draw_chart(_chart(comparison, points, users, axis, palette, size, quantities.rate_cell, marked, bands), palette, size)


def latency(comparison: Comparison, palette: Palette, size: Size, *, log: bool = False) -> list[Strip]:
    """p95 in ms against users. `log`: on a logarithmic scale."""
    points = [_points(curve, "p95") for curve in comparison.curves]
    values = [one.value or 0.0 for each in points for _, one in each]
    if not values:
        return message("no latency was measured", palette, size)
    highest = max(_top(one) for each in points for _, one in each)
    most = y_ticks(size.height)
    least = min((value for value in values if value > 0), default=1.0)
    axis = log_axis(least, highest, most, latency_tick) if log else linear_axis(highest, most, latency_tick)
    return draw_chart(
        _chart(comparison, points, _users_axis(points, (), size), axis, palette, size, quantities.latency_figure), palette, size
    )


def _points(curve: Curve, name: str) -> Points:
    return [(point.users, point.figures[name]) for point in curve.points if point.figures[name].value is not None]


def _half(one: Estimate) -> float:
    return math.nan if one.se is None else Z95 * one.se


def _top(one: Estimate) -> float:
    return (one.value or 0.0) + (0.0 if one.se is None else Z95 * one.se)


def _users_axis(points: Sequence[Points], more: Sequence[float], size: Size) -> Axis:
    return count_axis(1.05 * max([*more, *(users for each in points for users, _ in each)]), max(size.width // 8, 2))


def _chart(
    comparison: Comparison,
    points: Sequence[Points],
    users: Axis,
    y: Axis,
    palette: Palette,
    size: Size,
    shown: Callable[[float | None], str],
    boundaries: tuple[Boundary, ...] = (),
    bands: tuple[Band, ...] = (),
) -> Chart:
    series, drawn, legend = [], [], []
    for index, (curve, each) in enumerate(zip(comparison.curves, points, strict=True)):
        color, (shape, key) = colors(palette)[index % 4], _SHAPES[index % 3]
        ys = [one.value or 0.0 for _, one in each]
        series.append(Series([users for users, _ in each], ys, color, _PATTERNS[index % 3], letter=curve.letter))
        drawn += [_point(users, one, shape, color) for users, one in each]
        value = shown(max(ys, default=None))
        name = f"{safe(curve.named)} at most"
        legend.append(Legend(key, name, value, color, short=f"{curve.letter} at most", width=len(value)))
    return Chart(
        x=users,
        y=y,
        legend=tuple(legend),
        series=tuple(series),
        points=tuple(drawn),
        bands=bands,
        boundaries=boundaries,
    )


def _point(users: int, one: Estimate, shape: Shape, color: str) -> Point:
    value, half = one.value or 0.0, _half(one)
    return Point(users, value, shape, color, max(value - half, 0.0) if half == half else math.nan, value + half)
