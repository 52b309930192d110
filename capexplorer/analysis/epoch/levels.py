"""When a level is spawning, settling and settled (DESIGN section 4). Pure: told the time, never asks for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...model.events import Phase

SETTLING_LEAST_S = 2.0
SETTLING_MOST_S = 30.0
SETTLING_CYCLES = 2.0
"""Cycles of wait and response after which the last level's backlog and the new users' start are out of the figures."""

USERS_MISSING_MOST = 0.05
"""Share of its users that a settled second may lack."""


def settling_s(mean_wait_s: float, mean_latency_s: float) -> float:
    """Length of the transient to set aside, in seconds after the end of spawning."""
    return min(SETTLING_MOST_S, max(SETTLING_LEAST_S, SETTLING_CYCLES * (mean_wait_s + mean_latency_s)))


@dataclass(frozen=True, slots=True)
class TickCounts:
    """What users did in one tick, warm-up and failures included."""

    requests: int
    latency_sum_s: float
    waits: int
    wait_sum_s: float


class LevelClock:
    """One level's phase, tick by tick."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.spawned_s: float | None = None
        """When all its users were there."""
        self._requests = self._waits = 0
        self._latency_sum_s = self._wait_sum_s = 0.0

    def spawned(self, at_s: float) -> None:
        """All users were asked for and started at this moment."""
        if self.spawned_s is None:
            self.spawned_s = at_s

    @property
    def settles_s(self) -> float | None:
        """When the level settles, as known so far; None while it spawns."""
        if self.spawned_s is None:
            return None
        if self.wanted and not self._requests:
            return self.spawned_s + SETTLING_MOST_S  # nothing has come back yet: no cycle is known
        mean_wait_s = self._wait_sum_s / self._waits if self._waits else 0.0
        mean_latency_s = self._latency_sum_s / self._requests if self._requests else 0.0
        return self.spawned_s + settling_s(mean_wait_s, mean_latency_s)

    def tick(self, started_s: float, ended_s: float, users: int, counts: TickCounts) -> tuple[Phase, bool]:
        """(phase at the end of the tick, whether the tick makes figures). A tick counts only when it began after settling."""
        if self.spawned_s is None and users == self.wanted:
            self.spawned_s = ended_s
        self._requests += counts.requests
        self._latency_sum_s += counts.latency_sum_s
        self._waits += counts.waits
        self._wait_sum_s += counts.wait_sum_s
        settles_s = self.settles_s
        if settles_s is None:
            return "spawning", False
        if users < math.ceil(self.wanted * (1 - USERS_MISSING_MOST)) or started_s < settles_s:
            return "settling", False
        return "settled", True
