"""CPU use of other processes: busy cores minus those of target, generator and watched parts, with the names of the largest users.

The sum is a difference of readings that are taken anyway. For the names every process of the machine must be read
(`/proc/PID/stat`), so this is done only while others use much CPU, at bounded cost. Only names are recorded, never command
lines, which may hold secrets: logs are shared.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..model.readings import NeighboursReading
from ..procs.processes import Stat, descendants, stats

NAMED_FROM_CORES = 0.2
"""CPU use of other processes, in cores, from which their names are read."""

NAMES_EVERY_S = 3.0
"""Seconds between two readings of all processes."""

COST_MOST_CORES = 0.005
"""Maximum CPU use of these readings: on a machine with thousands of processes they become rarer."""

NAMED_MOST = 3
"""Names in one reading."""


class Snapshot(NamedTuple):
    """All processes at one moment."""

    at_s: float
    """Seconds since boot."""
    processes: dict[tuple[int, int], Stat]
    """By pid and start time: a pid may be reused by another process."""

    @classmethod
    def of(cls, at_s: float, processes: Mapping[int, Stat]) -> Snapshot:
        """By their pids."""
        return cls(at_s, {(pid, each.started_ticks): each for pid, each in processes.items()})


class PartHere(NamedTuple):
    """A watched part on this machine."""

    pid: int | None
    """Its first process; None: it is in a container, which has process ids of its own."""
    cpu_ratio: float | None
    """Cores that its processes used in its latest reading, with those that they have waited for: a backend of PostgreSQL for each
    request begins and ends between two readings. None: not known."""


def apart_from_target(parts: Iterable[PartHere], target_pids: Collection[int]) -> list[PartHere]:
    """The parts without those whose first process is one of the target's, which counts once."""
    return [part for part in parts if part.pid not in target_pids]


def cores_of_others(busy: float | None, ours: Sequence[float | None]) -> float | None:
    """The host's busy cores minus `ours`; None if one of them was not measured."""
    known = [cores for cores in ours if cores is not None]
    return max(0.0, busy - sum(known)) if busy is not None and len(known) == len(ours) else None


class NeighboursProbe:
    """Reads one NeighboursReading per tick."""

    def __init__(self) -> None:
        self._last: Snapshot | None = None
        self._since_s = NAMES_EVERY_S
        self._every_s = NAMES_EVERY_S
        self._processes: dict[str, float] = {}

    def read(
        self, elapsed_s: float, busy: float | None, ours: Sequence[float | None], pids: Sequence[int | None]
    ) -> NeighboursReading:
        """`busy`: cores that the host used over the last `elapsed_s`; `ours`: those of generator, target and watched
        parts; `pids`: the first process of the target, and of each part."""
        others = cores_of_others(busy, ours)
        if others is None:
            return NeighboursReading()
        self._since_s += elapsed_s
        if others < NAMED_FROM_CORES:
            self._last, self._processes = None, {}
        elif self._last is None or self._since_s >= self._every_s:
            self._read_names(pids)
        return NeighboursReading(cpu_ratio=others, processes=dict(self._processes))

    def _read_names(self, pids: Sequence[int | None]) -> None:
        """Read all processes, and name those that used the most CPU since the previous reading."""
        began_ns = time.thread_time_ns()
        now, before = snapshot(), self._last
        if now is None:
            return
        if before is not None:
            ours = {pid for pid in (os.getpid(), *pids) if pid is not None}
            self._processes = busiest(before, now, ours)
        self._last, self._since_s = now, 0.0
        self._every_s = max(NAMES_EVERY_S, (time.thread_time_ns() - began_ns) / 1e9 / COST_MOST_CORES)

    def close(self) -> None:
        """Nothing is kept open between two readings."""


def snapshot() -> Snapshot | None:
    """All processes visible here; None if /proc cannot be listed (no descriptor is left)."""
    at_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    try:
        return Snapshot.of(at_s, stats())
    except OSError:
        return None


def busiest(before: Snapshot, now: Snapshot, ours: set[int]) -> dict[str, float]:
    """CPU use between two snapshots by name, in cores: the largest alone, without the pids `ours` and their descendants.

    A process that began after the first snapshot counts with all of its CPU time. One that lived between the two is missed.
    """
    parents = {pid: each.parent for (pid, _), each in now.processes.items()}
    left_out = {*ours, *descendants(ours, parents)}
    ticks_per_s, elapsed_s = os.sysconf("SC_CLK_TCK"), now.at_s - before.at_s
    cores: dict[str, float] = {}
    for key, each in now.processes.items():
        earlier = before.processes.get(key)
        if key[0] in left_out or (earlier is None and each.started_ticks < before.at_s * ticks_per_s):
            continue
        used = each.own_ticks - (earlier.own_ticks if earlier is not None else 0)
        if used > 0 and elapsed_s > 0:
            name = process_name(each.name)
            cores[name] = cores.get(name, 0.0) + used / ticks_per_s / elapsed_s
    most = sorted(cores.items(), key=lambda item: (-item[1], item[0]))[:NAMED_MOST]
    return {name: round(ratio, 4) for name, ratio in most if ratio >= 0.01}


def process_name(comm: str) -> str:
    """A process's comm as the log shows it: kernel threads without their core, `?` for characters that cannot be printed."""
    kernel_thread = comm.partition("/")[0] if comm.startswith(("kworker/", "ksoftirqd/", "migration/", "rcu")) else comm
    return "".join(each if each.isprintable() else "?" for each in kernel_thread)
