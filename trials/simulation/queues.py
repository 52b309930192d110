"""An event-driven closed queue: users think, ask, wait for their turn, are served, and think again.

First come, first served over c servers, so one pass over requests in order of arrival is exact: a heap of the times at which
users ask next, and a heap of the times at which servers are free. About 1.5 us a request. Everything a load tester's own
side can do to a measurement is in the same pass: a generator that is late, ports that run out, clients that give up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Spread = Literal["constant", "uniform", "exponential", "lognormal"]

FAILED_FAST_S = 0.001
"""How long a refused request takes."""

LOGNORMAL_CV = 1.2


@dataclass(frozen=True, slots=True)
class Trouble:
    """A change in time, from `at_s` on until `until_s`, whatever the load."""

    at_s: float = math.inf
    until_s: float = math.inf
    speed: float = 1.0
    """Of all servers, times their usual speed."""
    failing: float = 0.0
    """Share of requests that fail at once."""
    stalled_s: float = 0.0
    """No request is answered, and clients give up after so long; 0: requests are answered."""
    by_neighbour: bool = False
    """Other processes take the CPU that the speed lacks, as readings of the machine show (`machine`)."""

    def now(self, at_s: float) -> bool:
        """Whether it lasts at this moment."""
        return self.at_s <= at_s < self.until_s


@dataclass(frozen=True, slots=True)
class System:
    """A closed queue's parameters. Times in seconds."""

    service_s: float
    think_s: float
    servers: int = 1
    service_spread: Spread = "exponential"
    think_spread: Spread = "exponential"
    noise: float = 0.0
    """Standard deviation of the machine's speed, an AR(1) over seconds."""
    queue_limit: int | None = None
    """Requests in the system beyond which one is shed at once."""
    timeout_s: float | None = None
    """Clients give up after this; the server still finishes the request."""
    ports: int | None = None
    """Connections that may be open or in TIME_WAIT; the next one fails at once."""
    time_wait_s: float = 0.0
    generator_s: float = 0.0
    """CPU of the one generator for each request, before its clock starts."""
    linear: bool = False
    """As many servers as users."""
    usl: tuple[float, float] | None = None
    """(sigma, kappa): one server whose speed depends on how many are present; service and think are then exponential."""
    trouble: Trouble = Trouble()


def draws(rng: np.random.Generator, mean_s: float, spread: Spread, count: int) -> NDArray[np.float64]:
    """`count` random times with that mean."""
    if spread == "constant" or mean_s == 0:
        return np.full(count, mean_s)
    if spread == "uniform":
        return rng.uniform(0.5 * mean_s, 1.5 * mean_s, count)
    if spread == "exponential":
        return rng.exponential(mean_s, count)
    sigma2 = np.log(1 + LOGNORMAL_CV**2)
    return rng.lognormal(np.log(mean_s) - sigma2 / 2, np.sqrt(sigma2), count)


class Stream:
    """Random times, drawn a block at a time."""

    BLOCK = 4096

    def __init__(self, rng: np.random.Generator, mean_s: float, spread: Spread) -> None:
        self._rng, self._mean_s, self._spread = rng, mean_s, spread
        self._left: list[float] = []

    def block(self) -> list[float]:
        """The rest of the block, or a new one; values are popped from it."""
        if not self._left:
            self._left = draws(self._rng, self._mean_s, self._spread, self.BLOCK).tolist()
        return self._left


class Request(NamedTuple):
    """One request that was simulated."""

    ended_s: float
    response_s: float
    ok: bool


class Run:
    """A system under load whose users come and go: `to` steps them, `until` lets time pass. See `ended_s`, `response_s`, `ok`."""

    def __init__(self, system: System, rng: np.random.Generator) -> None:
        self.system, self._rng = system, rng
        self.now_s = 0.0
        self.users = 0
        self.ended_s: list[float] = []
        self.response_s: list[float] = []
        self.ok: list[bool] = []
        self._taken = 0
        self._under_way: list[Request] = []
        self._leaving = 0
        self._asks: list[float] = []
        self._free = [0.0] * system.servers
        self._done: list[float] = []
        self._ports: list[float] = []
        self._generator_free_s = 0.0
        self._service = Stream(rng, system.service_s, system.service_spread)
        self._think = Stream(rng, system.think_s, system.think_spread)
        self._speed: list[float] = []
        self._speed_now = 0.0
        self._busy_s: dict[int, float] = {}

    def busy_s(self, second: int) -> float:
        """For how long servers worked in that second of the run, all together; work for clients who gave up is work."""
        return self._busy_s.get(second, 0.0)

    def _works(self, from_s: float, until_s: float) -> None:
        """Note that one server works."""
        busy, second = self._busy_s, int(from_s)
        while until_s > second + 1:
            busy[second] = busy.get(second, 0.0) + second + 1 - from_s
            second += 1
            from_s = float(second)
        busy[second] = busy.get(second, 0.0) + until_s - from_s

    def to(self, users: int) -> None:
        """Set the number of users; new ones send a request within a second, those that leave do so before their next request."""
        if users > self.users:
            back = min(self._leaving, users - self.users)
            self._leaving -= back
            fresh = users - self.users - back
            self._asks += (self.now_s + self._rng.uniform(0, 1, fresh)).tolist()
            heapify(self._asks)
        else:
            self._leaving += self.users - users
        self.users = users

    def take_ended(self) -> list[Request]:
        """Requests that have ended by now and were not taken before. A request is simulated whole when it is sent."""
        new = zip(self.ended_s[self._taken :], self.response_s[self._taken :], self.ok[self._taken :], strict=True)
        known = [*self._under_way, *(Request(*each) for each in new)]
        self._taken = len(self.ended_s)
        self._under_way = [request for request in known if request.ended_s > self.now_s]
        return [request for request in known if request.ended_s <= self.now_s]

    def until(self, end_s: float) -> None:
        """Let time pass."""
        system = self.system
        asks, free, done, ports = self._asks, self._free, self._done, self._ports
        service, think = self._service.block(), self._think.block()
        while asks and asks[0] < end_s:
            asked_s = asks[0]
            if self._leaving:
                heappop(asks)
                self._leaving -= 1
                continue
            if not service:
                service = self._service.block()
            if not think:
                think = self._think.block()
            if system.generator_s:
                asked_s = max(asked_s, self._generator_free_s) + system.generator_s
                self._generator_free_s = asked_s
            ok, end = True, 0.0
            troubled = system.trouble.now(asked_s)
            if troubled and system.trouble.stalled_s:
                self._answered(asked_s, asked_s + system.trouble.stalled_s, ok=False)
                heapreplace(asks, asked_s + system.trouble.stalled_s + think.pop())
                continue
            if troubled and system.trouble.failing:
                ok = self._rng.random() >= system.trouble.failing
            if system.queue_limit is not None:
                while done and done[0] <= asked_s:
                    heappop(done)
                ok = ok and len(done) < system.queue_limit
            if system.ports is not None:
                while ports and ports[0] <= asked_s:
                    heappop(ports)
                ok = ok and len(ports) < system.ports
            if not ok:
                end = asked_s + FAILED_FAST_S
            else:
                taken_s = service.pop() / (self._speed_at(asked_s) * (system.trouble.speed if troubled else 1.0))
                if system.linear:
                    end = asked_s + taken_s
                else:
                    end = max(asked_s, free[0]) + taken_s
                    heapreplace(free, end)
                self._works(end - taken_s, end)
                if system.queue_limit is not None:
                    heappush(done, end)
                if system.ports is not None:
                    heappush(ports, end + system.time_wait_s)
                if system.timeout_s is not None and end - asked_s > system.timeout_s:
                    ok, end = False, asked_s + system.timeout_s
            self._answered(asked_s, end, ok=ok)
            heapreplace(asks, end + think.pop())
        self.now_s = end_s

    def _answered(self, asked_s: float, end_s: float, *, ok: bool) -> None:
        self.ended_s.append(end_s)
        self.response_s.append(end_s - asked_s)
        self.ok.append(ok)

    def _speed_at(self, at_s: float) -> float:
        """The machine's speed in that second: AR(1) with a correlation of 0.6 from second to second."""
        if not self.system.noise:
            return 1.0
        second = int(at_s)
        while len(self._speed) <= second:
            self._speed_now = 0.6 * self._speed_now + 0.8 * self.system.noise * self._rng.standard_normal()
            self._speed.append(max(0.3, 1 + self._speed_now))
        return self._speed[second]


class UslRun(Run):
    """The same for a server whose total rate depends on how many are present: a birth-death chain, event by event."""

    def until(self, end_s: float) -> None:
        """Let time pass."""
        assert self.system.usl is not None
        sigma, kappa = self.system.usl
        rate_rps, think_s = 1 / self.system.service_s, self.system.think_s
        present = self._done  # when each user who is present asked, in order
        now_s = self.now_s
        uniforms: list[float] = []
        while True:
            n = len(present)
            asking_rps = (self.users - n) / think_s if self.users > n else 0.0
            serving_rps = rate_rps * n / (1 + sigma * (n - 1) + kappa * n * (n - 1)) * self._speed_at(now_s) if n else 0.0
            if not uniforms:
                uniforms = self._rng.random(4096).tolist()
                waits = self._rng.standard_exponential(4096).tolist()
            total_rps = asking_rps + serving_rps
            began_s, now_s = now_s, now_s + waits.pop() / total_rps
            if n:
                self._works(began_s, min(now_s, end_s))
            if now_s >= end_s:
                break
            if uniforms.pop() * total_rps < asking_rps:
                present.append(now_s)
            else:
                asked_s = present.pop(0)
                self.ended_s.append(now_s)
                self.response_s.append(now_s - asked_s)
                self.ok.append(True)
        self.now_s = end_s


def run(system: System, rng: np.random.Generator) -> Run:
    """A fresh run of a system."""
    return UslRun(system, rng) if system.usl is not None else Run(system, rng)
