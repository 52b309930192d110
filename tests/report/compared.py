"""Sessions for tests of comparisons, made of levels with given figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from marked import marked
from numpy.typing import NDArray

from capexplorer.model.events import (
    SCHEMA,
    ClientOverhead,
    Ended,
    EndpointTick,
    Event,
    Header,
    HostFacts,
    LevelClosed,
    LevelOpened,
    Mark,
    Sample,
    Target,
    TargetFacts,
)
from capexplorer.model.figures import LevelEndpoint, LevelFigures
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.intervals import Latency
from capexplorer.model.readings import TargetReading
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import SecondLatencies, Session

USERS = {"wait_s": {"between": [0.1, 0.5], "constant": None}, "client": "fast", "task": [{"name": "/", "weight": 1}]}
HOST = HostFacts(name="one", cpus=2, memory_bytes=8 << 30, fds_limit=1024, port_range=(32768, 60999))


@dataclass(frozen=True, slots=True)
class LevelSpec:
    """The figures of one level of a session."""

    users: int
    goodput_rps: float | None = 100.0
    se_rps: float | None = 1.0
    mean_ms: float | None = 10.0
    mean_se_ms: float | None = 0.1
    p50_ms: float | None = 10.0
    epoch: int = 0
    settled: bool = True
    failures: int = 0
    ramp: bool = False
    cpu_ratio: float | None = None
    host_cpu_ratio: float | None = None
    latency_factors: tuple[float, ...] = (1.0,) * 8
    """For `session`: the latency in each of its SECONDS, as a multiple of the level's."""


def overheads(**p50_ms: float) -> dict[str, ClientOverhead]:
    """Overheads of client classes by their names, each from its median in ms."""
    return {name: ClientOverhead(p50_ms=p50, p99_ms=2 * p50) for name, p50 in p50_ms.items()}


def timeline(levels: Sequence[LevelSpec], *, more: Sequence[Event] = (), complete: bool = True, **header: Any) -> Timeline:
    """The timeline of `events`: its levels have figures, but no seconds."""
    return Timeline(events(levels, more=more, complete=complete, **header))


SECONDS = 8
"""Settled seconds of a level of `session`."""


def session(levels: Sequence[LevelSpec], **header: Any) -> Session:
    """A session whose levels also have the seconds that their figures come from, as those of a recorded session."""
    recorded = list[Event]()
    for event in events(levels, **header):
        recorded += [*_seconds(levels[event.index], event), event] if isinstance(event, LevelClosed) else [event]
    latencies = SecondLatencies()
    return Session(Timeline(latencies.collecting(recorded)), latencies=latencies)


def _seconds(level: LevelSpec, closing: LevelClosed) -> list[Sample]:
    """The samples of a level; none if it has not settled."""
    values_us = _values_us(level)
    return [
        Sample(
            t_s=closing.started_s + 1 + second,
            duration_s=1.0,
            level=closing.index,
            users=level.users,
            wanted=level.users,
            phase="settled",
            settled=True,
            endpoints=(_tick(level.latency_factors[second] * values_us[second::SECONDS], level.failures // SECONDS),),
            work=level.goodput_rps,
            targets=() if level.cpu_ratio is None else (TargetReading(pid=1, cpu_ratio=level.cpu_ratio),),
        )
        for second in range(SECONDS)
        if level.settled
    ]


def _tick(values_us: NDArray[np.float64], failures: int) -> EndpointTick:
    """The requests of one second: successes with these latencies, and failures."""
    histogram = LatencyHistogram()
    histogram.record_us(values_us)
    return EndpointTick(
        name="/",
        requests=len(values_us) + failures,
        failures=failures,
        latency=histogram.encode(),
        latency_sum_ms=float(values_us.sum()) / 1000,
    )


def _values_us(level: LevelSpec) -> NDArray[np.float64]:
    """Latencies of the level's successful requests, evenly from half to one and a half times the median."""
    return (level.p50_ms or 0.0) * 1000 * np.linspace(0.5, 1.5, 2_000 - level.failures)


def events(levels: Sequence[LevelSpec], *, more: Sequence[Event] = (), complete: bool = True, **header: Any) -> list[Event]:
    """A header with these fields, the opening and closing of each level, `more` events, and the end if the session is complete.

    A level with another epoch than the one before follows a restart of the target.
    """
    recorded: list[Event] = [header_with(**header)]
    for index, level in enumerate(levels):
        began_s = 10.0 * index
        if any(level.epoch and level.epoch != before.epoch for before in levels[index - 1 : index]):
            recorded.append(Target(t_s=began_s, state="starting", epoch=level.epoch, params={"threads": 8 * level.epoch}))
        opened = LevelOpened(
            t_s=began_s, index=index, users=level.users, spawn_rate=9.0, by="plan", epoch=level.epoch, ramp=level.ramp
        )
        recorded += [opened, closing_event(level, index, began_s)]
    return [*recorded, *more, *([Ended(t_s=10.0 * len(levels), reason="quit")] if complete else [])]


def header_with(**given: Any) -> Header:
    """A header with the given fields, and default values of the others."""
    fields: dict[str, Any] = {
        "id": "a",
        "started_at": "2026-01-01T12:00:00+00:00",
        "versions": {"capexplorer": "1", "locust": "2"},
        "client_overhead_ms": overheads(FastHttpUser=0.5),
        "profile": {"name": "mixed", "users": USERS},
        "target": TargetFacts(name="mixed", url="http://127.0.0.1:1", command=("serve",), params={"threads": 4}),
        "host": HOST,
    }
    return Header(t_s=0.0, schema=SCHEMA, **(fields | given))


def closing_event(level: LevelSpec, index: int, began_s: float) -> LevelClosed:
    """The closing of a level of 2,000 requests with its figures; a ramp or a level that has not settled has none."""
    requests = 2_000
    histogram = LatencyHistogram()
    if level.p50_ms is not None:
        histogram.record_us(_values_us(level))
    p50, p95, p99 = histogram.percentiles_ms((0.5, 0.95, 0.99))
    figures = LevelFigures(settled=False)
    if level.settled and not level.ramp:
        figures = LevelFigures(
            settled=True,
            settled_seconds=6.0,
            requests=requests,
            failures=level.failures,
            failure_ratio=level.failures / requests,
            throughput_rps=level.goodput_rps,
            goodput_rps=level.goodput_rps,
            goodput_se_rps=level.se_rps,
            latency_ms=Latency(mean=level.mean_ms, p50=p50, p95=p95, p99=p99),
            latency_se_ms=level.mean_se_ms,
            target_cpu_ratio=level.cpu_ratio,
            host_cpu_ratio=level.host_cpu_ratio,
            readings=_cpu_readings(level),
        )
    endpoint = LevelEndpoint(name="/", method="GET", requests=requests, failures=level.failures, latency=histogram.encode())
    return LevelClosed(
        t_s=began_s + 9.0, index=index, users=level.users, started_s=began_s, figures=figures, endpoints=(endpoint,)
    )


def _cpu_readings(level: LevelSpec) -> dict[str, float]:
    """The readings from which the CPU of other processes is computed; none unless host and target were measured."""
    if level.host_cpu_ratio is None or level.cpu_ratio is None:
        return {}
    return {"host.cpu_ratio": level.host_cpu_ratio, "target.cpu_ratio": level.cpu_ratio, "generator.process_cpu_ratio": 0.1}


def knee(users: float, capacity_rps: float, **evidence: float) -> Mark:
    """The mark of a knee."""
    reported = {"capacity_rps": capacity_rps, **evidence}
    return marked(t_s=99.0, key="knee:0", state="open", kind="knee", id="knee", users=users, evidence=reported)
