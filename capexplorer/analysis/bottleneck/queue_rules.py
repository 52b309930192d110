"""Rules about what requests wait for if no resource is busy: workers, locks or pools.

They conclude from idle resources, so they find nothing where a needed reading is missing.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from ...model.intervals import ONE_SIDED_95
from ...model.reading_means import CONNECTIONS_FULL_RATIO, FDS_FULL_RATIO
from ...model.timeline import Timeline
from ..causes.generator_saturation import LITTLE_MOST, OTHERS_LEAST
from ..epoch.epoch import work_is_metric
from ..ladder import SHORT_S
from ..statistics import COUNT_LEAST, FULL, MOSTLY, NOTABLE, RELEVANT, measured
from . import resource_rules
from .gate import Gate
from .measured_level import Found, MeasuredLevel
from .resource_rules import Rule

QUEUED_LEAST = 2.0
"""Least mean number of connections, of requests, or of sessions of a database that wait: one that waits for another is no queue,
and workers that keep up leave the accept queue empty."""


def worker_pool(level: MeasuredLevel, gate: Gate) -> Found | None:
    """Connections wait to be accepted while the service is idle.

    Latency need not rise for this finding, since users who get no connection add none.
    """
    queue = level.read("target.listen_queue")
    if queue is None or queue < QUEUED_LEAST or not gate.stalls or not is_idle(level) or _may_lack_descriptors(level):
        return None
    backlog = level.read("target.listen_backlog")
    is_full = bool(backlog) and queue >= FULL * (backlog or 0.0)
    if not is_full and level.requests_inside is not None and queue < RELEVANT * level.requests_inside:
        return None
    readings = level.named("listen_queue", *(("listen_backlog",) if is_full else ()), *IDLENESS)
    return Found("worker_pool_exhausted", readings, level.missing("target.fds_limit"))


def lock_or_pool(level: MeasuredLevel, gate: Gate) -> Found | None:
    """Requests wait inside an idle service: latency grows with users, as with one queue in front of a pool of fixed size."""
    queue, disk_busy = level.read("target.listen_queue") or 0.0, level.read("host.disk_busy_ratio") or 0.0
    if not gate.is_open or not is_idle(level) or not accounts_for_users(level) or queue >= QUEUED_LEAST or disk_busy > MOSTLY:
        return None
    would_tell = ("target.listen_queue", "host.disk_busy_ratio", *(() if level.is_loopback else ("tcp.sending_sockets",)))
    return Found("lock_or_pool_limit", level.named(*IDLENESS, "little_ratio"), level.missing(*would_tell))


def accounts_for_users(level: MeasuredLevel) -> bool:
    """Whether the response times of a level may be interpreted: few requests fail, and Little's law holds."""
    little = level.little_ratio
    return level.failure_ratio <= NOTABLE and (little is None or 2 - LITTLE_MOST < little < LITTLE_MOST)


def generator_has_spare_time(level: MeasuredLevel) -> bool:
    """Whether the load thread was measured, and neither ran nor waited for a core most of the time."""
    own = level.figures.generator_cpu_ratio
    return own is not None and own + (level.figures.generator_run_delay_ratio or 0.0) < FULL


def is_idle(level: MeasuredLevel) -> bool:
    """Whether service and generator were measured, used little CPU, and did not wait for it."""
    return generator_has_spare_time(level) and _uses_little_cpu(level) and not _is_starved_of_cpu(level)


def is_idle_machine(level: MeasuredLevel) -> bool:
    """Whether the machine of a part whose processes are not read was measured and used little CPU."""
    busy, cores = level.read("host.cpu_ratio"), level.host.cpus
    return busy is not None and bool(cores) and busy < MOSTLY * (cores or 0)


def is_idle_while_refusing(level: MeasuredLevel) -> bool:
    """As `is_idle`, for a service that refuses requests at once: so few requests are inside that any wait for a core would be a
    large share of their time, and is allowed up to RELEVANT.
    """
    if not generator_has_spare_time(level) or _is_throttled(level):
        return False
    return _uses_little_cpu(level) and (level.read("target.run_delay_ratio") or 0.0) < RELEVANT


def _uses_little_cpu(level: MeasuredLevel) -> bool:
    """Whether the service's threads used little CPU; False if that was not measured."""
    cpu, allowed, busiest = level.busy("target.cpu_ratio"), level.cores_allowed, level.busy("target.busiest_thread_ratio")
    if cpu is None or allowed is None:
        return False
    return cpu < MOSTLY * (1.0 if level.is_one_python_process else allowed) and (busiest is None or busiest < MOSTLY)


def _is_starved_of_cpu(level: MeasuredLevel) -> bool:
    """Whether the service's threads waited for a core, or for the next period of a quota."""
    delay, inside, idle = level.read("target.run_delay_ratio"), level.requests_inside, level.cores_idle
    if _is_throttled(level):
        return True
    if delay is None or inside is None:
        return idle is None or idle < OTHERS_LEAST
    cpu = level.read("target.cpu_ratio") or 0.0
    starved = idle is not None and idle < OTHERS_LEAST and delay >= RELEVANT * cpu and cpu + delay >= RELEVANT
    return starved or delay >= NOTABLE * inside


def _is_throttled(level: MeasuredLevel) -> bool:
    return (level.read("target.throttled_ratio") or 0.0) > NOTABLE


IDLENESS = ("target_cpu_ratio", "busiest_thread_ratio")
"""Readings that show how little CPU the service uses."""


def _may_lack_descriptors(level: MeasuredLevel) -> bool:
    used, limit = level.read("target.fds_fullest"), level.read("target.fds_limit")
    if level.read(FDS_FULL_RATIO):
        return True
    return used is not None and bool(limit) and used >= MOSTLY * (limit or 0.0)


# -- Rules for watched parts only: open files, connections and locks. For the target, its failures show the same as a cause.


def open_files(level: MeasuredLevel) -> Found | None:
    """A process of the part has no descriptor left for another connection."""
    used, limit = level.read("target.fds_fullest"), level.read("target.fds_limit")
    full = level.read(FDS_FULL_RATIO) or 0.0
    if used is None or not limit or (used < FULL * limit and full < RELEVANT):
        return None
    return Found("open_files_limit", level.named("fds_fullest", "fds_limit", *(("fds_full_ratio",) if full else ())))


def connections(level: MeasuredLevel) -> Found | None:
    """A server, by its own counts, refuses connections, or has none left while hardly any is idle."""
    rejected = level.read("server.rejected_connections_per_s") or 0.0
    refused = level.read("server.refused_readings") or 0.0
    if not rejected and refused < RELEVANT and not _has_no_connection_left(level):
        return None
    counts = level.named("connections_full_ratio", "rejected_connections_per_s", "refused_readings_ratio")
    named = level.named("connections", "connections_limit") | {name: count for name, count in counts.items() if count}
    return Found("connection_limit", named)


def _has_no_connection_left(level: MeasuredLevel) -> bool:
    """Whether all connections are taken, in the mean or in many of the seconds, and hardly any is idle. Sessions that log in
    count as neither active nor idle.
    """
    used, limit = level.read("server.connections"), level.read("server.connections_limit")
    if used is None or not limit:
        return False
    idle, active = level.read("server.idle"), level.read("server.active") or 0.0
    with_reader = active + (level.read("server.idle_in_transaction") or 0.0) + 1
    in_use = with_reader if idle is None else used - idle
    is_full = used >= FULL * limit or (level.read(CONNECTIONS_FULL_RATIO) or 0.0) >= RELEVANT
    return is_full and in_use >= FULL * used


def lock_waits(level: MeasuredLevel) -> Found | None:
    """A server most of whose active sessions wait for locks, by its own counts."""
    waiting, active = level.read("server.lock_waits"), level.read("server.active")
    if waiting is None or not active or waiting < max(QUEUED_LEAST, MOSTLY * active):
        return None
    return Found("lock_waits", {"lock_waits_ratio": waiting / active, "active_sessions": active})


STALLED: tuple[Rule, ...] = (open_files, connections)
"""Rules that do not require latency to rise: users who get no connection add none."""

PART_GATED: tuple[Rule, ...] = (*resource_rules.GATED, lock_waits)

NOT_IF_CPU_WITHHELD = frozenset(PART_GATED) - {resource_rules.network}
"""Rules that are not applied to a part from which other processes withheld CPU: without them it would have used more, or kept its
locks for less time."""


# -- Backlog: a queue in the service that grows at constant load.
#
# Goodput, latency and HTTP errors do not show it. The backlog of a service near its capacity moves like a random walk, so growth
# must be far beyond that of a random walk with the same steps, and a relevant share of the finished work.

STEPS_ERRORS = 4.0
"""Least growth in standard errors of the sum of the steps. A reflected random walk, tested ten times a level, exceeds three in
0.3% of levels."""

WORK_METRICS = ("app.queued", "app.accepted")
"""Metrics of the target that count its work; without one of them its backlog is not known."""


class Backlog(msgspec.Struct, frozen=True):
    """Pieces of work that were accepted and not finished, over the settled seconds of a level."""

    growth: float
    seconds: float
    last: float
    """The backlog at the end of the level."""
    chance: float
    """Standard error of the growth of a random walk with the same steps."""
    finished_per_s: float | None
    """Goodput, if it is the target's own count of finished work; else None."""

    @property
    def grows(self) -> bool:
        """Whether it grows far beyond chance, and by a relevant amount."""
        is_relevant = self.growth >= NOTABLE * (self.finished_per_s or 0.0) * self.seconds
        return is_relevant and self.growth >= max(COUNT_LEAST, STEPS_ERRORS * self.chance)

    @property
    def may_grow(self) -> bool:
        """Whether growth is so likely that "no limit reached" must not be reported."""
        return self.growth >= max(COUNT_LEAST, ONE_SIDED_95 * self.chance)


def counts_work(level: MeasuredLevel) -> bool:
    """Whether the target reports its work."""
    return any(level.read(name) is not None for name in WORK_METRICS)


def backlog_of(timeline: Timeline, level: MeasuredLevel) -> Backlog | None:
    """The backlog of a level, from the target's own metrics; None without them or with too few seconds."""
    column = timeline.columns.get("app_backlog")
    if column is None or level.level.opened.ramp or not counts_work(level):
        return None
    ticks = [tick for tick in level.seconds(timeline) if not math.isnan(column[tick])]
    if len(ticks) < SHORT_S:
        return None
    steps = np.diff(np.array([column[tick] for tick in ticks]))
    times = timeline.columns["t_s"]
    return Backlog(
        growth=float(steps.sum()),
        seconds=times[ticks[-1]] - times[ticks[0]],
        last=column[ticks[-1]],
        chance=float(steps.std(ddof=1)) * math.sqrt(len(steps)),
        finished_per_s=level.rates.goodput_rps if work_is_metric(timeline) else None,
    )


def queue_growth(backlog: Backlog | None) -> Found | None:
    """A queue that grows at constant load."""
    if backlog is None or not backlog.grows:
        return None
    per_s = backlog.growth / backlog.seconds
    return Found(
        "queue_growth", {**measured(backlog=backlog.last, backlog_growth_per_s=per_s, finished_per_s=backlog.finished_per_s)}
    )
