"""Options of `run` that only its screen needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScreenOptions:
    """As given on the command line."""

    baseline: str | None = None
    """A saved session whose curve is drawn behind the live one."""
    mouse: bool = False
