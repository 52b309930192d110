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


class NamesOfOthers:
    """The names of those that use the most CPU, while others use much. Snapshots that are due are taken by the caller."""

    def __init__(self) -> None:
        self.processes: dict[str, float] = {}
        """Cores by name."""
        self._last: Snapshot | None = None

    def are_due(self, others: float | None, now_s: float, every_s: float = NAMES_EVERY_S) -> bool:
        """Whether a snapshot is due, by the CPU use of others in cores. `now_s`: seconds since boot."""
        if others is None or others < NAMED_FROM_CORES:
            self._last, self.processes = None, {}
            return False
        return self._last is None or now_s - self._last.at_s >= every_s

    def add(self, now: Snapshot, ours: set[int]) -> None:
        """Name those that used the most since the snapshot before. `ours`: pids that, with their descendants, are no others."""
        if self._last is not None:
            self.processes = busiest(self._last, now, ours)
        self._last = now


class NeighboursProbe:
    """Reads one NeighboursReading per tick."""

    def __init__(self) -> None:
        self._names = NamesOfOthers()
        self._every_s = NAMES_EVERY_S

    def read(self, busy: float | None, ours: Sequence[float | None], pids: Sequence[int | None]) -> NeighboursReading:
        """`busy`: cores that the host used; `ours`: those of generator, target and watched parts; `pids`: the first process of
        the target, and of each part."""
        others = cores_of_others(busy, ours)
        if self._names.are_due(others, time.clock_gettime(time.CLOCK_BOOTTIME), self._every_s):
            began_ns = time.thread_time_ns()
            if (now := snapshot()) is not None:
                self._names.add(now, {pid for pid in (os.getpid(), *pids) if pid is not None})
                self._every_s = max(NAMES_EVERY_S, (time.thread_time_ns() - began_ns) / 1e9 / COST_MOST_CORES)
        return NeighboursReading(cpu_ratio=others, processes=dict(self._names.processes))


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
