"""Shares of outcomes, as the tables of simulated benchmarks show them."""

from __future__ import annotations

from collections.abc import Iterable


def share(hits: Iterable[bool]) -> str:
    """`97.5%`; `-` without outcomes."""
    known = list(hits)
    return f"{sum(known) / len(known):.1%}" if known else "-"


def print_row(name: str, cells: Iterable[str]) -> None:
    """One line of a table."""
    print(f"  {name:18}" + "".join(f"{cell:>15}" for cell in cells))
