"""The table of endpoints, which can be sorted and filtered. The endpoint that degrades first is marked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from rich.style import Style
from textual.strip import Strip

from ...model.timeline import Timeline
from ...wording.quantities import latency_title
from ..display_options import DisplayOptions, Palette
from ..render import text
from .endpoint_rows import Row, first_to_degrade, rows_shown
from .endpoints import row_line, title_line
from .list_pane import Lines, ListPane

SORTS: Mapping[str, Callable[[Row], float | str]] = {
    "name": lambda row: row.name,
    "req/s": lambda row: _sort_value(row.rate_rps),
    "p50": lambda row: _sort_value(row.p50_ms),
    "p95": lambda row: _sort_value(row.p95_ms),
    "p99": lambda row: _sort_value(row.p99_ms),
    "failed": lambda row: row.failures,
}
"""Sort keys by column title; figures are sorted in descending order."""


def _sort_value(value: float | None) -> float:
    return -math.inf if value is None else value


class EndpointTable(ListPane):
    """The list. `sort`: one of SORTS; `filter_text`: only rows whose name contains it are shown."""

    TITLE = "Endpoints"
    NOTHING = "no endpoint to show"

    @property
    def full_title(self) -> str:
        """With the unit of its latencies."""
        return latency_title(self.TITLE, "  ")

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id)
        self.sort, self.reverse, self.filter_text = "req/s", False, ""
        self.rows: Sequence[Row] = ()

    @property
    def row(self) -> Row | None:
        """The chosen endpoint; None: there is none."""
        return self.rows[self.chosen] if self.chosen < len(self.rows) else None

    def lines(self, timeline: Timeline, options: DisplayOptions, width: int) -> Lines:
        """The rows that pass the filter, sorted."""
        label, found = rows_shown(timeline)
        first, before = first_to_degrade(timeline), self.row
        self.rows = in_order(found[1:], self.sort, self.filter_text, reverse=self.reverse)
        if before is not None:  # the chosen endpoint stays chosen wherever it is now
            names = [row.name for row in self.rows]
            self.chosen = names.index(before.name) if before.name in names else self.chosen
        palette = options.palette
        titles = [
            text.line([(f" {label}", Style(color=palette.muted))], width),
            self._sort_keys(palette, width),
            title_line(palette, width, one_degrades=first is not None),
        ]
        marked = None if first is None else f"{first.method} {first.name}"
        return titles, [row_line(row, palette, width, first=row.name == marked) for row in self.rows]

    def _sort_keys(self, palette: Palette, width: int) -> Strip:
        """The keys that sort, with the present order in bold."""
        muted, bold = Style(color=palette.muted), Style(color=palette.text, bold=True)
        words = [
            (f"  {number} {name}{' reversed' * (self.reverse and name == self.sort)}", bold if name == self.sort else muted)
            for number, name in enumerate(SORTS, 1)
        ]
        return text.line([(" sort", muted), *words], width)

    def choose(self, index: int) -> None:
        """Choose this row."""
        rows, self.rows = self.rows, ()
        super().choose(min(index, max(0, len(rows) - 1)))


def in_order(rows: Sequence[Row], sort: str, filter_text: str = "", *, reverse: bool = False) -> list[Row]:
    """The rows whose name contains `filter_text`, ignoring case, sorted by a column of SORTS."""
    found = [row for row in rows if filter_text.lower() in row.name.lower()]
    return sorted(found, key=SORTS[sort], reverse=(sort != "name") is not reverse)
