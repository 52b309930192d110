"""A process and its descendants, and the CPU time that they used.

A process is held by its open files: they fail when it ends, even if its pid is given to another. Once seen it stays until it
ends, also when its parent ended first. What else is read of a process is the target probe's business.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import NamedTuple

from . import ending, parse
from .procfs import KeptFile, numbers, read_once

_SCANNED_EVERY_S = 3.0
"""For children of threads other than the first: a file a thread, or a walk over all processes, costs too much for every tick."""

_BORN_SLACK_S = 0.02
"""Start times are in clock ticks of 10 ms, rounded down."""


class Used(NamedTuple):
    """CPU time in ns that a process used itself and that children it waited for had used; and when it started, since boot."""

    own_ns: int
    reaped_ns: int
    started_s: float


class Process:
    """One process. `stat` is as of the last `refresh`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._stat = KeptFile(f"/proc/{pid}/stat")
        self._children = KeptFile(f"/proc/{pid}/task/{pid}/children")
        self.io = KeptFile(f"/proc/{pid}/io")
        self._ending = ending.ProcessEnding(pid)
        self.stat: parse.Stat | None = None
        self.refresh()

    def refresh(self) -> None:
        """Read `stat`; None when the process has ended and was waited for."""
        self.stat = parse.stat(self._stat.read())

    @property
    def running(self) -> bool:
        """Not ended, waited for or not."""
        return self.stat is not None and self.stat.state not in "ZX"

    @property
    def waits_for_fd(self) -> bool:
        """It could not be opened because no descriptor was left."""
        return self._stat.waits_for_fd

    def ended_by(self) -> str | None:
        """`SIGKILL` or `exit 1`, of a process that has ended; None where that cannot be known."""
        status = self._ending.wait_status()
        if status is None and self.stat is not None:
            status = self.stat.wait_status or None  # 0 is also shown to processes without permission
        return None if status is None else ending.described(status)

    @property
    def children(self) -> list[int] | None:
        """Pids that its first thread started; None where the kernel does not list them."""
        text = self._children.read()
        return None if text is None else [int(pid) for pid in text.split()]

    def used(self) -> Used | None:
        """Its CPU time, by its clock: to the nanosecond, where `stat` has ticks of 10 ms."""
        if self.stat is None:
            return None
        try:
            own_ns = time.clock_gettime_ns(~self.pid << 3 | 2)  # clock_getcpuclockid(3)
        except OSError:
            return None
        tick_s = 1 / os.sysconf("SC_CLK_TCK")
        return Used(own_ns, round(self.stat.reaped_ticks * tick_s * 1e9), self.stat.started_ticks * tick_s)

    def close(self) -> None:
        """Close the files."""
        for each in (self._stat, self._children, self.io, self._ending):
            each.close()


class Tree:
    """The target's processes now."""

    def __init__(self, pid: int) -> None:
        self.root = Process(pid)
        self.members = {pid: self.root}
        self.lost = 0
        """How many are gone (ended, and were waited for) since the last refresh."""
        self.started: int | None = None
        """How many were added since the last refresh; None at the first, and where one could not be opened."""
        self.ended: list[str | None] = []
        """How those ended that did so since the last refresh, waited for or not: see `Process.ended_by`."""
        self.complete = True
        """False when a process is known to be there and could not be opened (EMFILE): sums would lack it."""
        self._since_scan_s = _SCANNED_EVERY_S
        self._refreshed = False

    def refresh(self, elapsed_s: float) -> None:
        """Drop processes that ended, add new ones. Parents are read before their children: `Cpu` relies on it."""
        ran = [process for process in self.members.values() if process.running]
        for process in self.members.values():
            process.refresh()
        self.ended = [process.ended_by() for process in ran if not process.running]
        gone = [process for process in self.members.values() if process.stat is None and process is not self.root]
        for process in gone:
            self.members.pop(process.pid).close()
        self.lost, there = len(gone), len(self.members)
        self.complete = not self.root.waits_for_fd
        self._since_scan_s += elapsed_s
        if self._since_scan_s >= _SCANNED_EVERY_S:
            self._since_scan_s = 0.0
            self._adopt_all()
        queue = list(self.members.values())
        for process in queue:
            queue += self._adopt(process.children or [])
        self.started = len(self.members) - there if self._refreshed and self.complete else None
        self._refreshed = not self.root.waits_for_fd

    def _adopt_all(self) -> None:
        """Children of all threads, or by a walk over all processes where the kernel lists no children."""
        if self.root.children is None:
            self._adopt(descendants(set(self.members), _parents()))
            return
        for pid in list(self.members):
            for thread in _listed(f"/proc/{pid}/task"):
                self._adopt(numbers(f"/proc/{pid}/task/{thread}/children"))

    def _adopt(self, pids: list[int]) -> list[Process]:
        """Those of `pids` that are new and could be opened."""
        new = []
        for pid in pids:
            if pid in self.members:
                continue
            process = Process(pid)
            if process.stat is None:
                process.close()
                self.complete = self.complete and not os.path.exists(f"/proc/{pid}")
                continue
            self.members[pid] = process
            new.append(process)
        return new

    def close(self) -> None:
        """Close all files."""
        for process in self.members.values():
            process.close()


class Cpu:
    """CPU time of a changing set of processes as growth: without jumps, and including processes that lived between two ticks.

    A child that is waited for adds its whole life's CPU time to its parent's `reaped` time. What it had used at the last tick is
    taken off; the rest is what it used since, or in all its life when it came and went between two ticks.
    """

    def __init__(self) -> None:
        self._before: dict[tuple[int, float], Used] | None = None
        self._before_s = 0.0
        self._owed_ns = 0
        """Of those that were found gone after their parent had been read: due in its reaped time at the next tick, no later."""

    def grown_ns(self, used: Mapping[int, Used], now_s: float) -> int | None:
        """Growth since the last call; None the first time. Keys are pids; `now_s` is since boot."""
        now = {(pid, each.started_s): each for pid, each in used.items()}  # a pid alone may be another's by now
        before, self._before = self._before, now
        before_s, self._before_s = self._before_s, now_s
        if before is None:
            return None
        own_ns = reaped_ns = 0
        for key, each in now.items():
            born = each.started_s >= before_s - _BORN_SLACK_S
            since = before.get(key, Used(0, 0, 0.0) if born else each)  # of an older one that is new to us nothing counts yet
            own_ns += each.own_ns - since.own_ns
            reaped_ns += each.reaped_ns - since.reaped_ns
        gone_ns = sum(each.own_ns + each.reaped_ns for key, each in before.items() if key not in now)
        counted_ns = min(reaped_ns, gone_ns + self._owed_ns)
        self._owed_ns = min(gone_ns, gone_ns + self._owed_ns - counted_ns)
        return own_ns + reaped_ns - counted_ns


def descendants(pids: set[int], parents: Mapping[int, int]) -> list[int]:
    """All below `pids`, parents before children; `parents` is pid to parent's pid."""
    below: list[int] = []
    found = set(pids)
    while generation := [pid for pid, parent in parents.items() if parent in found and pid not in found]:
        below += generation
        found.update(generation)
    return below


def _parents() -> dict[int, int]:
    stats = {int(name): parse.stat(read_once(f"/proc/{name}/stat")) for name in _listed("/proc") if name.isdigit()}
    return {pid: stat.parent for pid, stat in stats.items() if stat is not None}


def _listed(folder: str) -> list[str]:
    """Names in a folder; none when it is gone or cannot be opened."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
