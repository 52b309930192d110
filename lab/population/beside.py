"""Families of services beside other processes, and of services that change while the autopilot explores them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from lab.simulation.ladders import random_system, rungs
from lab.simulation.moving import MOVING_KINDS, WORLDS, changed
from lab.simulation.open_queue import OpenRun
from lab.simulation.queues import System, Trouble, run
from lab.simulation.virtual import VirtualRates, VirtualRun

from .families import (
    EXPLORED_S,
    MOVING,
    Family,
    Session,
    ended,
    moving_knees,
    moving_limits,
    rate_rungs,
    rate_truth,
    users_at_knee,
)
from .limited import QUIET, served_per_s
from .truth import ALWAYS_WRONG, FOREVER_S, Knee, Statement, Truth

Random = np.random.Generator

NOT_CHANGED: tuple[Statement, ...] = tuple(each for each in QUIET if each != "others")
"""What may not be said of a service that stays the same beside other processes, which may be named."""


def busy(system: System, at_s: float, lasts_s: float, rng: Random) -> System:
    """Processes that leave the service a share of 0.3 to 0.7 of its CPU for that time. The service computes with one thread, or,
    in half of them, with 2 to 8 threads of which one at a time computes, on any core (an interpreter lock, a runtime)."""
    trouble = Trouble(at_s, at_s + lasts_s, speed=float(rng.uniform(0.3, 0.7)), by_neighbour=True)
    threads = int(rng.integers(2, 9)) if rng.random() < 0.5 else 0
    return replace(system, servers=1, service_s=system.service_s / system.servers, threads=threads, trouble=trouble)


def hog_truth(system: System, capacity_or_users: float, *, at_rates: bool) -> Truth:
    """The knee of the service without the other processes; a level in which they ran shows nothing."""
    trouble = system.trouble
    knees = (
        Knee(capacity_or_users, capacity_or_users, 0.0, trouble.at_s),
        Knee(capacity_or_users, capacity_or_users, trouble.until_s),
    )
    return Truth(knees, ("queue_growth" if at_rates else "queueing",), NOT_CHANGED, at_rates)


def hog(explores: bool, rng: Random) -> Session:
    """One computing slot beside processes that compute for 10 to 40 s: in levels of 10 to 20 s up to 1.4 to 2.5 N*, mostly beyond
    the knee, or at 20 to 120 s of an autopilot. The service does not change and its goodput does not fall."""
    system, _ = random_system("queue", rng)
    level_s, climb = int(rng.choice([10, 15, 20])), int(rng.integers(6, 12))
    length_s, lasts_s = level_s * climb, float(rng.uniform(10, 40))
    at_s = float(rng.uniform(20, 120)) if explores else float(rng.uniform(0.4, 0.9)) * length_s
    system = busy(system, at_s, lasts_s, rng)
    knee = users_at_knee(system, 1.0)
    session = VirtualRun(run(system, rng))
    if explores:
        session.explore(EXPLORED_S)
    else:
        session.climb(rungs(float(rng.uniform(1.4, 2.5)) * knee, climb), level_s)
    return ended(hog_truth(system, knee, at_rates=False), session)


def rate_hog(explores: bool, rng: Random) -> Session:
    """The same by rates, up to 1.3 to 1.8 of the capacity."""
    system, _ = random_system("queue", rng)
    level_s, climb = int(rng.choice([10, 15, 20])), int(rng.integers(6, 12))
    length_s, lasts_s = level_s * climb, float(rng.uniform(10, 40))
    at_s = float(rng.uniform(20, 120)) if explores else float(rng.uniform(0.4, 0.9)) * length_s
    system = busy(system, at_s, lasts_s, rng)
    session = VirtualRates(OpenRun(system, rng))
    if explores:
        session.explore(EXPLORED_S)
    else:
        session.climb(rate_rungs(float(rng.uniform(1.3, 1.8)) * served_per_s(system), climb), level_s)
    return ended(hog_truth(system, served_per_s(system), at_rates=True), session)


def beside(rng: Random) -> Session:
    """One computing slot in 5 to 10 levels of 10 to 20 s, up to 0.5 to 2.5 N*, beside processes that compute during all of them
    or from some time on. It has the knee of its own alone, which no later level shows."""
    system, _ = random_system("queue", rng)
    level_s, climb = int(rng.choice([10, 15, 20])), int(rng.integers(5, 11))
    at_s = float(rng.choice([0.0, rng.uniform(0.0, 0.8)])) * level_s * climb
    system = busy(system, at_s, FOREVER_S, rng)
    knee = users_at_knee(system, 1.0)
    session = VirtualRun(run(system, rng))
    session.climb(rungs(float(rng.uniform(0.5, 2.5)) * knee, climb), level_s)
    return ended(hog_truth(system, knee, at_rates=False), session)


# -- services that change while the autopilot explores them --------------------------------------------------------------------

CHANGES_WITHIN_S = 160.0


def moving_autopilot(rng: Random) -> Session:
    """A random service of a changing world that the autopilot explores; the change is within the first 150 s."""
    world = WORLDS[int(rng.integers(1, len(WORLDS)))]
    kind = MOVING_KINDS[int(rng.integers(len(MOVING_KINDS)))]
    system, true = random_system(kind, rng)
    system = changed(system, world, CHANGES_WITHIN_S, rng)
    knees = moving_knees(system, lambda speed: users_at_knee(system, speed))
    session = VirtualRun(run(system, rng))
    session.explore(EXPLORED_S)
    limits = moving_limits(world, true.limit)
    return ended(Truth(knees, limits, (*MOVING, "generator"), fails_below=kind != "queue"), session)


def deploy(explores: bool, rng: Random) -> Session:
    """By rates; within 20 to 150 s a deploy makes the service slower (0.4 to 0.8) or faster (1.25 to 2.5) for good. Half of the
    ladders return to the first rate. It has the capacities before and after."""
    system, _ = random_system("queue", rng)
    capacity, speed = served_per_s(system), float(rng.uniform(0.4, 0.8)) if rng.random() < 0.5 else float(rng.uniform(1.25, 2.5))
    system = replace(system, trouble=Trouble(at_s=float(rng.uniform(20, 150)), speed=speed))
    truth = replace(
        rate_truth(system, capacity),
        knees=moving_knees(system, lambda speed: capacity * speed),
        forbidden=(*ALWAYS_WRONG, "generator", "fault", "others"),
    )
    session = VirtualRates(OpenRun(system, rng))
    if explores:
        session.explore(EXPLORED_S)
    else:
        climb = rate_rungs(float(rng.uniform(0.8, 1.8)) * capacity * max(1.0, speed), int(rng.integers(6, 12)))
        session.climb([*climb, climb[0]] if rng.random() < 0.5 else climb, int(rng.choice([10, 15, 20])))
    return ended(truth, session)


def halved(rng: Random) -> Session:
    """A random queue at 0.3, then 0.65 to 0.9, then 0.3 of its capacity, 40 s each. Within the second level, after 13 to 25 s, it
    loses 40 to 60% of it, so that its queue grows from there on. It has the capacities before and after."""
    system, _ = random_system("queue", rng)
    capacity, speed = served_per_s(system), float(rng.uniform(0.4, 0.6))
    system = replace(system, trouble=Trouble(at_s=40.0 + float(rng.uniform(13, 25)), speed=speed))
    knees = moving_knees(system, lambda speed: capacity * speed)
    truth = replace(rate_truth(system, capacity), knees=knees, forbidden=(*ALWAYS_WRONG, "generator", "fault", "others"))
    session = VirtualRates(OpenRun(system, rng))
    session.climb([round(share * capacity, 1) for share in (0.3, float(rng.uniform(0.65, 0.9)), 0.3)], 40)
    return ended(truth, session)


def _families() -> Iterator[Family]:
    for explores in (False, True):
        users, rates = ("autopilot", "rate-autopilot") if explores else ("ladder", "rates")
        yield Family(f"{users}-hog", partial(hog, explores), explores)
        yield Family(f"{rates}-hog", partial(rate_hog, explores), explores)
        yield Family(f"{rates}-deploy", partial(deploy, explores), explores)
    yield Family("ladder-beside", beside)
    yield Family("rates-halved", halved)
    yield Family("autopilot-moving", moving_autopilot, closed_loop=True)


BESIDE = tuple(_families())
