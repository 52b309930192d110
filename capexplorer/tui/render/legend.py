"""The line above a plot: key, name and latest value of each series. In a narrow chart names are shortened first, then values of
later entries are left out, then these entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from ...wording.quantities import latency_cell, latency_cells
from ..display_options import Palette

LINES = SOLID, DASHED, DOTTED, BARS, STAIRCASE = "──", "╌╌", "┈┈", "▂▅", "▁▃"
"""Keys that look like the lines they stand for."""

Form = Literal["full", "short", "tight", "tightest"]
FORMS: tuple[Form, ...] = get_args(Form)
"""Forms of an entry, the widest first. `short`: with short names; `tight`: with keys of lines in one cell too, and one space
between entries; `tightest`: no space between such a key and its name too.
"""


@dataclass(frozen=True, slots=True)
class Legend:
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
