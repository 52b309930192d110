"""Rules on what requests wait for where no resource is busy: workers, locks, pools. And on work that piles up behind the replies.

They are what is left when everything that can be measured is idle, so they need the measurement: no reading, no finding.
"""

from __future__ import annotations

from ...model.findings import Readings
from ..causes.generator_saturation import LITTLE_MOST, little_ratio
from .found import Found
from .gate import Gate
from .measured_level import FAILURES_MOST, MeasuredLevel
from .resource_rules import CORES_LEFT

CPU_LOW = 0.50
"""Of the allowed cores, of one core for each thread, of one core for a Python process. Between this and what saturates nobody can
tell: a GIL-bound service on a crowded machine had 0.66 cores (measured)."""

HELD_BACK_MOST = 0.10
"""Of the requests inside, how many wait for a core; of the time, how much the quota takes."""

STARVED_LEAST = 0.25
"""Cores that its threads waited for on a full machine, and more than they ran: what queues may queue for that alone (nginx beside
busy neighbours, at 0.14 cores and waiting for 0.48, had 12 connections in its accept queue)."""

DISK_LOW = 0.70

QUEUE_LEAST = 1.0
"""Connections in the accept queue, on average over the level: workers that keep up leave none for long."""

FDS_NEAR = 0.95
"""Of the limit: connections then wait for descriptors, not for workers (CAUSES.md, `fd_exhaustion_target`)."""

GENERATOR_LOW = 0.85
"""On-CPU and waiting for a core, of the load thread: a generator that is nearly full makes the same picture, of an idle service
with latency in proportion to users (nginx at 11,000/s, load thread at 0.96-0.99, the service at 0.25 cores)."""


def worker_pool(level: MeasuredLevel, gate: Gate) -> Found | None:
    """Connections wait to be accepted while the service idles. Starved users hide from latency, so it need not have risen."""
    queue = level.read("target.listen_queue")
    if queue is None or queue < QUEUE_LEAST or not gate.stalls or not idles(level) or _lacks_descriptors(level):
        return None
    return Found("worker_pool_exhausted", {"listen_queue": queue, **_idleness(level)}, level.missing("target.fds_limit"))


def lock_or_pool(level: MeasuredLevel, gate: Gate) -> Found | None:
    """Requests wait inside a service that idles: latency grows with users, as one queue before a fixed pool makes it."""
    queue, little = level.read("target.listen_queue"), little_ratio(level.figures)
    if not gate.is_open or not idles(level) or level.failure_ratio > FAILURES_MOST:
        return None
    if (queue is not None and queue >= QUEUE_LEAST) or (little is not None and not 2 - LITTLE_MOST < little < LITTLE_MOST):
        return None
    disk_busy = level.read("host.disk_busy_ratio")
    if disk_busy is not None and disk_busy > DISK_LOW:
        return None
    readings: Readings = {**_idleness(level), **({} if little is None else {"little_ratio": little})}
    return Found("lock_or_pool_limit", readings, level.missing("target.listen_queue", "host.disk_busy_ratio"))


def idles(level: MeasuredLevel) -> bool:
    """Whether the service surely had time to spare, and the generator too."""
    own = level.figures.generator_cpu_ratio
    if own is None or own + (level.figures.generator_run_delay_ratio or 0.0) >= GENERATOR_LOW:
        return False
    return _rests(level) and not _is_held_back(level)


def _rests(level: MeasuredLevel) -> bool:
    """Whether its threads ran little; False where that was not measured."""
    cpu, allowed, busiest = level.read("target.cpu_ratio"), level.cores_allowed, level.read("target.busiest_thread_ratio")
    if cpu is None or allowed is None:
        return False
    return cpu < CPU_LOW * (1.0 if level.is_one_python_process else allowed) and (busiest is None or busiest < CPU_LOW)


def _is_held_back(level: MeasuredLevel) -> bool:
    """Whether they would have run more: they waited for a core, or for the quota's next period."""
    delay, inside, idle = level.read("target.run_delay_ratio"), level.requests_inside, level.cores_idle
    if (level.read("target.throttled_ratio") or 0.0) >= HELD_BACK_MOST:
        return True
    if delay is None or inside is None:
        return idle is None or idle < CORES_LEFT
    cpu = level.read("target.cpu_ratio") or 0.0
    starved = idle is not None and idle < CORES_LEFT and delay >= max(STARVED_LEAST, cpu)
    return starved or delay >= HELD_BACK_MOST * inside


def _idleness(level: MeasuredLevel) -> Readings:
    names = {"target_cpu_ratio": "target.cpu_ratio", "busiest_thread_ratio": "target.busiest_thread_ratio"}
    known = {name: level.read(reading) for name, reading in names.items()}
    return {name: value for name, value in known.items() if value is not None}


def _lacks_descriptors(level: MeasuredLevel) -> bool:
    used, limit = level.read("target.fds_fullest"), level.read("target.fds_limit")
    return used is not None and bool(limit) and used >= FDS_NEAR * (limit or 0.0)
