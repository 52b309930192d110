"""Figures as texts, Markdown tables, and pages of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"


def filled(page: str, **fields: object) -> str:
    """A page: its template with these fields."""
    return (TEMPLATES / f"{page}.template").read_text(encoding="utf-8").format(**fields)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], align: str = "") -> str:
    """A Markdown table. `align`: a letter for each column, `l` or `r`; the last one holds for all further columns."""
    columns = (align or "l").ljust(len(head), (align or "l")[-1])
    marks = ["---:" if each == "r" else "---" for each in columns]
    cells = [head, marks, *([str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def share(hits: Iterable[bool]) -> str:
    """The share of true values, as `97.5%`; `-` without values."""
    known = list(hits)
    return f"{sum(known) / len(known):.1%}" if known else "-"


def number(value: float | None, form: str = ".2f") -> str:
    return "–" if value is None else f"{value:{form}}"


def percentile(values: Sequence[float], q: float) -> float:
    return sorted(values)[max(0, round(q * len(values)) - 1)]


def mean(values: Iterable[float | None]) -> float:
    return statistics.fmean(value for value in values if value is not None)


def spread(values: Iterable[float | None]) -> dict[str, float] | None:
    """Median and maximum of the known values; None without any."""
    known = [value for value in values if value is not None]
    return {"median": statistics.median(known), "most": max(known), "of": len(known)} if known else None
