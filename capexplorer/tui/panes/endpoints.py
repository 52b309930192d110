"""The endpoint table of the current level, with as many columns as fit. Percentiles of too few values are grey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from ...model.timeline import Timeline
from ...wording import numbers, quantities
from ..display_options import DisplayOptions, Palette
from ..render import text
from .endpoint_rows import Row, first_to_degrade, rows_shown
from .scrolling import ScrollingPane

ENOUGH_FOR_P95 = 200
ENOUGH_FOR_P99 = 1_000
"""Number of values from which p95 and p99 are not grey: ten values exceed the percentile then."""

DEGRADES = "▸ "
"""The sign before the endpoint that degrades first."""

LEGEND = f"{DEGRADES}degrades first"
"""The meaning of that sign, in the line of titles."""

NAME_CELLS = 16
"""Least width of the name in cells; columns for which there is then no space are left out."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of figures."""

    title: str
    cells: int
    rank: int = 0
    """In a narrow terminal the columns with the highest rank are left out first; those with 0 stay."""


def columns() -> list[Column]:
    """All columns from left to right. The width of latencies depends on the chosen unit."""
    cells = quantities.latency_cells()
    return [
        Column("requests", 8, rank=1),
        Column("req/s", 6),
        Column("failed", 6, rank=2),
        Column("%", 5),
        Column("p50", cells),
        Column("p95", cells),
        Column("p99", cells),
        Column("max", cells, rank=3),
        Column("bytes", 5, rank=4),
    ]


class EndpointsPane(ScrollingPane):
    """Requests, failures and latency per endpoint."""

    TITLE = "Endpoints"

    @property
    def full_title(self) -> str:
        """With the unit of its latencies."""
        return quantities.latency_title(self.TITLE, "  ")

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """Label and titles at the top, the total at the end, and between them as many rows as fit."""
        palette, width = options.palette, size.width
        label, rows = rows_shown(timeline)
        first, muted = first_to_degrade(timeline), Style(color=palette.muted)
        if not rows:
            words = "  no level yet" if timeline.level is None else f"  {label}: no requests yet"
            return [text.line([(words, muted)], width)]
        shown = fitting(width)
        head = [text.line([(f" {label}", muted)], width), _titles(shown, palette, width, first is not None)]
        first_name = None if first is None else f"{first.method} {first.name}"
        body = [_row(row, shown, palette, width, first=row.name == first_name) for row in rows[1:]]
        body.append(_row(rows[0], shown, palette, width, total=True))
        begin, end = self.window(len(body), max(0, size.height - len(head)))
        return [*head, *body[begin:end]][: size.height]


def title_line(palette: Palette, width: int, *, one_degrades: bool) -> Strip:
    """The titles of the columns that fit."""
    return _titles(fitting(width), palette, width, one_degrades)


def row_line(row: Row, palette: Palette, width: int, *, first: bool = False) -> Strip:
    """One row with those columns. `first`: whether the endpoint degrades first."""
    return _row(row, fitting(width), palette, width, first=first)


def fitting(width: int) -> list[Column]:
    """The columns that fit next to the name."""
    found = columns()
    while _name_cells(found, width) < NAME_CELLS and (worst := max(found, key=lambda column: column.rank)).rank:
        found.remove(worst)
    return found


def _name_cells(columns: Sequence[Column], width: int) -> int:
    return width - 2 - sum(column.cells + 1 for column in columns)


def _titles(columns: Sequence[Column], palette: Palette, width: int, one_degrades: bool) -> Strip:
    """The line of titles. `one_degrades`: the title of the names explains the sign before one of them."""
    titles = "".join(" " + text.pad(column.title, column.cells, right=True) for column in columns)
    legend = " " + text.pad(LEGEND * one_degrades, _name_cells(columns, width))
    return text.line([(legend, _degrades_style(palette)), (titles, Style(color=palette.muted))], width)


def _degrades_style(palette: Palette) -> Style:
    return Style(color=palette.warning, bold=True)


def _row(row: Row, columns: Sequence[Column], palette: Palette, width: int, *, total: bool = False, first: bool = False) -> Strip:
    """`first`: the endpoint degrades first."""
    plain, grey = Style(color=palette.text, bold=total), Style(color=palette.muted, bold=total)
    failed = Style(color=palette.error, bold=True) if row.failures else grey
    figures = {
        "requests": (numbers.count(row.requests), plain),
        "req/s": (quantities.rate_cell(row.rate_rps), plain),
        "failed": (numbers.count(row.failures), failed),
        "%": (text.percent(row.failure_ratio), failed),
        "p50": (quantities.latency_cell(row.p50_ms), plain),
        "p95": (quantities.latency_cell(row.p95_ms), plain if row.successes >= ENOUGH_FOR_P95 else grey),
        "p99": (quantities.latency_cell(row.p99_ms), plain if row.successes >= ENOUGH_FOR_P99 else grey),
        "max": (quantities.latency_cell(row.max_ms), plain),
        "bytes": (quantities.size_cell(row.mean_bytes), grey),
    }
    name = " " + text.pad(DEGRADES * first + text.safe(row.name), _name_cells(columns, width))
    shown = [(column.cells, *figures[column.title]) for column in columns]
    cells = [(" " + text.pad(words, column_cells, right=True), style) for column_cells, words, style in shown]
    return text.line([(name, _degrades_style(palette) if first else plain), *cells], width)
