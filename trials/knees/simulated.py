"""Simulated services, still and moving, as worlds for finders. What a service can do is exact, so the truth is known.

Seeds: none of the autopilot's thresholds was tuned on 900,000 and up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trials.simulation.ladders import KINDS, Kind, Truth, random_system
from trials.simulation.queues import Run, System, run

from .world import MAX_USERS, Window

Change = Literal["none", "capacity halves", "capacity doubles", "neighbour", "fault"]

CHANGES: tuple[Change, ...] = ("capacity halves", "capacity doubles", "neighbour", "fault")
FIRST_SEED = 900_000
CHANGE_S = (20.0, 120.0)
"""When a world changes: evenly in this interval, from the start of the exploration."""
AWAY_S = (20.0, 60.0)
"""How long a neighbour or a fault stays."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service and what happens to it; `truth.knee_users` is that of the service before its change."""

    name: str
    seed: int
    system: System
    truth: Truth
    change: Change
    at_s: float
    until_s: float

    @property
    def knees(self) -> tuple[float, ...]:
        """Every N* that the service ever has of itself; empty: none."""
        knee, system = self.truth.knee_users, self.system
        if knee is None:
            return ()
        factor = {"capacity halves": 0.5, "capacity doubles": 2.0}.get(self.change)
        if factor is None or self.truth.capacity_rps is None:
            return (knee,)
        return knee, self.truth.capacity_rps * factor * (system.service_s / factor + system.think_s)


class SimulatedWorld:
    """A simulated service in virtual time."""

    def __init__(self, service: Service) -> None:
        self.run = started(service)
        self._seen = 0

    @property
    def now_s(self) -> float:
        return self.run.now_s

    @property
    def users(self) -> int:
        return self.run.users

    def step(self, users: int) -> None:
        """That many users from now on."""
        self.run.to(users)

    def watch(self, seconds: int) -> Window:
        """Let so many seconds pass."""
        self.run.until(self.run.now_s + seconds)
        ok = np.array(self.run.ok[self._seen :], bool)
        response_ms = np.array(self.run.response_s[self._seen :])[ok] * 1000
        self._seen = len(self.run.ok)
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
    """A run of the service from its first second on, with its change to come."""
    rng = np.random.default_rng([service.seed, 7])
    if service.change == "none":
        return run(service.system, rng)
    return _Moving(service, rng)


def services(count: int) -> list[Service]:
    """`count` of each: still ones of six kinds and linear ones; queues and linear ones that change."""
    made = []
    still: tuple[Kind | Literal["linear"], ...] = (*KINDS, "linear")
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        made += [_service(kind, seed, "none") for kind in still]
        made += [_service("queue", seed, change) for change in CHANGES]
        made += [_service("linear", seed, change) for change in ("neighbour", "fault")]
    return made


def _service(kind: Kind | Literal["linear"], seed: int, change: Change) -> Service:
    rng = np.random.default_rng([seed, (*KINDS, "linear").index(kind)])
    system, truth = random_system(kind, rng)
    at_s, away_s = rng.uniform(*CHANGE_S), rng.uniform(*AWAY_S)
    for_good = change in ("capacity halves", "capacity doubles")
    name = kind if change == "none" else f"{kind}, {change}"
    return Service(name, seed, system, truth, change, at_s, math.inf if for_good else at_s + away_s)


class _Moving(Run):
    """A queue whose speed changes, or whose replies fail, for a time."""

    def __init__(self, service: Service, rng: np.random.Generator) -> None:
        super().__init__(service.system, rng)
        self._service_moved = service

    def until(self, end_s: float) -> None:
        """Let time pass; during a fault every reply is a failure."""
        first = len(self.ok)
        super().until(end_s)
        moved = self._service_moved
        if moved.change == "fault":
            for index in range(first, len(self.ok)):
                if moved.at_s <= self.ended_s[index] < moved.until_s:
                    self.ok[index] = False

    def _speed_at(self, at_s: float) -> float:
        moved, speed = self._service_moved, super()._speed_at(at_s)
        factor = {"capacity halves": 0.5, "capacity doubles": 2.0, "neighbour": 0.4}.get(moved.change, 1.0)
        return speed * factor if moved.at_s <= at_s < moved.until_s else speed


assert MAX_USERS >= 2 * 2 * 150, "random systems have knees at 8 to 150 users; a doubled one must be within reach"
