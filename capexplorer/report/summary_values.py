"""Values of the summary as JSON has them: rounded, and whole numbers as integers."""

from __future__ import annotations

from typing import Any


def rounded(value: float | None, digits: int = 3) -> float | None:
    """None stays None."""
    return None if value is None else round(value, digits)


def plain(value: Any) -> Any:
    """A float to six digits, anything else as it is."""
    return rounded(value, 6) if isinstance(value, float) else value


def whole(users: float | None) -> float | int | None:
    """Users as an integer; with a fraction where they are a mean or an interval's end."""
    return int(users) if users is not None and users == int(users) else rounded(users)
