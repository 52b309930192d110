"""Figures as documents have them: rounded, and whole numbers of users as integers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def rounded(value: Any, digits: int = 3) -> Any:
    """A float to this many decimals, anything else unchanged."""
    return round(value, digits) if isinstance(value, float) else value


def whole(users: float | None) -> float | int | None:
    """A number of users as an integer, unless it has a fraction, as means and ends of intervals have."""
    return int(users) if users is not None and users == int(users) else rounded(users)


def fields(found: object, names: Iterable[str], digits: int = 3) -> dict[str, Any]:
    """These fields by their names."""
    return {name: rounded(getattr(found, name), digits) for name in names}
