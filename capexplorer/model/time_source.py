"""A source of time, passed in so that tests can set it."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Monotonic seconds."""

    def __call__(self) -> float:
        """Now."""
