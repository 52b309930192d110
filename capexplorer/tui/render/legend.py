"""The line over a plot: each series' pattern, name and latest value. What does not fit is shortened; names leave last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from ...wording.quantities import latency_cell, latency_cells
from ..look import Palette

LINES = SOLID, DASHED, DOTTED, BARS, STAIRCASE = "──", "╌╌", "┈┈", "▂▅", "▁▃"
"""Keys, as the lines are drawn."""

Form = Literal["full", "short", "tight", "tightest"]
FORMS: tuple[Form, ...] = get_args(Form)
"""From `short` on with short names, from `tight` on with keys of lines in one cell; `tightest` without a blank behind those."""


@dataclass(frozen=True, slots=True)
class Legend:
    """One entry. Names are ours, never data."""

    key: str
    name: str
    value: str
    color: str
    short: str = ""
    """A shorter name for narrow charts; empty: the name."""
    quiet: bool = False
    """Whether the value is grey, because it is computed from too few requests."""
    strong: bool = False
    """The name is what matters."""
    width: int = 5
    """Values are right-aligned in as many cells, so that what stands behind them stays where it is."""
    letter: str = ""
    """In place of the key where there are no colours."""
    aside: bool = False
    """Nothing that is drawn has this value: it leaves before those of the series."""

    def texts(self, form: Form) -> tuple[str, str, str]:
        """Key, name, value as they are written."""
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
    """At most `width` cells. The first entries matter most; every series has its name as long as the names fit."""
    if not palette.colours:
        legends = [replace(legend, key=legend.letter or legend.key) for legend in legends]
    shown, form = next((shown, form) for shown, form in _ever_shorter(legends) if not shown or _length(shown, form) <= width)
    segments: list[Segment] = []
    for legend in shown:
        key, name, value = legend.texts(form)
        quiet = Style(color=palette.muted)
        if segments:
            segments.append(Segment(_between(form)))
        segments += [
            Segment(key, Style(color=legend.color, bold=True)),
            Segment(name, Style(color=palette.text, bold=True) if legend.strong else quiet),
            Segment(value, quiet if legend.quiet else Style(color=palette.text)),
        ]
    return segments


def _ever_shorter(legends: Sequence[Legend]) -> Iterator[tuple[list[Legend], Form]]:
    """Whole; with short names; without what is not drawn; closer together; without the later values; without the last entries."""
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
