"""Inside the axes: grid, boundaries, series, points and their labels, drawn on a raster. Pure."""

from __future__ import annotations

import math

from ..look import Palette
from .axis import Axis
from .chart import Chart, Point, Series
from .ink import blend, style
from .raster import DOTS_X, DOTS_Y, Raster
from .reduce import pieces


def draw_plot(chart: Chart, palette: Palette, columns: int, rows: int) -> Raster:
    """All of a chart's data on `columns` x `rows` cells."""
    raster = Raster(columns, rows)
    _draw_behind(raster, chart, palette)
    for series in chart.series:
        _draw_series(raster, chart, series)
    _draw_points(raster, chart)
    _draw_boundary_labels(raster, chart, palette)
    return raster


def tick_rows(raster: Raster, axis: Axis) -> dict[int, str]:
    """Label of each cell row that has a tick."""
    rows: dict[int, str] = {}
    for tick, label in axis.ticks:
        y = _dot_y(raster, axis, tick)
        if y is not None:
            rows.setdefault(y // DOTS_Y, label)
    return rows


def _draw_behind(raster: Raster, chart: Chart, palette: Palette) -> None:
    grid = raster.ink(style(blend(palette.faint, palette.background, 0.35)))
    for tick, _ in chart.y.ticks:
        row = _dot_y(raster, chart.y, tick)
        if row is not None:
            for across in range(0, raster.width, 4):
                raster.span(across, row, row, grid)
    faint = raster.ink(style(palette.faint))
    for boundary in chart.boundaries:
        x = _dot_x(raster, chart.x, boundary.x)
        if x is not None:
            for dot in range(0, raster.height, 2):
                raster.span(x, dot, dot, faint)
    raster.lay_behind()


def _draw_series(raster: Raster, chart: Chart, series: Series) -> None:
    axis = chart.right if series.right and chart.right else chart.y
    ink = raster.ink(style(series.color))
    points: list[tuple[int, int] | None] = []
    for point in pieces(series.xs, series.ys, chart.x.low, chart.x.high, raster.width, series.gap):
        dot = None if point is None else _dot(raster, chart.x, axis, *point)
        if series.staircase and dot is not None and points and (before := points[-1]) is not None:
            points.append((dot[0], before[1]))
        points.append(dot)
    if series.bars:
        for dot in points:
            if dot is not None and dot[1] < raster.height - 1:
                raster.span(dot[0], dot[1], raster.height - 1, ink)
    else:
        raster.line(points, ink, series.pattern)


def _draw_points(raster: Raster, chart: Chart) -> None:
    """Over the lines, whose dots would blur their shapes."""
    if chart.points:
        raster.lay_behind()
    for point in chart.points:
        dot = _dot(raster, chart.x, chart.y, point.x, point.y)
        if dot is None or not (0 <= dot[0] < raster.width and 0 <= dot[1] < raster.height):
            continue
        ink = raster.ink(style(point.color, point.bold))
        top, bottom = _dot_y(raster, chart.y, point.high), _dot_y(raster, chart.y, point.low)
        if top is not None and bottom is not None:
            raster.span(dot[0], top, bottom, ink)
        raster.shape(*dot, point.shape, ink)
    for point in reversed(chart.points):
        dot = _dot(raster, chart.x, chart.y, point.x, point.y)
        if dot is not None and point.label:
            _label_point(raster, point, dot[0] // DOTS_X, dot[1] // DOTS_Y)


def _label_point(raster: Raster, point: Point, column: int, row: int) -> None:
    """To the upper left, where a rising curve leaves room, else to the lower right, else not at all."""
    ink = raster.ink(style(point.color, point.bold))
    width = len(point.label)
    for x, y in ((column - width, row - 1), (column + 1, row + 1), (column - width - 1, row), (column + 2, row)):
        if raster.text(x, y, point.label, ink):
            return


def _draw_boundary_labels(raster: Raster, chart: Chart, palette: Palette) -> None:
    ink = raster.ink(style(palette.muted))
    dots = [(_dot_x(raster, chart.x, boundary.x), boundary.label) for boundary in chart.boundaries]
    placed = [(dot // DOTS_X, label) for dot, label in dots if dot is not None]
    for index, (column, label) in enumerate(placed):
        following = placed[index + 1][0] if index + 1 < len(placed) else raster.columns
        if label and column + 1 + len(label) < following:
            raster.text(column + 1, 0, label, ink)


def _dot_x(raster: Raster, axis: Axis, x: float) -> int | None:
    fraction = axis.fraction(x)
    return round(fraction * (raster.width - 1)) if 0 <= fraction <= 1 else None


def _dot_y(raster: Raster, axis: Axis, y: float) -> int | None:
    fraction = axis.fraction(y)
    return None if math.isnan(fraction) else round((1 - fraction) * (raster.height - 1))


def _dot(raster: Raster, x_axis: Axis, y_axis: Axis, x: float, y: float) -> tuple[int, int] | None:
    across, top = x_axis.fraction(x), _dot_y(raster, y_axis, y)
    return None if math.isnan(across) or top is None else (round(across * (raster.width - 1)), top)
