"""Ladders on a busy machine: a service of one thread on two cores, beside neighbours that are busy at some levels.

Figures are exact mean values (`exact.mva`) with noise. While neighbours compute, the service waits for its core, so each request
takes longer; readings are those that the kernel would give. The truth is the knee of the service without neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capexplorer.model.figures import LevelFigures
from capexplorer.model.intervals import Latency

from . import exact

CORES = 2
SECONDS = 12.0
STEPS = 1.5
"""Ratio of the users of a level to those of the level before."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    cores: float
    """Cores that they use."""
    wait_ratio: float
    """CPU time for which the service waits, for each second of CPU that it gets."""


QUIET = Neighbours(0.03, 0.01)


@dataclass(frozen=True, slots=True)
class Crowded:
    """A ladder beside neighbours."""

    seed: int
    knee_users: float
    """N* of the service alone."""
    capacity_rps: float
    users: tuple[int, ...]
    levels: tuple[LevelFigures, ...]
    beside: tuple[Neighbours, ...]


def climb(seed: int, reach: float, *, busy_share: float = 0.5) -> Crowded:
    """A random service under loads of up to `reach` times its N*; neighbours are busy at `busy_share` of the levels, in
    stretches."""
    random = np.random.default_rng(seed)
    service_s, think_s = float(random.uniform(0.003, 0.02)), float(random.choice([0.0, 0.05, 0.1, 0.3]))
    knee = exact.knee(think_s, 1, service_s)
    users = _ladder(reach * knee)
    beside = _stretches(random, len(users), busy_share)
    levels = tuple(_level(random, count, service_s, think_s, each) for count, each in zip(users, beside, strict=True))
    return Crowded(seed, knee, 1 / service_s, users, levels, beside)


def _ladder(most: float) -> tuple[int, ...]:
    """Up to eight user counts that grow by STEPS to `most`."""
    counts = [max(1.0, most)]
    while counts[-1] > 1 and len(counts) < 8:
        counts.append(counts[-1] / STEPS)
    return tuple(sorted({max(1, round(count)) for count in counts}))


def _stretches(random: np.random.Generator, levels: int, busy_share: float) -> tuple[Neighbours, ...]:
    """The neighbours of each level: with probability 2/3 as busy or quiet as before, else drawn again."""
    busy, found = bool(random.random() < busy_share), []
    for _ in range(levels):
        busy = busy if random.random() < 2 / 3 else bool(random.random() < busy_share)
        heavy = Neighbours(float(random.uniform(0.6, 1.9)), float(random.uniform(0.05, 1.5)))
        found.append(heavy if busy else QUIET)
    return tuple(found)


def _level(random: np.random.Generator, users: int, service_s: float, think_s: float, beside: Neighbours) -> LevelFigures:
    rate, response_s = exact.mva(users, think_s, service_s * (1 + beside.wait_ratio))
    goodput = rate * float(random.normal(1.0, 0.015))
    response_ms = 1000 * response_s * float(random.normal(1.0, 0.03))
    cpu = rate * service_s
    readings = {
        "target.cpu_ratio": cpu,
        "target.busiest_thread_ratio": 0.98 * cpu,
        "target.run_delay_ratio": cpu * beside.wait_ratio,
        "target.processes": 1.0,
        "target.cpus_allowed": float(CORES),
        "neighbours.cpu_ratio": min(beside.cores, CORES - cpu),
        "host.cpu_ratio": min(float(CORES), beside.cores + cpu + 0.1),
        "generator.cpu_ratio": 0.08,
        "generator.run_delay_ratio": 0.02,
    }
    return LevelFigures(
        settled=True,
        settled_seconds=SECONDS,
        requests=round(goodput * SECONDS),
        failure_ratio=0.0,
        throughput_rps=goodput,
        goodput_rps=goodput,
        goodput_se_rps=0.015 * goodput,
        latency_ms=Latency(mean=response_ms),
        latency_se_ms=0.03 * response_ms,
        response_ms=response_ms,
        wait_s=think_s,
        users_mean=float(users),
        target_cpu_ratio=cpu,
        generator_cpu_ratio=0.08,
        generator_run_delay_ratio=0.02,
        loop_lag_p99_ms=2.0,
        readings=readings,
    )
