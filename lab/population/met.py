"""Families of services that were met in the field and judged wrongly: users who poll, pools without a queue, slow requests,
returns with hardly any request."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from lab.simulation import exact
from lab.simulation.ladders import rungs
from lab.simulation.queues import Run, Spread, System
from lab.simulation.tasks import ErrorPages, PollingRun
from lab.simulation.virtual import VirtualRun

from .families import EXPLORED_S, LEVELS_S, STILL, Family, Session, ended
from .truth import Knee, Truth

Random = np.random.Generator
Exploration = Literal["ladder", "autopilot"]

MOST_USERS = 200

CONSTANT: tuple[Spread, Spread] = "constant", "constant"
SPREADS: tuple[tuple[Spread, Spread], ...] = (("exponential", "exponential"), ("uniform", "uniform"), ("constant", "uniform"))
"""Of service times, and of think times."""


def carried_out(how: Exploration, running: Run, top: float, rng: Random, truth: Truth) -> Session:
    """By the autopilot, or in 5 to 12 levels of 6 to 30 s up to so many users, of which every third returns to the first."""
    session = VirtualRun(running, max_users=MOST_USERS)
    if how == "autopilot":
        session.explore(EXPLORED_S)
    else:
        climb = rungs(top, int(rng.integers(5, 13)))
        session.climb([*climb, climb[0]] if rng.random() < 1 / 3 else climb, int(rng.choice(LEVELS_S)))
    return ended(truth, session)


def small_pool(rng: Random) -> tuple[System, Truth]:
    slots, capacity = int(rng.choice((2, 3, 4, 5, 6, 8, 10, 16))), float(np.exp(rng.uniform(np.log(20), np.log(150))))
    service_s = slots / capacity
    think_s = service_s * float(np.exp(rng.uniform(np.log(1), np.log(8))))
    is_constant = rng.random() < 0.5
    service, think = CONSTANT if is_constant else SPREADS[int(rng.integers(len(SPREADS)))]
    noise = float(rng.choice((0.0, rng.uniform(0.001, 0.01)))) if is_constant else float(rng.uniform(0.0, 0.1))
    knee = capacity * (service_s + think_s)
    truth = Truth((Knee(knee, knee),), ("errors",), (*STILL, "generator", "falls"), fails_below=True)
    return System(service_s, think_s, slots, service, think, noise, queue_limit=slots), truth


def pool(how: Exploration, rng: Random) -> Session:
    """2 to 16 slots without a queue, which refuse at once what comes while all are busy (Erlang's loss). In half of them all
    times are constant, so that users keep their places in time: at one load some levels have no refusals and others many.
    Refusals begin far below N*, and goodput approaches the capacity slowly: a knee is right from that of the goodput which the
    most users of the session had (Engset), but at least N* users, on."""
    system, truth = small_pool(rng)
    knee = truth.knees[0].high
    session = carried_out(how, Run(system, rng), float(rng.uniform(0.4, 2.5)) * knee, rng, truth)
    most = max(level.users for level in session.timeline.levels)
    goodput = exact.closed_loss_rps(max(most, round(knee)), system.think_s, system.servers, system.service_s)
    reached = goodput * system.service_s / system.servers
    return replace(session, truth=replace(truth, knees=(Knee(reached * knee, knee),)))


def polling(how: Exploration, rng: Random) -> Session:
    """Users submit a job, ask every 0.05 to 0.3 s whether it is done, and think. Jobs have a capacity, requests have none: beyond
    the knee of jobs their users ask more often, so the rate of requests grows faster than users. The service does not change."""
    capacity, servers = float(np.exp(rng.uniform(np.log(10), np.log(60)))), int(rng.choice((1, 2, 4, 8)))
    service_s, poll_s = servers / capacity, float(rng.uniform(0.05, 0.3))
    think_s = float(rng.uniform(0.2, 2.0))
    constant = rng.random() < 0.5
    service, think = CONSTANT if constant else SPREADS[int(rng.integers(len(SPREADS)))]
    system = System(service_s, think_s, servers, service, think, 0.0 if constant else float(rng.uniform(0.0, 0.1)))
    knee = capacity * (service_s + think_s)
    truth = Truth((), (), (*STILL, "generator"))
    return carried_out(how, PollingRun(system, rng, poll_s), float(rng.uniform(0.8, 4.0)) * knee, rng, truth)


def slow_tails(how: Exploration, rng: Random) -> Session:
    """2 to 25 requests a second of lognormal service times (coefficient of variation 1.2): a level has few requests, and their
    mean latency varies by half. N* is the crossing of the asymptotes."""
    capacity, servers = float(np.exp(rng.uniform(np.log(2), np.log(25)))), int(rng.choice((1, 2, 4, 6)))
    service_s = servers / capacity
    knee = max(float(np.exp(rng.uniform(np.log(4), np.log(40)))), 1.5 * servers)
    think: Spread = ("constant", "uniform", "exponential")[int(rng.integers(3))]
    system = System(service_s, knee / capacity - service_s, servers, "lognormal", think, float(rng.uniform(0.0, 0.05)))
    truth = Truth((Knee(knee, knee),), ("queueing",), (*STILL, "generator", "falls"))
    return carried_out(how, Run(system, rng), float(rng.uniform(0.4, 2.5)) * knee, rng, truth)


def rare_returns(how: Exploration, rng: Random) -> Session:
    """A queue whose users have a cycle of 2 to 6 s; a ladder reaches 1.2 to 2.5 N*, 8 to 40 users, in 5 to 10 levels with 10 to
    20 settled seconds, and returns to its first level, one user, until 1.5 to 3.5 replies are due in 6 settled seconds or more:
    none is no surprise. The service does not change."""
    cycle_s, servers = float(rng.uniform(2, 6)), int(rng.choice((1, 2, 4)))
    knee = float(np.exp(rng.uniform(np.log(8), np.log(40))))
    service_s = servers * cycle_s / knee
    service, think = SPREADS[int(rng.integers(len(SPREADS)))]
    system = System(service_s, cycle_s - service_s, servers, service, think, float(rng.uniform(0.0, 0.05)))
    truth = Truth((Knee(knee, knee),), ("queueing",), (*STILL, "generator", "falls"))
    session = VirtualRun(Run(system, rng), max_users=MOST_USERS)
    if how == "autopilot":
        session.explore(EXPLORED_S)
    else:
        climb = rungs(float(rng.uniform(1.2, 2.5)) * knee, int(rng.integers(5, 11)))
        session.climb([1, *climb], round(2 * cycle_s) + int(rng.integers(10, 21)))
        session.step(1)
        counts_s = max(6.0, float(rng.uniform(1.5, 3.5)) * cycle_s)
        while session.timeline.levels[-1].figures.settled_seconds < counts_s and session.now_s < EXPLORED_S:
            session.second()
    return ended(truth, session)


def long_levels(how: Exploration, rng: Random) -> Session:
    """Long levels of few requests, as a soak has them: 4 to 20 replies a second of exponential or lognormal times, in 3 to 5
    levels of 60 to 240 s up to N* or less. At random seconds pass without any reply; the service does not change."""
    capacity, servers = float(np.exp(rng.uniform(np.log(8), np.log(25)))), int(rng.choice((4, 8, 16, 32)))
    service_s = servers / capacity
    knee = max(float(np.exp(rng.uniform(np.log(8), np.log(80)))), 1.5 * servers)
    spread: Spread = ("exponential", "lognormal")[int(rng.integers(2))]
    system = System(service_s, knee / capacity - service_s, servers, spread, "exponential", float(rng.uniform(0.0, 0.05)))
    truth = Truth((Knee(knee, knee),), ("queueing",), (*STILL, "generator", "falls"))
    session = VirtualRun(Run(system, rng), max_users=MOST_USERS)
    if how == "autopilot":
        session.explore(EXPLORED_S)
    else:
        session.climb(rungs(float(rng.uniform(0.5, 1.0)) * knee, int(rng.integers(3, 6))), int(rng.integers(60, 240)))
    return ended(truth, session)


def error_pages(how: Exploration, rng: Random) -> Session:
    """The small pool, whose refusals are short pages with status 200 that nobody checks: goodput does not stop growing."""
    system, truth = small_pool(rng)
    running = ErrorPages(system, rng)
    top = float(rng.uniform(0.8, 3.0)) * truth.knees[0].high
    return carried_out(how, running, top, rng, replace(truth, knees=(), limits=(), forbidden=(*STILL, "generator")))


MET = tuple(
    Family(f"{how}-{name}", partial(simulate, how), closed_loop=how == "autopilot")
    for name, simulate in (
        ("small-pool", pool),
        ("polling", polling),
        ("slow-tails", slow_tails),
        ("error-pages", error_pages),
        ("rare-returns", rare_returns),
        ("long-levels", long_levels),
    )
    for how in ("ladder", "autopilot")
)
