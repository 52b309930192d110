"""Pairs of sessions of simulated queues: of the same system, or of one that is changed by a known share.

Levels of the simulator become the events of a session, second by second, so that what is compared has gone through the same fold,
the same detectors and the same comparison as a real run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from capexplorer.analysis.detectors import detect
from capexplorer.model.events import SCHEMA, Ended, EndpointTick, Event, Header, HostFacts, LevelOpened, Sample, TargetFacts
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import SecondLatencies, Session
from lab.simulation.ladders import KINDS, Kind, ObservedLevel, climb, random_system, rungs
from lab.simulation.queues import System

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
