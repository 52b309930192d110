"""The screen with the table of levels of a saved session, which covers the list of sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from ...model.intervals import Z95
from ...wording.numbers import MISSING, count, three_digits
from ...wording.quantities import latency_cell, latency_title, rate_cell
from ..keybar import LIKE_LESS
from ..render.text import pad, percent


class LevelRow(msgspec.Struct, frozen=True, kw_only=True):
    """A level of a saved session; None: not measured, or it never settled."""

    index: int
    users: int
    epoch: int = 0
    settled_for_s: float | None = None
    requests: int = 0
    goodput_rps: float | None = None
    goodput_se_rps: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    failure_ratio: float | None = None
    target_cpu_ratio: float | None = None


class SessionLevels(ModalScreen[None]):
    """Shows the table. `title` must have passed through `safe`."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,left,i", "dismiss(None)", show=False), *LIKE_LESS]

    def __init__(self, title: str, rows: Sequence[LevelRow]) -> None:
        super().__init__()
        self._title, self._rows = title, rows

    def compose(self) -> ComposeResult:
        """The table."""
        with VerticalScroll(classes="page") as page:
            page.border_title = Text(self._title)
            page.border_subtitle = Text("Esc: close")
            yield Static(levels_text(self._rows))


def _columns() -> list[tuple[str, int]]:
    latencies = [(latency_title(name), 6) for name in ("p50", "p95", "p99")]
    before, behind = [("level", 5), ("users", 6), ("goodput/s", 9), ("±", 6)], [("failed", 6), ("cpu", 5), ("settled", 7)]
    return [*before, *latencies, *behind]


def levels_text(rows: Sequence[LevelRow]) -> Text:
    """The table with one line of 72 cells per level."""
    if not rows:
        return Text("no level in this session", "italic")
    text = Text(no_wrap=True)
    text.append(" ".join(pad(title, cells, right=True) for title, cells in _columns()) + "\n", "bold")
    for row in rows:
        figures = (
            str(row.index),
            count(row.users),
            rate_cell(row.goodput_rps),
            three_digits(None if row.goodput_se_rps is None else Z95 * row.goodput_se_rps),
            latency_cell(row.p50_ms),
            latency_cell(row.p95_ms),
            latency_cell(row.p99_ms),
            percent(row.failure_ratio),
            three_digits(row.target_cpu_ratio),
            MISSING if row.settled_for_s is None else f"{row.settled_for_s:.0f} s",
        )
        columns = zip(figures, _columns(), strict=True)
        text.append(" ".join(pad(each, cells, right=True) for each, (_, cells) in columns) + "\n")
    return text
