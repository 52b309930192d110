"""Shares and rows as the tables of simulated benchmarks print them."""

from __future__ import annotations

from collections.abc import Iterable


def share(hits: Iterable[bool]) -> str:
    """The share of true values, as `97.5%`; `-` without values."""
    known = list(hits)
    return f"{sum(known) / len(known):.1%}" if known else "-"


def print_row(name: str, cells: Iterable[str]) -> None:
    """Print one line of a table."""
    print(f"  {name:18}" + "".join(f"{cell:>15}" for cell in cells))
