"""Loads that were held: seconds at one user count on one run of the target, where nothing but time goes on.

Judges nothing: what may be looked at as one is decided here, what grew there in `leaks`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from ...model.events import Target
from ...model.level import Level
from ...model.timeline import Timeline
from .trend import Floats

NEAR_LIMIT = 0.95
"""Of a limit: from there on it cannot grow as it did, and what stops is no sign of health."""

DROP = 0.5
"""A fall under this share of what it was is another process, not the same one that shrank."""


@dataclass(frozen=True, slots=True)
class ConstantLoad:
    """Seconds at one user count: a level and those beside it with as many users."""

    levels: tuple[Level, ...]

    @property
    def users(self) -> float:
        """Wanted all the while."""
        return float(self.levels[0].users)

    @property
    def seconds(self) -> float:
        """Settled ones so far."""
        return math.fsum(level.figures.settled_seconds for level in self.levels)

    @property
    def throughput_rps(self) -> float | None:
        """Of settled seconds."""
        requests = sum(level.figures.requests for level in self.levels)
        return requests / self.seconds if self.seconds else None

    def ticks(self, timeline: Timeline) -> list[int]:
        """Column indices of its settled seconds."""
        return [tick for level in self.levels for tick in timeline.seconds_of(level)]


def constant_loads(timeline: Timeline, epoch: int) -> Iterator[ConstantLoad]:
    """In the order they ran; a restart of the target ends one."""
    starts = restarts_s(timeline)
    own = [level for level in timeline.levels if level.opened.epoch == epoch and not level.opened.ramp]
    for (users, _), group in groupby(own, key=lambda level: (level.users, sum(t <= level.started_s for t in starts))):
        held = ConstantLoad(tuple(group))
        if users and held.seconds:
            yield held


def pieces(values: Floats, limit: float | None) -> Iterator[tuple[int, int]]:
    """[start, end) of what may be looked at as one: it ends where the limit is near, or where the process was another."""
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
    """When the target that ran in this level first had users."""
    since_s = max((t for t in restarts_s(timeline) if t <= level.started_s), default=0.0)
    loaded = (each.started_s for each in timeline.levels if each.users and each.started_s >= since_s)
    return min(loaded, default=level.started_s)


def restarts_s(timeline: Timeline) -> list[float]:
    """When the target was started, the first time too."""
    return [entry.t_s for entry in timeline.journal if isinstance(entry, Target) and entry.state == "starting"]


def pid_of(timeline: Timeline, epoch: int) -> int | None:
    """Of the process that last ran as the epoch's target."""
    known = (entry.pid for entry in reversed(timeline.journal) if isinstance(entry, Target) and entry.epoch == epoch)
    return next((pid for pid in known if pid is not None), None)
