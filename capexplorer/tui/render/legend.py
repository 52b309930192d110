"""The line over a plot: each series' pattern, name and latest value. What does not fit is shortened, then dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from ..look import Palette

SOLID, DASHED, DOTTED, BARS, STAIRCASE = "──", "╌╌", "┈┈", "▂▅", "▁▃"
"""Keys, as the lines are drawn."""

_BETWEEN = "  "


@dataclass(frozen=True, slots=True)
class Legend:
    """One entry. Names are ours, never data."""

    key: str
    name: str
    value: str
    color: str
    short: str = ""
    """Name when there is little room."""
    quiet: bool = False
    """The value rests on too few requests: grey."""
    strong: bool = False
    """The name is what matters."""
    width: int = 5
    """Values are right-aligned in as many cells, so that what stands behind them stays where it is."""

    def texts(self, short: bool) -> tuple[str, str, str]:
        """Key, name, value as they are written."""
        name = self.short or self.name if short else self.name
        return self.key, f" {name}" if self.key else name, f" {self.value:>{self.width}}" if self.value else ""


def legend_segments(legends: Sequence[Legend], palette: Palette, width: int) -> list[Segment]:
    """At most `width` cells. The first entries matter most: the last ones go first."""
    shown, short = list(legends), False
    while shown and _length(shown, short) > width:
        if short:
            shown.pop()
        short = True
    segments: list[Segment] = []
    for legend in shown:
        key, name, value = legend.texts(short)
        quiet = Style(color=palette.muted)
        if segments:
            segments.append(Segment(_BETWEEN))
        segments += [
            Segment(key, Style(color=legend.color, bold=True)),
            Segment(name, Style(color=palette.text, bold=True) if legend.strong else quiet),
            Segment(value, quiet if legend.quiet else Style(color=palette.text)),
        ]
    return segments


def _length(legends: Sequence[Legend], short: bool) -> int:
    return sum(cell_len("".join(legend.texts(short))) for legend in legends) + len(_BETWEEN) * (len(legends) - 1)
