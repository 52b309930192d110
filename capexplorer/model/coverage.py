"""How much of what its users did is in a level's figures. New users are left out until they are warm."""

from __future__ import annotations

import numpy as np

from .figures import LevelFigures
from .level import Level
from .timeline import Timeline

USERS_MISSING_MOST = 0.05
"""Share of its users that may be missing, or not be warm, in a settled second."""


def are_warm(figures: LevelFigures) -> bool:
    """Whether enough users were warm at its end for a level to settle; True where it is not known."""
    return figures.warm_ratio is None or figures.warm_ratio >= 1 - USERS_MISSING_MOST


def counted_ratio(timeline: Timeline, level: Level) -> float | None:
    """Share of the requests in its settled seconds that its figures count; None where there were none."""
    end = len(timeline) if level.ended_s is None else timeline.index_at(level.ended_s) + 1
    names = ("level", "settled", "requests", "throughput_rps", "duration_s")
    index, settled, requests, rate_rps, duration_s = (
        np.frombuffer(timeline.columns[name][level.first_index : end]) for name in names
    )
    own = (index == level.opened.index) & (settled == 1.0)
    everything = float(np.nansum((rate_rps * duration_s)[own]))
    return float(np.nansum(requests[own])) / everything if everything > 0 else None
