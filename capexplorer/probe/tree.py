"""A process and its descendants, and the CPU time that they used.

A process is identified by its open files: reads fail when it has ended, even if another process has its pid. A process stays in
the tree until it ends, also if its parent ends first. What else is read of a process is the task of `target.py`.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from ..procs.processes import Stat, stat_in, stats
from . import procfs
from .procfs import OUT_OF_FDS, Growth, KeptFile, numbers, per_second

# -- threads -------------------------------------------------------------------------------------------------------------------
# Readings of threads from their schedstat: time on a core, time runnable but waiting for a core, number of time slices.
#
# A CPU time that does not grow although its thread ran is stale: it counts as not measured, not as zero.


_THREADS_MOST = 512
"""Threads of a target whose files are kept open; fewer if that would take more than an eighth of this process's descriptors."""


class Thread:
    """One thread, by its open schedstat file."""

    def __init__(self, path: str) -> None:
        self._file = KeptFile(path)
        self._growth = Growth()
        self.gone = False

    @property
    def waits_for_fd(self) -> bool:
        """Whether it could not be opened since no descriptor was left."""
        return self._file.waits_for_fd

    def read(self) -> procfs.Schedule | None:
        """Growth since the last call; None at the first call, and if the thread has ended or the value is stale."""
        text = self._file.read()
        self.gone = text is None
        now = procfs.schedstat(text) or (None, None, None)
        on_cpu_ns, run_delay_ns, slices = (self._growth(index, value) for index, value in enumerate(now))
        if on_cpu_ns is None or run_delay_ns is None or slices is None or (slices > 0 and on_cpu_ns == 0):
            return None
        return procfs.Schedule(on_cpu_ns, run_delay_ns, slices)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Threads:
    """All threads of a changing set of processes."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], Thread] = {}
        self._most = min(_THREADS_MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 8)

    def read(self, counts: Mapping[int, int]) -> list[procfs.Schedule] | None:
        """Growth of each thread that was there at the last call, too; `counts`: number of threads by pid.

        None: there are too many to keep open, or they cannot be listed or opened.
        """
        there: set[tuple[int, int]] = set()
        for pid, count in counts.items():
            listed = self._listed(pid, count)
            if listed is None:
                return None
            there |= listed
        for key in self._kept.keys() - there:
            self._kept.pop(key).close()
        if len(there) > self._most:
            return None
        for pid, tid in there - self._kept.keys():
            self._kept[pid, tid] = Thread(f"/proc/{pid}/task/{tid}/schedstat")
        grown = {key: thread.read() for key, thread in self._kept.items()}
        if any(thread.waits_for_fd for thread in self._kept.values()):
            return None
        for key in [key for key, thread in self._kept.items() if thread.gone]:  # ended since it was listed
            self._kept.pop(key).close()
        return [each for each in grown.values() if each is not None]

    def _listed(self, pid: int, count: int) -> set[tuple[int, int]] | None:
        """(pid, tid) of a process's threads. If no descriptor is left to list them, the open ones are used if their number is
        right."""
        try:
            return {(pid, int(tid)) for tid in os.listdir(f"/proc/{pid}/task")}
        except OSError as error:
            held = {key for key in self._kept if key[0] == pid}
            return held if error.errno in OUT_OF_FDS and len(held) == count else None

    def close(self) -> None:
        """Close all files."""
        for thread in self._kept.values():
            thread.close()


def core_share(thread: procfs.Schedule | None, elapsed_s: float) -> float | None:
    """Share of one core. A thread uses at most one; a larger value is jitter between two clocks."""
    share = per_second(thread.on_cpu_ns, elapsed_s, 1e9) if thread else None
    return None if share is None else min(share, 1.0)


# -- ending --------------------------------------------------------------------------------------------------------------------
# How a process that is not our child ended: by a signal, or with an exit code.
#
# After its parent has waited for it, a pidfd that was opened earlier gives the status (PIDFD_GET_INFO with PIDFD_INFO_EXIT, since
# Linux 6.15). Until then /proc/PID/stat gives it, on any kernel. Where neither works the status is None; it is never guessed.


_INFO = struct.Struct("=Q52xi")
"""struct pidfd_info, first version: mask, ids, exit_code."""
_GET_INFO = 3 << 30 | _INFO.size << 16 | 0xFF << 8 | 11
_EXIT = 1 << 3


class ProcessEnding:
    """How one process ended. To be created while the process runs."""

    def __init__(self, pid: int) -> None:
        self._fd: int | None = None
        try:
            self._fd = os.pidfd_open(pid)
        except (OSError, AttributeError):  # gone, EMFILE, or a C library without it
            pass

    def wait_status(self) -> int | None:
        """As waitpid returns it; None until the parent has waited for the process, and where the kernel does not report it."""
        if self._fd is None:
            return None
        info = bytearray(_INFO.pack(_EXIT, 0))
        try:
            fcntl.ioctl(self._fd, _GET_INFO, info, True)
        except OSError:
            return None
        mask, status = _INFO.unpack(info)
        return int(status) if mask & _EXIT else None

    def close(self) -> None:
        """Close the descriptor. May be called twice."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def described(wait_status: int) -> str:
    """`SIGKILL`, or `exit 1`."""
    if not os.WIFSIGNALED(wait_status):
        return f"exit {os.WEXITSTATUS(wait_status)}"
    number = os.WTERMSIG(wait_status)
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


_SCAN_EVERY_S = 3.0
"""Interval at which children of threads other than the first are looked for: a file per thread, or a walk over all processes,
costs too much for every tick."""

_START_TOLERANCE_S = 0.02
"""Start times are in clock ticks of 10 ms, rounded down."""


class Used(NamedTuple):
    """CPU time of a process: its own, and that of children that it has waited for. And when it started, in seconds since boot."""

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
        self._ending = ProcessEnding(pid)
        self.stat: Stat | None = None
        self.refresh()

    def refresh(self) -> None:
        """Read `stat`; it is None if the process has ended and its parent has waited for it."""
        self.stat = stat_in(self._stat.read())

    @property
    def running(self) -> bool:
        """Whether it has not ended; a zombie has."""
        return self.stat is not None and not self.stat.has_ended

    @property
    def waits_for_fd(self) -> bool:
        """Whether it could not be opened since no descriptor was left."""
        return self._stat.waits_for_fd

    def ended_by(self) -> str | None:
        """`SIGKILL` or `exit 1`, of a process that has ended; None if that is unknown."""
        status = self._ending.wait_status()
        if status is None and self.stat is not None:
            status = self.stat.wait_status or None  # 0 is also shown to processes without permission
        return None if status is None else described(status)

    @property
    def children(self) -> list[int] | None:
        """Pids that its first thread started; None where the kernel does not list them."""
        text = self._children.read()
        return None if text is None else [int(pid) for pid in text.split()]

    def used(self) -> Used | None:
        """Its CPU time, by its CPU-time clock in nanoseconds: `stat` has ticks of 10 ms. None if it has ended."""
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
        """How many were removed at the last refresh: they ended, and their parent waited for them."""
        self.started: int | None = None
        """How many were added at the last refresh; None at the first, and if one could not be opened."""
        self.ended: list[str | None] = []
        """How those processes ended which the last refresh found ended; see `Process.ended_by`."""
        self.complete = True
        """False if a process of the tree could not be opened (EMFILE): sums would lack it."""
        self._since_scan_s = _SCAN_EVERY_S
        self._refreshed = False

    def refresh(self, elapsed_s: float) -> None:
        """Remove processes that ended, add new ones. Parents are read before their children: `Cpu` relies on that order."""
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
        if self._since_scan_s >= _SCAN_EVERY_S:
            self._since_scan_s = 0.0
            self._adopt_all()
        queue = list(self.members.values())
        for process in queue:
            queue += self._adopt(process.children or [])
        self.started = len(self.members) - there if self._refreshed and self.complete else None
        self._refreshed = not self.root.waits_for_fd

    def _adopt_all(self) -> None:
        """Add children of all threads; where the kernel lists no children, by a walk over all processes."""
        if self.root.children is None:
            self._adopt(descendants(set(self.members), _parents()))
            return
        for pid in list(self.members):
            for thread in _listed(f"/proc/{pid}/task"):
                self._adopt(numbers(f"/proc/{pid}/task/{thread}/children"))

    def _adopt(self, pids: list[int]) -> list[Process]:
        """Add the processes of `pids` that are new; returns those that could be opened."""
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
    """Growth of the CPU time of a changing set of processes, including those that began and ended between two ticks.

    When a parent waits for a child, all of the child's CPU time is added to the parent's `reaped_ns`. What the child had used at
    the last tick was counted then and is subtracted; the rest is what it used since, or all of it if it began after the last
    tick.
    """

    def __init__(self) -> None:
        self._before: dict[tuple[int, float], Used] | None = None
        self._before_s = 0.0
        self._owed_ns = 0
        """CPU time to subtract at the next tick: of processes that ended after their parent had been read, whose `reaped_ns` will
        include it by then."""

    def grown_ns(self, used: Mapping[int, Used], now_s: float) -> int | None:
        """Growth since the last call; None the first time. Keys are pids; `now_s` is since boot."""
        now = {(pid, each.started_s): each for pid, each in used.items()}  # a pid may be reused by another process
        before, self._before = self._before, now
        before_s, self._before_s = self._before_s, now_s
        if before is None:
            return None
        own_ns = reaped_ns = 0
        for key, each in now.items():
            is_new = each.started_s >= before_s - _START_TOLERANCE_S
            since = before.get(key, Used(0, 0, 0.0) if is_new else each)  # an older one that was just found counts from now on
            own_ns += each.own_ns - since.own_ns
            reaped_ns += each.reaped_ns - since.reaped_ns
        gone_ns = sum(each.own_ns + each.reaped_ns for key, each in before.items() if key not in now)
        counted_ns = min(reaped_ns, gone_ns + self._owed_ns)
        self._owed_ns = min(gone_ns, gone_ns + self._owed_ns - counted_ns)
        return own_ns + reaped_ns - counted_ns


def descendants(pids: set[int], parents: Mapping[int, int]) -> list[int]:
    """All descendants of `pids`, parents before children; `parents`: parent's pid by pid."""
    below: list[int] = []
    found = set(pids)
    while generation := [pid for pid, parent in parents.items() if parent in found and pid not in found]:
        below += generation
        found.update(generation)
    return below


def _parents() -> dict[int, int]:
    with suppress(OSError):
        return {pid: each.parent for pid, each in stats().items()}
    return {}


def _listed(folder: str) -> list[str]:
    """Names in a folder; empty if it is gone or cannot be opened."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


# -- program -------------------------------------------------------------------------------------------------------------------
# The file name of a process's executable. Some bottlenecks apply only to certain interpreters (`gil_bound`).


def program_of(pid: int) -> str | None:
    """Such as `python3.11` or `nginx`; None if the process has ended, or is another user's."""
    path = _executable(pid)
    return os.path.basename(path.removesuffix(" (deleted)")) or None if path else None


def _executable(pid: int) -> str | None:
    if sys.platform == "linux":
        try:
            return os.readlink(f"/proc/{pid}/exe")
        except OSError:
            return None
    import psutil

    try:
        return str(psutil.Process(pid).exe())
    except (psutil.Error, OSError):
        return None
