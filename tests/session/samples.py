"""Events of a session for tests: one of each kind, and the sample of a second of a busy run."""

from __future__ import annotations

import numpy as np
from kit.scenario import HEADER

from capexplorer.model.events import (
    Command,
    Ended,
    EndpointTick,
    Event,
    FailureSignature,
    FailureTick,
    LevelClosed,
    LevelOpened,
    Log,
    Mark,
    Note,
    Sample,
    Target,
)
from capexplorer.model.figures import LevelEndpoint, LevelFigures
from capexplorer.model.findings import Cause
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.intervals import Latency
from capexplorer.model.readings import GeneratorReading, HostReading, NeighboursReading, PortsReading, TargetReading, TcpReading

ONE_OF_EACH: tuple[Event, ...] = (
    HEADER,
    Target(t_s=0.1, state="starting", params={"threads": 4}),
    Target(t_s=0.9, state="ready", pid=4711),
    Command(t_s=1.0, name="users", args={"users": 10}),
    LevelOpened(t_s=1.0, index=0, users=10, spawn_rate=10.0, by="user"),
    Sample(t_s=2.0, duration_s=1.0, level=0, users=10, wanted=10, phase="settling"),
    Log(t_s=2.5, source="stdout", text="printed [bold]text[/] \x1b[31m"),
    Note(t_s=2.7, text="a note with [markup] and 🎉"),
    Mark(t_s=3.0, key="cause:0", state="open", finding=Cause(name="refused", readings={"errno": 111, "share": 0.25})),
    LevelClosed(
        t_s=4.0,
        index=0,
        users=10,
        started_s=1.0,
        settled_s=3.0,
        figures=LevelFigures(settled=True, settled_seconds=1.0, failure_ratio=0.0000123),
        endpoints=(LevelEndpoint(name="/io", method="GET", requests=5, failures=0, latency_ms=Latency(p50=201.5)),),
    ),
    Ended(t_s=4.1, reason="quit", requests=5, levels=1),
)


def note(index: int) -> Note:
    """A note of about 250 bytes at that second."""
    return Note(t_s=float(index), text=f"{index} " + "x" * 200)


def busy_sample(t_s: float, seed: int = 0, endpoints: int = 4, values: int = 40) -> Sample:
    """A second with every reading, `endpoints` endpoints of `values` latencies each, and a failure."""
    random = np.random.default_rng(seed)
    return Sample(
        t_s=t_s + random.random() / 100,
        duration_s=1 + random.random() / 1000,
        level=12,
        users=250,
        wanted=250,
        phase="settled",
        settled=True,
        endpoints=tuple(_endpoint(random, index, values) for index in range(endpoints)),
        failures=(
            FailureTick(
                name="/endpoint/0/with/a/path",
                method="GET",
                signature=FailureSignature(types=("ConnectionError", "OSError"), errno=111, text="Connection refused"),
                count=3,
            ),
        ),
        work=160.0,
        waits=160,
        wait_sum_s=160 * random.random(),
        sleeps=40,
        sleep_sum_s=40 * random.random(),
        tasks=80,
        task_sum_s=80 * random.random(),
        warm_users=245,
        p50_ms=203.123,
        p95_ms=345.678,
        p99_ms=456.789,
        max_ms=567.891,
        generator=_generator_reading(random),
        targets=(_target_reading(random),),
        host=_host_reading(random),
        neighbours=NeighboursReading(cpu_ratio=1.6 * random.random(), processes={"cc1plus": 0.9, "chrome": 0.3}),
        ports=_ports_reading(random),
        tcp=_tcp_reading(),
        app={"queue_depth": 12.0, "finished": 123_456.0},
    )


def _generator_reading(random: np.random.Generator) -> GeneratorReading:
    return GeneratorReading(
        cpu_ratio=random.random(),
        run_delay_ratio=random.random(),
        screen_cpu_ratio=random.random(),
        recorder_cpu_ratio=random.random(),
        process_cpu_ratio=random.random(),
        rss_bytes=123_456_789,
        fds=312,
        fds_limit=1_048_576,
        loop_lag_p50_ms=random.random(),
        loop_lag_p99_ms=random.random() * 10,
        loop_lag_max_ms=random.random() * 20,
    )


def _target_reading(random: np.random.Generator) -> TargetReading:
    return TargetReading(
        pid=1_234_567,
        processes=5,
        threads=44,
        cpu_ratio=random.random(),
        busiest_thread_ratio=random.random(),
        run_delay_ratio=random.random(),
        rss_bytes=345_678_901,
        fds=333,
        fds_limit=1_048_576,
        read_bytes_per_s=random.random() * 1e6,
        written_bytes_per_s=random.random() * 1e6,
        listen_queue=12,
        listen_backlog=1024,
    )


def _host_reading(random: np.random.Generator) -> HostReading:
    return HostReading(
        cpu_ratio=random.random(),
        steal_ratio=random.random(),
        load_average_1m=1.37,
        memory_used_bytes=7_654_321_098,
        cpu_pressure_ratio=random.random(),
        memory_pressure_ratio=random.random(),
        io_pressure_ratio=random.random(),
        disk_busy_ratio=random.random(),
        received_bytes_per_s=random.random() * 1e7,
        sent_bytes_per_s=random.random() * 1e7,
        fds=12_345,
    )


def _ports_reading(random: np.random.Generator) -> PortsReading:
    return PortsReading(
        capacity=28_232,
        used=12_345,
        time_wait=12_000,
        established=250,
        by_state={"ESTABLISHED": 250, "TIME_WAIT": 12_000, "FIN_WAIT2": 12, "SYN_SENT": 3},
        destination="127.0.0.1:28080",
        burn_rate_per_s=random.random() * 100,
        exhausted_in_s=random.random() * 1000,
    )


def _tcp_reading() -> TcpReading:
    return TcpReading(
        active_opens=160,
        passive_opens=160,
        attempt_fails=3,
        resets_sent=3,
        segments_retransmitted=2,
        listen_overflows=1,
        listen_drops=1,
        syn_queue_full_drops=0,
        syncookies_sent=0,
        aborts_on_memory=0,
        time_wait_overflows=0,
        sockets_in_use=512,
        sockets_time_wait=12_000,
        sockets_orphaned=1,
        memory_pages=123,
    )


def _endpoint(random: np.random.Generator, index: int, values: int) -> EndpointTick:
    latencies_us = random.lognormal(12.2, 0.4, values)
    histogram = LatencyHistogram()
    histogram.record_us(latencies_us)
    return EndpointTick(
        name=f"/endpoint/{index}/with/a/path",
        method="GET",
        requests=values + 1,
        failures=1,
        received_bytes=12_345_678,
        latency=histogram.encode(),
        latency_sum_ms=float(latencies_us.sum()) / 1000,
        failure_latency_sum_ms=random.random() * 100,
    )
