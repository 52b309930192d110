"""Services that change during a session, at a random time: capacity goes up or down, a fault or a neighbour lasts for a while.

Whole sessions are simulated, second by second (`virtual`): load and readings come from the simulator; levels, splits and
marks are made by the product. Each session has the truth with it: every N* that the service had during the session.

Tests and `make net` use them; what judges a change of the analysis is the population (lab/population).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from capexplorer.model.events import Mark
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import RateVerdict

from .ladders import Kind, random_system, rungs
from .open_queue import OpenRun
from .queues import System, Trouble, run
from .virtual import VirtualRates, VirtualRun

World = Literal[
    "still", "capacity_up", "capacity_down", "errors", "passing_errors", "stall", "passing_stall", "neighbour", "warm_up"
]
WORLDS: tuple[World, ...] = get_args(World)
MOVING_KINDS: tuple[Kind, ...] = ("queue", "queue", "shedding", "timeouts")
STILL_KINDS: tuple[Kind, ...] = (*MOVING_KINDS, "usl")

GIVE_UP_S = 5.0
"""Timeout of clients while the service stalls."""


@dataclass(frozen=True, slots=True)
class Moving:
    """A session of increasing load on a service that changes, with the marks and verdicts of the live detectors."""

    world: World
    seed: int
    system: System
    truths: tuple[float, ...]
    """Every N* that the service had, in users; under offered rates every capacity, 1/s."""
    loads: tuple[float, ...]
    session: VirtualRun | VirtualRates

    @property
    def timeline(self) -> Timeline:
        return self.session.timeline

    @property
    def verdict(self) -> RateVerdict | None:
        """The verdict on rates at the end of the session."""
        found = self.timeline.verdict
        return found.rates if found is not None else None


def moving_ladder(world: World, seed: int) -> Moving:
    """A random service in levels of 12 to 30 s, up to between 0.5 and 2.2 N*; half of the sessions return to the first level."""
    rng = np.random.default_rng([seed, WORLDS.index(world)])
    kinds = STILL_KINDS if world == "still" else MOVING_KINDS
    system, truth = random_system(kinds[int(rng.integers(len(kinds)))], rng)
    assert truth.knee_users is not None
    level_s = int(rng.choice([12, 15, 20, 30]))
    climb = rungs(float(rng.uniform(0.5, 2.2)) * truth.knee_users, int(rng.integers(5, 11)))
    users = (*climb, climb[0]) if rng.random() < 0.5 else tuple(climb)
    system = changed(system, world, level_s * len(users), rng)
    knees = [truth.knee_users]
    if system.trouble.speed != 1.0:
        cycle_s = system.think_s + system.service_s / system.trouble.speed
        knees.append(system.servers / system.service_s * system.trouble.speed * cycle_s)
    session = explored(system, users, level_s, rng)
    return Moving(world, seed, system, tuple(knees), users, session)


def changed(system: System, world: World, length_s: float, rng: np.random.Generator) -> System:
    """The system with a change somewhere in a session of that length; a warm-up ends at that time."""
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
        return replace(system, trouble=Trouble(0.0, at_s, speed=float(rng.uniform(0.2, 0.7)), fades=True))
    return replace(system, trouble=troubles[world])


def explored(system: System, users: Sequence[int], level_s: int, rng: np.random.Generator) -> VirtualRun:
    """The session of a plan with these levels, with the marks of the live detectors."""
    session = VirtualRun(run(system, rng))
    session.climb(users, level_s)
    session.end()
    return session


def knee_marks(timeline: Timeline) -> list[Mark]:
    """The current knees and "at or below" marks at the end."""
    return [mark for mark in timeline.marks.values() if mark.kind in ("knee", "at_or_below") and mark.state != "retracted"]


# -- offered rates -------------------------------------------------------------------------------------------------------------


def moving_rates(world: World, seed: int) -> Moving:
    """A random service in levels of 12 to 30 s, up to 0.5 to 1.6 of its capacity; half of the sessions return to the first
    rate."""
    rng = np.random.default_rng([seed, WORLDS.index(world), 1])
    system, _ = random_system(MOVING_KINDS[int(rng.integers(len(MOVING_KINDS)))], rng)
    capacity = system.servers / system.service_s
    level_s = int(rng.choice([12, 15, 20, 30]))
    top = float(rng.uniform(0.5, 1.6)) * capacity
    climb = [round(top * (step + 1) / count, 1) for count in (int(rng.integers(5, 9)),) for step in range(count)]
    rates = (*climb, climb[0]) if rng.random() < 0.5 else tuple(climb)
    system = changed(system, world, level_s * len(rates), rng)
    capacities = [capacity] if system.trouble.speed == 1.0 else [capacity, capacity * system.trouble.speed]
    session = climbed(system, rates, level_s, rng)
    return Moving(world, seed, system, tuple(capacities), rates, session)


RAMPED_KINDS: tuple[Kind | Literal["linear"], ...] = ("queue", "shedding", "timeouts", "linear")


def ramped_rates(kind: Kind | Literal["linear"], seed: int) -> Moving:
    """A random service that does not change, under a ramp (`ramped`)."""
    rng = np.random.default_rng([seed, RAMPED_KINDS.index(kind), 2])
    system, _ = random_system(kind, rng)
    capacity = float("inf") if system.linear else system.servers / system.service_s
    session, top_per_s = ramped(system, rng)
    session.end()
    return Moving("still", seed, system, (capacity,), (top_per_s,), session)


def ramped(system: System, rng: np.random.Generator) -> tuple[VirtualRates, float]:
    """A session, which is not ended, of a ramp from nothing to between 0.4 and 2.2 of the capacity within 30 to 300 s, and its
    highest rate, 1/s. A third ramps down again, and a third has one rate at the end, below the capacity.
    """
    top_per_s = round(float(rng.uniform(0.4, 2.2)) * system.servers / system.service_s, 1)
    ramp_s, then = int(rng.choice([30, 60, 120, 300])), int(rng.integers(3))
    session = VirtualRates(OpenRun(system, rng))
    session.ramp(top_per_s, ramp_s)
    if then == 1:
        session.ramp(0.1, ramp_s)
    elif then == 2:
        session.climb([round(0.4 * top_per_s, 1)], 20)
    return session, top_per_s


def steady_rate(seed: int) -> Moving:
    """A random service at one rate, 0.2 to 1.2 of its capacity, for 40 to 240 s: nothing changes but its queue."""
    rng = np.random.default_rng([seed, 0, 3])
    system, _ = random_system(MOVING_KINDS[int(rng.integers(len(MOVING_KINDS)))], rng)
    capacity = system.servers / system.service_s
    rate = round(float(rng.uniform(0.2, 1.2)) * capacity, 1)
    session = climbed(system, [rate], int(rng.integers(40, 240)), rng)
    return Moving("still", seed, system, (capacity,), (rate,), session)


def climbed(system: System, rates: Sequence[float], level_s: int, rng: np.random.Generator) -> VirtualRates:
    """The session of a plan with these levels, with the marks of the live detectors."""
    session = VirtualRates(OpenRun(system, rng))
    session.climb(rates, level_s)
    session.end()
    return session
