"""A session of a day, written by the session's writer, line by line, as a run does. Deterministic for a seed.

A closed-loop service of four endpoints that saturates at 160 req/s; 60 levels of 24 minutes; notes, output, failures. Each level
has 24 different sets of histograms, which its seconds share (encoding 345,600 histograms would take minutes); all other values
are random in each second.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from capexplorer.model.events import (
    SCHEMA,
    ClientOverhead,
    Command,
    Ended,
    EndpointTick,
    Event,
    FailureSignature,
    FailureTick,
    Header,
    HostFacts,
    LevelClosed,
    LevelOpened,
    Log,
    Mark,
    Note,
    Phase,
    Sample,
    Target,
    TargetFacts,
)
from capexplorer.model.findings import Cause
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.level import LevelFold
from capexplorer.model.readings import GeneratorReading, HostReading, PortsReading, TargetReading, TcpReading
from capexplorer.session.writer import SessionWriter

DAY_S = 86_400
LEVELS = 60
ENDPOINTS = (("/health", 0.4, 2.0), ("/io", 0.25, 205.0), ("/cpu", 0.2, 34.0), ("/orders", 0.15, 80.0))
"""Name, share of the requests, median latency in ms without load."""
CAPACITY_RPS = 160.0
WAIT_S = 0.3
POOL = 24
"""Different seconds per level, from which its seconds are chosen."""
Jitter = Callable[[], float]
"""Random numbers, uniform from 0 to 1."""
SHED = FailureSignature(types=("HTTPError",), status=503, text="Service Unavailable")


def write_day(path: Path, seconds: int = DAY_S, levels: int = LEVELS, seed: int = 7) -> None:
    """A complete log of `seconds` samples in `levels` levels at `path`, which must not exist."""
    writer = SessionWriter(path, clock=lambda: 0.0)  # the clock stands still, so that nothing is synced: syncs are not measured
    for count, event in enumerate(events(seconds, levels, seed)):
        writer.write(event)
        if count % 1_000 == 0:
            writer.flush()
    writer.close()


def events(seconds: int = DAY_S, levels: int = LEVELS, seed: int = 7) -> Iterator[Event]:
    rng = random.Random(seed)
    yield _header()
    yield Target(t_s=0.2, state="starting", params={"threads": 8})
    yield Target(t_s=0.9, state="ready", pid=4711, params={"threads": 8})
    each_s = seconds // levels
    for index in range(levels):
        users = 5 + 5 * (index % 20)
        opened_s = 1.0 + index * each_s
        last = seconds - each_s * (levels - 1) if index == levels - 1 else each_s
        yield Command(t_s=opened_s, name="users", args={"users": users})
        yield LevelOpened(t_s=opened_s, index=index, users=users, spawn_rate=100.0, by="user")
        yield from _level(index, users, opened_s, last, rng)
    yield Ended(t_s=1.0 + seconds, reason="ended by the user", levels=levels)


def _header() -> Header:
    return Header(
        t_s=0.0,
        schema=SCHEMA,
        id="20260101-000000-day-0001",
        started_at="2026-01-01T00:00:00+00:00",
        versions={"capexplorer": "0"},
        client_overhead_ms={"FastHttpUser": ClientOverhead(p50_ms=0.42, p99_ms=1.3)},
        profile={"name": "day"},
        target=TargetFacts(name="day", url="http://127.0.0.1:18080", command=("python", "app.py"), params={"threads": 8}),
        host=HostFacts(cpus=2, memory_bytes=8 << 30, ports_capacity=28_232),
    )


def _level(index: int, users: int, opened_s: float, seconds: int, rng: random.Random) -> Iterator[Event]:
    pool = [_second(users, rng) for _ in range(POOL)]
    fold = LevelFold()
    for second in range(seconds):
        phase: Phase = "spawning" if second < 1 else "settling" if second < 4 else "settled"
        sample = _sample(opened_s + second + 1, index, users, phase, rng.choice(pool), rng)
        fold.add(sample)
        if rng.random() < 0.02:
            yield Log(t_s=sample.t_s - 0.2, source="target", text=f"GET /io 200 {rng.random():.4f}", repeated=rng.randint(1, 40))
        yield sample
        if second == seconds // 2:
            yield Note(t_s=sample.t_s, text=f"half of level {index}")
            finding = Cause(name="queueing")
            yield Mark(t_s=sample.t_s, key=f"cause:{index % 7}", revision=index // 7 + 1, state="open", finding=finding)
    yield LevelClosed(
        t_s=opened_s + seconds,
        index=index,
        users=users,
        started_s=opened_s,
        settled_s=fold.settled_s,
        figures=fold.figures(),
        endpoints=fold.merged.endpoint_figures(with_histogram=True),
    )


def _second(users: int, rng: random.Random) -> Sample:
    """The requests of a second as a sample without time and readings."""
    rps = min(users / (WAIT_S + 0.075), CAPACITY_RPS) * rng.uniform(0.93, 1.07)
    queue_ms = max(0.0, users / CAPACITY_RPS - WAIT_S - 0.075) * 1000
    merged, ticks = LatencyHistogram(), []
    for name, share, median_ms in ENDPOINTS:
        latencies_us = [
            1000 * (median_ms * rng.lognormvariate(0.05, 0.2) + queue_ms * rng.uniform(0.7, 1.4))
            for _ in range(max(1, round(rps * share)))
        ]
        histogram = LatencyHistogram()
        histogram.record_us(latencies_us)
        merged.add(histogram)
        failures = int(name == "/cpu" and rps > 0.95 * CAPACITY_RPS)
        ticks.append(
            EndpointTick(
                name=name,
                requests=histogram.count + failures,
                failures=failures,
                received_bytes=histogram.count * 412,
                latency=histogram.encode(),
                latency_sum_ms=sum(latencies_us) / 1000,
                failure_latency_sum_ms=failures * 1.25,
            )
        )
    p50_ms, p95_ms, p99_ms = merged.percentiles_ms((0.5, 0.95, 0.99))
    failed = sum(tick.failures for tick in ticks)
    return Sample(
        t_s=0.0,
        duration_s=1.0,
        level=0,
        users=users,
        wanted=users,
        phase="settled",
        endpoints=tuple(ticks),
        failures=(FailureTick(name="/cpu", method="GET", signature=SHED, count=failed),) if failed else (),
        work=float(merged.count),
        waits=merged.count,
        wait_sum_s=merged.count * WAIT_S,
        p50_ms=p50_ms,
        p95_ms=p95_ms,
        p99_ms=p99_ms,
        max_ms=merged.max_ms,
    )


def _sample(t_s: float, index: int, users: int, phase: Phase, second: Sample, rng: random.Random) -> Sample:
    load = min(1.0, users / 60)
    jitter = rng.random
    return msgspec.structs.replace(
        second,
        t_s=t_s + jitter() / 500,
        duration_s=1 + jitter() / 500,
        level=index,
        phase=phase,
        settled=phase == "settled",
        generator=_generator_reading(users, load, jitter),
        targets=(_target_reading(t_s, users, load, jitter),),
        host=_host_reading(load, jitter),
        ports=(ports := _ports_reading(users, jitter)),
        tcp=_tcp_reading(users, load, ports, jitter),
    )


def _generator_reading(users: int, load: float, jitter: Jitter) -> GeneratorReading:
    return GeneratorReading(
        cpu_ratio=0.3 * load + jitter() / 20,
        run_delay_ratio=jitter() / 20,
        screen_cpu_ratio=jitter() / 20,
        recorder_cpu_ratio=jitter() / 50,
        process_cpu_ratio=0.35 * load + jitter() / 20,
        rss_bytes=(96 << 20) + int(jitter() * 1e6),
        fds=users + 31,
        fds_limit=1_048_576,
        loop_lag_p50_ms=0.1 + jitter(),
        loop_lag_p99_ms=1 + 4 * jitter(),
        loop_lag_max_ms=4 + 9 * jitter(),
    )


def _target_reading(t_s: float, users: int, load: float, jitter: Jitter) -> TargetReading:
    return TargetReading(
        pid=123_456,
        processes=5,
        threads=44,
        cpu_ratio=load + jitter() / 20,
        busiest_thread_ratio=0.4 * load + jitter() / 20,
        run_delay_ratio=jitter() / 20,
        rss_bytes=(48 << 20) + int(jitter() * 1e6),
        fds=users + 12,
        fds_fullest=users + 8,
        fds_limit=1_048_576,
        read_bytes_per_s=0.0,
        written_bytes_per_s=jitter() * 1e4,
        listen_queue=int(3 * load * jitter()),
        listen_backlog=1_024,
        disk_free_bytes=(40 << 30) + int(jitter() * 1e8) if int(t_s) % 5 == 0 else None,
    )


def _host_reading(load: float, jitter: Jitter) -> HostReading:
    return HostReading(
        cpu_ratio=1.5 * load + jitter() / 10,
        steal_ratio=jitter() / 50,
        load_average_1m=round(2 * load + jitter(), 2),
        memory_used_bytes=(3 << 30) + int(jitter() * 1e7),
        cpu_pressure_ratio=load * jitter(),
        memory_pressure_ratio=0.0,
        io_pressure_ratio=jitter() / 100,
        disk_busy_ratio=jitter() / 50,
        received_bytes_per_s=182_000 * load * (1 + jitter() / 10),
        sent_bytes_per_s=182_000 * load * (1 + jitter() / 10),
        fds=2_345,
    )


def _ports_reading(users: int, jitter: Jitter) -> PortsReading:
    used = users + int(40 * jitter())
    return PortsReading(
        capacity=28_232,
        used=used,
        time_wait=used - users,
        established=users,
        destination="127.0.0.1:18080",
        burn_rate_per_s=jitter(),
    )


def _tcp_reading(users: int, load: float, ports: PortsReading, jitter: Jitter) -> TcpReading:
    return TcpReading(
        active_opens=int(9 * jitter()),
        passive_opens=int(9 * jitter()),
        segments_sent=int(1_200 * load * (1 + jitter() / 10)),
        sockets_in_use=2 * users + 40,
        sockets_time_wait=ports.time_wait,
        sockets_orphaned=0,
        memory_pages=12,
    )
