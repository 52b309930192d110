"""Totals of a finder's rows. Services whose name has a comma change ("moving"); the others do not ("still")."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from .exploration import Exploration

NEAR = 0.15


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of one finder. Ratios are None if nothing was counted."""

    finder: str
    services: int
    """Number of still services with a knee."""
    error_median: float | None
    """Median of |users / N* - 1| over the knees that were found."""
    near_ratio: float | None
    """Share of these services whose knee was found within 15%; a knee that was not found counts as missed."""
    intervals: int
    """Number of intervals that were given."""
    covered_ratio: float | None
    """Share of intervals that contain N*."""
    seconds_median: float | None
    overload_median_s: float | None
    """Median of the seconds with more than 1.25 N* users."""
    most_median: float | None
    """Median of the highest number of users, as a multiple of N*."""
    false_still: tuple[int, int]
    """(false knees, explorations) of still services without a knee."""
    false_moving: tuple[int, int]
    """(false knees, explorations) of services that change."""


def totals(finder: str, rows: Sequence[Exploration]) -> Totals:
    """The totals of one finder's rows."""
    still = [row for row in rows if "," not in row.service and row.knees]
    linear = [row for row in rows if "," not in row.service and not row.knees]
    moving = [row for row in rows if "," in row.service]
    errors = [row.error for row in still if row.error is not None]
    covered = [row.covered for row in still if row.covered is not None]
    return Totals(
        finder=finder,
        services=len(still),
        error_median=_median(errors),
        near_ratio=sum(error <= NEAR for error in errors) / len(still) if still else None,
        intervals=len(covered),
        covered_ratio=sum(covered) / len(covered) if covered else None,
        seconds_median=_median([row.seconds for row in still]),
        overload_median_s=_median([row.overload_s for row in still]),
        most_median=_median([row.most_users / max(row.knees) for row in still]),
        false_still=_false(linear),
        false_moving=_false(moving),
    )


def false_by_service(rows: Sequence[Exploration]) -> dict[str, tuple[int, int]]:
    """(false knees, explorations) by kind of moving service."""
    names = sorted({row.service for row in rows if "," in row.service})
    return {name: _false([row for row in rows if row.service == name]) for name in names}


def _false(rows: Sequence[Exploration]) -> tuple[int, int]:
    return sum(row.is_false for row in rows), len(rows)


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None
