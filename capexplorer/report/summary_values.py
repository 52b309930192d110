"""Converts values for the JSON of the summary: rounded, and whole numbers of users as integers."""

from __future__ import annotations

from typing import Any


def rounded(value: float | None, digits: int = 3) -> float | None:
    """The value to this many decimals; None stays None."""
    return None if value is None else round(value, digits)


def plain(value: Any) -> Any:
    """A float to six decimals, anything else unchanged."""
    return rounded(value, 6) if isinstance(value, float) else value


def whole(users: float | None) -> float | int | None:
    """A number of users as an integer, unless it has a fraction, as means and ends of intervals have."""
    return int(users) if users is not None and users == int(users) else rounded(users)
