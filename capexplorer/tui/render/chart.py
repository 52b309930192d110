"""A chart as a value, and where its parts stand: a line of legend, the plot, the axis line, the x labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from textual.geometry import Size

from ...configuration import Markers
from .axis import Axis
from .legend import Legend
from .raster import Pattern, Shape

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
    letter: str = ""
    """Names the line where there are no colours, here and there on it and at its end; the legend has it in place of its key."""


@dataclass(frozen=True, slots=True)
class Point:
    """A small shape with an error bar, if it has one. Of dots, not a character: half a cell is a tenth of a low chart."""

    x: float
    y: float
    shape: Shape
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
    color: str = ""
    """Faint if empty. With a colour it is a finding's line, whose label may also be placed further down."""
    solid: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """A span of x, hatched so that it reads without colour."""

    low: float
    high: float
    color: str


@dataclass(frozen=True, slots=True)
class Tag:
    """A glyph on the axis line, with a word next to it if it fits."""

    x: float
    glyph: str
    color: str
    word: str = ""


@dataclass(frozen=True, slots=True)
class Heat:
    """Shades instead of lines: a cell's shade stands for a share."""

    cells: Callable[[int, int], NDArray[np.float64]]
    """By (columns, rows) of the plot: shares [row, column], the top row first; 0 is empty."""

    SHARES: ClassVar = (0.0, 0.01, 0.05, 0.15, 0.4)
    """From which share on each shade is drawn."""

    @staticmethod
    def shades(markers: Markers) -> str:
        """Of SHARES, in order."""
        return ".-+*#" if markers == "ascii" else "·░▒▓█"


@dataclass(frozen=True, slots=True)
class Chart:
    """All that is drawn."""

    x: Axis
    y: Axis
    right: Axis | None = None
    legend: tuple[Legend, ...] = ()
    notes: tuple[tuple[Legend, ...], ...] = ()
    """Further lines under the legend, of which as many are shown as fit, the first ones first."""
    series: tuple[Series, ...] = ()
    """Later ones over earlier ones."""
    points: tuple[Point, ...] = ()
    bands: tuple[Band, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    tags: tuple[Tag, ...] = ()
    aside: tuple[tuple[float, float], ...] = ()
    """Spans of x that are set aside (settling): faint lines there, and a dashed axis."""
    measured: tuple[tuple[float, float], ...] = ()
    """Spans of x that count: a heavy axis."""
    heat: Heat | None = None
    cursor: float | None = None
    """Where the inspection cursor stands."""
    cursor_label: str = ""
    """In place of the x label there."""

    def plot_rows(self, size: Size) -> int:
        """Rows of its plot."""
        return layout(self, size).rows


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
    legend = (1 if size.height >= 3 and chart.legend else 0) + min(len(chart.notes), note_rows(size.height))
    labels = 1 if size.height >= 5 else 0
    axis_line = 1 if size.height >= MIN_AXIS_LINE_ROWS else 0
    left = right = 0
    if size.width >= MIN_GUTTER_COLUMNS:
        left = max((len(label) for _, label in chart.y.ticks), default=0) + 1
        right = max((len(label) for _, label in chart.right.ticks), default=0) + 1 if chart.right else 0
    rows = max(size.height - legend - labels - axis_line, 1)
    return Layout(legend, left, right, max(size.width - left - right, 1), rows, axis_line, labels)


def x_at(chart: Chart, size: Size, column: int) -> float | None:
    """The x that this column of the chart's `size` stands for; None outside of the plot."""
    place = layout(chart, size)
    across = column - place.left
    if not 0 <= across < place.columns:
        return None
    fraction = (across + 0.5) / place.columns
    return chart.x.low + fraction * (chart.x.high - chart.x.low)


def note_rows(height: int) -> int:
    """Most lines of notes: none on 9 lines, 1 on 10, 3 on 16."""
    return max((height - 7) // 3, 0)


def plot_rows(height: int) -> int:
    """Rows that the plot of a chart with a legend gets: what the number of y ticks depends on."""
    return max(height - (height >= 3) - (height >= 5) - (height >= MIN_AXIS_LINE_ROWS), 1)


def y_ticks(height: int) -> int:
    """Most y ticks of a chart: 4 on 8 rows, 8 on 34."""
    rows = plot_rows(height)
    return max(min(rows // 2, 3 + rows // 6), 2)
