"""Families of services that do not change and are unlike a queue of random times: limiters, parts that are limited, few requests,
equal times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from lab.simulation import exact
from lab.simulation.ladders import random_system, rungs
from lab.simulation.open_queue import OpenRun
from lab.simulation.queues import System, run
from lab.simulation.virtual import VirtualRates, VirtualRun

from .families import EXPLORED_S, LEVELS_S, STILL, Family, Session, ended, rate_rungs
from .truth import Knee, Truth, exactly

Random = np.random.Generator
Make = Callable[[Random], System]

QUIET = (*STILL, "generator", "falls")


def by_users(make: Make, limit: str, knee_users: Callable[[System], float], explores: bool, rng: Random) -> Session:
    """By the autopilot, or in 5 to 12 levels of 6 to 30 s up to 0.4 to 2.5 N*."""
    system = make(rng)
    knee = knee_users(system)
    truth = Truth(near(knee, system), (limit,), QUIET, fails_below=limit == "errors")
    session = VirtualRun(run(system, rng))
    if explores:
        session.explore(EXPLORED_S)
    else:
        session.climb(rungs(float(rng.uniform(0.4, 2.5)) * knee, int(rng.integers(5, 13))), int(rng.choice(LEVELS_S)))
    return ended(truth, session)


def by_rate(make: Make, limit: str, per_s: Callable[[System], float], explores: bool, rng: Random) -> Session:
    """By the autopilot, or in 5 to 9 levels of 6 to 30 s up to 0.5 to 1.8 of the capacity."""
    system = make(rng)
    truth = Truth(near(per_s(system), system), (limit,), QUIET, at_rates=True, fails_below=limit == "errors")
    return offered(OpenRun(system, rng), truth, float(rng.uniform(0.5, 1.8)) * per_s(system), explores, rng)


def offered(running: OpenRun, truth: Truth, top_per_s: float, explores: bool, rng: Random) -> Session:
    session = VirtualRates(running)
    if explores:
        session.explore(EXPLORED_S)
    else:
        session.climb(rate_rungs(top_per_s, int(rng.integers(5, 10))), int(rng.choice(LEVELS_S)))
    return ended(truth, session)


def steady(rng: Random) -> Session:
    """A random queue at one rate, 0.2 to 0.95 of its capacity, for 40 to 240 s: nothing changes but the length of its queue."""
    system, _ = random_system("queue", rng)
    per_s = served_per_s(system)
    session = VirtualRates(OpenRun(system, rng))
    session.climb([round(float(rng.uniform(0.2, 0.95)) * per_s, 1)], int(rng.integers(40, 240)))
    return ended(Truth(exactly(per_s), ("queue_growth",), QUIET, at_rates=True), session)


def near(value: float, system: System) -> tuple[Knee, ...]:
    """The knee, or the capacity. A limiter with few tokens refuses some requests below its rate: its goodput while 1.2 times its
    rate is offered is at least that of M/M/1/K, of as many places as tokens."""
    if system.limiter is None:
        return exactly(value)
    per_s, burst = system.limiter
    least = exact.limited_goodput(1.2 * per_s, exact.servers(1, 1 / per_s), math.floor(burst)) / per_s
    return (Knee(min(1.0, least) * value, value),)


# -- services ------------------------------------------------------------------------------------------------------------------


def served_users(system: System) -> float:
    return exact.knee(system.think_s, system.servers, system.service_s)


def served_per_s(system: System) -> float:
    return system.servers / system.service_s


def equal(rng: Random) -> System:
    """Each request takes the same time and each user thinks for the same time, without noise: goodput is N / (Z + S) up to
    N* and the capacity beyond it."""
    system, _ = random_system("queue", rng)
    return replace(system, service_spread="constant", think_spread="constant", noise=0.0)


def few(rng: Random) -> System:
    """1 to 5 requests a second at most, by 1 to 4 workers; N* is 3 to 15 users: a level has few requests."""
    system, _ = random_system("queue", rng)
    servers, capacity = int(rng.choice([1, 2, 4])), float(np.exp(rng.uniform(np.log(1), np.log(5))))
    knee = max(float(rng.uniform(3, 15)), 1.3 * servers)
    return replace(system, servers=servers, service_s=servers / capacity, think_s=(knee - servers) / capacity)


def bimodal(rng: Random) -> System:
    """A tenth of the requests take ten times as long as the others, and users think for exponential times: latency varies much,
    and a level's mean depends on few slow requests."""
    system, _ = random_system("queue", rng)
    return replace(system, service_spread="bimodal", think_spread="exponential")


def long(rng: Random) -> System:
    """Replies take 4 to 15 s, from 4 to 32 slots, as those of a language model do; users think for up to as long."""
    system, _ = random_system("queue", rng)
    service_s = float(np.exp(rng.uniform(np.log(4), np.log(15))))
    return replace(
        system, servers=int(rng.choice([4, 8, 16, 32])), service_s=service_s, think_s=float(rng.uniform(0, 1)) * service_s
    )


def limiter(rng: Random) -> System:
    """A token bucket in front of a service with room refuses with 429 beyond its rate, a quarter to 0.7 of what the servers do;
    its burst is 0.05 to 0.3 s of it. Users who are refused think and come again: the capacity is at most the rate, N* the users
    whose requests fill it."""
    system, _ = random_system("queue", rng)
    per_s = float(rng.uniform(0.25, 0.7)) * served_per_s(system)
    return replace(system, limiter=(per_s, max(1.0, float(rng.uniform(0.05, 0.3)) * per_s)))


def limited_per_s(system: System) -> float:
    assert system.limiter is not None
    return system.limiter[0]


def limited_users(system: System) -> float:
    return limited_per_s(system) * (system.service_s + system.think_s)


class TwoEndpoints(OpenRun):
    """A share of the iterations needs the servers; the others are served at once, as many as come."""

    def __init__(self, system: System, rng: Random, share: float) -> None:
        super().__init__(system, rng)
        self._share, self._which = share, np.random.default_rng(rng.integers(2**32))

    def _serve(self, started_s: float) -> tuple[float, bool]:
        if self._which.random() < self._share:
            return super()._serve(started_s)
        return started_s + self._service.block().pop(), True


def two_endpoints(explores: bool, rng: Random) -> Session:
    """0.3 to 0.8 of the iterations go to an endpoint with a capacity, with or without a short queue; the others are served at any
    rate. Goodput leaves the offered rate where that endpoint is full, and still rises: there is no capacity."""
    system, _ = random_system("shedding" if rng.random() < 0.5 else "queue", rng)
    share = float(rng.uniform(0.3, 0.8))
    leaves = served_per_s(system) / share
    truth = Truth((), (), QUIET, at_rates=True, fails_below=True, served_to=leaves)
    return offered(TwoEndpoints(system, rng, share), truth, float(rng.uniform(0.8, 3.0)) * leaves, explores, rng)


def _families() -> Iterator[Family]:
    yield Family("rates-steady", steady)
    for explores in (False, True):
        users, rates = ("autopilot", "rate-autopilot") if explores else ("ladder", "rates")
        for make in (equal, few, bimodal, long):
            yield Family(f"{users}-{make.__name__}", partial(by_users, make, "queueing", served_users, explores), explores)
            yield Family(f"{rates}-{make.__name__}", partial(by_rate, make, "queue_growth", served_per_s, explores), explores)
        yield Family(f"{users}-limiter", partial(by_users, limiter, "errors", limited_users, explores), explores)
        yield Family(f"{rates}-limiter", partial(by_rate, limiter, "errors", limited_per_s, explores), explores)
        yield Family(f"{rates}-two-endpoints", partial(two_endpoints, explores), explores)


LIMITED = tuple(_families())
