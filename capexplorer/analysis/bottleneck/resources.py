"""Rules on resources, one a function, by CAUSES.md: a level in, what is saturated out.

Utilisation and saturation are asked for together wherever both can be read: pressure alone comes from other jobs too (10-26% was
measured on an idle service's machine). No rule knows the gate; `rules` says which ones stand behind it.
"""

from __future__ import annotations

from .finding import Evidence, Finding
from .level import Seen

BUSY_LEAST = 0.90
"""Of the allowed cores, of one thread's core, of a disk's time, of a link."""

GIL_CORES = (0.85, 1.10)
"""Cores that a process uses which its interpreter lock bounds: measured 0.91 with 20 threads, 0.94 with five."""

GIL_THREAD_MOST = 0.60
"""Of one thread; above it that thread is the bottleneck, if any is."""

CORES_LEFT = 0.20
"""Idle cores that a service could have used and did not. On two cores of which the generator uses one, little is left."""

HOST_IDLE_MOST = 0.05
"""Share of the host's cores."""

GIL_FULL = 0.95
"""Cores from which on its lock leaves a Python process nothing to wait for: then it is bound on a full machine, too."""

RUN_DELAY_LEAST = 0.10
"""Cores' worth of time in which threads of the service were runnable and had no core."""

DELAYED_SHARE_LEAST = 0.25
"""Of what they did get: a service that uses a hundredth of a core is not held back by a full machine."""

THROTTLED_LEAST = 0.05
STEAL_LEAST = 0.05
MEMORY_PRESSURE_LEAST = 0.01
MAJOR_FAULTS_LEAST = 10.0
"""A second: pages that were read back from disk while the service waited. A start or a deploy has a burst, a level has none."""

SWAPPED_IN_LEAST = 50.0
"""Pages a second."""

IO_PRESSURE_LEAST = 0.05
OWN_DISK_LEAST_BYTES = 10_000.0
"""A second, read and written by the target itself: another job's disk is not its bottleneck."""

DISK_LEFT_BYTES = 1 << 20


def target_cpu(level: Seen) -> Finding | None:
    """All the cores it may use are busy with it."""
    cpu, allowed = level.read("target.cpu_ratio"), level.cores_allowed
    if cpu is None or allowed is None or cpu < BUSY_LEAST * allowed:
        return None
    return Finding("target_cpu_saturated", {"target_cpu_ratio": cpu, "cores_allowed": allowed})


def gil(level: Seen) -> Finding | None:
    """A Python process uses one core with many threads, and could have had another."""
    cpu, threads = level.read("target.cpu_ratio"), level.read("target.threads")
    busiest, idle = level.read("target.busiest_thread_ratio"), level.cores_idle
    if cpu is None or threads is None or busiest is None or idle is None or not level.is_one_python_process:
        return None
    bound = GIL_CORES[0] <= cpu <= GIL_CORES[1] and threads >= 2 and busiest <= GIL_THREAD_MOST
    another_core = (idle >= CORES_LEFT or cpu >= GIL_FULL) and (level.cores_allowed or 0.0) > GIL_CORES[1]
    if not (bound and another_core):
        return None
    evidence: Evidence = {"target_cpu_ratio": cpu, "threads": threads, "busiest_thread_ratio": busiest, "cores_idle": idle}
    return Finding("gil_bound", {**evidence, "program": level.program or ""})


def single_thread(level: Seen) -> Finding | None:
    """One thread never rests, and another core had time or the process has more to use."""
    busiest, cpu, allowed = level.read("target.busiest_thread_ratio"), level.read("target.cpu_ratio"), level.cores_allowed
    if busiest is None or busiest < BUSY_LEAST or cpu is None or allowed is None or cpu >= BUSY_LEAST * allowed:
        return None
    idle = level.cores_idle
    if idle is not None and idle < CORES_LEFT / 2:
        return None
    evidence: Evidence = {"busiest_thread_ratio": busiest, "target_cpu_ratio": cpu, "cores_allowed": allowed}
    return Finding("single_thread_cpu_saturated", evidence, level.missing("host.cpu_ratio"))


def host_cpu(level: Seen) -> Finding | None:
    """The machine has no core left, and the service, under its own limit, waits for one."""
    busy, cores, target = level.read("host.cpu_ratio"), level.host.cpus, level.read("target.cpu_ratio")
    delay = level.read("target.run_delay_ratio")
    if busy is None or not cores or target is None or delay is None or busy < (1 - HOST_IDLE_MOST) * cores:
        return None
    throttled = (level.read("target.throttled_ratio") or 0.0) > THROTTLED_LEAST
    if (
        throttled
        or target >= BUSY_LEAST * (level.cores_allowed or cores)
        or delay < max(RUN_DELAY_LEAST, DELAYED_SHARE_LEAST * target)
    ):
        return None
    evidence: Evidence = {"host_cpu_ratio": busy, "cores": cores, "target_cpu_ratio": target, "run_delay_ratio": delay}
    more = _read(level, cpu_pressure_ratio="host.cpu_pressure_ratio", generator_cpu_ratio="generator.cpu_ratio")
    return Finding("host_cpu_saturated", evidence | more)


def cpu_throttled(level: Seen) -> Finding | None:
    """Its cgroup's quota held it back."""
    share = level.read("target.throttled_ratio")
    if share is None or share <= THROTTLED_LEAST:
        return None
    return Finding("cpu_throttled", {"throttled_ratio": share, **_read(level, target_cpu_ratio="target.cpu_ratio")})


def cpu_steal(level: Seen) -> Finding | None:
    """The hypervisor gave the machine's time to others."""
    stolen, cores = level.read("host.steal_ratio"), level.host.cpus
    if stolen is None or not cores or not level.target_is_here or stolen / cores <= STEAL_LEAST:
        return None
    return Finding("cpu_steal", {"steal_share": stolen / cores, "cores": cores})


def memory(level: Seen) -> Finding | None:
    """Everything waits for memory, and pages of the service come back from disk."""
    pressure, faults = level.read("host.memory_pressure_ratio"), level.read("target.major_faults_per_s")
    if pressure is None or faults is None or pressure <= MEMORY_PRESSURE_LEAST or faults < MAJOR_FAULTS_LEAST:
        return None
    evidence: Evidence = {"memory_pressure_ratio": pressure, "major_faults_per_s": faults}
    return Finding("memory_saturated", {**evidence, **_read(level, rss_bytes="target.rss_bytes")})


def swapping(level: Seen) -> Finding | None:
    """Pages come back from swap, the service's among them."""
    pages, faults = level.read("host.swapped_in_per_s"), level.read("target.major_faults_per_s")
    if pages is None or faults is None or pages < SWAPPED_IN_LEAST or faults < MAJOR_FAULTS_LEAST:
        return None
    return Finding("swapping", {"swapped_in_per_s": pages, "major_faults_per_s": faults})


def disk(level: Seen) -> Finding | None:
    """A disk is always busy, tasks wait for it, and the service is one that uses it."""
    busy, pressure = level.read("host.disk_busy_ratio"), level.read("host.io_pressure_ratio")
    if busy is None or pressure is None or busy < BUSY_LEAST or pressure < IO_PRESSURE_LEAST:
        return None
    names = ("target.read_bytes_per_s", "target.written_bytes_per_s")
    own = [level.read(name) for name in names]
    moved = sum(rate for rate in own if rate is not None)
    if not level.missing(*names) and moved < OWN_DISK_LEAST_BYTES:
        return None
    return Finding(
        "disk_saturated",
        {"disk_busy_ratio": busy, "io_pressure_ratio": pressure, "target_disk_bytes_per_s": moved},
        level.missing(*names),
    )


def disk_full(level: Seen) -> Finding | None:
    """Nothing is left where the service writes."""
    left = level.read("target.disk_free_bytes")
    return Finding("disk_full", {"disk_free_bytes": left}) if left is not None and left < DISK_LEFT_BYTES else None


def _read(level: Seen, **names: str) -> Evidence:
    """Readings that only come along, by their name in the evidence; left out where they were not taken."""
    known = {name: level.read(reading) for name, reading in names.items()}
    return {name: value for name, value in known.items() if value is not None}
