"""Services that change during a session, at a random time: capacity goes up or down, a fault or a neighbour lasts for a while.

Whole sessions are simulated, second by second (`virtual_run`): load and readings come from the simulator; levels, splits and
marks are made by the product. Each session has the truth with it: every N* that the service had during the session.

Seeds: rules were tuned on 0-599 and 10,000-13,399; benchmarks and reports use 743,000 and up (unused from 749,000
on); `make test` uses 250,000 and up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from capexplorer.model.events import Mark
from capexplorer.model.timeline import Timeline

from .ladders import Kind, random_system, rungs
from .queues import System, Trouble, run
from .virtual_run import VirtualRun

World = Literal[
    "still", "capacity_up", "capacity_down", "errors", "passing_errors", "stall", "passing_stall", "neighbour", "warm_up"
]

WORLDS: tuple[World, ...] = (
    "still", "capacity_up", "capacity_down", "errors", "passing_errors", "stall", "passing_stall", "neighbour", "warm_up"
)  # fmt: skip

MOVING_KINDS: tuple[Kind, ...] = ("queue", "queue", "shedding", "timeouts")
STILL_KINDS: tuple[Kind, ...] = (*MOVING_KINDS, "usl")

GIVE_UP_S = 5.0
"""Timeout of clients while the service stalls."""


@dataclass(frozen=True, slots=True)
class MovingLadder:
    """A session of increasing load on a service that changes."""

    world: World
    seed: int
    system: System
    knees: tuple[float, ...]
    """Every N* that the service had."""
    users: tuple[int, ...]
    changed_s: float | None
    session: VirtualRun
    """With the marks and verdicts of the live detectors."""

    @property
    def timeline(self) -> Timeline:
        return self.session.timeline


def moving_ladder(world: World, seed: int) -> MovingLadder:
    """A random service in levels of 12 to 30 s, up to between 0.5 and 2.2 N*; half of the sessions return to the first level."""
    rng = np.random.default_rng([seed, WORLDS.index(world)])
    kinds = STILL_KINDS if world == "still" else MOVING_KINDS
    system, truth = random_system(kinds[int(rng.integers(len(kinds)))], rng)
    assert truth.knee_users is not None
    level_s = int(rng.choice([12, 15, 20, 30]))
    climb = rungs(float(rng.uniform(0.5, 2.2)) * truth.knee_users, int(rng.integers(5, 11)))
    users = (*climb, climb[0]) if rng.random() < 0.5 else tuple(climb)
    system, at_s = changed(system, world, level_s * len(users), rng)
    knees = [truth.knee_users]
    if system.trouble.speed != 1.0:
        cycle_s = system.think_s + system.service_s / system.trouble.speed
        knees.append(system.servers / system.service_s * system.trouble.speed * cycle_s)
    session = explored(system, users, level_s, rng)
    return MovingLadder(world, seed, system, tuple(knees), users, at_s, session)


def changed(system: System, world: World, length_s: float, rng: np.random.Generator) -> tuple[System, float | None]:
    """The system with a change somewhere in a session of that length, and when it begins; None: nothing changes. A warm-up ends
    at that time.
    """
    at_s = float(rng.uniform(0.15, 0.95) * length_s)
    until_s = at_s + float(rng.uniform(3, 60)) if world in ("passing_errors", "passing_stall", "neighbour") else float("inf")
    troubles = {
        "still": Trouble(),
        "capacity_up": Trouble(at_s, until_s, speed=float(rng.uniform(1.4, 3.0))),
        "capacity_down": Trouble(at_s, until_s, speed=float(rng.uniform(0.3, 0.7))),
        "neighbour": Trouble(at_s, until_s, speed=float(rng.uniform(0.3, 0.7)), by_neighbour=True),
        "errors": Trouble(at_s, until_s, failing=float(rng.choice([1.0, 1.0, rng.uniform(0.3, 1.0)]))),
        "passing_errors": Trouble(at_s, until_s, failing=float(rng.choice([1.0, 1.0, rng.uniform(0.3, 1.0)]))),
        "stall": Trouble(at_s, until_s, stalled_s=GIVE_UP_S),
        "passing_stall": Trouble(at_s, until_s, stalled_s=GIVE_UP_S),
    }
    if world == "warm_up":  # drawn last, so that sessions of the other worlds stay as they were
        return replace(system, trouble=Trouble(0.0, at_s, speed=float(rng.uniform(0.2, 0.7)), fades=True)), at_s
    return replace(system, trouble=troubles[world]), None if world == "still" else at_s


def explored(system: System, users: Sequence[int], level_s: int, rng: np.random.Generator) -> VirtualRun:
    """The session of a plan with these levels, with the marks of the live detectors."""
    session = VirtualRun(run(system, rng))
    session.climb(users, level_s)
    session.end()
    return session


def knee_marks(timeline: Timeline) -> list[Mark]:
    """The current knees and "at or below" marks at the end."""
    return [mark for mark in timeline.marks.values() if mark.kind in ("knee", "at_or_below") and mark.state != "retracted"]
