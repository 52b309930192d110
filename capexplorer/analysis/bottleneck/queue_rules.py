"""Rules about what requests wait for if no resource is busy: workers, locks or pools.

They conclude from idle resources, so they find nothing where a needed reading is missing.
"""

from __future__ import annotations

from ...model.findings import Readings
from ...model.reading_means import FDS_FULL_RATIO
from ..causes.generator_saturation import LITTLE_MOST, little_ratio
from .found import Found
from .gate import Gate
from .measured_level import FAILURES_MOST, MeasuredLevel
from .resource_rules import CORES_LEFT, DELAYED_SHARE_LEAST

CPU_LOW = 0.50
"""A service is idle if it uses less than this share of the cores it may use; one thread, or a Python process, less than this
share of one core. Between this and saturation the reason is open: a GIL-bound service on a crowded machine used 0.66 cores
(measured)."""

DELAYED_MOST = 0.10
"""A service is not idle if at least this share of the requests inside waits for a core, or a quota throttles it for this share of
time."""

STARVED_LEAST = 0.25
"""On a full machine requests may queue only for CPU if the service's threads ran on or waited for so many cores, and a relevant
part of that was waiting. nginx among busy processes used 0.14 cores, waited for 0.48, and had 12 connections in its accept
queue; a GIL-bound service used 0.31 and waited for 0.17 (measured)."""

DISK_LOW = 0.70
"""Requests do not wait for a disk that is busy for at most this share of time."""

QUEUE_LEAST = 1.0
"""Least mean number of connections in the accept queue of a service without free workers: workers that keep up leave it empty."""

QUEUE_SHARE_LEAST = 0.25
"""Requests wait for workers if at least this share of the requests inside waits to be accepted: measured were 0.8 with four
workers, 0.05 for a proxy that answers most requests with errors, 0.16 for a service whose threads wait for a core."""

BACKLOG_FULL = 0.9
"""All places of an accept queue are taken if its mean is at least this share of the backlog: further connections are refused or
retried, so that few of the requests inside wait in the queue itself (measured: 3 of 20, with a backlog of 2)."""

FDS_NEAR = 0.95
"""Connections wait for descriptors, not for workers, from this share of the descriptor limit on (`fd_exhaustion_target`)."""

FDS_FAR = 0.80
"""Up to this share of the limit they do not: nginx that was out of descriptors had 36 of 40 open whenever it was read (measured).
"""

GENERATOR_LOW = 0.85
"""These rules find nothing if the load thread runs or waits for a core for at least this share of time: with a nearly saturated
generator, too, latency rises while the service is idle (nginx at 11,000/s: load thread 0.96-0.99, service 0.25 cores)."""


def worker_pool(level: MeasuredLevel, gate: Gate) -> Found | None:
    """Connections wait to be accepted while the service is idle.

    Latency need not rise for this finding, since users who get no connection add none.
    """
    queue = level.read("target.listen_queue")
    if queue is None or queue < QUEUE_LEAST or not gate.stalls or not is_idle(level) or _may_lack_descriptors(level):
        return None
    backlog = level.read("target.listen_backlog")
    is_full = bool(backlog) and queue >= BACKLOG_FULL * (backlog or 0.0)
    if not is_full and level.requests_inside is not None and queue < QUEUE_SHARE_LEAST * level.requests_inside:
        return None
    readings: Readings = {"listen_queue": queue, **({"listen_backlog": backlog or 0.0} if is_full else {}), **idleness(level)}
    return Found("worker_pool_exhausted", readings, level.missing("target.fds_limit"))


def lock_or_pool(level: MeasuredLevel, gate: Gate) -> Found | None:
    """Requests wait inside an idle service: latency grows with users, as with one queue in front of a pool of fixed size."""
    queue, little = level.read("target.listen_queue"), little_ratio(level.figures)
    if not gate.is_open or not is_idle(level) or not accounts_for_users(level) or (queue is not None and queue >= QUEUE_LEAST):
        return None
    disk_busy = level.read("host.disk_busy_ratio")
    if disk_busy is not None and disk_busy > DISK_LOW:
        return None
    readings: Readings = {**idleness(level), **({} if little is None else {"little_ratio": little})}
    return Found("lock_or_pool_limit", readings, level.missing("target.listen_queue", "host.disk_busy_ratio"))


def accounts_for_users(level: MeasuredLevel) -> bool:
    """Whether the response times of a level may be interpreted: few requests fail, and Little's law holds."""
    little = little_ratio(level.figures)
    return level.failure_ratio <= FAILURES_MOST and (little is None or 2 - LITTLE_MOST < little < LITTLE_MOST)


def generator_has_spare_time(level: MeasuredLevel) -> bool:
    """Whether the load thread was measured, and neither ran nor waited for a core most of the time."""
    own = level.figures.generator_cpu_ratio
    return own is not None and own + (level.figures.generator_run_delay_ratio or 0.0) < GENERATOR_LOW


def is_idle(level: MeasuredLevel) -> bool:
    """Whether service and generator were measured, used little CPU, and did not wait for it."""
    return generator_has_spare_time(level) and _uses_little_cpu(level) and not _is_starved_of_cpu(level)


def is_idle_machine(level: MeasuredLevel) -> bool:
    """Whether the machine of a part whose processes are not read was measured and used little CPU."""
    busy, cores = level.read("host.cpu_ratio"), level.host.cpus
    return busy is not None and bool(cores) and busy < CPU_LOW * (cores or 0)


def is_idle_while_refusing(level: MeasuredLevel) -> bool:
    """As `is_idle`, for a service that refuses requests at once: so few requests are inside that any wait for a core would be a
    large share of their time, and is allowed up to STARVED_LEAST.
    """
    if not generator_has_spare_time(level) or (level.read("target.throttled_ratio") or 0.0) >= DELAYED_MOST:
        return False
    return _uses_little_cpu(level) and (level.read("target.run_delay_ratio") or 0.0) < STARVED_LEAST


def _uses_little_cpu(level: MeasuredLevel) -> bool:
    """Whether the service's threads used little CPU; False if that was not measured."""
    cpu, allowed, busiest = level.read("target.cpu_ratio"), level.cores_allowed, level.read("target.busiest_thread_ratio")
    if cpu is None or allowed is None:
        return False
    return cpu < CPU_LOW * (1.0 if level.is_one_python_process else allowed) and (busiest is None or busiest < CPU_LOW)


def _is_starved_of_cpu(level: MeasuredLevel) -> bool:
    """Whether the service's threads waited for a core, or for the next period of a quota."""
    delay, inside, idle = level.read("target.run_delay_ratio"), level.requests_inside, level.cores_idle
    if (level.read("target.throttled_ratio") or 0.0) >= DELAYED_MOST:
        return True
    if delay is None or inside is None:
        return idle is None or idle < CORES_LEFT
    cpu = level.read("target.cpu_ratio") or 0.0
    starved = idle is not None and idle < CORES_LEFT and delay >= DELAYED_SHARE_LEAST * cpu and cpu + delay >= STARVED_LEAST
    return starved or delay >= DELAYED_MOST * inside


def idleness(level: MeasuredLevel) -> Readings:
    """The readings that show how little CPU the service uses."""
    names = {"target_cpu_ratio": "target.cpu_ratio", "busiest_thread_ratio": "target.busiest_thread_ratio"}
    known = {name: level.read(reading) for name, reading in names.items()}
    return {name: value for name, value in known.items() if value is not None}


def _may_lack_descriptors(level: MeasuredLevel) -> bool:
    used, limit = level.read("target.fds_fullest"), level.read("target.fds_limit")
    if level.read(FDS_FULL_RATIO):
        return True
    return used is not None and bool(limit) and used > FDS_FAR * (limit or 0.0)
