"""Text about levels whose users had not all completed a cycle: how many levels, and which share of their users or requests."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.coverage import are_warm
from ..model.figures import LevelFigures
from . import numbers


def warm(figures: LevelFigures) -> str:
    """`40% of its users warm`; empty if enough were warm for the level to settle, or if that is unknown."""
    return "" if are_warm(figures) else f"{_share(figures.warm_ratio or 0.0)} of its users warm"


def levels_of(users: Sequence[int]) -> str:
    """`1 level (20 users)`, `2 levels (20 to 30 users)`; `users` has one entry for each level."""
    least, most = min(users), max(users)
    counts = numbers.counted(most) if least == most else f"{numbers.users(least)} to {numbers.counted(most)}"
    return f"{len(users)} level{'s' * (len(users) != 1)} ({counts})"


def shares(ratios: Sequence[float]) -> str:
    """`40%`, `10–40%`."""
    least, most = _share(min(ratios)), _share(max(ratios))
    return least if least == most else f"{least.removesuffix('%')}–{most}"


def _share(ratio: float) -> str:
    return f"{ratio:.0%}"
