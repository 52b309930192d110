"""Rules on resources, one a function, by CAUSES.md: a level in, what is saturated out.

Utilisation and saturation are asked for together wherever both can be read: pressure alone comes from other jobs too (10-26% was
measured on an idle service's machine). No rule knows the gate; `rules` says which ones stand behind it.
"""

from __future__ import annotations

from ...model.findings import Readings
from .found import Found
from .measured_level import MeasuredLevel

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

DELAYED_SHARE_LEAST = 0.25
"""Of the CPU time that a service got, what its threads waited for a core: then it would have used more."""

DEMAND_OF_REQUESTS = 0.30
"""Of the requests inside, how many run or wait for a core, where that is what they are there for. Measured on two crowded cores:
0.36 and more for a GIL-bound service, 0.01 for one that only waits for a lock, whatever the neighbours do."""

DEMAND_OF_ONE = 0.90
"""Cores that something serial (one thread, a GIL) asks for, had or not, where it is full."""

SERIAL_LEAST = 0.80
"""Of a service's CPU time, used by one thread."""

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


def target_cpu(level: MeasuredLevel) -> Found | None:
    """All the cores it may use are busy with it."""
    cpu, allowed = level.read("target.cpu_ratio"), level.cores_allowed
    if cpu is None or allowed is None or cpu < BUSY_LEAST * allowed:
        return None
    return Found("target_cpu_saturated", {"target_cpu_ratio": cpu, "cores_allowed": allowed})


def gil(level: MeasuredLevel) -> Found | None:
    """A Python process uses one core with many threads, and could have had another, or has all of the one that its lock gives."""
    cpu, threads = level.read("target.cpu_ratio"), level.read("target.threads")
    busiest, idle = level.read("target.busiest_thread_ratio"), level.cores_idle
    if cpu is None or threads is None or busiest is None or idle is None or not level.is_one_python_process:
        return None
    bound = GIL_CORES[0] <= cpu <= GIL_CORES[1] and threads >= 2 and busiest <= GIL_THREAD_MOST
    another_core = (idle >= CORES_LEFT or cpu >= BUSY_LEAST) and (level.cores_allowed or 0.0) > GIL_CORES[1]
    if not (bound and another_core):
        return None
    readings: Readings = {"target_cpu_ratio": cpu, "threads": threads, "busiest_thread_ratio": busiest, "cores_idle": idle}
    return Found("gil_bound", {**readings, "program": level.program or ""})


def single_thread(level: MeasuredLevel) -> Found | None:
    """One thread never rests: nearly all that runs, or another core had time for the rest."""
    busiest, cpu, allowed = level.read("target.busiest_thread_ratio"), level.read("target.cpu_ratio"), level.cores_allowed
    if busiest is None or busiest < BUSY_LEAST or cpu is None or allowed is None or cpu >= BUSY_LEAST * allowed:
        return None
    idle = level.cores_idle
    if busiest < SERIAL_LEAST * cpu and (idle is None or idle < CORES_LEFT):
        return None
    return Found(
        "single_thread_cpu_saturated", {"busiest_thread_ratio": busiest, "target_cpu_ratio": cpu, "cores_allowed": allowed}
    )


def host_cpu(level: MeasuredLevel) -> Found | None:
    """The machine has no core left, and the service, under its own limit, waits for one."""
    busy, cores, target = level.read("host.cpu_ratio"), level.host.cpus, level.read("target.cpu_ratio")
    delay = level.read("target.run_delay_ratio")
    if busy is None or not cores or target is None or delay is None or busy < (1 - HOST_IDLE_MOST) * cores:
        return None
    at_its_limit = target >= BUSY_LEAST * (level.cores_allowed or cores)
    throttled = (level.read("target.throttled_ratio") or 0.0) > THROTTLED_LEAST
    if at_its_limit or throttled or not _wants_more(level, target, delay, cores):
        return None
    readings: Readings = {"host_cpu_ratio": busy, "cores": cores, "target_cpu_ratio": target, "run_delay_ratio": delay}
    more = _read(level, cpu_pressure_ratio="host.cpu_pressure_ratio", generator_cpu_ratio="generator.cpu_ratio")
    return Found("host_cpu_saturated", readings | more)


def _wants_more(level: MeasuredLevel, cpu: float, delay: float, cores: int) -> bool:
    """Whether cores are what requests wait for: its threads want more of them than there are, or most requests run or want to,
    or what runs them one by one always wants to. Four processes of eight threads behind a queue of their own asked for 7.7 of 2
    cores, which was 6% of the requests inside (measured).

    Something serial that has nearly all of its one core is full by itself, however many wait behind it.
    """
    inside, busiest = level.requests_inside, level.read("target.busiest_thread_ratio")
    serial = level.is_one_python_process or (busiest is not None and busiest >= SERIAL_LEAST * cpu)
    if delay < DELAYED_SHARE_LEAST * cpu or (serial and cpu >= BUSY_LEAST):
        return False
    wanted = cpu + delay
    if wanted >= cores or (serial and wanted >= DEMAND_OF_ONE):
        return True
    return inside is not None and wanted >= DEMAND_OF_REQUESTS * inside


def cpu_throttled(level: MeasuredLevel) -> Found | None:
    """Its cgroup's quota held it back."""
    share = level.read("target.throttled_ratio")
    if share is None or share <= THROTTLED_LEAST:
        return None
    return Found("cpu_throttled", {"throttled_ratio": share, **_read(level, target_cpu_ratio="target.cpu_ratio")})


def cpu_steal(level: MeasuredLevel) -> Found | None:
    """The hypervisor gave the machine's time to others."""
    stolen, cores = level.read("host.steal_ratio"), level.host.cpus
    if stolen is None or not cores or not level.target_is_here or stolen / cores <= STEAL_LEAST:
        return None
    return Found("cpu_steal", {"steal_share": stolen / cores, "cores": cores})


def memory(level: MeasuredLevel) -> Found | None:
    """Everything waits for memory, and pages of the service come back from disk."""
    pressure, faults = level.read("host.memory_pressure_ratio"), level.read("target.major_faults_per_s")
    if pressure is None or faults is None or pressure <= MEMORY_PRESSURE_LEAST or faults < MAJOR_FAULTS_LEAST:
        return None
    readings: Readings = {"memory_pressure_ratio": pressure, "major_faults_per_s": faults}
    return Found("memory_saturated", {**readings, **_read(level, rss_bytes="target.rss_bytes")})


def swapping(level: MeasuredLevel) -> Found | None:
    """Pages come back from swap, the service's among them."""
    pages, faults = level.read("host.swapped_in_per_s"), level.read("target.major_faults_per_s")
    if pages is None or faults is None or pages < SWAPPED_IN_LEAST or faults < MAJOR_FAULTS_LEAST:
        return None
    return Found("swapping", {"swapped_in_per_s": pages, "major_faults_per_s": faults})


def disk(level: MeasuredLevel) -> Found | None:
    """A disk is always busy, tasks wait for it, and the service is one that uses it."""
    busy, pressure = level.read("host.disk_busy_ratio"), level.read("host.io_pressure_ratio")
    if busy is None or pressure is None or busy < BUSY_LEAST or pressure < IO_PRESSURE_LEAST:
        return None
    names = ("target.read_bytes_per_s", "target.written_bytes_per_s")
    own = [level.read(name) for name in names]
    moved = sum(rate for rate in own if rate is not None)
    if not level.missing(*names) and moved < OWN_DISK_LEAST_BYTES:
        return None
    return Found(
        "disk_saturated",
        {"disk_busy_ratio": busy, "io_pressure_ratio": pressure, "target_disk_bytes_per_s": moved},
        level.missing(*names),
    )


def network(level: MeasuredLevel) -> Found | None:
    """A link is full in one direction. Bytes are those of all links, so it is compared with the fastest."""
    rates, speed = [level.read("host.received_bytes_per_s"), level.read("host.sent_bytes_per_s")], level.host.link_bytes_per_s
    busier = max((rate for rate in rates if rate is not None), default=None)
    if busier is None or speed is None or level.is_loopback or busier < BUSY_LEAST * speed:
        return None
    return Found("network_bandwidth_saturated", {"bytes_per_s": busier, "link_bytes_per_s": speed})


def disk_full(level: MeasuredLevel) -> Found | None:
    """Nothing is left where the service writes, by the reading or by what it says."""
    left = level.read("target.disk_free_bytes")
    if not level.reported_no_space and (left is None or left >= DISK_LEFT_BYTES):
        return None
    return Found("disk_full", {} if left is None else {"disk_free_bytes": left}, level.missing("target.disk_free_bytes"))


def _read(level: MeasuredLevel, **names: str) -> Readings:
    """Readings that only come along, by their name in the readings; left out where they were not taken."""
    known = {name: level.read(reading) for name, reading in names.items()}
    return {name: value for name, value in known.items() if value is not None}
