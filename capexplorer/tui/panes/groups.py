"""A line of groups of text. In a narrow terminal the least important groups are left out; no group is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.style import Style
from textual.strip import Strip

from ..render import text
from ..render.text import Piece

_GAP = "   "


@dataclass(frozen=True, slots=True)
class Group:
    """Pieces that are shown or dropped together. The higher `rank`, the sooner they are dropped; rank 0 stays."""

    pieces: tuple[Piece, ...]
    rank: int = 0
    right: bool = False
    shorter: Group | None = None
    """Pieces that are shown instead if these are dropped."""


def group_line(groups: Sequence[Group], width: int) -> Strip:
    """A line of `width` cells with groups at its left and right edges, without the groups for which there is no space."""
    kept = list(groups)
    while _cells(kept) > width and (worst := max(kept, key=lambda group: group.rank)).rank > 0:
        index = kept.index(worst)
        kept[index : index + 1] = [worst.shorter] if worst.shorter is not None else []
    blank = max(len(_GAP), width - _cells(kept) + len(_GAP))
    left = _joined([group for group in kept if not group.right])
    return text.line([*left, (" " * blank, Style()), *_joined([group for group in kept if group.right])], width)


def _joined(groups: Sequence[Group]) -> list[Piece]:
    return [piece for index, group in enumerate(groups) for piece in (*([(_GAP, Style())] if index else []), *group.pieces)]


def _cells(groups: Sequence[Group]) -> int:
    return text.cells(_joined(groups))
