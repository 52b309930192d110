"""A chart as a value, and the sizes of its parts: lines of legend, plot, axis line, x labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Literal, get_args

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Size

from ...configuration import Markers
from ...wording.quantities import latency_cell, latency_cells
from ..display_options import Palette
from .axis import Axis
from .raster import Pattern, Shape
from .text import styled

MIN_AXIS_LINE_ROWS = 7
"""Height in cells below which a chart has no axis line, and the plot uses its row."""
MIN_GUTTER_COLUMNS = 24
"""Width in cells below which a chart has no y labels, and the plot uses their columns."""


class Series(msgspec.Struct, frozen=True):
    """One line, or bars that begin at the bottom of the plot. xs ascend; NaN in ys is a gap."""

    xs: Sequence[float]
    ys: Sequence[float]
    color: str
    pattern: Pattern = Pattern.SOLID
    staircase: bool = False
    """Whether the line is a step function: each value stays until the next x."""
    bars: bool = False
    right: bool = False
    """Whether ys are on the right scale."""
    gap: float = math.inf
    """Distance between two xs beyond which there is a gap between them."""
    letter: str = ""
    """Written along the line and at its end on a screen without colours; the legend shows the letter instead of the key."""


class Point(msgspec.Struct, frozen=True):
    """A small shape with an error bar from `low` to `high`, unless these are NaN. The shape is drawn with dots, not as a
    character, which could be wrong by half a cell: a tenth of the height of a low chart.
    """

    x: float
    y: float
    shape: Shape
    color: str
    low: float = math.nan
    high: float = math.nan
    bold: bool = False
    label: str = ""


class Boundary(msgspec.Struct, frozen=True):
    """A vertical line with a label at its top, where it fits."""

    x: float
    label: str = ""
    color: str = ""
    """Empty: faint, with the label in the top row. With a colour, the line of a finding, whose label may be in a lower row."""
    solid: bool = False
    """False: dotted."""


class Band(msgspec.Struct, frozen=True):
    """A span of x, hatched so that it can be recognised without colours."""

    low: float
    high: float
    color: str


class Tag(msgspec.Struct, frozen=True):
    """A sign on the axis line, with a word next to it if there is space."""

    x: float
    glyph: str
    color: str
    word: str = ""


class Heat(msgspec.Struct, frozen=True):
    """A heatmap: the shade of each cell shows a share from 0 to 1."""

    cells: Callable[[int, int], NDArray[np.float64]]
    """Computes the shares for a plot of (columns, rows) cells, with shape [rows, columns], the top row first; 0: an empty cell.
    """

    SHARES: ClassVar = (0.0, 0.01, 0.05, 0.15, 0.4)
    """The least share for which each shade is drawn."""

    @staticmethod
    def shades(markers: Markers) -> str:
        """One character for each of SHARES, in the same order."""
        return ".-+*#" if markers == "ascii" else "·░▒▓█"


class Chart(msgspec.Struct, frozen=True):
    """All parts of a chart. Spans, tags, boundaries and the cursor have positions on `x`."""

    x: Axis
    y: Axis
    right: Axis | None = None
    """The scale at the right edge, if there is one."""
    legend: tuple[Legend, ...] = ()
    notes: tuple[tuple[Legend, ...], ...] = ()
    """Further lines below the legend; the last ones are left out if the chart is low."""
    series: tuple[Series, ...] = ()
    """Later ones are drawn over earlier ones."""
    points: tuple[Point, ...] = ()
    bands: tuple[Band, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    tags: tuple[Tag, ...] = ()
    unsettled: tuple[tuple[float, float], ...] = ()
    """Spans of x whose seconds are not settled and do not count: lines are faint there, and the axis is dashed."""
    settled: tuple[tuple[float, float], ...] = ()
    """Spans of x whose seconds are settled and count: the axis is heavy there."""
    heat: Heat | None = None
    cursor: float | None = None
    """The x of the inspection cursor; None: there is no cursor."""
    cursor_label: str = ""
    """Shown below the cursor instead of the x labels that it would cover."""


class Layout(msgspec.Struct, frozen=True):
    """The sizes of a chart's parts in cells."""

    legend: int
    """Rows of the legend and its notes."""
    left: int
    """Columns of the y labels, with the vertical line next to them; 0: none."""
    right: int
    """Columns of the labels of the right scale, with its line; 0: none."""
    columns: int
    """Columns of the plot."""
    rows: int
    """Rows of the plot."""
    axis_line: int
    """Rows of the axis line: 1 or 0."""
    labels: int
    """Rows of the x labels: 1 or 0."""


def layout(chart: Chart, size: Size) -> Layout:
    """The sizes of the parts of a chart of `size` cells. The plot has at least one cell, even if the chart is then too large."""
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
    """The x at the middle of this column of a chart of `size` cells; None outside of the plot."""
    place = layout(chart, size)
    across = column - place.left
    if not 0 <= across < place.columns:
        return None
    fraction = (across + 0.5) / place.columns
    return chart.x.low + fraction * (chart.x.high - chart.x.low)


def note_rows(height: int) -> int:
    """The most lines of notes of a chart of this height in rows: none for 9 rows, 1 for 10, 3 for 16."""
    return max((height - 7) // 3, 0)


def plot_rows(height: int) -> int:
    """Rows of the plot of a chart that has a legend of one line and `height` rows."""
    return max(height - (height >= 3) - (height >= 5) - (height >= MIN_AXIS_LINE_ROWS), 1)


def y_ticks(height: int) -> int:
    """The most y ticks of a chart of this height in rows: 2 for 8 rows, 8 for 34."""
    rows = plot_rows(height)
    return max(min(rows // 2, 3 + rows // 6), 2)


# -- legend --------------------------------------------------------------------------------------------------------------------
# The line above a plot: key, name and latest value of each series. In a narrow chart names are shortened first, then values of
# later entries are left out, then these entries.


LINES = SOLID, DASHED, DOTTED, BARS, STAIRCASE = "──", "╌╌", "┈┈", "▂▅", "▁▃"
"""Keys that look like the lines they stand for."""

Form = Literal["full", "short", "tight", "tightest"]
FORMS: tuple[Form, ...] = get_args(Form)
"""Forms of an entry, the widest first. `short`: with short names; `tight`: with keys of lines in one cell too, and one space
between entries; `tightest`: no space between such a key and its name too.
"""


class Legend(msgspec.Struct, frozen=True):
    """One entry. Its texts are written as they are: they contain no text of targets or profiles."""

    key: str
    name: str
    value: str
    color: str
    short: str = ""
    """A shorter name for narrow charts; empty: the name."""
    quiet: bool = False
    """Whether the value is grey, because it is computed from too few requests."""
    strong: bool = False
    """Whether the name is bold, as in an entry whose name is the finding."""
    width: int = 5
    """Cells in which the value is right-aligned, so that later entries do not move when it changes."""
    letter: str = ""
    """Shown instead of the key on a screen without colours."""
    aside: bool = False
    """Whether the entry belongs to no series of the chart. Such entries are left out before those of series."""

    def texts(self, form: Form) -> tuple[str, str, str]:
        """(key, name, value) in this form, with the spaces between them."""
        name = self.name if form == "full" else self.short or self.name
        value = f" {self.value:>{0 if form == 'tightest' else self.width}}" if self.value else ""
        is_line = self.key in LINES
        key = self.key[:1] if is_line and form in ("tight", "tightest") else self.key
        return key, f" {name}" if key and not (is_line and form == "tightest") else name, value


def latency_legend(
    key: str,
    name: str,
    value_ms: float,
    color: str,
    *,
    short: str = "",
    letter: str = "",
    quiet: bool = False,
    aside: bool = False,
) -> Legend:
    """The entry of a latency, in the chosen unit."""
    cells, shown = latency_cells(), latency_cell(value_ms)
    return Legend(key, name, shown, color, short=short, quiet=quiet, width=cells, letter=letter, aside=aside)


def legend_segments(legends: Sequence[Legend], palette: Palette, width: int) -> list[Segment]:
    """The entries in at most `width` cells, in the widest form that fits; entries and values at the end are left out first."""
    if not palette.colours:
        legends = [replace(legend, key=legend.letter or legend.key) for legend in legends]
    shown, form = next((shown, form) for shown, form in _ever_shorter(legends) if not shown or _length(shown, form) <= width)
    segments: list[Segment] = []
    for legend in shown:
        key, name, value = legend.texts(form)
        quiet = styled(color=palette.muted)
        if segments:
            segments.append(Segment(_between(form)))
        segments += [
            Segment(key, styled(color=legend.color, bold=True)),
            Segment(name, styled(color=palette.text, bold=True) if legend.strong else quiet),
            Segment(value, quiet if legend.quiet else styled(color=palette.text)),
        ]
    return segments


def _ever_shorter(legends: Sequence[Legend]) -> Iterator[tuple[list[Legend], Form]]:
    """(entries, form) from the widest to none: short names; without entries aside; tight; without later values; without later
    entries.
    """
    shown = list(legends)
    yield shown, "full"
    yield shown, "short"
    for legend in reversed(legends):
        if legend.aside:
            shown.remove(legend)
            yield shown, "short"
    yield shown, "tight"
    yield shown, "tightest"
    for index in range(len(shown) - 1, 0, -1):
        shown[index] = replace(shown[index], value="")
        yield shown, "tightest"
    while shown:
        shown.pop()
        yield from ((shown, form) for form in FORMS[1:])


def _length(legends: Sequence[Legend], form: Form) -> int:
    between = len(_between(form)) * (len(legends) - 1)
    return sum(cell_len("".join(legend.texts(form))) for legend in legends) + between


def _between(form: Form) -> str:
    return " " if form in ("tight", "tightest") else "  "
