"""Stretches of constant load: settled seconds at one user count, or one offered rate, in one target process.

`leaks` tests them for growth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from ...model.events import Target
from ...model.level import Level
from ...model.timeline import Timeline
from ..statistics import Series

NEAR_LIMIT = 0.95
"""Values from this share of a limit on are left out: a value that stops growing at its limit does not show that the leak has
stopped."""

DROP = 0.5
"""A value below this share of the peak so far belongs to another process."""


@dataclass(frozen=True, slots=True)
class ConstantLoad:
    """Consecutive levels with the same user count, or the same offered rate."""

    levels: tuple[Level, ...]

    @property
    def seconds(self) -> float:
        """Settled seconds so far."""
        return math.fsum(level.figures.settled_seconds for level in self.levels)

    @property
    def throughput_rps(self) -> float | None:
        """Requests a second over settled seconds; None without one."""
        requests = sum(level.figures.requests for level in self.levels)
        return requests / self.seconds if self.seconds else None

    def ticks(self, timeline: Timeline) -> list[int]:
        """Column indices of its settled seconds."""
        return [tick for level in self.levels for tick in timeline.seconds_of(level)]


def constant_loads(timeline: Timeline, epoch: int) -> Iterator[ConstantLoad]:
    """Stretches of one epoch, in the order they ran. A restart of the target ends a stretch."""
    starts = restarts_s(timeline)
    own = [level for level in timeline.levels if level.opened.epoch == epoch and not level.opened.ramp]
    for _, group in groupby(own, key=lambda each: (each.load, sum(t <= each.started_s for t in starts))):
        load = ConstantLoad(tuple(group))
        if load.levels[0].has_load and load.seconds:
            yield load


def pieces(values: Series, limit: float | None) -> Iterator[tuple[int, int]]:
    """Index ranges [start, end) of `values` that may be tested as one: cut where the limit is near or the process changed."""
    start, peak = 0, -math.inf
    for index, value in enumerate(values.tolist()):
        if math.isnan(value):
            continue
        stopped = limit is not None and value >= NEAR_LIMIT * limit
        if value < DROP * peak or stopped:
            if index > start:
                yield start, index
            start, peak = index + (1 if stopped else 0), -math.inf
        peak = max(peak, value)
    if start < len(values):
        yield start, len(values)


def loaded_s(timeline: Timeline, level: Level) -> float:
    """When the target process of this level first had load, in seconds of the session."""
    since_s = max((t for t in restarts_s(timeline) if t <= level.started_s), default=0.0)
    loaded = (each.started_s for each in timeline.levels if each.has_load and each.started_s >= since_s)
    return min(loaded, default=level.started_s)


def restarts_s(timeline: Timeline) -> list[float]:
    """Each start of the target, the first one included, in seconds of the session."""
    return [entry.t_s for entry in timeline.journal if isinstance(entry, Target) and entry.state == "starting"]
