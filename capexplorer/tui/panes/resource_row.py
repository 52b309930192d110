"""One row of the resources: label, spark line or bar, figure, details. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.style import Style
from textual.strip import Strip

from ...wording import numbers, quantities
from ..display_options import Palette
from ..render import text
from ..render.text import Piece

_LABEL_CELLS, _VALUE_CELLS = 12, 18
"""Widths in cells of the label with the spaces around it, and of number and unit."""


@dataclass(frozen=True, slots=True)
class Row:
    """One resource."""

    label: str
    picture: str
    """A spark line or a bar."""
    number: str
    unit: str = ""
    details: tuple[str, ...] = ()
    color: str = ""
    warned: bool = False
    used_up: bool = False
    """Whether the resource is used up, which is more than a warning."""
    marked: int | None = None
    """Cell of the spark line at the inspection cursor."""


def row_lines(row: Row, palette: Palette, width: int, cells: int, *, more: int) -> list[Strip]:
    """One line, and at most `more` further lines with the details that do not fit. Details for which there is no space are left
    out. `cells`: width of the spark line or bar.
    """
    muted = Style(color=palette.muted)
    warning = palette.error if row.used_up else palette.warning
    alarm = Style(color=warning, bold=True)
    head: list[Piece] = [(f" {text.pad(row.label, _LABEL_CELLS - 2)} ", alarm if row.warned else muted)]
    if row.number:
        value = f"{text.pad(row.number, quantities.latency_cells(), right=True)} {row.unit}{' !' if row.warned else ''}"
        color = warning if row.warned else row.color
        head += _picture(text.pad(row.picture, cells) + " ", row.marked, Style(color=color))
        head.append((text.pad(value, max(_VALUE_CELLS, len(value))), alarm if row.warned else Style(color=palette.text)))
    lines = packed(row.details, width - text.cells(head) - 1, width - _LABEL_CELLS - 1, more)
    style = alarm if row.warned and not row.number else muted
    first = text.line([*head, (" " if row.number else "", muted), (lines[0], style)], width)
    return [first, *(text.line([(" " * _LABEL_CELLS, muted), (each, style)], width) for each in lines[1:])]


def _picture(picture: str, marked: int | None, style: Style) -> list[Piece]:
    if marked is None:
        return [(picture, style)]
    cell = (picture[marked], style + Style(reverse=True))
    return [(picture[:marked], style), cell, (picture[marked + 1 :], style)]


def cores(ratio: float | None, cpus: int | None) -> tuple[str, str]:
    """(number, unit) of a CPU use in cores: `1.42`, `of 2 cores`."""
    return numbers.three_digits(ratio), f"of {cpus} core{'s' * (cpus != 1)}" if cpus else "cores"


def number_and_unit(figure: str) -> tuple[str, str]:
    """(number, unit) of a figure such as `142 MiB`."""
    number, _, unit = figure.partition(" ")
    return number, unit


def lag(p99_ms: float | None) -> tuple[str, str]:
    """`4.21`, `ms p99`."""
    number, unit = number_and_unit(quantities.latency_figure(p99_ms))
    return number, f"{unit} p99".lstrip()


def packed(details: Sequence[str], first: int, others: int, more: int) -> list[str]:
    """Details joined by commas to a first line of at most `first` cells and at most `more` further lines of at most `others`
    cells. Details for which there is no space are left out.
    """
    lines = [""]
    for detail in details:
        cells = first if len(lines) == 1 else others
        joined = f"{lines[-1]}, {detail}" if lines[-1] else detail
        if len(joined) <= cells:
            lines[-1] = joined
        elif len(lines) <= more and len(detail) <= others:
            lines.append(detail)
    return lines
