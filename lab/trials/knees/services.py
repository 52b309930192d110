"""Services as worlds for finders: simulated ones, whose N* is exact, and real ones in real time, of k workers that sleep s each.

Simulated services do not change (still) or do (moving). Their seeds, 900,000 and up, are those on which none of the autopilot's
thresholds was tuned.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import httpx
import numpy as np

from lab.kit.servers import meanwhile
from lab.simulation.ladders import KINDS, Kind, Truth, random_system
from lab.simulation.queues import Run, System, Trouble, run
from lab.trials.experiments.known import System as KnownSystem
from lab.trials.experiments.known import system

from .finders import MAX_USERS, Steps, Window

Change = Literal["none", "capacity halves", "capacity doubles", "neighbour", "fault"]

EFFECTS: dict[Change, Trouble] = {
    "capacity halves": Trouble(speed=0.5),
    "capacity doubles": Trouble(speed=2.0),
    "neighbour": Trouble(speed=0.4),
    "fault": Trouble(failing=1.0),
}
CHANGES = tuple(EFFECTS)
PERMANENT: tuple[Change, ...] = ("capacity halves", "capacity doubles")
FIRST_SEED = 900_000
CHANGE_S = (20.0, 120.0)
"""Seconds from the start of the exploration to the change, uniform in this interval."""
DISTURBED_S = (20.0, 60.0)
"""Duration of a neighbour or a fault, uniform in this interval."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service and its change; `truth` is that of the service before the change."""

    name: str
    seed: int
    system: System
    """The service; its `trouble` is the change."""
    truth: Truth
    change: Change

    @property
    def knees(self) -> tuple[float, ...]:
        """Every N* that the service itself has at some time; empty: none."""
        knee, system = self.truth.knee_users, self.system
        if knee is None:
            return ()
        factor = system.trouble.speed
        if self.change not in PERMANENT or self.truth.capacity_rps is None:
            return (knee,)
        return knee, self.truth.capacity_rps * factor * (system.service_s / factor + system.think_s)

    @property
    def capacities(self) -> tuple[float, ...]:
        """Every capacity, in requests a second, that the service itself has at some time; empty: none."""
        capacity = self.truth.capacity_rps
        if capacity is None:
            return ()
        return (capacity, capacity * self.system.trouble.speed) if self.change in PERMANENT else (capacity,)


class SimulatedWorld:
    def __init__(self, service: Service) -> None:
        self.run = started(service)
        self.steps: Steps = []

    @property
    def now_s(self) -> float:
        return self.run.now_s

    def step(self, load: float) -> None:
        self.run.to(round(load))

    def watch(self, seconds: float) -> Window:
        self.steps.append((self.run.users, seconds))
        self.run.until(self.run.now_s + seconds)
        return window(self.run.users, seconds, [(each.response_s * 1000, each.ok) for each in self.run.take_ended()])


def window(load: float, seconds: float, ended: Sequence[tuple[float, bool]]) -> Window:
    took_ms = [took for took, ok in ended if ok]
    return Window(load, seconds, took_ms, failed=len(ended) - len(took_ms))


def started(service: Service) -> Run:
    return run(service.system, np.random.default_rng([service.seed, 7]))


def services(count: int, first_seed: int = FIRST_SEED) -> list[Service]:
    """`count` services of each sort: still ones of six kinds and linear ones; queues and linear ones that change."""
    made = []
    still: tuple[Kind | Literal["linear"], ...] = (*KINDS, "linear")
    for seed in range(first_seed, first_seed + count):
        made += [_service(kind, seed, "none") for kind in still]
        made += [_service("queue", seed, change) for change in CHANGES]
        made += [_service("linear", seed, change) for change in ("neighbour", "fault")]
    return made


def _service(kind: Kind | Literal["linear"], seed: int, change: Change) -> Service:
    rng = np.random.default_rng([seed, (*KINDS, "linear").index(kind)])
    system, truth = random_system(kind, rng)
    at_s, disturbed_s = rng.uniform(*CHANGE_S), rng.uniform(*DISTURBED_S)
    until_s = math.inf if change in PERMANENT else at_s + disturbed_s
    if change != "none":
        system = replace(system, trouble=replace(EFFECTS[change], at_s=at_s, until_s=until_s, by_neighbour=change == "neighbour"))
    name = kind if change == "none" else f"{kind}, {change}"
    return Service(name, seed, system, truth, change)


assert MAX_USERS >= 2 * 2 * 150, "random systems have knees at 8 to 150 users; a doubled one must be within reach"


# -- real services -------------------------------------------------------------------------------------------------------------

TIMEOUT_S = 30.0


class Reply(NamedTuple):
    ended_s: float
    took_ms: float
    ok: bool


class LiveWorld:
    """Users of one URL in real time, on an event loop in a thread of its own."""

    def __init__(self, url: str, think_s: float) -> None:
        self._url, self._think_s = url, think_s
        self._began_s = time.monotonic()
        self._replies: list[Reply] = []
        self.steps: Steps = []
        self._seen = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._client = httpx.AsyncClient(timeout=TIMEOUT_S, limits=httpx.Limits(max_connections=None), trust_env=False)

    @property
    def now_s(self) -> float:
        return time.monotonic() - self._began_s

    def step(self, load: float) -> None:
        asyncio.run_coroutine_threadsafe(self._to(round(load)), self._loop).result()

    async def _to(self, users: int) -> None:
        while len(self._tasks) < users:
            self._tasks.append(self._loop.create_task(self._user()))
        leaving, self._tasks = self._tasks[users:], self._tasks[:users]
        for task in leaving:
            task.cancel()

    async def _user(self) -> None:
        await asyncio.sleep(random.uniform(0, 1))
        while True:
            began_s = time.monotonic()
            try:
                ok = (await self._client.get(self._url)).is_success
            except httpx.HTTPError:
                ok = False
            ended_s = time.monotonic()
            self._replies.append(Reply(ended_s, (ended_s - began_s) * 1000, ok))
            await asyncio.sleep(random.expovariate(1 / self._think_s))

    def watch(self, seconds: float) -> Window:
        self.steps.append((len(self._tasks), seconds))
        time.sleep(seconds)  # the policy sets the length of its measurements
        replies, self._seen = self._replies[self._seen :], len(self._replies)
        return window(len(self._tasks), seconds, [(reply.took_ms, reply.ok) for reply in replies])

    async def _close(self) -> None:
        await self._to(0)
        await self._client.aclose()


@contextmanager
def live_world(url: str, think_s: float) -> Iterator[LiveWorld]:
    """A world without users; its users and its thread end with the block."""
    world = LiveWorld(url, think_s)
    try:
        yield world
    finally:
        asyncio.run_coroutine_threadsafe(world._close(), world._loop).result()
        world._loop.call_soon_threadsafe(world._loop.stop)
        world._thread.join()
        world._loop.close()


STALL_AT_S, STALL_S = 40.0, 20.0
"""When a service that stalls is stopped (SIGSTOP), and for how long."""


@dataclass(frozen=True, slots=True)
class LiveService:
    system: KnownSystem
    stalls: bool = False

    @property
    def name(self) -> str:
        return f"{self.system.name}{', stalls' if self.stalls else ''}"


SERVICES = (
    LiveService(system("four-workers")),
    LiveService(system("ten-workers")),
    LiveService(system("four-workers"), stalls=True),
)


def stalling(pid: int) -> AbstractContextManager[None]:
    """The process is stopped at STALL_AT_S for STALL_S; it runs when the block ends."""

    def stall(is_over: threading.Event) -> None:
        if not is_over.wait(STALL_AT_S):
            os.kill(pid, signal.SIGSTOP)
            is_over.wait(STALL_S)
            os.kill(pid, signal.SIGCONT)

    return meanwhile(stall)
