"""Maps the lines of a list to its entries, which have several lines each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from rich.style import Style
from textual.strip import Strip

from ..display_options import Palette
from ..render import text


@dataclass(frozen=True, slots=True)
class Block:
    """One entry, or a heading between entries."""

    lines: tuple[Strip, ...]
    key: Hashable = None
    """Identifies the entry while its lines change; None: a heading, which cannot be chosen."""
    named: int = 1
    """Number of lines at the top that name the entry, and are highlighted when it is chosen."""


def keys(blocks: Iterable[Block]) -> list[Hashable]:
    """The keys of the entries, in order, without headings."""
    return [block.key for block in blocks if block.key is not None]


def lines(blocks: Iterable[Block], chosen: Hashable, palette: Palette, width: int) -> list[Strip]:
    """All lines. Those that name the chosen entry are in reverse video, which is visible without colours."""
    style = Style(color=palette.accent, reverse=True, bold=True)
    drawn: list[Strip] = []
    for block in blocks:
        named = block.named if chosen is not None and block.key == chosen else 0
        drawn += [text.line([(line.text, style)], width) for line in block.lines[:named]]
        drawn += block.lines[named:]
    return drawn


def span(blocks: Iterable[Block], key: Hashable) -> tuple[int, int] | None:
    """The range of an entry's lines as (first, end), the end excluded; None if there is no such entry."""
    first = 0
    for block in blocks:
        if block.key == key:
            return first, first + len(block.lines)
        first += len(block.lines)
    return None


def key_at(blocks: Sequence[Block], line: int) -> Hashable:
    """The key of the entry that has this line; None for a heading or beyond the end."""
    for block in blocks:
        if line < len(block.lines):
            return block.key
        line -= len(block.lines)
    return None
