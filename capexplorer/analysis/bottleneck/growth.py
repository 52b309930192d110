"""Work that piles up behind the replies: a queue that grows while the load stays the same.

HTTP goodput, latency and errors say nothing of it (KNEE.md). The backlog of a critical but stable service wanders as a random
walk does, so growth must be far beyond what its own steps would make of chance, and must matter beside the work that is done.
"""

from __future__ import annotations

import math

import numpy as np

from ...model.timeline import Timeline
from .finding import Evidence, Finding
from .level import Seen

STEPS_ERRORS = 4.0
"""Standard errors of the sum of the steps. A reflected random walk passes three in 0.3% of levels, and is looked at ten times."""

GROWTH_LEAST = 10.0
"""Pieces of work over the level."""

SHARE_LEAST = 0.05
"""Of the work finished in a second: a queue that grows more slowly has hours, and one level cannot tell it from a wave."""

SECONDS_LEAST = 8

TOLD_BY = ("app.queued", "app.accepted")
"""Without one of them there is no backlog to look for."""


def queue_growth(timeline: Timeline, level: Seen) -> Finding | None:
    """From the target's own count of work that it took and did not finish, over the settled seconds of the level."""
    column = timeline.columns.get("app_backlog")
    if column is None or level.level.opened.ramp or not any(level.read(name) is not None for name in TOLD_BY):
        return None
    ticks = [tick for tick in timeline.seconds_of(level.level) if not math.isnan(column[tick])]
    if len(ticks) < SECONDS_LEAST:
        return None
    times = np.array([timeline.columns["t_s"][tick] for tick in ticks])
    backlog = np.array([column[tick] for tick in ticks])
    steps = np.diff(backlog)
    growth, seconds = float(steps.sum()), float(times[-1] - times[0])
    chance = STEPS_ERRORS * float(steps.std(ddof=1)) * math.sqrt(len(steps))
    if growth < max(GROWTH_LEAST, chance) or growth < SHARE_LEAST * level.rates.goodput_rps * seconds:
        return None
    evidence: Evidence = {"backlog": float(backlog[-1]), "backlog_growth_per_s": growth / seconds}
    return Finding("queue_growth", {**evidence, "finished_per_s": level.rates.goodput_rps})
