"""When a level is spawning, settling and settled (docs/knee.md, section 1). Pure: the caller passes the time."""

from __future__ import annotations

import math

import msgspec

from ...model.events import Phase
from ...model.level_use import USERS_MISSING_MOST

SETTLING_LEAST_S = 2.0
SETTLING_MOST_S = 30.0
"""Bounds of the time to settle."""
SETTLING_AT_RATE_MOST_S = 5.0
"""Upper bound at an offered rate: above the capacity latency grows as long as the level lasts, and two cycles never end. Two of
the shortest known responses are waited for in any case."""

SHRINKS_S = 5
"""A backlog shrinks if fewer iterations are in flight than so many seconds before. At 0.9 of the capacity it shrinks by half a
second's arrivals in that time, several times their random variation at 100/s."""

FIRST_REPLIES = 5
"""Replies that must have come before they say how long a first rate takes to settle: the shortest come first."""

TICK_LATE_S = 0.1
"""A level that opens right after a tick opens up to so much later: the next tick is its first whole one."""

SETTLING_CYCLES = 2.0
"""Cycles (think time plus response) after which the previous level's backlog and the start of new users have no effect."""


def settling_s(mean_pause_s: float, mean_latency_s: float) -> float:
    """Length of the transient that is left out, in seconds after the end of spawning."""
    return min(SETTLING_MOST_S, max(SETTLING_LEAST_S, SETTLING_CYCLES * (mean_pause_s + mean_latency_s)))


def least_of(users: int) -> int:
    """How many of a level's users must run, and be warm, in a settled second."""
    return math.ceil(users * (1 - USERS_MISSING_MOST))


class TickCounts(msgspec.Struct, frozen=True):
    """Requests and pauses of users in one tick, warm-up and failures included."""

    requests: int
    latency_sum_s: float
    waits: int
    wait_sum_s: float
    sleeps: int = 0
    sleep_sum_s: float = 0.0
    warm_users: int | None = None
    """Warm users at the end of the tick; None: not known, and all count as warm."""
    ended: int = 0
    """Iterations of a rate level that finished, failed or were dropped."""
    in_flight: int = 0
    """Iterations of a rate level in flight at the end of the tick."""


class LevelClock:
    """The phase of one level, tick by tick. `wanted`: its users; None for a level of an offered rate.

    `inherited`: iterations in flight at its start, which were planned by the level before. A level of a rate also waits until
    they have ended, but at most SETTLING_MOST_S. They end before its own, since arrivals queue in order. `backlog_above`:
    iterations in flight above which a backlog is worked off, whose own iterations queued behind the inherited ones; None: not
    known, or there is none. `response_s`: the least mean response of earlier levels; None: not known.
    """

    def __init__(
        self,
        wanted: int | None,
        inherited: int = 0,
        backlog_above: float | None = None,
        response_s: float | None = None,
    ) -> None:
        self.wanted = wanted
        self._most_s, self._least_replies = SETTLING_MOST_S, 1 if response_s is not None or wanted is not None else FIRST_REPLIES
        self._stays = False
        """Whether it is a level of a rate that has settled: its iterations are counted from then on, without a gap."""
        if wanted is None and response_s is not None:
            self._most_s = min(SETTLING_MOST_S, max(SETTLING_AT_RATE_MOST_S, SETTLING_CYCLES * response_s))
        self._inherited = inherited
        self._backlog_above = backlog_above
        self._in_flight: list[int] = []
        """At the end of each tick, while a backlog is worked off."""
        self.spawned_s: float | None = None
        """Time at which all its users were running."""
        self._requests = self._waits = self._sleeps = 0
        self._latency_sum_s = self._wait_sum_s = self._sleep_sum_s = 0.0
        self._warm_users: int | None = None
        """Warm users at the end of the latest tick."""
        self._from_s = -math.inf
        """Before that its ticks are of the level before."""

    def goes_on(self, at_s: float) -> None:
        """Another level of the same load opens at this moment: if this one has settled, so has that."""
        self._from_s = at_s - TICK_LATE_S

    def spawned(self, at_s: float) -> None:
        """Record that all its users had started at this moment."""
        if self.spawned_s is None:
            self.spawned_s = at_s

    @property
    def settles_s(self) -> float | None:
        """When the level settles, as known so far; None while it spawns."""
        if self.spawned_s is None:
            return None
        most_s = self._most_s
        if self.wanted != 0 and self._requests < self._least_replies:
            return self.spawned_s + most_s  # the cycle is not known yet
        mean_wait_s = self._wait_sum_s / self._waits if self._waits else 0.0
        mean_sleep_s = self._sleep_sum_s / self._sleeps if self._sleeps else 0.0
        mean_latency_s = self._latency_sum_s / self._requests if self._requests else 0.0
        return self.spawned_s + min(most_s, settling_s(max(mean_wait_s, mean_sleep_s), mean_latency_s))

    def tick(self, started_s: float, ended_s: float, users: int, counts: TickCounts) -> tuple[Phase, bool]:
        """(phase at the end of the tick, whether the tick counts in the figures).

        It counts if it began after settling, and enough users ran and were warm at its start and at its end.
        """
        if self.spawned_s is None and users == self.wanted:
            self.spawned_s = ended_s
        self._requests += counts.requests
        self._latency_sum_s += counts.latency_sum_s
        self._waits += counts.waits
        self._wait_sum_s += counts.wait_sum_s
        self._sleeps += counts.sleeps
        self._sleep_sum_s += counts.sleep_sum_s
        self._inherited -= counts.ended
        known = [warm for warm in (self._warm_users, counts.warm_users) if warm is not None]
        self._warm_users = counts.warm_users
        settles_s = self.settles_s
        if settles_s is None:
            return "spawning", False
        if self.wanted is None:
            is_draining = self._inherited > 0 or self._backlog_above is not None
            missing = is_draining and started_s < (self.spawned_s or 0.0) + SETTLING_MOST_S
            self._follow_backlog(counts.in_flight)
        else:
            missing = min([users, *known]) < least_of(self.wanted)
        if started_s < self._from_s or not (self._stays or (started_s >= settles_s and not missing)):
            return "settling", False
        self._stays = self.wanted is None
        return "settled", True

    def _follow_backlog(self, in_flight: int) -> None:
        """Wait for the backlog no longer once it has gone, or does not shrink: the rate is then beyond the capacity itself."""
        self._in_flight.append(in_flight)
        shrinks = len(self._in_flight) <= SHRINKS_S or in_flight < self._in_flight[-1 - SHRINKS_S]
        if self._backlog_above is not None and (in_flight <= self._backlog_above or not shrinks):
            self._backlog_above = None
