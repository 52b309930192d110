"""Simulated services as worlds for finders: still ones, which do not change, and moving ones, which do. Their N* is exact.

Seeds: 900,000 and up, on which none of the autopilot's thresholds was tuned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from lab.simulation.ladders import KINDS, Kind, Truth, random_system
from lab.simulation.queues import Run, System, Trouble, run

from .world import MAX_USERS, Window

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


class SimulatedWorld:
    """A simulated service in virtual time."""

    def __init__(self, service: Service) -> None:
        self.run = started(service)

    @property
    def now_s(self) -> float:
        return self.run.now_s

    @property
    def users(self) -> int:
        return self.run.users

    def step(self, users: int) -> None:
        """Set the number of users."""
        self.run.to(users)

    def watch(self, seconds: int) -> Window:
        """Let some seconds pass."""
        self.run.until(self.run.now_s + seconds)
        ended = self.run.take_ended()
        ok = np.array([each.ok for each in ended], bool)
        response_ms = np.array([each.response_s for each in ended])[ok] * 1000
        good = int(ok.sum())
        return Window(
            users=self.users,
            seconds=seconds,
            goodput_rps=good / seconds,
            failure_ratio=1 - good / len(ok) if len(ok) else 0.0,
            mean_ms=float(response_ms.mean()) if good else None,
            p95_ms=float(np.quantile(response_ms, 0.95)) if good else None,
        )


def started(service: Service) -> Run:
    """A run of the service at its first second; the change comes later."""
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
