"""An event-driven closed queue: users think, send a request, wait for a server, are served, and think again.

First come, first served over c servers, so one pass over requests in order of arrival is exact: a heap of the times at which
users send their next requests, and a heap of the times at which servers are free. A request takes about 1.5 us. The same pass
simulates limits of the generator: one that sends late, ports that run out, clients that time out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from capexplorer.model.experiments import Experiment
from capexplorer.model.readings import PartReading
from capexplorer.model.stages import RequestStages

Spread = Literal["constant", "uniform", "exponential", "lognormal", "bimodal"]

FAILED_FAST_S = 0.001
"""Response time of a request that fails at once."""

LOGNORMAL_CV = 1.2
"""Coefficient of variation of lognormal times."""

SLOW_SHARE, SLOW_TIMES = 0.1, 10.0
"""Of bimodal times: the share of slow ones, and how many times as long as the others they are."""

CV2: dict[Spread, float] = {
    "constant": 0.0,
    "uniform": 1 / 12,
    "exponential": 1.0,
    "lognormal": LOGNORMAL_CV**2,
    "bimodal": SLOW_SHARE * (1 - SLOW_SHARE) * ((SLOW_TIMES - 1) / (1 + SLOW_SHARE * (SLOW_TIMES - 1))) ** 2,
}
"""Squared coefficients of variation."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A change of the service from `at_s` to `until_s`, independent of the load."""

    at_s: float = math.inf
    until_s: float = math.inf
    speed: float = 1.0
    """Factor of the speed of all servers."""
    failing: float = 0.0
    """Share of requests that fail at once."""
    stalled_s: float = 0.0
    """Timeout of clients while no request is answered; 0: requests are answered."""
    by_neighbour: bool = False
    """Whether other processes use the CPU that the servers lack, which readings of the machine then show (`machine`)."""
    fades: bool = False
    """Whether the speed grows evenly from `speed` to 1 in this time, as while a service warms up."""

    def now(self, at_s: float) -> bool:
        """Whether the change is in effect at that time."""
        return self.at_s <= at_s < self.until_s

    def fails_after_s(self, at_s: float, rng: np.random.Generator) -> float:
        """Seconds until a request that is sent at that time fails; 0: the service gets it."""
        if not self.now(at_s):
            return 0.0
        return self.stalled_s or (FAILED_FAST_S if self.failing and rng.random() < self.failing else 0.0)

    def speed_at(self, at_s: float) -> float:
        """Factor of the speed of all servers at that time."""
        if not self.now(at_s):
            return 1.0
        passed = (at_s - self.at_s) / (self.until_s - self.at_s) if self.fades else 0.0
        return self.speed + (1 - self.speed) * passed


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
    """Number of requests in the system from which further ones fail at once."""
    timeout_s: float | None = None
    """Clients give up after this; the server still finishes the request."""
    ports: int | None = None
    """Connections that may be open or in TIME_WAIT; the next one fails at once."""
    time_wait_s: float = 0.0
    generator_s: float = 0.0
    """CPU that the generator, a single process, uses for each request before it starts to measure its latency."""
    limiter: tuple[float, float] | None = None
    """(requests a second, burst) of a token bucket, which refuses at once what finds no token."""
    linear: bool = False
    """As many servers as users."""
    threads: int = 0
    """Number of threads over which the work of all servers moves, on any core; 0: each server is one thread."""
    usl: tuple[float, float] | None = None
    """(sigma, kappa): one server whose speed depends on the number of requests; service and think times are then exponential."""
    trouble: Trouble = Trouble()


def draws(rng: np.random.Generator, mean_s: float, spread: Spread, count: int) -> NDArray[np.float64]:
    """`count` random times with that mean."""
    if spread == "constant" or mean_s == 0:
        return np.full(count, mean_s)
    if spread == "uniform":
        return rng.uniform(0.5 * mean_s, 1.5 * mean_s, count)
    if spread == "exponential":
        return rng.exponential(mean_s, count)
    if spread == "bimodal":
        fast_s = mean_s / (1 + SLOW_SHARE * (SLOW_TIMES - 1))
        return np.where(rng.random(count) < SLOW_SHARE, SLOW_TIMES * fast_s, fast_s)
    sigma2 = np.log(1 + LOGNORMAL_CV**2)
    return rng.lognormal(np.log(mean_s) - sigma2 / 2, np.sqrt(sigma2), count)


class Stream:
    """Random times, drawn in blocks."""

    BLOCK = 4096

    def __init__(self, rng: np.random.Generator, mean_s: float, spread: Spread) -> None:
        self._rng, self._mean_s, self._spread = rng, mean_s, spread
        self._left: list[float] = []

    def block(self) -> list[float]:
        """The rest of the block, or a new one; values are popped from it."""
        if not self._left:
            self._left = draws(self._rng, self._mean_s, self._spread, self.BLOCK).tolist()
        return self._left


class Bucket:
    """The tokens of a limiter: full at first, filled at a constant rate up to its burst."""

    def __init__(self, per_s: float, burst: float) -> None:
        self._per_s, self._burst, self._tokens, self._at_s = per_s, burst, burst, 0.0

    def takes(self, at_s: float) -> bool:
        """Whether there is a token then, which is taken. Times do not decrease."""
        self._tokens = min(self._burst, self._tokens + (at_s - self._at_s) * self._per_s)
        self._at_s = at_s
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


class Speed:
    """The machine's speed in each second: AR(1) with a correlation of 0.6 from second to second."""

    def __init__(self, rng: np.random.Generator, noise: float, *first: float) -> None:
        """`first`: those of the first seconds, which are not drawn."""
        self._rng, self._noise, self._now, self._known = rng, noise, 0.0, list(first)

    def at(self, at_s: float) -> float:
        if not self._noise:
            return 1.0
        while len(self._known) <= int(at_s):
            self._now = 0.6 * self._now + 0.8 * self._noise * float(self._rng.standard_normal())
            self._known.append(max(0.3, 1 + self._now))
        return self._known[int(at_s)]


class Request(NamedTuple):
    """One request that was simulated, and the think time of its user after it."""

    ended_s: float
    response_s: float
    ok: bool
    think_s: float
    name: str = "/work"
    ends_task: bool = True
    task_s: float = 0.0
    """Of a task of several requests, its duration at its last one."""
    received_bytes: int = 0
    stages: RequestStages | None = None


class Run:
    """A system under load: `to` sets the number of users, `until` lets time pass. `ended_s`, `response_s`, `ok` and
    `think_s` have an entry for each request that was sent."""

    def __init__(self, system: System, rng: np.random.Generator) -> None:
        self.system, self._rng = system, rng
        self.now_s = 0.0
        self.experiment: Experiment | None = None
        """What users do otherwise now; only services with several endpoints follow it (`stations`)."""
        self.users = 0
        self.ended_s: list[float] = []
        self.response_s: list[float] = []
        self.ok: list[bool] = []
        self.think_s: list[float] = []
        self._taken = 0
        self._under_way: list[Request] = []
        self._leaving = 0
        self._sends: list[float] = []
        self._free = [0.0] * system.servers
        self._done: list[float] = []
        self._ports: list[float] = []
        self._generator_free_s = 0.0
        self._service = Stream(rng, system.service_s, system.service_spread)
        self._think = Stream(rng, system.think_s, system.think_spread)
        self._speed = Speed(rng, system.noise)
        self._bucket = Bucket(*system.limiter) if system.limiter is not None else None
        self._busy_s: dict[int, float] = {}

    def busy_s(self, second: int) -> float:
        """Time for which servers were busy in that second of the run, summed over servers, including requests that timed out."""
        return float(self._busy_s.get(second, 0.0))  # a plain number, which can be written to a log

    def part(self) -> PartReading | None:
        """The reading of a watched part, once a second; None: none is watched."""
        return None

    def _count_busy(self, from_s: float, until_s: float) -> None:
        """Count the time for which one server is busy, by second."""
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
            self._sends += (self.now_s + self._rng.uniform(0, 1, fresh)).tolist()
            heapify(self._sends)
        else:
            self._leaving += self.users - users
        self.users = users

    def take_ended(self) -> list[Request]:
        """Requests that have ended by now and were not taken before. A request is simulated whole when it is sent."""
        known = [*self._under_way, *self._sent_since(self._taken)]
        self._taken = len(self.ended_s)
        self._under_way = [request for request in known if request.ended_s > self.now_s]
        return [request for request in known if request.ended_s <= self.now_s]

    def _sent_since(self, first: int) -> Iterator[Request]:
        """The requests from this index on."""
        columns = (self.ended_s, self.response_s, self.ok, self.think_s)
        return (Request(*each) for each in zip(*(column[first:] for column in columns), strict=True))

    def until(self, end_s: float) -> None:
        """Let time pass."""
        sends, generator_s = self._sends, self.system.generator_s
        service, think = self._service.block(), self._think.block()
        while sends and sends[0] < end_s:
            if self._leaving:
                heappop(sends)
                self._leaving -= 1
                continue
            if not service:
                service = self._service.block()
            if not think:
                think = self._think.block()
            sent_s = sends[0]
            if generator_s:
                sent_s = self._generator_free_s = max(sent_s, self._generator_free_s) + generator_s
            ended_s, ok = self._reply(sent_s, service)
            think_s = think.pop()
            self._record(sent_s, ended_s, think_s, ok=ok)
            heapreplace(sends, ended_s + think_s)
        self.now_s = end_s

    def _reply(self, sent_s: float, service: list[float]) -> tuple[float, bool]:
        """(time at which a request ends for its user, whether it succeeds). `service`: times, of which one is popped if the
        request is served."""
        system, trouble = self.system, self.system.trouble
        if fails_after_s := trouble.fails_after_s(sent_s, self._rng):
            return sent_s + fails_after_s, False
        if self._bucket is not None and not self._bucket.takes(sent_s):
            return sent_s + FAILED_FAST_S, False
        if (system.queue_limit is not None or system.ports is not None) and self._is_full(sent_s):
            return sent_s + FAILED_FAST_S, False
        taken_s = service.pop() / (self._speed.at(sent_s) * trouble.speed_at(sent_s))
        if system.linear:
            end_s = sent_s + taken_s
        else:
            end_s = max(sent_s, self._free[0]) + taken_s
            heapreplace(self._free, end_s)
        self._count_busy(end_s - taken_s, end_s)
        if system.queue_limit is not None:
            heappush(self._done, end_s)
        if system.ports is not None:
            heappush(self._ports, end_s + system.time_wait_s)
        if system.timeout_s is not None and end_s - sent_s > system.timeout_s:
            return sent_s + system.timeout_s, False
        return end_s, True

    def _is_full(self, sent_s: float) -> bool:
        """Whether a request that is sent then finds the queue full, or no free port."""
        done, ports, system = self._done, self._ports, self.system
        while done and done[0] <= sent_s:
            heappop(done)
        while ports and ports[0] <= sent_s:
            heappop(ports)
        return (system.queue_limit is not None and len(done) >= system.queue_limit) or (
            system.ports is not None and len(ports) >= system.ports
        )

    def _record(self, sent_s: float, ended_s: float, think_s: float, *, ok: bool) -> None:
        self.think_s.append(think_s)
        self.ended_s.append(ended_s)
        self.response_s.append(ended_s - sent_s)
        self.ok.append(ok)


class UslRun(Run):
    """A run of a server whose total rate depends on the number of requests in the system: a birth-death chain, event by event."""

    def until(self, end_s: float) -> None:
        """Let time pass."""
        assert self.system.usl is not None
        sigma, kappa = self.system.usl
        rate_rps, think_s = 1 / self.system.service_s, self.system.think_s
        present = self._done  # times at which the requests in the system were sent, in order
        now_s = self.now_s
        uniforms: list[float] = []
        while True:
            n = len(present)
            sending_rps = (self.users - n) / think_s if self.users > n else 0.0
            serving_rps = rate_rps * n / (1 + sigma * (n - 1) + kappa * n * (n - 1)) * self._speed.at(now_s) if n else 0.0
            if not uniforms:
                uniforms = self._rng.random(4096).tolist()
                waits = self._rng.standard_exponential(4096).tolist()
            total_rps = sending_rps + serving_rps
            began_s, now_s = now_s, now_s + waits.pop() / total_rps
            if n:
                self._count_busy(began_s, min(now_s, end_s))
            if now_s >= end_s:
                break
            if uniforms.pop() * total_rps < sending_rps:
                present.append(now_s)
            else:
                self._record(present.pop(0), now_s, think_s, ok=True)  # the chain is memoryless and draws no think times
        self.now_s = end_s


def run(system: System, rng: np.random.Generator) -> Run:
    return UslRun(system, rng) if system.usl is not None else Run(system, rng)
