"""Ladders: random systems of known knee under more and more users, level by level, as the detector gets them, with the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from capexplorer.analysis.causes.generator_saturation import BUSY_LEAST
from capexplorer.analysis.ladder import LadderLevel
from capexplorer.model.slice import batch_error

from . import exact
from .queues import Run, Spread, System, run

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

Kind = Literal["queue", "usl", "shedding", "timeouts", "ports", "generator"]

KINDS: tuple[Kind, ...] = ("queue", "usl", "shedding", "timeouts", "ports", "generator")

SPREADS: tuple[Spread, ...] = ("constant", "uniform", "exponential", "lognormal")


@dataclass(frozen=True, slots=True)
class Truth:
    """The verdict of a perfect detector."""

    knee_users: float | None
    """N*; None: the system never saturates."""
    capacity_rps: float | None
    limit: str | None


@dataclass(frozen=True, slots=True)
class ObservedLevel:
    """One settled level as a load test measures it, second by second."""

    users: int
    goodput: Counts
    """Successes that ended in each second."""
    failures: Counts
    """Failures that ended in each second."""
    latency_ms: Floats
    """Latency of each success, in order of completion."""
    latency_second: Counts
    """The second in which each success ended."""
    response_ms: float | None
    """Mean over all requests."""
    think_s: Floats
    """Think time after each request, failures included, in order of completion."""
    ended_second: Counts
    """The second in which each request ended."""
    generator_busy_ratio: float | None = None
    """CPU of the generator's core; None: not simulated."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """A system under increasing numbers of users, with the truth."""

    kind: str
    seed: int
    system: System
    truth: Truth
    levels: tuple[ObservedLevel, ...]


def random_system(kind: Kind | Literal["linear"], rng: np.random.Generator) -> tuple[System, Truth]:
    """A system of a kind with its truth. Capacities of 20 to 150 a second, knees at 8 to 150 users, 1 to 8 servers."""
    capacity = float(np.exp(rng.uniform(np.log(20), np.log(150))))
    servers = int(rng.choice([1, 2, 4, 8]))
    service_s = servers / capacity
    knee = max(float(np.exp(rng.uniform(np.log(8), np.log(150)))), 1.3 * servers)
    think_s = knee / capacity - service_s
    noise = float(rng.uniform(0.03, 0.10))
    plain = System(
        service_s=service_s,
        think_s=think_s,
        servers=servers,
        service_spread=SPREADS[rng.integers(len(SPREADS))],
        think_spread=SPREADS[rng.integers(3)],
        noise=noise,
    )
    if kind == "linear":
        return replace(plain, linear=True), Truth(None, None, None)
    if kind == "usl":
        return _usl(think_s, capacity, noise, rng)
    if kind == "shedding":
        limit = servers + int(rng.integers(2, 12))
        return replace(plain, queue_limit=limit), Truth(knee, capacity, "errors")
    if kind == "timeouts":
        # Long enough that a request in a system at its knee is served in time; short enough that at 2 N* most are not.
        timeout_s = float(rng.uniform(0.5, 0.8)) * knee / capacity + 4 * service_s / np.sqrt(servers)
        return replace(plain, timeout_s=timeout_s), Truth(knee, capacity, "errors")
    if kind == "ports":
        # Each port is used for 1 to 3 s in TIME_WAIT, so their number limits the rate to about 0.75 of the servers' capacity; the
        # truth is within 5% (`exact.held_rps`: 1%), and loads of frozen verdicts depend on it.
        time_wait_s = float(rng.uniform(1, 3))
        rate = 0.75 * capacity
        ports = int(rate * (time_wait_s + 1.5 * service_s)) + 1
        rate = ports / (time_wait_s + 1.5 * service_s)
        return replace(plain, ports=ports, time_wait_s=time_wait_s), Truth(rate * (service_s + think_s), rate, "errors")
    if kind == "generator":
        generator_s = 1 / (capacity * float(rng.uniform(0.4, 0.75)))
        truth = Truth((service_s + think_s + generator_s) / generator_s, 1 / generator_s, "generator")
        return replace(plain, generator_s=generator_s), truth
    return plain, Truth(knee, capacity, "queueing")


def _usl(think_s: float, capacity: float, noise: float, rng: np.random.Generator) -> tuple[System, Truth]:
    """A server that follows the USL, with a peak service rate of `capacity`. Its true capacity is the largest exact throughput
    over a grid of user counts."""
    sigma = float(rng.uniform(0.0, 0.08))
    kappa = float(np.exp(rng.uniform(np.log(0.0005), np.log(0.02))))
    present = max(1, round(np.sqrt((1 - sigma) / kappa)))
    alone_rps = capacity / exact.usl(1.0, sigma, kappa)(present)
    rate = exact.usl(alone_rps, sigma, kappa)
    think_s = max(think_s, 0.02)
    crossing = capacity * (think_s + 1 / alone_rps)
    grid = np.unique(np.linspace(max(1, 0.5 * crossing), 4 * crossing + present, 60).astype(int))
    peak_rps = max(exact.throughput_rps(int(users), think_s, rate) for users in grid)
    system = System(service_s=1 / alone_rps, think_s=think_s, noise=noise, usl=(sigma, kappa))
    return system, Truth(peak_rps * (think_s + 1 / alone_rps), peak_rps, "queueing")


def climb(system: System, users: Sequence[int], rng: np.random.Generator, level_s: int = 20) -> tuple[ObservedLevel, ...]:
    """Levels in that order; each settles for two cycles and is then measured for `level_s` seconds."""
    running = run(system, rng)
    windows = []
    for count in users:
        running.to(count)
        opened_s = running.now_s
        running.until(opened_s + 1)
        cycle_s = count / max(_recent_rps(running), 1e-9)
        settled_s = running.now_s + float(np.clip(2 * min(cycle_s, system.think_s + 8 * system.service_s), 2, 30))
        running.until(settled_s + level_s)
        windows.append((count, settled_s))
    ended = np.array([running.ended_s, running.response_s, running.ok, running.think_s])
    ended = ended[:, np.argsort(ended[0], kind="stable")]
    return tuple(_observed(count, start, level_s, system, ended) for count, start in windows)


def _recent_rps(running: Run) -> float:
    ended = running.ended_s[-500:]
    return len(ended) / max(ended[-1] - ended[0], 1e-6) if len(ended) > 1 else 1.0


def _observed(users: int, start_s: float, level_s: int, system: System, ended: Floats) -> ObservedLevel:
    """`ended`: shape (4, requests), times of completion ascending: end, response time, whether it succeeded, think time."""
    first, last = np.searchsorted(ended[0], [start_s, start_s + level_s])
    ended_s, response_s, ok, think_s = ended[:, first:last]
    second = (ended_s - start_s).astype(int)
    succeeded, response_ms = ok.astype(bool), response_s * 1000
    return ObservedLevel(
        users=users,
        goodput=np.bincount(second[succeeded], minlength=level_s)[:level_s],
        failures=np.bincount(second[~succeeded], minlength=level_s)[:level_s],
        latency_ms=response_ms[succeeded],
        latency_second=second[succeeded],
        response_ms=float(response_ms.mean()) if len(response_ms) else None,
        think_s=think_s,
        ended_second=second,
        generator_busy_ratio=system.generator_s * len(second) / level_s if system.generator_s else None,
    )


def rungs(top: float, count: int = 12) -> list[int]:
    """Up to `count` different user counts, evenly spaced up to `top`."""
    return sorted({max(1, round(top * step / count)) for step in range(1, count + 1)})


def ladder(kind: Kind, seed: int, top: float = 2.2, level_s: int = 20, count: int = 12) -> Ladder:
    """A random system of a kind under loads of up to `top` times its knee."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    system, truth = random_system(kind, rng)
    assert truth.knee_users is not None
    return Ladder(kind, seed, system, truth, climb(system, rungs(top * truth.knee_users, count), rng, level_s))


def linear_ladder(seed: int, level_s: int = 20, count: int = 12) -> Ladder:
    """A system that never saturates, under up to 10 to 200 users."""
    rng = np.random.default_rng([seed, 99])
    system, truth = random_system("linear", rng)
    return Ladder("linear", seed, system, truth, climb(system, rungs(float(rng.uniform(10, 200)), count), rng, level_s))


# -- shown ---------------------------------------------------------------------------------------------------------------------
# As the input of the detector: means over settled seconds with standard errors by batch means.


def shown(ladder: Ladder) -> tuple[LadderLevel, ...]:
    """All levels of the ladder, in the order in which they ran."""
    return tuple(level_of(level, float(index)) for index, level in enumerate(ladder.levels))


def level_of(level: ObservedLevel, started_s: float = 0.0) -> LadderLevel:
    """One level."""
    seconds = len(level.goodput)
    successes, failures = int(level.goodput.sum()), int(level.failures.sum())
    thought_s = np.bincount(level.ended_second, weights=level.think_s, minlength=seconds)
    ended = (level.goodput + level.failures).astype(float)
    sums_ms = np.bincount(level.latency_second, weights=level.latency_ms, minlength=seconds)
    return LadderLevel(
        users=level.users,
        goodput_rps=successes / seconds,
        goodput_se_rps=batch_error([(float(count), 1.0) for count in level.goodput]),
        throughput_rps=(successes + failures) / seconds,
        response_ms=level.response_ms,
        latency_ms=float(level.latency_ms.mean()) if successes else None,
        latency_se_ms=batch_error(list(zip(sums_ms.tolist(), level.goodput.astype(float).tolist(), strict=True))),
        p95_ms=float(np.percentile(level.latency_ms, 95)) if successes else None,
        p99_ms=float(np.percentile(level.latency_ms, 99)) if successes else None,
        failure_ratio=failures / (successes + failures) if successes + failures else None,
        requests=successes + failures,
        seconds=float(seconds),
        wait_s=float(level.think_s.mean()) if successes + failures else None,
        wait_se_s=batch_error(list(zip(thought_s.tolist(), ended.tolist(), strict=True))),
        started_s=started_s,
        generator_saturated=None if level.generator_busy_ratio is None else level.generator_busy_ratio >= BUSY_LEAST,
    )
