"""Draws a chart to strips: the plot, and around it legend, scales, axis line and x labels.

Pure. It runs in the same interpreter as the load generator, so time spent here delays requests.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import groupby

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip

from ..display_options import Palette
from .axis import Axis
from .chart import Chart, Layout, layout
from .legend import legend_segments
from .plot import Plotter, faded, style, tick_rows
from .raster import DOTS_X, Raster

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
