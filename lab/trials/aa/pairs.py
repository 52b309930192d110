"""Pairs of sessions to compare: of simulated queues that are equal or differ in a known way, and of real services."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec
import numpy as np

from capexplorer.analysis.reanalysis import detect
from capexplorer.model.events import SCHEMA, Ended, EndpointTick, Event, Header, HostFacts, LevelOpened, Sample, TargetFacts
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import SecondLatencies, Session, compare, sentences
from lab.simulation.ladders import KINDS, Kind, ObservedLevel, climb, random_system, rungs
from lab.simulation.queues import System, Trouble, run
from lab.simulation.virtual import VirtualRun
from lab.trials.experiments.known import PROFILES

# -- simulated ladders: levels become the events of a session, second by second, so that what is compared has gone through the
# same fold, detectors and comparison as a real run

LEVELS = 12
TOP = 2.2
"""Highest level as a multiple of the knee: a third of the levels is saturated."""


def pair(kind: Kind, seed: int, *, level_s: int, slower: float = 0.0) -> tuple[Session, Session]:
    """Two runs of a random system at the same user counts. `slower`: relative increase of service times in the second run."""
    rng = np.random.default_rng([seed, KINDS.index(kind), 7])
    system, truth = random_system(kind, rng)
    assert truth.knee_users is not None
    users = rungs(TOP * truth.knee_users, LEVELS)
    runs = [climb(each, users, rng, level_s) for each in (system, changed(system, slower))]
    before, after = (session(f"{kind}-{seed}-{letter}", levels) for letter, levels in zip("ab", runs, strict=True))
    return before, after


def changed(system: System, slower: float) -> System:
    """The same system with service times that are longer by that share: less capacity, more latency."""
    return replace(system, service_s=system.service_s * (1 + slower))


def session(name: str, levels: Sequence[ObservedLevel]) -> Session:
    """A session with the marks that detectors find, as if it had been recorded."""
    latencies = SecondLatencies()
    timeline = Timeline()
    for event in latencies.collecting(_events(name, levels, timeline)):
        timeline.apply(event)
    for found in detect(timeline):
        timeline.apply(found)
    return Session(timeline, latencies=latencies)


def _events(name: str, levels: Sequence[ObservedLevel], timeline: Timeline) -> Iterator[Event]:
    yield Header(
        t_s=0.0,
        schema=SCHEMA,
        id=name,
        started_at="2026-01-01T00:00:00+00:00",
        target=TargetFacts(name="simulated", url=""),
        host=HostFacts(name="simulated", cpus=1),
    )
    t_s = 0.0
    for index, level in enumerate(levels):
        yield LevelOpened(t_s=t_s, index=index, users=level.users, spawn_rate=float(level.users), by="plan")
        for second in range(len(level.goodput)):
            t_s += 1.0
            yield _sample(t_s, index, level, second)
        assert timeline.level is not None
        yield timeline.level.ending(t_s)
    yield Ended(t_s=t_s, reason="plan", levels=len(levels))


def _sample(t_s: float, index: int, level: ObservedLevel, second: int) -> Sample:
    latency_ms = level.latency_ms[level.latency_second == second]
    histogram = LatencyHistogram()
    histogram.record_us(latency_ms * 1000)
    successes, failures = int(level.goodput[second]), int(level.failures[second])
    tick = EndpointTick(
        name="/",
        requests=successes + failures,
        failures=failures,
        latency=histogram.encode() if successes else None,
        latency_sum_ms=float(latency_ms.sum()),
    )
    return Sample(
        t_s=t_s,
        duration_s=1.0,
        level=index,
        users=level.users,
        wanted=level.users,
        phase="settled",
        settled=True,
        endpoints=(tick,),
        work=float(successes),
    )


# -- explorations by the autopilot in virtual time, whose difference is known by construction

EXPLORED_S = 900

FAILING = 0.03

WORDS = 15
"""Words of a headline that must say which build is better, by how much, and how sure that is."""

Truth = Literal["equal", "better", "worse"]


@dataclass(frozen=True, slots=True)
class Construction:
    """How the second service differs from the first one, which is a random system."""

    name: str
    truth: Truth
    change: Callable[[System], System]
    figure: str
    """The figure that the change affects: a headline that claims it names it; empty for equal services."""
    pairs: int = 4
    first: Callable[[System], System] = lambda system: system
    """Makes the first service of the random system."""


def _faster(share: float) -> Callable[[System], System]:
    return lambda system: replace(system, service_s=system.service_s / (1 + share))


def _doubled(system: System) -> System:
    return replace(system, servers=2 * system.servers)


def _slow_and_wide(system: System) -> System:
    """The same capacity by twice as many servers that are half as fast."""
    return replace(system, servers=2 * system.servers, service_s=2 * system.service_s)


CONSTRUCTIONS = (
    Construction("equal", "equal", lambda system: system, "", pairs=6),
    Construction("5% more capacity", "better", _faster(0.05), "capacity"),
    Construction("10% more capacity", "better", _faster(0.10), "capacity"),
    Construction("doubled", "better", _doubled, "capacity"),
    Construction("halved", "worse", lambda system: replace(system, servers=system.servers // 2), "capacity", first=_doubled),
    Construction("longer latency, same capacity", "worse", _slow_and_wide, "latency"),
    Construction(
        "3% of requests fail",
        "worse",
        lambda system: replace(system, trouble=Trouble(0.0, math.inf, failing=FAILING)),
        "failures",
    ),
)

CHANGED_KINDS: tuple[Kind, ...] = ("queue",)
"""Kinds whose capacity is that of a pool of servers, so that each construction means what it says."""


def constructed(name: str, kind: Kind, seed: int) -> dict[str, Any]:
    """One pair: what the headline says of it, and whether it names the figure that the change affects (or the capacity)."""
    how = next(each for each in CONSTRUCTIONS if each.name == name)
    rng = np.random.default_rng([seed, KINDS.index(kind), 11])
    first = how.first(random_system(kind, rng)[0])
    comparison = compare([_explored(each, rng) for each in (first, how.change(first))])
    (pair,) = comparison.pairs
    headline = sentences.verdict(comparison)
    directions = {"better" if each else "worse" for each in pair.directions}
    said = "both" if len(directions) == 2 else next(iter(directions), "equal")
    named = (how.figure or "capacity") in " ".join(headline.split()[:WORDS])
    return {"truth": how.truth, "said": said, "found": said == how.truth, "named": named}


def _explored(system: System, rng: np.random.Generator) -> Session:
    """A session of the service, on a machine that is the same for all."""
    explored = VirtualRun(run(system, rng))
    explored.explore(EXPLORED_S)
    explored.end()
    latencies = SecondLatencies()
    ended = Ended(t_s=explored.now_s, reason="autopilot", levels=len(explored.timeline.levels))
    header, *events = explored.sink.take()
    same = msgspec.structs.replace(header, host=HostFacts(name="simulated", cpus=1))
    return Session(Timeline(latencies.collecting([same, *events, ended])), latencies=latencies)


# -- short runs of real services, below and above saturation; they alternate, so that a change of the machine affects all alike

LONGEST_S = 150


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    profile: str
    plan: str


SERVICES = (
    Service("sleepers", "sleepers", "10:11s,40:11s,70:11s"),
    Service("mixed", "mixed", "10:13s,60:13s,120:13s"),
    Service("kv-fast", "kv-fast", "25:12s,100:12s"),
    Service("kv-go", "kv-go", "10:11s,60:11s"),
    Service("two-workers", str(PROFILES / "two-workers.toml"), "5:11s,10:11s,20:11s"),
)
