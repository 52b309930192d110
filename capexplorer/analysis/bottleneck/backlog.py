"""Work that piles up behind the replies: a queue that grows while the load stays the same.

HTTP goodput, latency and errors say nothing of it (KNEE.md). The backlog of a critical but stable service wanders as a random
walk does, so growth must be far beyond what its own steps would make of chance, and must matter beside the work that is done.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...model.findings import Readings
from ...model.timeline import Timeline
from ..epoch.epoch import work_is_metric
from .found import Found
from .measured_level import MeasuredLevel

STEPS_ERRORS = 4.0
"""Standard errors of the sum of the steps. A reflected random walk passes three in 0.3% of levels, and is looked at ten times."""

STEPS_DOUBT = 2.0
"""From so many on, growth is at least likely."""

GROWTH_LEAST = 10.0
"""Pieces of work over the level."""

SHARE_LEAST = 0.05
"""Of the work finished in a second: a queue that grows more slowly has hours, and one level cannot tell it from a wave."""

SECONDS_LEAST = 8

WORK_METRICS = ("app.queued", "app.accepted")
"""Without one of them there is no backlog to look for."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Work that was taken and not finished, over the settled seconds of a level."""

    growth: float
    seconds: float
    last: float
    chance: float
    """Standard error of the growth, if its steps were a random walk's."""
    finished_per_s: float | None
    """By the target's own count; None where goodput is something else."""

    @property
    def grows(self) -> bool:
        """Far beyond chance, and enough to matter."""
        matters = self.growth >= SHARE_LEAST * (self.finished_per_s or 0.0) * self.seconds
        return matters and self.growth >= max(GROWTH_LEAST, STEPS_ERRORS * self.chance)

    @property
    def may_grow(self) -> bool:
        """So much that nobody can say that nothing limits."""
        return self.growth >= max(GROWTH_LEAST, STEPS_DOUBT * self.chance)


def counts_work(level: MeasuredLevel) -> bool:
    """Whether the target tells of its work at all."""
    return any(level.read(name) is not None for name in WORK_METRICS)


def backlog_of(timeline: Timeline, level: MeasuredLevel) -> Backlog | None:
    """By the target's own metrics; None where it tells none, or too few seconds of it."""
    column = timeline.columns.get("app_backlog")
    if column is None or level.level.opened.ramp or not counts_work(level):
        return None
    ticks = [tick for tick in timeline.seconds_of(level.level) if not math.isnan(column[tick])]
    if len(ticks) < SECONDS_LEAST:
        return None
    steps = np.diff(np.array([column[tick] for tick in ticks]))
    times = timeline.columns["t_s"]
    return Backlog(
        growth=float(steps.sum()),
        seconds=times[ticks[-1]] - times[ticks[0]],
        last=column[ticks[-1]],
        chance=float(steps.std(ddof=1)) * math.sqrt(len(steps)),
        finished_per_s=level.rates.goodput_rps if work_is_metric(timeline) else None,
    )


def queue_growth(backlog: Backlog | None) -> Found | None:
    """Whether it grows while the load stays the same."""
    if backlog is None or not backlog.grows:
        return None
    readings: Readings = {"backlog": backlog.last, "backlog_growth_per_s": backlog.growth / backlog.seconds}
    finished = backlog.finished_per_s
    return Found("queue_growth", readings | ({} if finished is None else {"finished_per_s": finished}))
