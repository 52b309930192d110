"""Ramps of an offered rate: the order of their bins, and how much the change of the rate itself adds to the work in flight.

Bins are made as for ramps of users (`ladder.parts`). The arrivals of each bin were counted, so it is judged like a level: below
the capacity all arrivals are served, and above it goodput is the capacity, since a growing queue never leaves a server idle.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.level import Level
from ...model.timeline import Timeline
from ..ladder import JudgedPart

FINISHED_LEAST = 20
"""Finished iterations from which a bin's mean time from plan is used."""


def slope_of(timeline: Timeline, level: Level) -> float:
    """Change of the offered rate per second, in 1/s per second; 0 for a constant rate."""
    rates, times = timeline.columns["offered_per_s"], timeline.columns["t_s"]
    ticks = [tick for tick in timeline.seconds_of(level, settled=False) if rates[tick] == rates[tick]]
    return (rates[ticks[-1]] - rates[ticks[0]]) / (times[ticks[-1]] - times[ticks[0]]) if len(ticks) > 1 else 0.0


def chronological(bins: Sequence[JudgedPart], slope: float) -> list[JudgedPart]:
    """Bins in the order they ran. `bins`: by ascending rate; `slope`: as of `slope_of`."""
    return list(bins if slope >= 0 else reversed(bins))


def growth_of_rate(bins: Sequence[JudgedPart], slope: float) -> list[float]:
    """Growth of the iterations in flight during each bin that the change of the rate alone explains, by Little's law: the change
    of the rate times the mean time from plan at the lowest rate.
    """
    known = [
        (offered.offered_per_s, offered.from_plan_ms.mean / 1000)
        for offered in (part.figures.offered for part in bins)
        if offered is not None and offered.finished >= FINISHED_LEAST and offered.from_plan_ms.mean is not None
    ]
    time_in_service_s = min(known)[1] if known else 0.0
    return [slope * part.figures.settled_seconds * time_in_service_s for part in bins]
