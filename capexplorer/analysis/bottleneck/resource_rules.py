"""Rules on resources: from a level to the finding that a resource is used up (docs/causes.md).

Utilisation and pressure are required together if both can be read: other jobs cause pressure too (10-26% was measured on the
machine of an idle service). The gate is applied in `level_judgement`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from ...model.figures import LevelFigures
from ...model.findings import Readings
from ..causes.generator_saturation import OTHERS_LEAST
from ..epoch.neighbours import SERIAL_LEAST
from ..statistics import BEYOND, FULL, MOSTLY, NOTABLE, RELEVANT
from .measured_level import Found, MeasuredLevel

PAGES_LEAST_PER_S = 10.0
"""Least pages a second that a service without enough memory reads back, from swap or by major faults: starts and deployments have
a burst, healthy levels none."""

OWN_DISK_LEAST_BYTES = 10_000.0
"""Least bytes a second read and written by the target itself: a disk used by another job is not its bottleneck."""

DISK_LEFT_BYTES = 1 << 20
"""A disk with less free space is full."""


Rule = Callable[[MeasuredLevel], Found | None]
"""A level -> what was found, or None."""


class Resource(msgspec.Struct, frozen=True):
    """The rule on one resource, by readings that it needs and shows (`measured_level.EVIDENCE`)."""

    id: str
    needs: tuple[str, ...]
    is_full: Callable[..., bool]
    """(level, the readings) -> whether it is used up."""
    also: tuple[str, ...] = ()
    """Readings that are shown, too, if they were taken."""

    def __call__(self, level: MeasuredLevel) -> Found | None:
        """What is found at a level; nothing if a reading is missing that it needs."""
        read = [level.shown(name) for name in self.needs]
        if any(value is None for value in read) or not self.is_full(level, *read):
            return None
        return Found(self.id, level.named(*self.needs, *self.also))


def resource(id: str, *needs: str, also: tuple[str, ...] = ()) -> Callable[[Callable[..., bool]], Resource]:  # noqa: A002
    """Make a function (level, the readings it needs) -> bool the rule on a resource."""
    return lambda is_full: Resource(id, needs, is_full, also)


@resource("target_cpu_saturated", "target_cpu_ratio", "cores_allowed", also=("steal_share",))
def target_cpu(level: MeasuredLevel, cpu: float, allowed: float) -> bool:
    """The service uses all the cores that it may use."""
    return cpu * level.stretch >= FULL * allowed


@resource("gil_bound", "target_cpu_ratio", "threads", "busiest_thread_ratio", "cores_idle", "program", also=("steal_share",))
def gil(level: MeasuredLevel, cpu: float, threads: float, busiest: float, idle: float, program: str) -> bool:
    """A Python process with many threads uses one core, although it could have used another."""
    another_core = (level.cores_allowed or 0.0) > BEYOND
    # with 20 threads 0.91 cores, with five 0.94 (measured)
    is_one = level.is_one_python_process and FULL <= cpu * level.stretch <= BEYOND
    return is_one and threads >= 2 and busiest <= MOSTLY and another_core


@resource(
    "single_thread_cpu_saturated", "busiest_thread_ratio", "target_cpu_ratio", "cores_allowed", also=("steal_share",)
)  # fmt: skip
def single_thread(level: MeasuredLevel, busiest: float, cpu: float, allowed: float) -> bool:
    """One thread is always busy, and does nearly all the work, or another core is idle."""
    has_idle_core = level.cores_idle is not None and level.cores_idle >= OTHERS_LEAST
    is_always_busy = busiest * level.stretch >= FULL and cpu * level.stretch < FULL * allowed
    return is_always_busy and (busiest >= SERIAL_LEAST * cpu or has_idle_core)


@resource(
    "host_cpu_saturated", "host_cpu_ratio", "cores", "target_cpu_ratio", "run_delay_ratio",
    also=("cpu_pressure_ratio", "generator_cpu_ratio"),
)  # fmt: skip
def host_cpu(level: MeasuredLevel, busy: float, cores: int, cpu: float, delay: float) -> bool:
    """The machine has no idle core, and the service waits for one although it is not at its own limit."""
    allowed = level.cores_allowed or cores
    at_its_limit = cpu >= (MOSTLY if allowed < cores else FULL) * allowed  # of cores that it is pinned to
    throttled = (level.read("target.throttled_ratio") or 0.0) > NOTABLE
    return busy >= FULL * cores and not at_its_limit and not throttled and _wants_more(level, cpu, delay, cores)


def _wants_more(level: MeasuredLevel, cpu: float, delay: float, cores: int) -> bool:
    """Whether requests wait for cores.

    They do if the service's threads want more cores than exist (four processes of eight threads wanted 7.7 of 2, which was 6% of
    the requests inside), if many requests inside run or wait for a core, or if the service is serial and always does. They do
    not if it is serial and has nearly a whole core: then it is saturated by itself.
    """
    inside, busiest = level.requests_inside, level.read("target.busiest_thread_ratio")
    serial = level.is_one_python_process or (busiest is not None and busiest >= SERIAL_LEAST * cpu)
    if delay < RELEVANT * cpu or (serial and cpu >= FULL):
        return False
    wanted = cpu + delay
    if wanted >= cores or (serial and wanted >= FULL):
        return True
    return inside is not None and wanted >= RELEVANT * inside


@resource("cpu_steal", "steal_share", "cores", "target_cpu_ratio", "run_delay_ratio")
def cpu_steal(level: MeasuredLevel, stolen: float, cores: int, cpu: float, delay: float) -> bool:
    """The hypervisor gave CPU time of this machine to others, no core was idle, and the service waited for one.

    Steal alone limits nothing: the hypervisor also takes idle time (6-20% on machines whose service used a tenth of a core).
    """
    busy = level.read("host.cpu_ratio")
    is_full = busy is not None and busy / cores + stolen >= FULL
    return is_full and _wants_more(level, cpu, delay, cores)


@resource("memory_saturated", "memory_pressure_ratio", "major_faults_per_s", also=("rss_bytes",))
def memory(level: MeasuredLevel, pressure: float, faults: float) -> bool:
    """All tasks wait for memory, and the service reads pages back from disk."""
    return pressure >= NOTABLE and faults >= PAGES_LEAST_PER_S


@resource("swapping", "swapped_in_per_s", "major_faults_per_s")
def swapping(level: MeasuredLevel, pages: float, faults: float) -> bool:
    """Pages are read back from swap, also for the service."""
    return pages >= PAGES_LEAST_PER_S and faults >= PAGES_LEAST_PER_S


@resource("cpu_throttled", "throttled_ratio", also=("target_cpu_ratio",))
def throttled(level: MeasuredLevel, share: float) -> bool:
    """A CPU quota of its cgroup throttled the service."""
    return share > NOTABLE


def disk(level: MeasuredLevel) -> Found | None:
    """A disk is always busy, tasks wait for I/O, and the service uses disks, not mainly others."""
    busy, pressure = level.read("host.disk_busy_ratio"), level.read("host.io_pressure_ratio")
    if busy is None or pressure is None or busy < FULL or pressure < NOTABLE:
        return None
    if level.part is None and disk_of_others(level.figures) is not None:
        return None
    names = ("target.read_bytes_per_s", "target.written_bytes_per_s")
    moved = math.fsum(level.read(name) or 0.0 for name in names)
    if not level.missing(*names) and moved < OWN_DISK_LEAST_BYTES:
        return None
    readings: Readings = {"disk_busy_ratio": busy, "io_pressure_ratio": pressure, "target_disk_bytes_per_s": moved}
    return Found("disk_saturated", readings, level.missing(*names))


def disk_of_others(figures: LevelFigures) -> float | None:
    """Bytes a second of others on a busy disk that the service uses, too, and waits for; None if it moves a relevant share of the
    bytes itself (half of them with an fsync for each write, since the journal writes as much), or if that is not known.
    """
    busy, pressure, moved = (
        figures.readings.get(f"host.{name}") for name in ("disk_busy_ratio", "io_pressure_ratio", "disk_bytes_per_s")
    )
    own = [figures.readings.get(f"target.{name}_bytes_per_s") for name in ("read", "written")]
    if busy is None or pressure is None or moved is None or own[0] is None or own[1] is None:
        return None
    ours = own[0] + own[1]
    waits = busy >= FULL and pressure >= NOTABLE and ours >= OWN_DISK_LEAST_BYTES
    return moved - ours if waits and ours < RELEVANT * moved else None


def network(level: MeasuredLevel) -> Found | None:
    """A network link is full in one direction: most requests wait until their bytes are sent, or bytes are near the speed of the
    fastest link, with which they are compared since they are summed over all links.
    """
    rates, speed = [level.read("host.received_bytes_per_s"), level.read("host.sent_bytes_per_s")], level.host.link_bytes_per_s
    busier = max((rate for rate in rates if rate is not None), default=None)
    if (waits := _waits_to_be_sent(level)) is not None:
        return waits
    if busier is None or speed is None or level.is_loopback or busier < FULL * speed:
        return None
    return Found("network_bandwidth_saturated", {"bytes_per_s": busier, "link_bytes_per_s": speed})


def _waits_to_be_sent(level: MeasuredLevel) -> Found | None:
    """Most requests inside have data on the way (Little's law; behind 20 Mbit/s 1.9 sockets a request, with room 0.1 to 0.2), and
    bytes wait to be sent for a relevant share of the response time (0.5 behind that link, 0.4 with replies of 2 MB): a delayed
    acknowledgement keeps data on the way for 40 ms, and nothing waits.
    """
    sending, inside, response_ms = level.read("tcp.sending_sockets"), level.requests_inside, level.figures.response_ms
    waiting = math.fsum(level.read(f"tcp.{name}") or 0.0 for name in ("unsent_bytes", "queued_bytes"))
    rate = level.read("tcp.queue_bytes_per_s") or level.read("host.sent_bytes_per_s")
    if level.part is not None or not sending or not inside or not response_ms or not rate or sending < MOSTLY * inside:
        return None
    if waiting / rate < RELEVANT * response_ms / 1000:
        return None
    readings: Readings = {"bytes_per_s": rate, "waiting_bytes": waiting, "sending_sockets": sending, "requests_inside": inside}
    return Found("network_bandwidth_saturated", readings)


def disk_full(level: MeasuredLevel) -> Found | None:
    """No disk space is left where the service writes, by the reading or by its error messages."""
    left = level.read("target.disk_free_bytes")
    if not level.reported_no_space and (left is None or left >= DISK_LEFT_BYTES):
        return None
    return Found("disk_full", level.named("disk_free_bytes"), level.missing("target.disk_free_bytes"))


def is_disk_full(found: Found) -> bool:
    """Whether the reading shows a full disk, not only the text of replies."""
    left = found.readings.get("disk_free_bytes")
    return isinstance(left, float | int) and left < DISK_LEFT_BYTES


UNGATED: tuple[Rule, ...] = (throttled, memory, swapping, disk_full)
"""Rules that need no gate: what they find harms the service at any load."""

GATED: tuple[Rule, ...] = (target_cpu, gil, single_thread, host_cpu, cpu_steal, disk, network)
"""Rules that need an open gate: a busy resource is a bottleneck only if more users bring no more goodput."""
