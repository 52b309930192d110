"""Rules about what requests wait for if no resource is busy: workers, locks or pools. They conclude from idle resources, so they
need every measurement: without a reading they find nothing.
"""

from __future__ import annotations

from ...model.findings import Readings
from ...model.reading_means import FDS_FULL_RATIO
from ..causes.generator_saturation import little_ratio
from ..causes.saturation_grounds import LITTLE_MOST
from .found import Found
from .gate import Gate
from .measured_level import FAILURES_MOST, MeasuredLevel
from .resource_rules import CORES_LEFT, DELAYED_SHARE_LEAST

CPU_LOW = 0.50
"""Share of the allowed cores, or of one core for a thread or a Python process, under which the service is idle. Between this and
saturation the reason is open: a GIL-bound service on a crowded machine used 0.66 cores (measured)."""

DELAYED_MOST = 0.10
"""Share of the requests inside that wait for a core, or share of time throttled by the quota, from which the service is not
idle."""

STARVED_LEAST = 0.25
"""Cores that its threads used and waited for on a full machine, from which requests may queue for that alone, if a relevant part
of them was waited for. nginx among busy neighbours used 0.14 cores, waited for 0.48, and had 12 connections in its accept queue;
a GIL-bound service used 0.31 and waited for 0.17."""

DISK_LOW = 0.70
"""Share of time up to which a disk is not what requests wait for."""

QUEUE_LEAST = 1.0
"""Least mean number of connections in the accept queue: workers that keep up leave it empty."""

QUEUE_SHARE_LEAST = 0.25
"""Share of the requests inside that wait to be accepted, from which workers are what they wait for: 0.8 of four workers, 0.05 of
a proxy that answers most requests with errors, 0.16 of a service whose threads wait for a core (measured)."""

FDS_NEAR = 0.95
"""Share of the descriptor limit from which connections wait for descriptors, not for workers (`fd_exhaustion_target`)."""

FDS_FAR = 0.80
"""Share of it up to which they surely do not: nginx that was out of descriptors had 36 of 40 open whenever it was read
(measured)."""

GENERATOR_LOW = 0.85
"""Share of time in which the load thread runs or waits for a core, from which these rules find nothing: a nearly saturated
generator shows an idle service with rising latency too (nginx at 11,000/s: load thread 0.96-0.99, service 0.25 cores)."""


def worker_pool(level: MeasuredLevel, gate: Gate) -> Found | None:
    """Connections wait to be accepted while the service is idle. Users without a connection add no latency, so it may not
    rise."""
    queue = level.read("target.listen_queue")
    if queue is None or queue < QUEUE_LEAST or not gate.stalls or not is_idle(level) or _may_lack_descriptors(level):
        return None
    if level.requests_inside is not None and queue < QUEUE_SHARE_LEAST * level.requests_inside:
        return None
    return Found("worker_pool_exhausted", {"listen_queue": queue, **idleness(level)}, level.missing("target.fds_limit"))


def lock_or_pool(level: MeasuredLevel, gate: Gate) -> Found | None:
    """Requests wait inside an idle service: latency grows with users, as with one queue before a fixed pool."""
    queue, little = level.read("target.listen_queue"), little_ratio(level.figures)
    if not gate.is_open or not is_idle(level) or not accounts_for_users(level) or (queue is not None and queue >= QUEUE_LEAST):
        return None
    disk_busy = level.read("host.disk_busy_ratio")
    if disk_busy is not None and disk_busy > DISK_LOW:
        return None
    readings: Readings = {**idleness(level), **({} if little is None else {"little_ratio": little})}
    return Found("lock_or_pool_limit", readings, level.missing("target.listen_queue", "host.disk_busy_ratio"))


def accounts_for_users(level: MeasuredLevel) -> bool:
    """Whether its response times may be interpreted: few requests fail, and Little's law holds."""
    little = little_ratio(level.figures)
    return level.failure_ratio <= FAILURES_MOST and (little is None or 2 - LITTLE_MOST < little < LITTLE_MOST)


def generator_is_at_ease(level: MeasuredLevel) -> bool:
    """Whether the load thread surely had time to spare."""
    own = level.figures.generator_cpu_ratio
    return own is not None and own + (level.figures.generator_run_delay_ratio or 0.0) < GENERATOR_LOW


def is_idle(level: MeasuredLevel) -> bool:
    """Whether service and generator surely had time to spare."""
    return generator_is_at_ease(level) and _uses_little_cpu(level) and not _is_starved_of_cpu(level)


def is_idle_machine(level: MeasuredLevel) -> bool:
    """Whether the machine of a part, of which no process is read, surely had time to spare."""
    busy, cores = level.read("host.cpu_ratio"), level.host.cpus
    return busy is not None and bool(cores) and busy < CPU_LOW * (cores or 0)


def is_at_ease(level: MeasuredLevel) -> bool:
    """As `is_idle`, for a service that refuses at once: few requests are inside, so any wait for a core is a large part of
    their time.
    """
    if not generator_is_at_ease(level) or (level.read("target.throttled_ratio") or 0.0) >= DELAYED_MOST:
        return False
    return _uses_little_cpu(level) and (level.read("target.run_delay_ratio") or 0.0) < STARVED_LEAST


def _uses_little_cpu(level: MeasuredLevel) -> bool:
    """Whether its threads used little CPU; False if that was not measured."""
    cpu, allowed, busiest = level.read("target.cpu_ratio"), level.cores_allowed, level.read("target.busiest_thread_ratio")
    if cpu is None or allowed is None:
        return False
    return cpu < CPU_LOW * (1.0 if level.is_one_python_process else allowed) and (busiest is None or busiest < CPU_LOW)


def _is_starved_of_cpu(level: MeasuredLevel) -> bool:
    """Whether its threads waited for a core, or for the next period of the quota."""
    delay, inside, idle = level.read("target.run_delay_ratio"), level.requests_inside, level.cores_idle
    if (level.read("target.throttled_ratio") or 0.0) >= DELAYED_MOST:
        return True
    if delay is None or inside is None:
        return idle is None or idle < CORES_LEFT
    cpu = level.read("target.cpu_ratio") or 0.0
    starved = idle is not None and idle < CORES_LEFT and delay >= DELAYED_SHARE_LEAST * cpu and cpu + delay >= STARVED_LEAST
    return starved or delay >= DELAYED_MOST * inside


def idleness(level: MeasuredLevel) -> Readings:
    """How little CPU the service uses: the readings that show it."""
    names = {"target_cpu_ratio": "target.cpu_ratio", "busiest_thread_ratio": "target.busiest_thread_ratio"}
    known = {name: level.read(reading) for name, reading in names.items()}
    return {name: value for name, value in known.items() if value is not None}


def _may_lack_descriptors(level: MeasuredLevel) -> bool:
    used, limit = level.read("target.fds_fullest"), level.read("target.fds_limit")
    if level.read(FDS_FULL_RATIO):
        return True
    return used is not None and bool(limit) and used > FDS_FAR * (limit or 0.0)
