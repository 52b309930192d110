"""Draws a chart to strips: the plot, and around it legend, scales, axis line and x labels.

Pure. It runs in the same interpreter as the load generator, so time spent here delays requests.
"""

from __future__ import annotations

import math
import textwrap
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Size
from textual.strip import Strip

from ..display_options import Palette
from .axis import Axis
from .chart import Band, Boundary, Chart, Heat, Layout, Point, Series, layout, legend_segments
from .raster import DOTS_X, DOTS_Y, Dots, Raster

# -- ink -----------------------------------------------------------------------------------------------------------------------
# Styles and blends of colours. Results are cached, since charts need the same ones for each line they draw.


@lru_cache(1024)
def style(color: str, bold: bool = False) -> Style:
    """The style with this foreground colour (`#rrggbb`)."""
    return Style(color=color, bold=bold or None)


@lru_cache(1024)
def blend(color: str, other: str, share: float) -> str:
    """A mixture of two colours, of which `share` (0 to 1) is the other."""
    return Color.parse(color).blend(Color.parse(other), share).hex6


@lru_cache(1024)
def faded(given: Style, background: str) -> Style:
    """The style with its colour half mixed with the background: for seconds that are not settled."""
    return style(blend(given.color.name, background, 0.5)) if given.color else given


# -- reduce --------------------------------------------------------------------------------------------------------------------
# Reduces many samples to few columns of dots without losing a spike: first, least, greatest and last value of each column (M4).
#
# Jugel, Jerzak, Hackenbroich, Markl: "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014. Columns are cut by
# bisection and reduced by numpy, which reads an array.array without copying it: a day of seconds (86,400) takes 0.5 ms.


Floats = NDArray[np.float64]


def pieces(xs: Sequence[float], ys: Sequence[float], low: float, high: float, columns: int, gap: float) -> tuple[Floats, Floats]:
    """Points (xs, ys) to draw in order of x, at most four per column. y is NaN where the line has a gap: at values that are not
    finite, and where two samples are more than `gap` apart.

    xs ascend; xs and ys have equal lengths. [low, high] is the range of x on `columns` columns of dots. Up to two samples per
    column are returned unchanged, including those outside of the range.
    """
    times, values = np.asarray(xs, np.float64), np.asarray(ys, np.float64)
    if len(times) > 2 * columns:
        times, values = _m4(times, values, low, high, columns)
    lost = np.flatnonzero(np.diff(times) > gap) + 1
    if lost.size:
        times, values = np.insert(times, lost, times[lost]), np.insert(values, lost, np.nan)
    return times, np.where(np.isfinite(values), values, np.nan)


def _m4(times: Floats, values: Floats, low: float, high: float, columns: int) -> tuple[Floats, Floats]:
    """The samples of each column, which lie within half a column of its middle, as four points."""
    width = (high - low) / max(columns - 1, 1)
    cuts = np.searchsorted(times, low + (np.arange(columns + 1) - 0.5) * width)
    filled = np.flatnonzero(np.diff(cuts))
    if not filled.size:
        return times[:0], values[:0]
    starts, stops = cuts[filled], cuts[filled + 1]
    part = values[: stops[-1]]
    least, greatest = np.minimum.reduceat(part, starts), np.maximum.reduceat(part, starts)  # NaN if one of the column is
    found = np.column_stack((part[starts], least, greatest, part[stops - 1]))
    for row in np.flatnonzero(~np.isfinite(least) | ~np.isfinite(greatest)).tolist():
        found[row] = _finite(values[starts[row] : stops[row]])
    return np.repeat(low + filled * width, 4), found.ravel()


def _finite(values: Floats) -> tuple[float, float, float, float] | float:
    """First, least, greatest and last of the finite values; NaN if there are none."""
    known = values[np.isfinite(values)]
    return (known[0], known.min(), known.max(), known[-1]) if known.size else np.nan


HATCH = 4
"""Distance in dots between two lines of a hatched band."""

HEAT_BLENDS = (0.5, 0.4, 0.25, 0.1, 0.0)
"""Share of the background in the colour of each shade of `Heat.SHARES`."""

LETTER_COLUMNS = 4
"""Distance in cells between the letter of one line and that of the next line."""

LABEL_ROWS = 3
"""Number of rows at the top in which the label of a finding may be placed."""


# -- plot ----------------------------------------------------------------------------------------------------------------------
# Draws the plot of a chart on a raster: grid, bands, boundaries, heatmap, series, points and their labels. Pure.


class Plotter:
    """Draws a chart's data and cursor. While all but the cursor remains as it was, only the cursor is drawn again."""

    def __init__(self) -> None:
        self._drawn: tuple[Chart, Palette, Raster] | None = None
        """The last chart, and its raster without a cursor."""

    def plot(self, chart: Chart, palette: Palette, columns: int, rows: int) -> Raster:
        """The chart on `columns` x `rows` cells."""
        raster = self._known(chart, palette, columns, rows)
        if raster is None:
            raster = _draw_data(chart, palette, columns, rows)
            self._drawn = chart, palette, raster
        cursor = None if chart.cursor is None else _dot_x(raster, chart.x, chart.cursor)
        return raster if cursor is None else raster.with_cursor(cursor, style(palette.text, bold=True))

    def _known(self, chart: Chart, palette: Palette, columns: int, rows: int) -> Raster | None:
        if self._drawn is None:
            return None
        before, its_palette, raster = self._drawn
        same_place = (its_palette, raster.columns, raster.rows) == (palette, columns, rows)
        return raster if same_place and _differ_by_cursor(before, chart) else None


def _differ_by_cursor(one: Chart, other: Chart) -> bool:
    """Whether two charts differ in cursor and text at most."""
    return _without_values(one) == _without_values(other) and all(
        _same(a.xs, b.xs) and _same(a.ys, b.ys) for a, b in zip(one.series, other.series, strict=True)
    )


def _without_values(chart: Chart) -> Chart:
    """Without the values of lines, cursor and text. Shades have the cursor's colour, so they keep it."""
    lines = tuple(replace(series, xs=(), ys=()) for series in chart.series)
    cursor = chart.cursor if chart.heat is not None else None
    return replace(chart, series=lines, legend=(), notes=(), tags=(), cursor=cursor, cursor_label="")


def _same(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether all values have the same bits: NaN differs from itself, its bits do not. A day's column takes 0.05 ms."""
    return np.array_equal(np.asarray(one, np.float64).view(np.int64), np.asarray(other, np.float64).view(np.int64))


def _draw_data(chart: Chart, palette: Palette, columns: int, rows: int) -> Raster:
    """All but the cursor."""
    raster = Raster(columns, rows, palette.markers)
    _draw_behind(raster, chart, palette)
    if chart.heat is not None:
        _draw_heat(raster, chart, chart.heat, palette)
    lines = [(series, _draw_series(raster, chart, series)) for series in chart.series]
    if not palette.colours:
        _write_letters(raster, [(series, tops) for series, tops in lines if series.letter and tops])
    _draw_points(raster, chart)
    _draw_boundary_labels(raster, chart, palette)
    return raster


def tick_rows(raster: Raster, axis: Axis) -> dict[int, str]:
    """The label of each row of cells that has a tick, by row from the top."""
    rows: dict[int, str] = {}
    for tick, label in axis.ticks:
        y = _dot_y(raster, axis, tick)
        if y is not None:
            rows.setdefault(y // DOTS_Y, label)
    return rows


def _draw_behind(raster: Raster, chart: Chart, palette: Palette) -> None:
    lit = np.zeros((raster.height, raster.width), np.bool_)
    rows = (_dot_y(raster, chart.y, tick) for tick, _ in chart.y.ticks)
    lit[[row for row in rows if row is not None and 0 <= row < raster.height], ::4] = True
    raster.light(lit, raster.ink(style(blend(palette.faint, palette.background, 0.35))))
    for band in chart.bands:
        raster.light(_hatched(raster, chart.x, band), raster.ink(style(blend(band.color, palette.background, 0.45))))
    for boundary in chart.boundaries:
        x = _dot_x(raster, chart.x, boundary.x)
        if x is not None:
            lit = np.zeros_like(lit)
            lit[:: 1 if boundary.solid else 2, x] = True
            raster.light(lit, raster.ink(style(boundary.color or palette.faint)))
    raster.lay_behind()


def _draw_heat(raster: Raster, chart: Chart, heat: Heat, palette: Palette) -> None:
    """One character per cell; in the column of the inspection cursor in the colour of text."""
    shades = heat.shades(palette.markers)
    inks = [raster.ink(style(blend(palette.primary, palette.background, each))) for each in HEAT_BLENDS]
    here = raster.ink(style(palette.text, bold=True))
    cursor = None if chart.cursor is None else int(chart.x.fraction(chart.cursor) * raster.columns)
    shares = heat.cells(raster.columns, raster.rows)
    for row, column in np.argwhere(shares > 0).tolist():
        shade = bisect_right(heat.SHARES, float(shares[row, column])) - 1
        raster.text(column, row, shades[shade], here if column == cursor else inks[shade], over=True)


def _hatched(raster: Raster, axis: Axis, band: Band) -> NDArray[np.bool_]:
    """Slanted lines, at least two columns of dots wide; horizontal ones on a coarse raster, where slanted ones fill cells."""
    y, x = np.ogrid[: raster.height, : raster.width]
    ends = axis.fraction(band.low), axis.fraction(band.high)
    if any(map(math.isnan, ends)) or ends[0] > 1 or ends[1] < 0:
        return np.zeros((raster.height, raster.width), np.bool_)
    first, last = (round(min(max(end, 0.0), 1.0) * (raster.width - 1)) for end in ends)
    lines = y % (2 * DOTS_Y) == 0 if raster.is_coarse else (x + y) % HATCH == 0
    found: NDArray[np.bool_] = lines & (first <= x) & (x <= max(last, first + 1))
    return found


def _draw_series(raster: Raster, chart: Chart, series: Series) -> dict[int, int]:
    """Draw a line or bars. Returns the highest dot of each column of dots that the line crosses; for bars nothing."""
    axis = chart.right if series.right and chart.right else chart.y
    ink = raster.ink(style(series.color))
    xs, ys = _dots(raster, chart.x, axis, *pieces(series.xs, series.ys, chart.x.low, chart.x.high, raster.width, series.gap))
    if np.isnan(ys).all():
        return {}
    if series.bars:
        raster.bars(xs, ys, ink)
        return {}
    return raster.line(*(_stairs(xs, ys) if series.staircase else (xs, ys)), ink, series.pattern)


def _stairs(xs: Dots, ys: Dots) -> tuple[Dots, Dots]:
    """With a corner before each dot that follows another one."""
    held = np.where(np.isnan(ys[1:]), np.nan, ys[:-1])
    corners = np.column_stack((xs[1:], held, xs[1:], ys[1:])).reshape(-1, 2)
    return np.append(xs[:1], corners[:, 0]), np.append(ys[:1], corners[:, 1])


def _write_letters(raster: Raster, lines: Sequence[tuple[Series, dict[int, int]]]) -> None:
    """Write each line's letter behind its end and along it. The lines take turns, so that coinciding lines show all their
    letters.
    """
    for series, tops in lines:
        last = max(tops)
        ink, row = raster.ink(style(series.color, bold=True)), tops[last] // DOTS_Y
        next((x for x in range(last // DOTS_X + 1, raster.columns) if raster.text(x, row, series.letter, ink)), None)
    period = LETTER_COLUMNS * len(lines)
    for index, (series, tops) in enumerate(lines):
        ink = raster.ink(style(series.color, bold=True))
        for column in range(LETTER_COLUMNS * index + 1, raster.columns, max(period, 1)):
            top = tops.get(column * DOTS_X)
            if top is not None and column + LETTER_COLUMNS <= max(tops) // DOTS_X:
                raster.text(column, top // DOTS_Y, series.letter, ink, over=True)


def _draw_points(raster: Raster, chart: Chart) -> None:
    """Draw the points so that they replace the dots of lines, which would change their shapes."""
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
    """Write a point's label to its upper left, where a rising curve leaves space, or to its lower right, left or right; without
    space there is no label.
    """
    ink = raster.ink(style(point.color, point.bold))
    width = len(point.label)
    for x, y in ((column - width - 1, row - 1), (column + 2, row + 1), (column - width - 2, row), (column + 3, row)):
        if raster.text(x, y, point.label, ink, apart=True):
            return


def _draw_boundary_labels(raster: Raster, chart: Chart, palette: Palette) -> None:
    ink = raster.ink(style(palette.muted))
    dots = [(_dot_x(raster, chart.x, boundary.x), boundary) for boundary in chart.boundaries]
    placed = [(dot // DOTS_X, boundary) for dot, boundary in dots if dot is not None]
    for index, (column, boundary) in enumerate(placed):
        following = placed[index + 1][0] if index + 1 < len(placed) else raster.columns
        if boundary.color:
            _label_finding(raster, column, boundary)
        elif boundary.label and column + 2 + len(boundary.label) < following:
            raster.text(column + 2, 0, boundary.label, ink, apart=True)


def _label_finding(raster: Raster, column: int, boundary: Boundary) -> None:
    ink = raster.ink(style(boundary.color, bold=True))
    for row in range(LABEL_ROWS):
        for x in (column + 2, column - len(boundary.label) - 1):
            if raster.text(x, row, boundary.label, ink, apart=True):
                return


def _dot_x(raster: Raster, axis: Axis, x: float) -> int | None:
    fraction = axis.fraction(x)
    return round(fraction * (raster.width - 1)) if 0 <= fraction <= 1 else None


def _dot_y(raster: Raster, axis: Axis, y: float) -> int | None:
    fraction = axis.fraction(y)
    return None if math.isnan(fraction) else round((1 - fraction) * (raster.height - 1))


def _dot(raster: Raster, x_axis: Axis, y_axis: Axis, x: float, y: float) -> tuple[int, int] | None:
    across, top = x_axis.fraction(x), _dot_y(raster, y_axis, y)
    return None if math.isnan(across) or top is None else (round(across * (raster.width - 1)), top)


def _dots(raster: Raster, x_axis: Axis, y_axis: Axis, xs: Dots, ys: Dots) -> tuple[Dots, Dots]:
    """The dots of many points; NaN in the second for those that have no place."""
    across, up = x_axis.fractions(xs), y_axis.fractions(ys)
    return np.rint(across * (raster.width - 1)), np.where(np.isnan(across), np.nan, np.rint((1 - up) * (raster.height - 1)))


CURSOR = "║"
"""The sign of the inspection cursor on the axis line."""


def draw_chart(chart: Chart, palette: Palette, size: Size, plotter: Plotter | None = None) -> list[Strip]:
    """The lines of the chart: at most `size.height` strips of at most `size.width` cells. `plotter`: one that drew this pane's
    chart before.
    """
    if size.width < 1 or size.height < 1:
        return []
    place = layout(chart, size)
    raster = (plotter or Plotter()).plot(chart, palette, place.columns, place.rows)
    text_lines = [chart.legend, *chart.notes] if chart.legend else list(chart.notes)
    strips = [Strip(legend_segments(legend, palette, size.width)) for legend in text_lines[: place.legend]]
    strips += _plot_strips(raster, chart, palette, place)
    if place.axis_line:
        strips.append(Strip(_axis_line(chart, palette, place)))
    if place.labels:
        strips.append(Strip(_x_labels(chart, palette, place)))
    return strips[: size.height]


def message(text: str, palette: Palette, size: Size) -> list[Strip]:
    """A muted text in the middle of `size`, wrapped at spaces if it is too long."""
    if size.width < 1 or size.height < 1:
        return []
    lines = [
        Strip([Segment(" " * ((size.width - len(line)) // 2)), Segment(line, style(palette.muted))])
        for line in textwrap.wrap(text, size.width)[: size.height]
    ]
    return [Strip([])] * ((size.height - len(lines)) // 2) + lines


def _plot_strips(raster: Raster, chart: Chart, palette: Palette, place: Layout) -> list[Strip]:
    left = tick_rows(raster, chart.y)
    right = tick_rows(raster, chart.right) if chart.right else {}
    unsettled = _covered(chart.unsettled, chart.x, raster.columns) - _covered(chart.settled, chart.x, raster.columns)
    label, line = style(palette.muted), style(palette.faint)
    strips = []
    for row, segments in enumerate(raster.lines(unsettled, lambda given: faded(given, palette.background))):
        if place.left:
            text = left.get(row, "")
            segments[:0] = [Segment(text.rjust(place.left - 1), label), Segment("┤" if text else "│", line)]
        if place.right:
            text = right.get(row, "")
            segments += [Segment("├" if text else "│", line), Segment(text.ljust(place.right - 1), style(palette.accent))]
        strips.append(Strip(segments))
    return strips


def _axis_line(chart: Chart, palette: Palette, place: Layout) -> list[Segment]:
    """The axis line: heavy below settled seconds, dashed below unsettled ones, light elsewhere; with tags and cursor."""
    settled = _covered(chart.settled, chart.x, place.columns)
    unsettled = _covered(chart.unsettled, chart.x, place.columns) - settled
    ticked = {column for tick, _ in chart.x.ticks if (column := _column(chart.x, tick, place.columns)) is not None}
    raster = Raster(place.columns, 1)
    light, heavy = raster.ink(style(palette.faint)), raster.ink(style(palette.muted))
    for line, run in groupby(
        range(place.columns), lambda column: "━" if column in settled else "╌" if column in unsettled else "─"
    ):
        columns = list(run)
        tick = "┯" if line == "━" else "┬"
        text = "".join(tick if column in ticked else line for column in columns)
        raster.text(columns[0], 0, text, light if line == "─" else heavy)
    _write_tags(raster, chart, place.columns)
    cursor = None if chart.cursor is None else _column(chart.x, chart.cursor, place.columns)
    if cursor is not None:
        raster.text(cursor, 0, CURSOR, raster.ink(style(palette.text, bold=True)), over=True)
    ends = [Segment(" " * (place.left - 1)), Segment("└", style(palette.faint))] if place.left else []
    closing = [Segment("┘", style(palette.faint))] if place.right else []
    return ends + raster.lines()[0] + closing


def _write_tags(raster: Raster, chart: Chart, columns: int) -> None:
    """Write each tag's sign with its word to the right, or to the left if the next tag is too near, or without the word."""
    placed = [(column, tag) for tag in chart.tags if (column := _column(chart.x, tag.x, columns)) is not None]
    free = 0
    for index, (column, tag) in enumerate(placed):
        ink = raster.ink(style(tag.color, bold=True))
        raster.text(column, 0, tag.glyph, ink, over=True)
        following = placed[index + 1][0] if index + 1 < len(placed) else columns
        word = f" {tag.word} " if tag.word else ""
        if column + 1 + len(word) < following:
            raster.text(column + 1, 0, word, ink, over=True)
            free = column + len(word) + 2
        else:
            if column - len(word) >= free:
                raster.text(column - len(word), 0, word, ink, over=True)
            free = column + 2


def _x_labels(chart: Chart, palette: Palette, place: Layout) -> list[Segment]:
    """The line of x labels, each below its tick, shifted inwards at the edges. A label that would overlap the one before it or
    that of the cursor is left out.
    """
    width = place.left + place.columns + place.right
    line, end = [" "] * width, -1
    cursor = _label_cells(chart, place, width, chart.cursor, chart.cursor_label)
    for tick, label in chart.x.ticks:
        cells = _label_cells(chart, place, width, tick, label)
        if cells is None or cells[0] <= end or (cursor is not None and cells[0] <= cursor[1] and cursor[0] <= cells[1]):
            continue
        line[cells[0] : cells[1]] = label
        end = cells[1]
    muted = style(palette.muted)
    if cursor is None:
        return [Segment("".join(line), muted)]
    before, after = "".join(line[: cursor[0]]), "".join(line[cursor[1] :])
    return [Segment(before, muted), Segment(chart.cursor_label, style(palette.text, bold=True)), Segment(after, muted)]


def _label_cells(chart: Chart, place: Layout, width: int, x: float | None, label: str) -> tuple[int, int] | None:
    """The range of cells of a label below its x as (first, end), the end excluded; None if x is not on the axis or the label is
    empty or too long.
    """
    column = None if x is None else _column(chart.x, x, place.columns)
    if column is None or not label or len(label) > width:
        return None
    start = min(max(place.left + column - len(label) // 2, 0), width - len(label))
    return start, start + len(label)


def _covered(spans: Sequence[tuple[float, float]], axis: Axis, columns: int) -> set[int]:
    """The columns of cells whose middle lies in one of the spans."""
    covered: set[int] = set()
    for start, end in spans:
        first, last = axis.fraction(start) * columns, axis.fraction(end) * columns
        if not (math.isnan(first) or math.isnan(last)):
            covered.update(range(max(math.ceil(first - 0.5), 0), min(math.ceil(last - 0.5), columns)))
    return covered


def _column(axis: Axis, x: float, columns: int) -> int | None:
    fraction = axis.fraction(x)
    return min(round(fraction * (columns * DOTS_X - 1)) // DOTS_X, columns - 1) if 0 <= fraction <= 1 else None
