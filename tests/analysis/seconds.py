"""Sessions built second by second, with the readings of a healthy run by default."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from kit.scenario import HEADER

from capexplorer.analysis.causes.cause_detector import CauseDetector
from capexplorer.model.events import (
    EndpointTick,
    Event,
    FailureSignature,
    FailureTick,
    Header,
    HostFacts,
    LevelClosed,
    LevelOpened,
    Mark,
    Sample,
    Target,
)
from capexplorer.model.figures import LevelFigures
from capexplorer.model.readings import GeneratorReading, HostReading, PortsReading, TargetReading, TargetTcpReading, TcpReading

FACTS = HostFacts(
    system="Linux", cpus=8, fds_limit=1024, fds_limit_of_system=100_000, conntrack_max=1000, tcp_max_syn_backlog=128
)
LINUX = msgspec.structs.replace(HEADER, host=FACTS, profile={"users": {"timeout_s": 5.0}})

GENERATOR = GeneratorReading(
    cpu_ratio=0.3, run_delay_ratio=0.02, fds=60, fds_limit=1024, loop_lag_p50_ms=0.2, loop_lag_p99_ms=3.0
)
TARGET = TargetReading(
    pid=4711, processes=3, threads=9, cpu_ratio=0.5, fds=40, fds_fullest=30, fds_limit=1024, listen_queue=0, listen_backlog=128
)
HOST = HostReading(cpu_ratio=1.2, fds=3000, conntrack=40)
PORTS = PortsReading(capacity=28_232, used=10, time_wait=0, established=10, destination="127.0.0.1:28080")
TCP = TcpReading(segments_sent=1000, sockets_time_wait=3, target=TargetTcpReading(segments_sent=400))

PORTS_IN_TIME_WAIT, PORTS_ESTABLISHED = "ephemeral_port_exhaustion_time_wait", "ephemeral_port_exhaustion_established"

NOTHING_READ = {"generator": None, "targets": (), "host": None, "ports": None, "tcp": None}


def failed(*types: str, text: str = "", count: int = 5, name: str = "/a", **signature: Any) -> FailureTick:
    """`count` failures of one kind in one second."""
    found = FailureSignature(types=types, text=text or f"{types[0]}: it failed", **signature)
    return FailureTick(name=name, method="GET", signature=found, count=count)


REFUSED = failed("ConnectionRefusedError", errno=111)
RESET = failed("ConnectionResetError", errno=104)
TIMED_OUT = failed("ReadTimeoutError")
NOT_CONNECTED = failed("ConnectTimedOut")
NO_PORT = failed("OSError", errno=99, text="Cannot assign requested address")
NO_PORT_BOUND = failed("OSError", errno=98, text="Address already in use")
NO_FILE = failed("OSError", errno=24, text="Too many open files")
NO_NAME = failed("gaierror", errno=-3, text="Temporary failure in name resolution")
ERROR_500 = failed("LocustBadStatusCode", status=500)
OUT_OF_FILES = failed("CatchResponseError", text="task_failed: too many open files")


def second(t_s: float, *failures: FailureTick, **given: Any) -> Sample:
    """One tick: 100 requests of 10 ms by ten users that wait 90 ms, less `failures`; `given` replaces fields and readings."""
    lost = sum(each.count for each in failures)
    tick = EndpointTick(name="/a", requests=100, failures=lost, latency_sum_ms=1000.0, failure_latency_sum_ms=1.0 * lost)
    usual: dict[str, Any] = {
        "level": 0, "users": 10, "wanted": 10, "phase": "settled", "settled": True, "endpoints": (tick,), "waits": 100,
        "wait_sum_s": 9.0, "max_ms": 30.0, "generator": GENERATOR, "targets": (TARGET,), "host": HOST, "ports": PORTS, "tcp": TCP,
    }  # fmt: skip
    return Sample(t_s=t_s, duration_s=1.0, failures=failures, **(usual | given))


def seconds(first: int, last: int, *failures: FailureTick, **given: Any) -> list[Event]:
    """Equal ticks from second `first` to second `last`, both included."""
    return [second(float(t_s), *failures, **given) for t_s in range(first, last + 1)]


def target(**changes: Any) -> dict[str, Any]:
    """Readings of a healthy target with these changes."""
    return {"targets": (msgspec.structs.replace(TARGET, **changes),)}


def tcp(**changes: Any) -> dict[str, Any]:
    """The kernel's counters with these changes; `own`: changes of the counters of the target's port."""
    own = TargetTcpReading(**{"segments_sent": 400} | changes.pop("own", {}))
    return {"tcp": msgspec.structs.replace(TCP, **{"target": own} | changes)}


def ports(**changes: Any) -> dict[str, Any]:
    """Readings of the ports with these changes."""
    return {"ports": msgspec.structs.replace(PORTS, **changes)}


def generator(**changes: Any) -> dict[str, Any]:
    """Readings of a healthy generator with these changes."""
    return {"generator": msgspec.structs.replace(GENERATOR, **changes)}


STARVED_GENERATOR = {"generator": generator(cpu_ratio=0.6, run_delay_ratio=0.38, loop_lag_p99_ms=60.0)["generator"]}
"""The load thread waits for a core, and its timers are late."""
WORK = EndpointTick(name="/a", requests=100, latency_sum_ms=1000.0)

READY = Target(t_s=0.9, state="ready", pid=4711)
BEGINNING: tuple[Event, ...] = (LINUX, READY, LevelOpened(t_s=1.0, index=0, users=10, spawn_rate=10.0, by="user"))


def cause_marks(events: Iterable[Event], header: Header = LINUX) -> list[Mark]:
    """All revisions of the marks of causes that these events give, after the beginning of a level of 10 users."""
    detector = CauseDetector()
    return [mark for event in (header, *BEGINNING[1:], *events) for mark in detector.process(event)]


def latest_by_id(marks: Sequence[Mark]) -> dict[str, Mark]:
    """The latest revision by id; by key where an id has several."""
    return {mark.id: mark for mark in {mark.key: mark for mark in marks}.values()}


def died(t_s: float, **how: Any) -> Target:
    return Target(t_s=t_s, state="died", pid=4711, **how)


def level_closed(t_s: float, users: int, **figures: Any) -> LevelClosed:
    """The end of a level during which the load thread was idle for 70% of the time."""
    found = LevelFigures(settled=True, requests=1000, wait_s=0.0, users_mean=float(users), generator_cpu_ratio=0.3, **figures)
    return LevelClosed(t_s=t_s, index=0, users=users, started_s=1.0, figures=found)
