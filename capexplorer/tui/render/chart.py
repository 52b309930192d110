"""A chart as a value, drawn to strips: legend, scales, plot, x axis. Pure, no numpy: it shares an interpreter with the generator.

From top to bottom: one line of legend, the plot, the axis line with marks (where the height allows), the x labels.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Size
from textual.strip import Strip

from ..look import Palette
from .axis import Axis
from .legend import Legend, legend_segments
from .raster import DOTS_X, DOTS_Y, Pattern, Raster
from .reduce import pieces

MIN_AXIS_LINE_ROWS = 7
"""Below this height the plot gets the axis line's row."""
MIN_GUTTER_COLUMNS = 24
"""Below this width the plot gets the gutters' columns."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or bars from the lower bound. xs ascend; NaN in ys is a gap."""

    xs: Sequence[float]
    ys: Sequence[float]
    color: str
    pattern: Pattern = Pattern.SOLID
    staircase: bool = False
    """Holds each value until the next x."""
    bars: bool = False
    right: bool = False
    """Against the right scale."""
    gap: float = math.inf
    """No sample for longer than this is a gap too."""


@dataclass(frozen=True, slots=True)
class Point:
    """A glyph with an error bar, if it has one."""

    x: float
    y: float
    glyph: str
    color: str
    low: float = math.nan
    high: float = math.nan
    bold: bool = False
    label: str = ""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A vertical line with a label at its top, where it fits."""

    x: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Tag:
    """A glyph on the axis line, with a word beside it where it fits."""

    x: float
    glyph: str
    color: str
    word: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """All that is drawn."""

    x: Axis
    y: Axis
    right: Axis | None = None
    legend: tuple[Legend, ...] = ()
    series: tuple[Series, ...] = ()
    """Later ones over earlier ones."""
    points: tuple[Point, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    tags: tuple[Tag, ...] = ()
    aside: tuple[tuple[float, float], ...] = ()
    """Spans of x that are set aside (settling): faint lines there, and a dashed axis."""
    measured: tuple[tuple[float, float], ...] = ()
    """Spans of x that count: a heavy axis."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things stand, in cells."""

    legend: int
    left: int
    right: int
    columns: int
    rows: int
    axis_line: int
    labels: int


def layout(chart: Chart, size: Size) -> Layout:
    """Share out `size`; the plot keeps at least one cell."""
    legend = 1 if size.height >= 3 and chart.legend else 0
    labels = 1 if size.height >= 5 else 0
    axis_line = 1 if size.height >= MIN_AXIS_LINE_ROWS else 0
    left = right = 0
    if size.width >= MIN_GUTTER_COLUMNS:
        left = max((len(label) for _, label in chart.y.ticks), default=0) + 1
        right = max((len(label) for _, label in chart.right.ticks), default=0) + 1 if chart.right else 0
    rows = max(size.height - legend - labels - axis_line, 1)
    return Layout(legend, left, right, max(size.width - left - right, 1), rows, axis_line, labels)


def plot_rows(height: int) -> int:
    """Rows that the plot of a chart with a legend gets: what the number of y ticks depends on."""
    return max(height - (height >= 3) - (height >= 5) - (height >= MIN_AXIS_LINE_ROWS), 1)


def y_ticks(height: int) -> int:
    """Most y ticks of a chart: 4 on 8 rows, 8 on 34."""
    rows = plot_rows(height)
    return max(min(rows // 2, 3 + rows // 6), 2)


def draw_chart(chart: Chart, palette: Palette, size: Size) -> list[Strip]:
    """At most `size.height` strips of at most `size.width` cells."""
    if size.width < 1 or size.height < 1:
        return []
    place = layout(chart, size)
    raster = Raster(place.columns, place.rows)
    _draw_behind(raster, chart, palette)
    for series in chart.series:
        _draw_series(raster, chart, series)
    _draw_points(raster, chart)
    _draw_boundary_labels(raster, chart, palette)
    strips = [Strip(legend_segments(chart.legend, palette, size.width))] if place.legend else []
    strips += _plot_strips(raster, chart, palette, place)
    if place.axis_line:
        strips.append(Strip(_axis_line(chart, palette, place)))
    if place.labels:
        strips.append(Strip(_x_labels(chart, palette, place)))
    return strips[: size.height]


def message(text: str, palette: Palette, size: Size) -> list[Strip]:
    """One muted line in the middle, wrapped at words where it is too long."""
    if size.width < 1 or size.height < 1:
        return []
    lines = [
        Strip([Segment(" " * ((size.width - len(line)) // 2)), Segment(line, style(palette.muted))])
        for line in textwrap.wrap(text, size.width)[: size.height]
    ]
    return [Strip([])] * ((size.height - len(lines)) // 2) + lines


@lru_cache(1024)
def style(color: str, bold: bool = False) -> Style:
    """A foreground."""
    return Style(color=color, bold=bold or None)


@lru_cache(1024)
def blend(color: str, other: str, share: float) -> str:
    """`share` of the way from one colour to the other."""
    return Color.parse(color).blend(Color.parse(other), share).hex6


@lru_cache(1024)
def faded(given: Style, background: str) -> Style:
    """Half of the way to the background: seconds that are set aside."""
    return style(blend(given.color.name, background, 0.5)) if given.color else given


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
    for point in chart.points:
        dot = _dot(raster, chart.x, chart.y, point.x, point.y)
        if dot is None or not (0 <= dot[0] < raster.width and 0 <= dot[1] < raster.height):
            continue
        ink = raster.ink(style(point.color, point.bold))
        top, bottom = _dot_y(raster, chart.y, point.high), _dot_y(raster, chart.y, point.low)
        if top is not None and bottom is not None and bottom - top > DOTS_Y:  # a shorter one is within its glyph
            raster.span(dot[0], top, bottom, ink)
        column, row = dot[0] // DOTS_X, dot[1] // DOTS_Y
        raster.text(column, row, point.glyph, ink, over=True)
    for point in chart.points:
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


def _plot_strips(raster: Raster, chart: Chart, palette: Palette, place: Layout) -> list[Strip]:
    left = _tick_rows(raster, chart.y)
    right = _tick_rows(raster, chart.right) if chart.right else {}
    aside = _covered(chart.aside, chart.x, raster.columns) - _covered(chart.measured, chart.x, raster.columns)
    label, line = style(palette.muted), style(palette.faint)

    def shade(column: int, given: Style) -> Style:
        return faded(given, palette.background) if column in aside else given

    strips = []
    for row in range(raster.rows):
        segments = raster.row(row, shade if aside else None)
        if place.left:
            text = left.get(row, "")
            segments[:0] = [Segment(text.rjust(place.left - 1), label), Segment("┤" if text else "│", line)]
        if place.right:
            text = right.get(row, "")
            segments += [Segment("├" if text else "│", line), Segment(text.ljust(place.right - 1), style(palette.accent))]
        strips.append(Strip(segments))
    return strips


def _axis_line(chart: Chart, palette: Palette, place: Layout) -> list[Segment]:
    """Heavy where seconds count, dashed where they are set aside, light where there is nothing; tags over it."""
    measured = _covered(chart.measured, chart.x, place.columns)
    aside = _covered(chart.aside, chart.x, place.columns) - measured
    ticked = {column for tick, _ in chart.x.ticks if (column := _column(chart.x, tick, place.columns)) is not None}
    raster = Raster(place.columns, 1)
    light, heavy = raster.ink(style(palette.faint)), raster.ink(style(palette.muted))
    for column in range(place.columns):
        if column in measured:
            raster.text(column, 0, "┯" if column in ticked else "━", heavy)
        elif column in aside:
            raster.text(column, 0, "┬" if column in ticked else "╌", heavy)
        else:
            raster.text(column, 0, "┬" if column in ticked else "─", light)
    _write_tags(raster, chart, place.columns)
    ends = [Segment(" " * (place.left - 1)), Segment("└", style(palette.faint))] if place.left else []
    closing = [Segment("┘", style(palette.faint))] if place.right else []
    return ends + raster.row(0) + closing


def _write_tags(raster: Raster, chart: Chart, columns: int) -> None:
    placed = [(column, tag) for tag in chart.tags if (column := _column(chart.x, tag.x, columns)) is not None]
    for index, (column, tag) in enumerate(placed):
        ink = raster.ink(style(tag.color, bold=True))
        raster.text(column, 0, tag.glyph, ink, over=True)
        following = placed[index + 1][0] if index + 1 < len(placed) else columns
        if tag.word and column + 1 + len(tag.word) < following:
            raster.text(column + 1, 0, tag.word, ink, over=True)


def _x_labels(chart: Chart, palette: Palette, place: Layout) -> list[Segment]:
    """Each under its tick, pushed inside at the ends, left out where the one before is in the way."""
    width = place.left + place.columns + place.right
    line, end = [" "] * width, -1
    for tick, label in chart.x.ticks:
        column = _column(chart.x, tick, place.columns)
        if column is None or len(label) > width:
            continue
        start = min(max(place.left + column - len(label) // 2, 0), width - len(label))
        if start > end:
            line[start : start + len(label)] = label
            end = start + len(label)
    return [Segment("".join(line), style(palette.muted))]


def _tick_rows(raster: Raster, axis: Axis) -> dict[int, str]:
    rows: dict[int, str] = {}
    for tick, label in axis.ticks:
        y = _dot_y(raster, axis, tick)
        if y is not None:
            rows.setdefault(y // DOTS_Y, label)
    return rows


def _covered(spans: Sequence[tuple[float, float]], axis: Axis, columns: int) -> set[int]:
    """Cells whose middle lies in one of the spans."""
    covered: set[int] = set()
    for start, end in spans:
        first, last = axis.fraction(start) * columns, axis.fraction(end) * columns
        if not (math.isnan(first) or math.isnan(last)):
            covered.update(range(max(math.ceil(first - 0.5), 0), min(math.ceil(last - 0.5), columns)))
    return covered


def _column(axis: Axis, x: float, columns: int) -> int | None:
    fraction = axis.fraction(x)
    return min(round(fraction * (columns * DOTS_X - 1)) // DOTS_X, columns - 1) if 0 <= fraction <= 1 else None


def _dot_x(raster: Raster, axis: Axis, x: float) -> int | None:
    fraction = axis.fraction(x)
    return round(fraction * (raster.width - 1)) if 0 <= fraction <= 1 else None


def _dot_y(raster: Raster, axis: Axis, y: float) -> int | None:
    fraction = axis.fraction(y)
    return None if math.isnan(fraction) else round((1 - fraction) * (raster.height - 1))


def _dot(raster: Raster, x_axis: Axis, y_axis: Axis, x: float, y: float) -> tuple[int, int] | None:
    across, top = x_axis.fraction(x), _dot_y(raster, y_axis, y)
    return None if math.isnan(across) or top is None else (round(across * (raster.width - 1)), top)
