"""Sessions made from figures, for detectors that judge levels or seconds: without a clock, a process or random values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from kit.scenario import HEADER, Scenario, header

from capexplorer.model.events import EndpointTick, HostFacts, Sample
from capexplorer.model.figures import LevelFigures
from capexplorer.model.intervals import Latency
from capexplorer.model.readings import GeneratorReading, HostReading, TargetReading
from capexplorer.model.timeline import Timeline

FACTS = HostFacts(system="Linux", cpus=4, memory_bytes=8 << 30)

READINGS = {
    "target.cpu_ratio": 0.2, "target.busiest_thread_ratio": 0.1, "target.threads": 8.0, "target.processes": 1.0,
    "target.cpus_allowed": 4.0, "target.listen_queue": 0.0, "target.listen_backlog": 128.0, "target.fds_fullest": 40.0,
    "target.fds_limit": 1024.0, "target.run_delay_ratio": 0.0, "target.throttled_ratio": 0.0, "target.major_faults_per_s": 0.0,
    "target.disk_free_bytes": 1e10, "target.read_bytes_per_s": 0.0, "target.written_bytes_per_s": 0.0,
    "host.cpu_ratio": 0.6, "host.cpu_pressure_ratio": 0.02, "host.steal_ratio": 0.0, "host.io_pressure_ratio": 0.0,
    "host.memory_pressure_ratio": 0.0, "host.swapped_in_per_s": 0.0, "host.disk_busy_ratio": 0.02,
    "generator.cpu_ratio": 0.3, "generator.run_delay_ratio": 0.01,
}  # fmt: skip
"""Readings of a service and a machine without a bottleneck."""


@dataclass(frozen=True)
class Load:
    """One level: what its users measured, and what was read of service and machine."""

    users: int
    goodput_rps: float
    latency_ms: float
    wait_s: float | None = None
    failure_ratio: float = 0.0
    seconds: float = 20.0
    readings: Mapping[str, float] = field(default_factory=dict)
    """Added to READINGS; replaces a reading of the same name."""
    unread: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)

    def level(self) -> LevelFigures:
        """The figures of this level, as its LevelClosed event has them."""
        rate = self.goodput_rps / (1 - self.failure_ratio) if self.failure_ratio < 1 else 10.0
        requests = round(rate * self.seconds)
        readings = {name: value for name, value in {**READINGS, **self.readings}.items() if name not in self.unread}
        reported: dict[str, Any] = {
            "settled_seconds": self.seconds, "requests": requests, "failures": round(requests * self.failure_ratio),
            "failure_ratio": self.failure_ratio, "throughput_rps": rate, "goodput_rps": self.goodput_rps,
            "goodput_se_rps": 0.01 * self.goodput_rps, "latency_ms": Latency(mean=self.latency_ms),
            "latency_se_ms": 0.02 * self.latency_ms, "response_ms": self.latency_ms, "wait_s": self.wait_s,
            "users_mean": float(self.users), "generator_cpu_ratio": readings.get("generator.cpu_ratio"),
            "generator_run_delay_ratio": readings.get("generator.run_delay_ratio"), "loop_lag_p99_ms": 2.0,
        }  # fmt: skip
        return LevelFigures(settled=True, readings=readings, **(reported | dict(self.figures)))


def closed_session(
    *loads: Load,
    program: str = "server",
    host: HostFacts = FACTS,
    url: str = "http://127.0.0.1:28080",
    pacing_s: float | None = None,
) -> Timeline:
    """Levels that ran one after the other and were closed, on one target."""
    scenario = Scenario(msgspec.structs.replace(header(target={"url": url}, pacing_s=pacing_s), host=host))
    scenario.ready(t_s=0.5, program=program)
    scenario.t_s = 1.0
    for load in loads:
        scenario.measured(load.users, load.level(), lasts_s=load.seconds + 3, settled_s=scenario.t_s + 3)
    return scenario.timeline


@dataclass(frozen=True)
class Second:
    """What was read in one tick; None is "not measured"."""

    rss_bytes: float | None = 40e6
    fds: float | None = 30
    generator_rss_bytes: float | None = 120e6
    generator_fds: float = 50
    app: Mapping[str, float] = field(default_factory=dict)


def held_session(
    *levels: tuple[int, Sequence[Second]], host: HostFacts = FACTS, fds_limit: int = 1024, memory_limit_bytes: int | None = None
) -> Timeline:
    """Levels of settled seconds, each (users, seconds), 10 requests a second for each user; the last one is open."""
    scenario = Scenario(msgspec.structs.replace(HEADER, host=host)).ready(t_s=0.5, program="server")
    scenario.t_s = 1.0
    for index, (users, seconds) in enumerate(levels):
        scenario.open(users)
        for second in seconds:
            scenario.add(sample(scenario.t_s + 1.0, index, users, second, fds_limit, memory_limit_bytes))
        if index < len(levels) - 1:
            scenario.close()
    return scenario.timeline


def sample(
    t_s: float, level: int, users: int, second: Second, fds_limit: int = 1024, memory_limit_bytes: int | None = None
) -> Sample:
    """A tick of a level, 10 requests a second for each user."""
    fds = None if second.fds is None else round(second.fds)
    rss = None if second.rss_bytes is None else round(second.rss_bytes)
    target = TargetReading(
        pid=7, cpu_ratio=0.2, rss_bytes=rss, fds=fds, fds_fullest=fds, fds_limit=fds_limit, memory_limit_bytes=memory_limit_bytes
    )
    own = None if second.generator_rss_bytes is None else round(second.generator_rss_bytes)
    generator = GeneratorReading(rss_bytes=own, fds=round(second.generator_fds))
    return Sample(
        t_s=t_s, duration_s=1.0, level=level, users=users, wanted=users, phase="settled", settled=True, work=10.0 * users,
        endpoints=(EndpointTick(name="/a", requests=10 * users, latency_sum_ms=50.0 * users),),
        generator=generator, targets=(target,), host=HostReading(memory_used_bytes=2 << 30),
        app=dict(second.app),
    )  # fmt: skip
