"""Ramps of an offered rate: their bins in the order they ran, and what the change of the rate itself adds to the work in flight.

The bins are those of ramps of users (`ladder.parts`). The arrivals of each were counted, so a bin is judged as a level is: below
the capacity nothing is missing, and above it goodput is the capacity, since a queue that grows never leaves a server idle.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.level import Level
from ...model.timeline import Timeline
from ..ladder import Part

FINISHED_LEAST = 20
"""Iterations of a bin from which its mean time from plan is known."""


def slope_of(timeline: Timeline, level: Level) -> float:
    """By how much the schedule's rate changes a second, in 1/s; 0 where it does not."""
    rates, times = timeline.columns["offered_per_s"], timeline.columns["t_s"]
    ticks = [tick for tick in timeline.seconds_of(level, settled=False) if rates[tick] == rates[tick]]
    return (rates[ticks[-1]] - rates[ticks[0]]) / (times[ticks[-1]] - times[ticks[0]]) if len(ticks) > 1 else 0.0


def in_time(bins: Sequence[Part], slope: float) -> list[Part]:
    """Bins, which are given by ascending rate, in the order they ran."""
    return list(bins if slope >= 0 else reversed(bins))


def growth_of_rate(bins: Sequence[Part], slope: float) -> list[float]:
    """By how many iterations in flight each bin grows with the rate alone, by Little's law: the rate's change times the time from
    plan at low rates. `bins`: in the order they ran."""
    known = [
        (offered.offered_per_s, offered.from_plan_ms.mean / 1000)
        for offered in (part.figures.offered for part in bins)
        if offered is not None and offered.finished >= FINISHED_LEAST and offered.from_plan_ms.mean is not None
    ]
    stays_s = min(known)[1] if known else 0.0
    return [slope * part.figures.settled_seconds * stays_s for part in bins]
