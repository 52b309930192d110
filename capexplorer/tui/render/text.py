"""Text for the screen: foreign text made harmless, pieces joined to lines of cells.

All text of a target, a profile, a log or a user must pass through `safe` before it is shown. Must not import events or panes.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from ...wording import numbers

Piece = tuple[str, Style]

styled = lru_cache(1024)(Style)
"""A style, the same one each time: equal lines are then compared by identity, and no second makes styles again."""

MISSING = numbers.MISSING
"""Shown for a value that was not measured, which is not 0."""


# -- foreign text


def safe(text: str) -> str:
    """The text on one line, without characters that control a terminal: these are shown as signs, e.g. ESC as ␛.

    Joined emoji are separated, and their modifiers and uncommon accents are removed: terminals disagree about their widths, which
    would shift the rest of the line.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character) for character in unicodedata.normalize("NFC", text))


def _visible(character: str) -> str:
    if character == "\t":
        return "  "
    if " " <= character <= "~":
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0x1F1E6 <= code <= 0x1F1FF:  # regional indicators, of which two make a flag: their letters
        return chr(code - 0x1F1E6 + ord("A"))
    if code == 0x200D or 0xFE00 <= code <= 0xFE0F or 0x1F3FB <= code <= 0x1F3FF:
        return ""
    if 0x0300 <= code <= 0x036F or 0x20D0 <= code <= 0x20FF:  # accents left after NFC: many on one letter cover other lines
        return ""
    category = unicodedata.category(character)
    if category[0] == "C" or category in ("Zl", "Zp"):
        return f"<{code:02X}>" if code < 0x100 else f"<U+{code:04X}>"
    return character


def shorten(text: str, width: int) -> str:
    """`text` in at most `width` cells. If it is longer the middle is left out, since both ends of a path are needed."""
    if cell_len(text) <= width:
        return text
    if width < 2:
        return "…"[:width]
    tail = _last_cells(text, (width - 1) // 3)
    return _first_cells(text, width - 1 - cell_len(tail)) + "…" + tail


def shorten_end(text: str, width: int) -> str:
    """`text` in at most `width` cells. If it is longer the end is left out, as in a title."""
    return text if cell_len(text) <= width else _first_cells(text, max(width - 1, 0)).rstrip() + "…"[: max(width, 0)]


def _first_cells(text: str, width: int) -> str:
    used = 0
    for index, character in enumerate(text):
        used += cell_len(character)
        if used > width:
            return text[:index]
    return text


def _last_cells(text: str, width: int) -> str:
    return _first_cells(text[::-1], width)[::-1]


def wrap(text: str, width: int) -> list[str]:
    """The lines of `text`, each of at most `width` cells, broken at spaces if possible."""
    lines: list[str] = []
    rest = text.strip()
    while cell_len(rest) > max(width, 2):
        head = _first_cells(rest, max(width, 2))
        if not rest[len(head)].isspace() and (space := head.rfind(" ")) > 0:
            head = head[:space]
        lines.append(head.rstrip())
        rest = rest[len(head) :].lstrip()
    return [*lines, rest]


def flow(groups: Iterable[str], width: int) -> list[str]:
    """Groups such as `p99 4.21` side by side, with two spaces between them. A line ends between groups; only a group wider
    than a line is broken.
    """
    lines: list[str] = []
    for group in groups:
        if lines and cell_len(f"{lines[-1]}  {group}") <= width:
            lines[-1] += f"  {group}"
        else:
            lines += wrap(group, width)
    return lines


def clauses(text: str, width: int) -> str:
    """The first clauses of a sentence that fit into `width` cells, then …; if they fill less than a third, its first words."""
    if cell_len(text) <= width:
        return text
    ends = [found.start() for found in re.finditer(r"[;:,] ", text)]
    kept = next((text[:end] for end in reversed(ends) if cell_len(text[:end]) <= width - 2), "")
    if cell_len(kept) < width // 3:
        kept = wrap(text, max(width - 2, 2))[0]
    return f"{kept} …" if cell_len(kept) <= width - 2 else shorten_end(text, width)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """`text` in exactly `width` cells, shortened or padded with spaces; `right`: aligned to the right."""
    text = shorten(text, width)
    blank = " " * (width - cell_len(text))
    return blank + text if right else text + blank


# -- lines


def line(pieces: Iterable[Piece], width: int) -> Strip:
    """A line of exactly `width` cells with pieces side by side, cut or padded at the end."""
    return Strip([Segment(text, style) for text, style in pieces if text]).adjust_cell_length(width)


def cells(pieces: Iterable[Piece]) -> int:
    """The width in cells of pieces side by side."""
    return sum(cell_len(text) for text, _ in pieces)


# -- figures


def percent(ratio: float | None) -> str:
    """A ratio as per cent: 0%, 0.42%, 4.2%, 42%. Only a true zero is 0%."""
    if ratio is None or math.isnan(ratio):
        return MISSING
    value = ratio * 100
    if value == 0 or abs(value) >= 9.95:
        return f"{value:.0f}%"
    if value < 0.005:
        return "<.01%"
    return f"{value:.1f}%" if abs(value) >= 0.995 else f"{value:.2f}%"


def span(seconds: float) -> str:
    """A length of time: 12 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 3600:
        return numbers.span(whole)
    if whole < 360_000:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return "days"


_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = " ▁▂▃▄▅▆▇█"


def bar(ratio: float | None, width: int) -> str:
    """A bar of `width` cells for a ratio from 0 to 1; the empty part is dotted, so that it is visible without colours."""
    if ratio is None or math.isnan(ratio):
        return "·" * width
    eighths = round(min(max(ratio, 0.0), 1.0) * width * 8)
    full, part = divmod(eighths, 8)
    drawn = "█" * full + (_EIGHTHS[part] if part else "")
    return drawn + "·" * (width - len(drawn))


def spark(values: Iterable[float], top: float) -> str:
    """A sparkline: one cell per value, whose height shows 0 to `top`; a space for NaN."""
    return "".join(" " if math.isnan(value) else _LEVELS[1 + _eighth(value, top)] for value in values)


def _eighth(value: float, top: float) -> int:
    return min(7, int(8 * max(value, 0.0) / top)) if top > 0 else 0
