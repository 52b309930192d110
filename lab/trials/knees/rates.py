"""Offered rates: simulated services as worlds, the policies of tools that offer a rate, and capexplorer's autopilot by rate.

A simulated service of a closed loop that has no open form (`usl`, `ports`, `generator`) is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np

from capexplorer.run.live_levels import CurrentEpoch
from lab.simulation.open_queue import OpenRun
from lab.simulation.virtual import VirtualRates

from .exploration import AUTOPILOT, Exploration, row
from .finders import LIMIT_S, NO_KNEE, P95_FACTOR, Answer, Steps, Window, World, at
from .services import Service, window

OPEN_KINDS = ("queue", "shedding", "timeouts", "linear")

POOL = 512
"""Most requests in flight of the tools that offer rates: guidellm's default; inference-perf's is 100 for each core."""


class RateWorld(World, Protocol):
    """Its load is an offered rate, in requests a second."""

    @property
    def in_flight(self) -> int:
        """Requests that are sent and not yet answered."""


RateFinder = Callable[[RateWorld], Answer]


class SimulatedRates:
    """A simulated service under offered rates, by a client with POOL requests in flight at most. `waiting`: most further requests
    that wait in the client; others are never sent."""

    def __init__(self, service: Service, waiting: int) -> None:
        self.run = OpenRun(service.system, _random(service), max_users=POOL, waiting_most=waiting)
        self.steps: Steps = []

    @property
    def now_s(self) -> float:
        return self.run.now_s

    @property
    def in_flight(self) -> int:
        return self.run.busy

    def step(self, load: float) -> None:
        self.run.offer(load)

    def watch(self, seconds: float) -> Window:
        self.steps.append((self.run.rate_per_s, seconds))
        ended = self.run.until(self.now_s + seconds)
        return window(self.run.rate_per_s, seconds, [((each.ended_s - each.started_s) * 1000, each.ok) for each in ended])


def _random(service: Service) -> np.random.Generator:
    return np.random.default_rng([service.seed, 8])


# -- policies ------------------------------------------------------------------------------------------------------------------


BURST_PER_S = 1_000.0
"""An offered rate that fills every pool; no service here has such a capacity."""


def burst(world: RateWorld) -> Answer:
    """inference-perf's `sweep`: 2,000 requests within 5 s; the saturation rate is the 95th percentile of the rates at which the
    number of active requests falls from one half second to the next. The stages that follow are left out. The
    tool waits for 60 s at most; here it waits to the end.

    Source: inference_perf/loadgen/load_generator.py of inference-perf 0.7.0.
    """
    world.step(400)
    active = [world.in_flight]
    while world.now_s < LIMIT_S and (world.now_s < 5 or world.in_flight):
        world.watch(0.5)
        active.append(world.in_flight)
        if world.now_s >= 5:
            world.step(0)
    falls = [2.0 * (before - after) for before, after in pairwise(active) if after < before]
    if len(falls) <= 1:
        return NO_KNEE
    rate = float(np.percentile(falls, 95))
    return Answer(rate, rate)


OVERSATURATION_S = 40
"""Seconds of each rate of guidellm's sweep; its test begins after 30."""


def oversaturation(world: RateWorld) -> Answer:
    """guidellm's `sweep` of ten runs with its `over_saturation` test: one request at a time, as many as the client can hold, then
    eight rates evenly between these two, up to the first that is over-saturated. The interval reaches from the last rate that is
    not to that; where no rate is, the answer is the greatest throughput.

    Source: guidellm/benchmark/profiles/sweep.py and guidellm/scheduler/constraints/saturation.py of guidellm 0.8.1.
    """
    base = at(world, 1, OVERSATURATION_S)
    one_rps, slow_ms = 1_000 / float(np.mean(base.took_ms)), P95_FACTOR * base.p95_ms
    world.step(BURST_PER_S)
    world.watch(OVERSATURATION_S / 2)
    most_rps = world.watch(OVERSATURATION_S / 2).goodput_rps
    if most_rps < one_rps:
        return NO_KNEE  # the tool ends here, too: with as many requests as it can hold most fail
    last: float | None = None
    for rate in np.linspace(one_rps, most_rps, 9)[1:].tolist():
        _drained(world)
        if _is_oversaturated(world, rate, slow_ms):
            return NO_KNEE if last is None else Answer(last, last, last, rate)
        last = rate
    return Answer(last, most_rps)


def _drained(world: RateWorld) -> None:
    world.step(0)
    began_s = world.now_s
    while world.in_flight and world.now_s < began_s + 60:
        world.watch(1)


def _is_oversaturated(world: RateWorld, rate: float, slow_ms: float) -> bool:
    """Whether, of the last three quarters of the seconds, requests in flight and response times both rise surely, and most
    replies are slow."""
    world.step(rate)
    seen: list[tuple[Window, int]] = []
    for second in range(OVERSATURATION_S):
        seen.append((world.watch(1), world.in_flight))
        recent = seen[len(seen) // 4 :]
        if second >= 30 and 2 * sum(window.slow(slow_ms) for window, _ in recent) > sum(window.ended for window, _ in recent):
            in_flight = [float(count) for _, count in recent]
            took_ms = [float(np.mean(window.took_ms)) for window, _ in recent if window.took_ms]
            if _rises(in_flight) and (len(took_ms) < 5 or _rises(took_ms)):
                return True
    return False


T95 = 2.06
"""Quantile of Student's t, two-sided 95%, for the 22 to 30 seconds of the test."""


def _rises(values: Sequence[float]) -> bool:
    """Whether a line through values at equal distances rises, with a margin of error (95%) below twice its slope."""
    at = np.arange(len(values)) - (len(values) - 1) / 2
    spread = float((at**2).sum())
    slope = float((at * values).sum()) / spread
    left = np.asarray(values) - np.mean(values) - slope * at
    error = math.sqrt(float((left**2).sum()) / (len(values) - 2) / spread)
    return slope > 0 and T95 * error < 2.0 * slope


RATE_POLICIES: dict[str, tuple[RateFinder, int]] = {
    "inference-perf (burst)": (burst, 2_000),
    "guidellm (over-saturation)": (oversaturation, 0),
}
"""Each with the requests that may wait in its client."""


# -- explorations --------------------------------------------------------------------------------------------------------------


def explored_by_rate(service: Service) -> list[Exploration]:
    """One exploration by each finder; none of a service without an open form."""
    if service.name.split(",")[0] not in OPEN_KINDS:
        return []
    found = [_autopilot(service)]
    for name, (find, waiting) in RATE_POLICIES.items():
        world = SimulatedRates(service, waiting)
        found.append(row(name, service.name, service.seed, service.capacities, find(world), world.now_s, world.steps))
    return found


def _autopilot(service: Service) -> Exploration:
    run = VirtualRates(OpenRun(service.system, _random(service)))
    steps: Steps = []
    run.explore(LIMIT_S, each_second=lambda: steps.append((run.running.rate_per_s, 1)))
    run.end()
    return row(AUTOPILOT, service.name, service.seed, service.capacities, _answer(run), run.now_s, steps)


def _answer(run: VirtualRates) -> Answer:
    """The capacity of the final verdict. A departure, or "at or below", does not count as an answer."""
    verdict = CurrentEpoch(run.timeline).epoch.verdict
    found = verdict.rates.capacity if verdict is not None and verdict.rates is not None else None
    if found is None or found.kind != "capacity":
        return NO_KNEE
    return Answer(found.per_s, found.per_s, found.low_per_s, found.high_per_s)
