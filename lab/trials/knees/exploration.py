"""One finder on one service: its answer, the truth, and the cost of finding it."""

from __future__ import annotations

import dataclasses
import math

import msgspec

from capexplorer.run.live_levels import CurrentEpoch
from lab.simulation.virtual import VirtualRun

from .finders import LIMIT_S, MAX_USERS, NO_KNEE, Answer, Finder, Steps, World
from .services import Service, SimulatedWorld, started

AUTOPILOT = "capexplorer's autopilot"

FALSE_BEYOND = 0.25
"""A knee that is further than this from every N* of its service is false."""

OVERLOAD = 1.25
"""Multiple of N* above which a load overloads the service."""


class Exploration(msgspec.Struct, frozen=True, kw_only=True):
    """Loads are numbers of users; at offered rates requests a second, and N* is the capacity."""

    finder: str
    service: str
    seed: int
    knees: tuple[float, ...]
    """Every N* that the service had; empty: it never saturates."""
    load: float | None
    """The answer; None: no knee."""
    low: float | None = None
    high: float | None = None
    capacity_rps: float | None = None
    seconds: float
    most_load: float
    overload_s: float
    load_average: float | None = None
    """Of real services: load average of the machine at the end, and the CPU time that the hypervisor took meanwhile."""
    steal_s: float | None = None

    @property
    def error(self) -> float | None:
        """|answer / N* - 1| for the nearest N*; None where the service or the answer has no knee."""
        return None if self.load is None or not self.knees else min(abs(self.load / knee - 1) for knee in self.knees)

    @property
    def is_false(self) -> bool:
        """Whether the answer is a knee that the service does not have: none at all, or none within FALSE_BEYOND."""
        error = self.error
        return self.load is not None and (error is None or error > FALSE_BEYOND)

    @property
    def covered(self) -> bool | None:
        """Whether the interval contains an N*; None without an interval or an N*."""
        if self.low is None or self.high is None or not self.knees:
            return None
        return any(self.low <= knee <= self.high for knee in self.knees)

    @property
    def width(self) -> float | None:
        """Half the width of the interval as a share of the answer; None without an interval."""
        if not self.load or self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2 / self.load


def explored(finder: str, find: Finder, world: World, service: str, seed: int, knees: tuple[float, ...]) -> Exploration:
    return row(finder, service, seed, knees, find(world), world.now_s, world.steps)


def row(
    finder: str, service: str, seed: int, knees: tuple[float, ...], answer: Answer, seconds: float, steps: Steps
) -> Exploration:
    """The row of results of an exploration. Overload are the seconds with more than OVERLOAD times the largest N*."""
    limit = OVERLOAD * max(knees, default=math.inf)
    return Exploration(
        finder=finder,
        service=service,
        seed=seed,
        knees=knees,
        **dataclasses.asdict(answer),
        seconds=seconds,
        most_load=max((load for load, _ in steps), default=0.0),
        overload_s=math.fsum(lasted_s for load, lasted_s in steps if load > limit),
    )


def simulated(finder: str, find: Finder, service: Service) -> Exploration:
    return explored(finder, find, SimulatedWorld(service), service.name, service.seed, service.knees)


def autopilot(service: Service) -> Exploration:
    """Explore a simulated service by the autopilot, with the rest of the product."""
    run = VirtualRun(started(service), max_users=MAX_USERS)
    steps: Steps = []
    run.explore(LIMIT_S, each_second=lambda: steps.append((run.running.users, 1)))
    run.end()
    return row(AUTOPILOT, service.name, service.seed, service.knees, _answer(run), run.now_s, steps)


def _answer(run: VirtualRun) -> Answer:
    """The knee of the final verdict. A bend or "at or below" does not count as an answer."""
    verdict = CurrentEpoch(run.timeline).epoch.verdict
    knee = verdict.capacity.knee if verdict is not None else None
    if knee is None or knee.kind != "knee":
        return NO_KNEE
    return Answer(knee.users, knee.capacity_rps, knee.users_low, knee.users_high)
