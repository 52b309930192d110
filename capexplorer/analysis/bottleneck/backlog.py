"""Backlog: a queue in the service that grows at constant load.

Goodput, latency and HTTP errors do not show it. The backlog of a service near its capacity moves like a random walk, so growth
must be far beyond that of a random walk with the same steps, and a relevant share of the finished work.
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
"""Least growth in standard errors of the sum of the steps. A reflected random walk, tested ten times a level, exceeds three in
0.3% of levels."""

STEPS_DOUBT = 2.0
"""Growth in standard errors from which a growing queue is likely enough that no other finding excludes it."""

GROWTH_LEAST = 10.0
"""Least growth over the level, in pieces of work."""

SHARE_LEAST = 0.05
"""Least growth a second, as a share of the work finished a second: one level cannot distinguish slower growth from a wave."""

SECONDS_LEAST = 8
"""Settled seconds with a reading, from which growth is computed."""

WORK_METRICS = ("app.queued", "app.accepted")
"""Metrics of the target that count its work; without one of them its backlog is not known."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Pieces of work that were accepted and not finished, over the settled seconds of a level."""

    growth: float
    seconds: float
    last: float
    """The backlog at the end of the level."""
    chance: float
    """Standard error of the growth of a random walk with the same steps."""
    finished_per_s: float | None
    """Goodput, if it is the target's own count of finished work; else None."""

    @property
    def grows(self) -> bool:
        """Whether it grows far beyond chance, and by a relevant amount."""
        is_relevant = self.growth >= SHARE_LEAST * (self.finished_per_s or 0.0) * self.seconds
        return is_relevant and self.growth >= max(GROWTH_LEAST, STEPS_ERRORS * self.chance)

    @property
    def may_grow(self) -> bool:
        """Whether growth is so likely that "no limit reached" must not be reported."""
        return self.growth >= max(GROWTH_LEAST, STEPS_DOUBT * self.chance)


def counts_work(level: MeasuredLevel) -> bool:
    """Whether the target reports its work."""
    return any(level.read(name) is not None for name in WORK_METRICS)


def backlog_of(timeline: Timeline, level: MeasuredLevel) -> Backlog | None:
    """The backlog of a level, from the target's own metrics; None without them or with too few seconds."""
    column = timeline.columns.get("app_backlog")
    if column is None or level.level.opened.ramp or not counts_work(level):
        return None
    ticks = [tick for tick in level.seconds(timeline) if not math.isnan(column[tick])]
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
    """A queue that grows at constant load."""
    if backlog is None or not backlog.grows:
        return None
    readings: Readings = {"backlog": backlog.last, "backlog_growth_per_s": backlog.growth / backlog.seconds}
    finished = backlog.finished_per_s
    return Found("queue_growth", readings | ({} if finished is None else {"finished_per_s": finished}))
