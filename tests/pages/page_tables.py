"""Reads the tables of Markdown pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def table_rows(page: str) -> Iterator[tuple[str, ...]]:
    """The cells of each table row in a page, given by its path from the repository's root."""
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield tuple(cell.strip().replace(r"\|", "|") for cell in line.strip("|").split(" | "))
