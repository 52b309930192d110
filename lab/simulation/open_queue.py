"""An event-driven open queue: iterations arrive on a schedule, wait for a user, then for a server.

First come, first served, so one pass over the arrivals in order is exact. Service times and timeouts are those of
`queues.System`; its think time is not used. An arrival takes about 2 us.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace
from typing import Literal, NamedTuple

import numpy as np

from capexplorer.model.stages import RequestStages

from . import exact
from .queues import CV2, FAILED_FAST_S, Bucket, Speed, Stream, System

Arrivals = Literal["poisson", "even"]

POOL_MOST = 10_000
"""Users in the pool of the generator, unless a test sets their number."""


class Iteration(NamedTuple):
    """One arrival and what became of it. Seconds of the run."""

    due_s: float
    started_s: float
    ended_s: float
    ok: bool
    stages: RequestStages | None = None


class OpenRun:
    """A system under offered rates: `offer` sets the rate, `until` lets time pass."""

    def __init__(
        self,
        system: System,
        rng: np.random.Generator,
        *,
        arrivals: Arrivals = "poisson",
        max_users: int = POOL_MOST,
        waiting_most: int = 1_000,
    ) -> None:
        """`waiting_most`: most arrivals that may wait for an idle user; the next one is dropped."""
        self.system, self._rng, self.even = system, rng, arrivals == "even"
        self._waiting_most = waiting_most
        self.now_s = 0.0
        self.rate_per_s = 0.0
        self.due = self.dropped = self.at_cap = 0
        """Arrivals so far, arrivals that were dropped, and arrivals that found all users of the pool busy."""
        self.lost = 0
        """Iterations that never report their end; the load thread still counts them as in flight."""
        self._next_s = 0.0
        self._users = [0.0] * max_users
        """A heap of the times from which each user of the pool is idle."""
        self._starts: list[float] = []
        self._free = [0.0] * system.servers
        self._done: list[float] = []
        self._under_way: list[Iteration] = []
        self._service = Stream(rng, system.service_s, system.service_spread)
        self._speed = Speed(rng, system.noise, 1.0)
        self._bucket = Bucket(*system.limiter) if system.limiter is not None else None

    @property
    def in_flight(self) -> int:
        """Arrivals that wait or run now."""
        return len(self._under_way)

    @property
    def queued(self) -> int:
        """Arrivals that wait for a user now."""
        return sum(each.started_s > self.now_s for each in self._under_way)

    @property
    def busy(self) -> int:
        """Users that run an iteration now."""
        return self.in_flight - self.queued

    def offer(self, rate_per_s: float) -> None:
        """Set the rate."""
        self.rate_per_s = rate_per_s
        self._next_s = self.now_s + self._gap_s() if rate_per_s else float("inf")

    def until(self, end_s: float) -> list[Iteration]:
        """Let time pass; returns the iterations that ended, in no order."""
        while self._next_s < end_s:
            self._arrive(self._next_s)
            self._next_s += self._gap_s()
        self.now_s = end_s
        ended = [each for each in self._under_way if each.ended_s <= end_s]
        self._under_way = [each for each in self._under_way if each.ended_s > end_s]
        return ended

    def _gap_s(self) -> float:
        return (1.0 if self.even else float(self._rng.standard_exponential())) / self.rate_per_s

    def _arrive(self, due_s: float) -> None:
        self.due += 1
        starts, users = self._starts, self._users
        while starts and starts[0] <= due_s:
            heappop(starts)
        started_s = max(due_s, users[0])
        if started_s > due_s:
            self.at_cap += 1
            if len(starts) >= self._waiting_most:
                self.dropped += 1
                return
            heappush(starts, started_s)
        ended_s, ok = self._serve(started_s)
        heapreplace(users, ended_s)
        self._under_way.append(Iteration(due_s, started_s, ended_s, ok))

    def _serve(self, started_s: float) -> tuple[float, bool]:
        """(time at which the iteration ends for its user, whether it succeeds)."""
        system, done, trouble = self.system, self._done, self.system.trouble
        if fails_after_s := trouble.fails_after_s(started_s, self._rng):
            return started_s + fails_after_s, False
        if self._bucket is not None and not self._bucket.takes(started_s):
            return started_s + FAILED_FAST_S, False
        while done and done[0] <= started_s:
            heappop(done)
        if system.queue_limit is not None and len(done) >= system.queue_limit:
            return started_s + FAILED_FAST_S, False
        takes_s = self._service.block().pop() / (self._speed.at(started_s) * trouble.speed_at(started_s))
        end_s = max(started_s, self._free[0]) + takes_s if not system.linear else started_s + takes_s
        if not system.linear:
            heapreplace(self._free, end_s)
        heappush(done, end_s)
        if system.timeout_s is not None and end_s - started_s > system.timeout_s:
            return started_s + system.timeout_s, False  # the server still finishes the request
        return end_s, True


def mean_wait_s(ended: Sequence[Iteration], service_s: float) -> float:
    """Mean waiting time: the mean time from the planned start to the end, less the mean service time."""
    return math.fsum(each.ended_s - each.due_s for each in ended) / len(ended) - service_s


def theory_wait_s(load: float, system: System) -> float:
    """Mean waiting time in the queue at a share `load` of the capacity."""
    return exact.wait_s(load, system.servers, system.service_s, CV2[system.service_spread])
