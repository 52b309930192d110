"""The services and changes of `moving` under offered rates; the truth is the capacity.

Seeds: rules were developed on 0-399; reports use 730,000 and up; `make test` uses 250,000 and up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import RateCapacity, RateVerdict

from .ladders import Kind, random_system
from .moving import MOVING_KINDS, WORLDS, World, changed
from .open_queue import OpenRun
from .queues import System
from .virtual_rates import VirtualRates

NEAR = 0.15
"""A capacity is false if its relative error is larger than this for each capacity that the service had."""


@dataclass(frozen=True, slots=True)
class MovingRates:
    """A session of offered rates on a service that may change."""

    world: World
    seed: int
    system: System
    capacities: tuple[float, ...]
    """Every capacity that the service had, 1/s."""
    rates: tuple[float, ...]
    changed_s: float | None
    session: VirtualRates

    @property
    def timeline(self) -> Timeline:
        return self.session.timeline

    @property
    def verdict(self) -> RateVerdict | None:
        """The verdict on rates at the end of the session."""
        found = self.timeline.verdict
        return found.rates if found is not None else None

    @property
    def false(self) -> RateCapacity | None:
        """The final capacity if the service never had it, or the final bound if it contradicts all capacities that the service
        had; None: it is right.

        With a short queue or a client timeout requests fail below the capacity, too, so that values below it are not false there.
        """
        found = self.verdict.capacity if self.verdict is not None else None
        if found is None:
            return None
        least, most = min(self.capacities), max(self.capacities)
        if self.system.queue_limit is not None or self.system.timeout_s is not None:
            least = 0.0
        match found.kind:
            case "capacity":
                is_false = (
                    found.per_s < (1 - NEAR) * least
                    or found.per_s > (1 + NEAR) * most
                    or (bool(least) and all(abs(found.per_s / true - 1) > NEAR for true in self.capacities))
                )
            case "at_or_below":
                is_false = (found.high_per_s or 0.0) * (1 + NEAR) < least
            case "departs":
                is_false = found.per_s < (1 - NEAR) * least
            case "keeps_up":
                is_false = found.per_s > (1 + NEAR) * most
        return found if is_false else None


def moving_rates(world: World, seed: int) -> MovingRates:
    """A random service in levels of 12 to 30 s, up to 0.5 to 1.6 of its capacity; half of the sessions return to the first
    rate."""
    rng = np.random.default_rng([seed, WORLDS.index(world), 1])
    system, _ = random_system(MOVING_KINDS[int(rng.integers(len(MOVING_KINDS)))], rng)
    capacity = system.servers / system.service_s
    level_s = int(rng.choice([12, 15, 20, 30]))
    top = float(rng.uniform(0.5, 1.6)) * capacity
    climb = [round(top * (step + 1) / count, 1) for count in (int(rng.integers(5, 9)),) for step in range(count)]
    rates = (*climb, climb[0]) if rng.random() < 0.5 else tuple(climb)
    system, at_s = changed(system, world, level_s * len(rates), rng)
    capacities = [capacity] if system.trouble.speed == 1.0 else [capacity, capacity * system.trouble.speed]
    session = climbed(system, rates, level_s, rng)
    return MovingRates(world, seed, system, tuple(capacities), rates, at_s, session)


RAMPED_KINDS: tuple[Kind | Literal["linear"], ...] = ("queue", "shedding", "timeouts", "linear")


def ramped_rates(kind: Kind | Literal["linear"], seed: int) -> MovingRates:
    """A random service that does not change, under a ramp from nothing to between 0.4 and 2.2 of its capacity within 30 to 300 s.

    A third ramps down again, and a third has one rate at the end, below the capacity.
    """
    rng = np.random.default_rng([seed, RAMPED_KINDS.index(kind), 2])
    system, _ = random_system(kind, rng)
    capacity = float("inf") if system.linear else system.servers / system.service_s
    top = round(float(rng.uniform(0.4, 2.2)) * system.servers / system.service_s, 1)
    ramp_s, then = int(rng.choice([30, 60, 120, 300])), int(rng.integers(3))
    session = VirtualRates(OpenRun(system, rng))
    session.ramp(top, ramp_s)
    if then == 1:
        session.ramp(0.1, ramp_s)
    elif then == 2:
        session.climb([round(0.4 * top, 1)], 20)
    session.end()
    return MovingRates("still", seed, system, (capacity,), (top,), None, session)


def steady_rate(seed: int) -> MovingRates:
    """A random service at one rate, 0.2 to 1.2 of its capacity, for 40 to 240 s: nothing changes but its queue."""
    rng = np.random.default_rng([seed, 0, 3])
    system, _ = random_system(MOVING_KINDS[int(rng.integers(len(MOVING_KINDS)))], rng)
    capacity = system.servers / system.service_s
    rate = round(float(rng.uniform(0.2, 1.2)) * capacity, 1)
    session = climbed(system, [rate], int(rng.integers(40, 240)), rng)
    return MovingRates("still", seed, system, (capacity,), (rate,), None, session)


def climbed(system: System, rates: Sequence[float], level_s: int, rng: np.random.Generator) -> VirtualRates:
    """The session of a plan with these levels, with the marks of the live detectors."""
    session = VirtualRates(OpenRun(system, rng))
    session.climb(rates, level_s)
    session.end()
    return session
