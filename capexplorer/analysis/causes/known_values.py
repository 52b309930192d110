"""Sums, means and remainders of figures that may not have been measured (None)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median


def remainder(whole: float | None, *parts: float | None) -> float | None:
    """The whole minus its parts, at least 0; None without parts, and if the whole or a part was not measured."""
    known = all_known(parts)
    return max(0.0, whole - sum(known)) if whole is not None and known else None


def mean_of_known(values: Sequence[float | None]) -> float | None:
    """Mean of the values that were measured; None if none was."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def mean_of_all(values: Sequence[float | None]) -> float | None:
    """Mean of all values; None if one was not measured."""
    known = all_known(values)
    return fmean(known) if known else None


def median_of_known(values: Sequence[float | None]) -> float | None:
    """Median of the values that were measured; None if none was."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def all_known(values: Sequence[float | None]) -> list[float]:
    """All of the values if each was measured; else an empty list."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []
