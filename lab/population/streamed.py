"""Families of services whose replies are streams, explored under limits on a single request: goodput is what is within them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from capexplorer.model.stages import LIMIT_NAMES, LimitName, RequestLimits
from lab.simulation.batch import BatchRates, BatchRun, Law, Measured, measured
from lab.simulation.ladders import rungs
from lab.simulation.open_queue import OpenRun
from lab.simulation.queues import Run, Spread
from lab.simulation.virtual import VirtualRates, VirtualRun

from .families import EXPLORED_S, STILL, Family, Session, ended, rate_rungs
from .truth import Knee, Truth

Random = np.random.Generator

CYCLES = (5.0, 12.0)
"""Length of the levels of a ladder, in cycles of users of the full service, but at least LEVEL_S seconds."""
LEVEL_S = 15
SPREADS: tuple[Spread, ...] = ("constant", "uniform", "exponential", "lognormal")

REPLIES, GRID, FINE = 3_000, 7, 5
"""Replies of each run that shows the truth, and runs over all loads and near the peak."""

NEAR = 0.97
"""Loads with so much of the greatest goodput within limits are all its peak, and goodput from so much on is the capacity."""


FULL = 0.9
"""Share of the greatest throughput from which requests queue."""


class Peak(NamedTuple):
    """Where goodput within limits is greatest."""

    low: float
    """Where the service is full, from the crossing of the line of one user and the greatest goodput on."""
    high: float
    goodput: float
    first: LimitName
    """The limit that most requests exceed beyond it."""
    is_full: bool
    """Whether the service serves nearly all that it can there, so that requests queue, too."""


def law_of(limit: LimitName, rng: Random) -> Law:
    slots, tokens = round(float(np.exp(rng.uniform(np.log(6), np.log(40))))), float(np.exp(rng.uniform(np.log(20), np.log(150))))
    token_s, slower = float(rng.uniform(0.005, 0.02)), float(rng.uniform(1.3, 4.0))
    decode_s = tokens * token_s
    room = float(rng.uniform(0.7, 1.5) if limit == "ttft" else rng.uniform(1.3, 5.0))
    return Law(
        slots=slots,
        token_s=token_s,
        growth=(slower - 1) / (slots - 1),
        tokens=tokens,
        tokens_spread=SPREADS[int(rng.integers(len(SPREADS)))],
        prefill_s=decode_s * slower / slots / room,
        prompt_spread=SPREADS[int(rng.integers(3))],
        think_s=decode_s * float(np.exp(rng.uniform(np.log(0.2), np.log(4)))),
        think_spread=("constant", "uniform", "exponential")[int(rng.integers(3))],
        noise=float(rng.uniform(0.0, 0.05)),
    )


def limits_of(limit: LimitName, law: Law, rng: Random) -> RequestLimits:
    """In half of them all three are set, the others loosely."""
    batch = float(rng.uniform(0.3, 0.9)) * law.slots
    tight = {
        "ttft": law.prefill_s * float(rng.uniform(3, 10)),
        "tpot": law.gap_s(1) + (law.gap_s(law.slots) - law.gap_s(1)) * batch / law.slots,
        "total": law.alone_s * float(rng.uniform(2, 5)),
    }
    loose = {"ttft": 3 * law.alone_s + tight["ttft"], "tpot": 1.5 * law.gap_s(law.slots), "total": 10 * law.alone_s}
    others = loose if rng.random() < 0.5 else {}
    return RequestLimits(**{f"{name}_ms": 1000 * ms for name, ms in {**others, limit: tight[limit]}.items()})


def peak_of(
    start: Callable[[float], Run | OpenRun], limits: RequestLimits, most: float, cycle_s: float, most_per_s: float
) -> Peak:
    """By long runs at loads up to `most`. `start`: a run at a load, with the same random numbers for all."""

    def goodput(load: float) -> Measured:
        return measured(start(load), limits, 5 * cycle_s, REPLIES)

    coarse = [most * (step + 1) / GRID for step in range(GRID)]
    found = {load: goodput(load) for load in coarse}
    best = max(coarse, key=lambda load: found[load].within_per_s)
    for step in range(1, FINE + 1):
        load = best + most / GRID * (2 * step / (FINE + 1) - 1)
        found[load] = goodput(load)
    best = max(found, key=lambda load: found[load].within_per_s)
    greatest = found[best].within_per_s
    near = sorted(load for load in found if found[load].within_per_s >= NEAR * greatest)
    is_full = found[best].per_s > FULL * most_per_s
    beyond = min((load for load in found if load > best and found[load].within_per_s < 0.9 * greatest), default=coarse[-1])
    first = max(limits.by_name, key=lambda name: found[beyond].beyond.get(name, 0.0))
    crossing = greatest / goodput(1.0).within_per_s if is_full else near[0]
    return Peak(min(near[0], crossing), near[-1], greatest, first, is_full)


def truth_of(peak: Peak, *, at_rates: bool) -> Truth:
    full = "queue_growth" if at_rates else "queueing"
    limits = (peak.first, full) if peak.is_full else (peak.first,)
    knee = Knee(NEAR * peak.goodput, peak.goodput) if at_rates else Knee(peak.low - 0.5, peak.high + 0.5)  # users are whole
    return Truth((knee,), limits, (*STILL, "generator"), at_rates=at_rates)


def by_users(limit: LimitName, explores: bool, rng: Random) -> Session:
    """By the autopilot, or in 5 to 12 levels of 5 to 12 cycles up to 0.5 to 2 times the users at which most is in limits."""
    law = law_of(limit, rng)
    limits, seed = limits_of(limit, law, rng), int(rng.integers(2**32))
    cycle_s = law.alone_s + law.think_s

    def start(users: float) -> Run:
        running = BatchRun(replace(law, noise=0.0), np.random.default_rng(seed))
        running.to(max(1, round(users)))
        return running

    most = max(GRID, 1.5 * law.most_per_s * (law.full_s + law.think_s))
    peak = peak_of(start, limits, most, cycle_s, law.most_per_s)
    session = VirtualRun(BatchRun(law, rng), max_users=400, limits=limits)
    if explores:
        session.explore(EXPLORED_S)
    else:
        level_s = max(LEVEL_S, round(float(rng.uniform(*CYCLES)) * (law.full_s + law.think_s)))
        session.climb(rungs(float(rng.uniform(0.5, 2.0)) * peak.high, int(rng.integers(5, 13))), level_s)
    return ended(truth_of(peak, at_rates=False), session)


def by_rate(limit: LimitName, explores: bool, rng: Random) -> Session:
    """By the autopilot, or in 5 to 9 levels up to 0.5 to 1.6 times the rate at that peak, of 150 to 600 arrivals there."""
    law = law_of(limit, rng)
    limits, seed = limits_of(limit, law, rng), int(rng.integers(2**32))

    def start(per_s: float) -> OpenRun:
        running = BatchRates(replace(law, noise=0.0), np.random.default_rng(seed))
        running.offer(per_s)
        return running

    peak = peak_of(start, limits, 0.97 * law.most_per_s, law.alone_s, law.most_per_s)
    session = VirtualRates(BatchRates(law, rng), limits=limits)
    if explores:
        session.explore(EXPLORED_S)
    else:
        level_s = max(20, round(float(rng.uniform(150, 600)) / peak.high))
        session.climb(rate_rungs(float(rng.uniform(0.5, 1.6)) * peak.high, int(rng.integers(5, 10))), level_s)
    return ended(truth_of(peak, at_rates=True), session)


def _families() -> Iterator[Family]:
    for explores in (False, True):
        users, rates = ("autopilot", "rate-autopilot") if explores else ("ladder", "rates")
        for limit in LIMIT_NAMES:
            yield Family(f"{users}-stream-{limit}", partial(by_users, limit, explores), explores)
            yield Family(f"{rates}-stream-{limit}", partial(by_rate, limit, explores), explores)


STREAMED: Sequence[Family] = tuple(_families())
