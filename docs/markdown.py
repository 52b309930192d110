"""Markdown for the generators of pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a vertical bar or a line end inside a cell is escaped."""
    return "\n".join(_line(cells) for cells in (head, ["---"] * len(head), *rows))


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", r"\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def code(words: Iterable[str]) -> str:
    """Each word as code, separated by blanks."""
    return " ".join(f"`{word}`" for word in words)
