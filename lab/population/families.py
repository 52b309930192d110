"""Families of sessions: each a random service whose truth is known, and how it is explored, by the whole product in virtual time.

A session is a function of its family's name and a seed. In each docstring stands what varies and what is true.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from capexplorer.analysis.epoch.level_clock import settling_s
from capexplorer.analysis.reanalysis import detect
from capexplorer.model.events import Event
from capexplorer.model.timeline import Timeline
from capexplorer.session.importers import imported
from lab.simulation import exact
from lab.simulation.ladders import KINDS, Kind, random_system, rungs
from lab.simulation.ladders import Truth as LadderTruth
from lab.simulation.moving import MOVING_KINDS, WORLDS, World, changed, ramped
from lab.simulation.open_queue import POOL_MOST, OpenRun
from lab.simulation.queues import CV2, Run, System, run
from lab.simulation.ramps import history
from lab.simulation.virtual import VirtualRates, VirtualRun

from .truth import ALWAYS_WRONG, BY_ITSELF, FOREVER_S, Knee, Statement, Truth, exactly

Random = np.random.Generator
AnyKind = Kind | Literal["linear"]

EXPLORED_S = 900
LEVELS_S = (6, 8, 10, 12, 15, 20, 30)
MOST_USERS_LINEAR = 400
MOST_USERS_AT_RATES = 200


@dataclass(frozen=True)
class Session:
    """A session that has ended."""

    truth: Truth
    timeline: Timeline
    events: Sequence[Event]
    """Its log."""
    running: Run | OpenRun | None = None
    """The service, as it was left; None: only its log is known."""


@dataclass(frozen=True)
class Family:
    name: str
    simulate: Callable[[Random], Session]
    closed_loop: bool = False
    """Whether the product chose the loads, so that another analysis would have measured other levels."""

    def session(self, seed: int) -> Session:
        return self.simulate(np.random.default_rng([seed, zlib.crc32(self.name.encode())]))

    @property
    def docstring(self) -> str:
        """Of its function, and of the functions that this is given."""
        found = self.simulate
        given = (found.func, *filter(callable, found.args)) if isinstance(found, partial) else (found,)
        return " ".join(" ".join(each.__doc__.split()) for each in given if each.__doc__)


def ended(truth: Truth, session: VirtualRun | VirtualRates) -> Session:
    session.end()
    return Session(truth, session.timeline, session.sink.take(), session.running)


# -- services that do not change, by users -------------------------------------------------------------------------------------

STILL: tuple[Statement, ...] = (*ALWAYS_WRONG, *BY_ITSELF, "did_not_recover", "others")


def random_service(kind: AnyKind, rng: Random) -> tuple[System, LadderTruth]:
    """A random system, with the exact capacity of one whose ports limit it."""
    system, true = random_system(kind, rng)
    if system.ports is None:
        return system, true
    spread = CV2[system.service_spread]
    rate = exact.held_rps(system.ports, system.time_wait_s, system.servers, system.service_s, spread)
    return system, LadderTruth(rate * (system.service_s + system.think_s), rate, "errors")


def still_truth(system: System, knee_users: float | None, limit: str | None) -> Truth:
    """Goodput of a server that follows the USL falls beyond the knee, and so it does where clients time out. A generator that is
    the limit hides the service: its knee may be stated, and need not be found."""
    generator: tuple[Statement, ...] = () if limit == "generator" else ("generator",)
    falls: tuple[Statement, ...] = () if system.usl is not None or system.timeout_s is not None else ("falls",)
    forbidden = (*STILL, *generator, *falls)
    knees = exactly(knee_users)
    if limit == "generator":
        knees = tuple(knee._replace(until_s=0.0) for knee in knees)
    return Truth(knees, (limit,) if limit else (), forbidden, fails_below=limit == "errors")


def ladder(kind: AnyKind, rng: Random) -> Session:
    """A random service in 5 to 12 levels of 6 to 30 s, up to between 0.4 and 2.5 N* (a linear one: 10 to 200 users); every third
    returns to the first level. N* is the crossing of the low-load line and the greatest goodput, by exact results."""
    system, true = random_service(kind, rng)
    top = float(rng.uniform(0.4, 2.5)) * true.knee_users if true.knee_users is not None else float(rng.uniform(10, 200))
    climb = rungs(top, int(rng.integers(5, 13)))
    users = [*climb, climb[0]] if rng.random() < 1 / 3 else climb
    session = VirtualRun(run(system, rng))
    session.climb(users, int(rng.choice(LEVELS_S)))
    return ended(still_truth(system, true.knee_users, true.limit), session)


def autopilot(kind: AnyKind, rng: Random) -> Session:
    """A random service that the autopilot explores from one user on, to its end."""
    system, true = random_service(kind, rng)
    session = VirtualRun(run(system, rng), max_users=MOST_USERS_LINEAR if kind == "linear" else 2_000)
    session.explore(EXPLORED_S)
    return ended(still_truth(system, true.knee_users, true.limit), session)


def ramp(kind: Kind, rng: Random) -> Session:
    """A random service in an imported ramp of 20 to 240 s to 1.3 to 3 N*, of which half hold the load for 20 or 60 s."""
    system, true = random_service(kind, rng)
    assert true.knee_users is not None
    top, ramp_s = float(rng.uniform(1.3, 3.0)), round(float(np.exp(rng.uniform(np.log(20), np.log(240)))))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ramp_stats_history.csv"
        path.write_text(history(system, rng, round(top * true.knee_users), ramp_s, int(rng.choice((0, 0, 20, 60)))))
        events = list(imported([path], None, settling_s))
    timeline = Timeline(events)
    for found in detect(timeline):
        timeline.apply(found)
    return Session(still_truth(system, true.knee_users, true.limit), timeline, events)


# -- services that do not change, by rate --------------------------------------------------------------------------------------


def rate_truth(system: System, top_per_s: float) -> Truth:
    """The capacity: what all servers serve. A short queue refuses some requests at any rate, and goodput approaches the capacity
    slowly, so the greatest goodput that could be measured is right, too; with a client timeout the highest goodput is less."""
    if system.linear:
        return Truth((), (), STILL, at_rates=True)  # only the generator limits it
    capacity = system.servers / system.service_s
    least, limit = capacity, "queue_growth"
    if system.queue_limit is not None:
        least, limit = (
            exact.limited_goodput(top_per_s, exact.servers(system.servers, system.service_s), system.queue_limit),
            "errors",
        )
    if system.timeout_s is not None:
        least, limit = exact.timely_goodput(system.servers, system.service_s, system.timeout_s), "errors"
    falls: tuple[Statement, ...] = () if system.timeout_s is not None else ("falls",)
    knees = (Knee(min(least, capacity), capacity),)
    return Truth(knees, (limit,), (*STILL, "generator", *falls), at_rates=True, fails_below=limit == "errors")


RATE_KINDS: tuple[AnyKind, ...] = ("queue", "shedding", "timeouts", "linear")


def rates(kind: AnyKind, rng: Random) -> Session:
    """A random service in 5 to 9 levels of 6 to 30 s at rates up to 0.5 to 1.8 of its capacity."""
    system, _ = random_system(kind, rng)
    top = float(rng.uniform(0.5, 1.8)) * system.servers / system.service_s
    session = VirtualRates(OpenRun(system, rng))
    session.climb(rate_rungs(top, int(rng.integers(5, 10))), int(rng.choice(LEVELS_S)))
    return ended(rate_truth(system, top), session)


def rate_rungs(top: float, count: int) -> list[float]:
    return [round(top * (step + 1) / count, 1) or 0.1 for step in range(count)]


def rate_autopilot(kind: AnyKind, rng: Random) -> Session:
    """A random service that the autopilot explores by rates; a linear one with at most 200 users."""
    system, _ = random_system(kind, rng)
    session = VirtualRates(OpenRun(system, rng, max_users=MOST_USERS_AT_RATES if kind == "linear" else POOL_MOST))
    session.explore(EXPLORED_S)
    most = max((level.load.per_s or 0.0 for level in session.timeline.levels), default=0.0)
    return ended(rate_truth(system, most), session)


def rate_ramp(kind: AnyKind, rng: Random) -> Session:
    """A random service under a ramp of 30 to 300 s to 0.4 to 2.2 of its capacity; a third ramps down again, a third has one rate
    below the capacity at the end."""
    system, _ = random_system(kind, rng)
    session, top_per_s = ramped(system, rng)
    return ended(rate_truth(system, top_per_s), session)


# -- services that change ------------------------------------------------------------------------------------------------------

MOVING: tuple[Statement, ...] = ALWAYS_WRONG


def moving_knees(system: System, factor: Callable[[float], float]) -> tuple[Knee, ...]:
    """The knees before and after a change of the speed; `factor`: from the speed to the knee. A neighbour does not change the
    service. One that warms up has the knee of its start for a moment, and the last one since it is warm."""
    trouble = system.trouble
    before, after = factor(1.0), factor(trouble.speed)
    if trouble.fades:
        return (Knee(after, after, 0.0, 0.0), Knee(before, before, min(FOREVER_S, trouble.until_s)))
    if trouble.speed == 1.0 or trouble.by_neighbour:
        return (Knee(before, before, 0.0, min(FOREVER_S, trouble.at_s)), Knee(before, before, min(FOREVER_S, trouble.until_s)))
    return (
        Knee(before, before, 0.0, min(FOREVER_S, trouble.at_s)),
        Knee(after, after, trouble.at_s, min(FOREVER_S, trouble.until_s)),
    )


def moving(world: World, rng: Random) -> Session:
    """A random service in 5 to 10 levels of 12 to 30 s, up to 0.5 to 2.2 N*, half with a return; at a random time its capacity
    rises or falls, it fails or stalls, a neighbour uses its cores, or it has warmed up. It has the knees before and after."""
    kind = MOVING_KINDS[int(rng.integers(len(MOVING_KINDS)))]
    system, true = random_system(kind, rng)
    assert true.knee_users is not None
    level_s = int(rng.choice([12, 15, 20, 30]))
    climb = rungs(float(rng.uniform(0.5, 2.2)) * true.knee_users, int(rng.integers(5, 11)))
    users = [*climb, climb[0]] if rng.random() < 0.5 else climb
    system = changed(system, world, level_s * len(users), rng)
    knees = moving_knees(system, lambda speed: users_at_knee(system, speed))
    session = VirtualRun(run(system, rng))
    session.climb(users, level_s)
    return ended(Truth(knees, moving_limits(world, true.limit), (*MOVING, "generator"), fails_below=kind != "queue"), session)


def users_at_knee(system: System, speed: float) -> float:
    return exact.knee(system.think_s, system.servers, system.service_s / speed)


def moving_limits(world: World, limit: str | None) -> tuple[str, ...]:
    return tuple(each for each in (limit, "errors" if "errors" in world or "stall" in world else None) if each)


def moving_rates(world: World, rng: Random) -> Session:
    """The same by rates, in 5 to 8 levels up to 0.5 to 1.6 of the capacity."""
    system, _ = random_system(MOVING_KINDS[int(rng.integers(len(MOVING_KINDS)))], rng)
    capacity = system.servers / system.service_s
    level_s, top = int(rng.choice([12, 15, 20, 30])), float(rng.uniform(0.5, 1.6)) * capacity
    climb = rate_rungs(top, int(rng.integers(5, 9)))
    loads = [*climb, climb[0]] if rng.random() < 0.5 else climb
    still = rate_truth(system, min(top, capacity))  # levels of higher rates may be those that the service failed in
    system = changed(system, world, level_s * len(loads), rng)
    share = still.knees[0].low / capacity  # of the capacity that is goodput, of one that refuses or times out
    knees = moving_knees(system, lambda speed: capacity * speed)
    knees = tuple(knee._replace(low=share * knee.low) for knee in knees)
    session = VirtualRates(OpenRun(system, rng))
    session.climb(loads, level_s)
    truth = replace(still, knees=knees, limits=moving_limits(world, still.limits[0]), forbidden=(*MOVING, "generator"))
    return ended(truth, session)


# -- all that is above ---------------------------------------------------------------------------------------------------------

STILL_KINDS: tuple[AnyKind, ...] = (*KINDS, "linear")
RAMP_KINDS: tuple[Kind, ...] = ("queue", "usl", "shedding", "timeouts")

QUEUES = (
    *(Family(f"ladder-{kind}", partial(ladder, kind)) for kind in STILL_KINDS),
    *(Family(f"autopilot-{kind}", partial(autopilot, kind), closed_loop=True) for kind in STILL_KINDS),
    *(Family(f"ramp-{kind}", partial(ramp, kind)) for kind in RAMP_KINDS),
    *(Family(f"rates-{kind}", partial(rates, kind)) for kind in RATE_KINDS),
    *(Family(f"rate-autopilot-{kind}", partial(rate_autopilot, kind), closed_loop=True) for kind in RATE_KINDS),
    *(Family(f"rate-ramp-{kind}", partial(rate_ramp, kind)) for kind in RATE_KINDS),
    *(Family(f"moving-{world}", partial(moving, world)) for world in WORLDS[1:]),
    *(Family(f"moving-rates-{world}", partial(moving_rates, world)) for world in WORLDS[1:]),
)
