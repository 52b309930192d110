"""The events of a realistic session, without a run: levels of users on a service whose goodput has a maximum."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache

from capexplorer.model.events import (
    SCHEMA,
    ClientOverhead,
    Command,
    EndpointTick,
    Event,
    FailureSignature,
    FailureTick,
    Header,
    HostFacts,
    LevelClosed,
    LevelOpened,
    Log,
    Note,
    Phase,
    Sample,
    Target,
    TargetFacts,
)
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.level import LevelFold

from .session_readings import OVERLOADED_RATIO, PORTS_CAPACITY, PORTS_PER_USER_S, readings

HOSTILE_TEXT = "\x1b[31mred\x1b[0m [bold]not bold[/bold] \x9b2J \x07 \u202e [/] 🎉 done"
"""Escape sequences, control characters and markup, which a screen must show as text and never obey."""

ENDPOINTS = (("GET", "/health", 50, 2.0), ("GET", "/io", 30, 205.0), ("GET", "/cpu", 20, 34.0))
"""(method, name, percentage of the requests, latency in ms without load)."""

THINK_S = 0.3
MEAN_LATENCY_S = 0.075
"""About the mean of ENDPOINTS, by which a user's requests per second are computed."""

CAPACITY_RPS = 132.0
"""The most that the service serves; from OVERLOADED_RATIO of it on, two requests to /cpu fail each second."""


def header() -> Header:
    """The header of a session of the target `mixed` on a machine with two cores."""
    return Header(
        t_s=0.0,
        schema=SCHEMA,
        id="20260101-120000-mixed",
        started_at="2026-01-01T12:00:00+01:00",
        client_overhead_ms={"FastHttpUser": ClientOverhead(p50_ms=0.42, p99_ms=1.3)},
        profile={"name": "mixed", "title": "Mixed CPU and I/O"},
        target=TargetFacts(name="mixed", url="http://127.0.0.1:18080", command=("python", "app.py"), params={"threads": 8}),
        host=HostFacts(name="bench", cpus=2, memory_bytes=8 << 30, ports_capacity=PORTS_CAPACITY),
    )


def ready(t_s: float = 0.8) -> Target:
    """The event that the target is ready."""
    return Target(t_s=t_s, state="ready", pid=4711, params={"threads": 8})


def died(t_s: float) -> Target:
    """The event that the target ended by itself, with output that is HOSTILE_TEXT."""
    output = ("Traceback (most recent call last):", f"MemoryError: {HOSTILE_TEXT}")
    return Target(t_s=t_s, state="died", pid=4711, exit_code=3, reason="ended by itself", output=output)


class SessionMaker:
    """Makes the events of a session second by second: users who think for THINK_S after each response, and a service that serves
    at most CAPACITY_RPS. With `hostile`, the texts of failures are HOSTILE_TEXT.
    """

    def __init__(self, seed: int = 7, hostile: bool = True) -> None:
        self._random = random.Random(seed)
        self._hostile = hostile
        self.t_s, self.level, self.users, self.wanted = 1.0, -1, 0, 0
        self.level_opened_s, self._fold = 0.0, LevelFold()
        self._ports_used = 20.0

    def open(self, users: int) -> Iterator[Event]:
        """Close the open level, if there is one, and open the next."""
        yield from self.close()
        self.level += 1
        self.wanted, self.level_opened_s, self._fold = users, self.t_s, LevelFold()
        yield LevelOpened(t_s=self.t_s, index=self.level, users=users, spawn_rate=100.0, by="user")

    def close(self) -> Iterator[Event]:
        """Close the open level."""
        if self.level >= 0:
            yield LevelClosed(
                t_s=self.t_s,
                index=self.level,
                users=self.wanted,
                started_s=self.level_opened_s,
                settled_s=self._fold.settled_s,
                figures=self._fold.figures(),
                endpoints=self._fold.merged.endpoint_figures(with_histogram=True),
            )

    def tick(self) -> Sample:
        """The sample of the next second."""
        self.t_s += 1.0
        self.users = self.wanted
        since_s = self.t_s - self.level_opened_s
        phase: Phase = "spawning" if since_s <= 1 else "settling" if since_s <= 4 else "settled"
        sample = self._sample(phase)
        self._fold.add(sample)
        return sample

    def _sample(self, phase: Phase) -> Sample:
        offered_rps = self.users / (THINK_S + MEAN_LATENCY_S)
        rps = min(offered_rps, CAPACITY_RPS) * self._random.uniform(0.95, 1.05)
        load = rps / CAPACITY_RPS
        merged, ticks = self._endpoints(rps)
        p50, p95, p99 = merged.percentiles_ms((0.5, 0.95, 0.99))
        self._ports_used += self.users * PORTS_PER_USER_S
        return Sample(
            t_s=self.t_s,
            duration_s=1.0,
            level=self.level,
            users=self.users,
            wanted=self.wanted,
            phase=phase,
            settled=phase == "settled",
            endpoints=tuple(ticks),
            failures=self._failures(load),
            work=float(sum(tick.requests - tick.failures for tick in ticks)),
            waits=merged.count,
            wait_sum_s=merged.count * THINK_S,
            p50_ms=p50,
            p95_ms=p95,
            p99_ms=p99,
            max_ms=merged.max_ms,
            **readings(load, self.users, int(self._ports_used), self._random.uniform(0.95, 1.05)),  # type: ignore[arg-type]
        )

    def _endpoints(self, rps: float) -> tuple[LatencyHistogram, list[EndpointTick]]:
        """The latencies of all requests of a second, and the ticks of its endpoints."""
        queueing_ms = max(0.0, self.users / CAPACITY_RPS - THINK_S - MEAN_LATENCY_S) * 1000
        is_overloaded = rps / CAPACITY_RPS > OVERLOADED_RATIO
        merged, ticks = LatencyHistogram(), []
        for method, name, weight, base_ms in ENDPOINTS:
            histogram, count = LatencyHistogram(), round(rps * weight / 100)
            latencies_ms = [
                base_ms * self._random.lognormvariate(0.05, 0.15) + queueing_ms * self._random.uniform(0.8, 1.3)
                for _ in range(count)
            ]
            histogram.record_us([each * 1000 for each in latencies_ms])
            merged.add(histogram)
            failures = 2 if name == "/cpu" and is_overloaded else 0
            ticks.append(
                EndpointTick(
                    name=name,
                    method=method,
                    requests=count + failures,
                    failures=failures,
                    received_bytes=count * 412,
                    latency=histogram.encode() if count else None,
                    latency_sum_ms=sum(latencies_ms),
                )
            )
        return merged, ticks

    def _failures(self, load: float) -> tuple[FailureTick, ...]:
        """The failed requests of a second in which this share of the capacity is used."""
        if load <= OVERLOADED_RATIO:
            return ()
        text = HOSTILE_TEXT if self._hostile else "upstream busy"
        signature = FailureSignature(types=("HTTPError",), status=503, text=text)
        return (FailureTick(name="/cpu", method="GET", signature=signature, count=2),)


def session(levels: Sequence[tuple[int, int]] = ((10, 15), (30, 15), (50, 15), (80, 15))) -> list[Event]:
    """The events of a session with these levels, each (users, seconds). Each level has a command before it; after it come a note
    and a line of user code with HOSTILE_TEXT, and a warning of Locust.
    """
    return list(_session(tuple(levels)))


@cache
def _session(levels: tuple[tuple[int, int], ...]) -> list[Event]:
    maker = SessionMaker()
    events: list[Event] = [header(), Target(t_s=0.1, state="starting", params={"threads": 8}), ready()]
    for users, seconds in levels:
        events.append(Command(t_s=maker.t_s, name="users", args={"users": users}))
        events += maker.open(users)
        events += [maker.tick() for _ in range(seconds)]
        events.append(Note(t_s=maker.t_s, text=f"after {users}: {HOSTILE_TEXT}"))
        events.append(Log(t_s=maker.t_s, source="stdout", text=f"user code says {HOSTILE_TEXT}", repeated=3))
        events.append(Log(t_s=maker.t_s, source="locust", level="warning", text="CPU usage above 90%"))
    return events
