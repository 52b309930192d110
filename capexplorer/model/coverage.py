"""How much of the users' activity a level's figures cover. Users count from the end of their first task cycle on (warm users)."""

from __future__ import annotations

from . import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
import numpy as np

from .figures import LevelFigures
from .level import Level
from .timeline import Timeline

USERS_MISSING_MOST = 0.05
"""Greatest share of a level's users that may be missing, or not warm, in a settled second."""


def are_warm(figures: LevelFigures) -> bool:
    """Whether enough users were warm at the end of the level for it to settle; True if not known."""
    return figures.warm_ratio is None or figures.warm_ratio >= 1 - USERS_MISSING_MOST


def counted_ratio(timeline: Timeline, level: Level) -> float | None:
    """Share of the requests in the level's settled seconds that its figures count; None without requests."""
    end = len(timeline) if level.ended_s is None else timeline.index_at(level.ended_s) + 1
    names = ("level", "settled", "requests", "throughput_rps", "duration_s")
    index, settled, requests, rate_rps, duration_s = (
        np.frombuffer(timeline.columns[name][level.first_index : end]) for name in names
    )
    own = (index == level.opened.index) & (settled == 1.0)
    everything = float(np.nansum((rate_rps * duration_s)[own]))
    return float(np.nansum(requests[own])) / everything if everything > 0 else None
