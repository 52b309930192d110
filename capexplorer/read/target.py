"""Readings of the target: a process and its descendants here, by files that stay open, so that EMFILE does not end them.

A process is identified by its open files: reads fail when it has ended, even if another process has its pid. A process stays in
the tree until it ends, also if its parent ends first. If capexplorer started the target, its supervisor adopts orphans, such as
daemons that forked twice: they are found among its children, by the run that they have in their environment.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import struct
import sys
import time
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from ..model.readings import TargetReading
from ..procs.processes import Stat, descendants, run_of, stat_in, stats
from . import procfs
from .cgroup import cgroup_of
from .generator import PAGE_BYTES, cpus_allowed, disk_free_bytes, open_files, soft_limit_of_open_files
from .processes import ProcessNow, TreeNow, TreeSums
from .procfs import OUT_OF_FDS, KeptFile, Schedule, names_in, numbers

_THREADS_MOST = 512
"""Threads of a target whose files are kept open; fewer if that would take more than an eighth of this process's descriptors."""

_SCAN_EVERY_S = 3.0
"""Interval at which children of threads other than the first are looked for: a file per thread, or a walk over all processes,
costs too much for every tick."""

_SLOW_EVERY_S = 5.0
"""Seconds between readings of values that change slowly; reading them each second would add 60 bytes per second to the log."""

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class TargetProbe:
    """Reads one TargetReading per tick: of the process `pid` and its descendants. `port`: where it listens; None: unknown."""

    def __init__(self, pid: int, port: int | None = None) -> None:
        self.pid = pid
        self.port = port
        self._tree, self._sums = Tree(pid), TreeSums()
        self._cgroup = cgroup_of(pid)
        self._since_slow_s = _SLOW_EVERY_S

    @property
    def pids(self) -> Collection[int]:
        """Process ids of the tree, as of the latest reading."""
        return self._tree.members.keys()

    def read(self, elapsed_s: float, accept_queue: tuple[int, int | None] | None = None) -> TargetReading:
        """The tree over the last `elapsed_s`. `accept_queue`: connections that wait on its port, and how many may wait."""
        ended = self._tree.refresh(elapsed_s)
        found = self._sums.read(self._tree.now(), elapsed_s, self._cgroup.oom_kills())
        details = self._details(elapsed_s, accept_queue or (None, None)) if found.alive else {}
        endings = Counter(each for each in ended if each is not None)
        return msgspec.structs.replace(
            found, pid=self.pid, alive=self._tree.root_runs, ended_by=dict(sorted(endings.items())), **details
        )

    def _details(self, elapsed_s: float, accept_queue: tuple[int | None, int | None]) -> dict[str, Any]:
        self._since_slow_s += elapsed_s
        if is_due := self._since_slow_s >= _SLOW_EVERY_S:
            self._since_slow_s = 0.0
        return {
            **self._cgroup.ratios(elapsed_s),
            "cpus_allowed": cpus_allowed(self.pid),
            "memory_limit_bytes": self._cgroup.memory_limit_bytes() if is_due else None,
            "disk_free_bytes": disk_free_bytes(self.pid) if is_due else None,
            "listen_queue": accept_queue[0],
            "listen_backlog": accept_queue[1],
        }

    def close(self) -> None:
        """Close all files."""
        self._tree.close()
        self._cgroup.close()


class Threads:
    """The scheduling times of all threads of a changing set of processes."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], KeptFile] = {}
        self._most = min(_THREADS_MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 8)

    def read(self, counts: Mapping[int, int]) -> dict[tuple[int, int], Schedule]:
        """By pid and thread id; `counts`: number of threads by pid. Empty: there are too many to keep open, or they cannot be
        listed or opened."""
        there: set[tuple[int, int]] = set()
        for pid, count in counts.items():
            listed = self._listed(pid, count)
            if listed is None:
                return {}
            there |= listed
        for key in self._kept.keys() - there:
            self._kept.pop(key).close()
        if len(there) > self._most:
            return {}
        for pid, tid in there - self._kept.keys():
            self._kept[pid, tid] = KeptFile(f"/proc/{pid}/task/{tid}/schedstat")
        texts = {key: file.read() for key, file in self._kept.items()}
        if any(file.waits_for_fd for file in self._kept.values()):
            return {}
        for key in [key for key, text in texts.items() if text is None]:  # ended since it was listed
            self._kept.pop(key).close()
        return {key: found for key, text in texts.items() if (found := procfs.schedstat(text)) is not None}

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
        for file in self._kept.values():
            file.close()


class Process:
    """One process. `stat` is as of the last `refresh`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._stat = KeptFile(f"/proc/{pid}/stat")
        self._children = _children_file(pid)
        self._io = KeptFile(f"/proc/{pid}/io")
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
        return None if text is None else _pids(text)

    def now(self, stat: Stat) -> ProcessNow:
        """The rest that is read of it. CPU time by its clock in nanoseconds: `stat` has ticks of 10 ms."""
        own_ns = None
        with suppress(OSError):  # it has ended
            own_ns = time.clock_gettime_ns(~self.pid << 3 | 2)  # clock_getcpuclockid(3)
        io = procfs.colon_table(self._io.read())
        return ProcessNow(stat, own_ns, open_files(self.pid), soft_limit_of_open_files(self.pid), io)

    def close(self) -> None:
        """Close the files."""
        for each in (self._stat, self._children, self._io, self._ending):
            each.close()


class Tree:
    """The target's processes now, parents before their children."""

    def __init__(self, pid: int) -> None:
        self._root = Process(pid)
        self.members = {pid: self._root}
        self._run = run_of(pid)
        self._orphans = _children_file(self._root.stat.parent) if self._run and self._root.stat is not None else None
        """Children of the supervisor, if that started the target: orphans of the target, and other processes of capexplorer."""
        self._others: set[int] = set()
        """Those others, as of the last refresh."""
        self._threads = Threads()
        self._is_whole = True
        """False if a process of the tree could not be opened (EMFILE)."""
        self._since_scan_s = _SCAN_EVERY_S

    @property
    def root_runs(self) -> bool:
        """Whether its first process runs."""
        return os.path.exists(f"/proc/{self._root.pid}") if self._root.waits_for_fd else self._root.running

    def refresh(self, elapsed_s: float) -> list[str | None]:
        """Remove processes that ended, add new ones. Returns how those ended that ran at the last refresh; see
        `Process.ended_by`."""
        ran = [process for process in self.members.values() if process.running]
        for process in self.members.values():
            process.refresh()
        ended = [process.ended_by() for process in ran if not process.running]
        for process in [each for each in self.members.values() if each.stat is None and each is not self._root]:
            self.members.pop(process.pid).close()
        self._is_whole = not self._root.waits_for_fd
        self._since_scan_s += elapsed_s
        if self._since_scan_s >= _SCAN_EVERY_S:
            self._since_scan_s = 0.0
            self._adopt_all()
        self._adopt_orphans()
        queue = list(self.members.values())
        for process in queue:
            queue += self._adopt(process.children or [])
        return ended

    def _adopt_orphans(self) -> None:
        """Add children of the supervisor that have the run of the target."""
        there = {*_pids(self._orphans.read() if self._orphans is not None else None)} - self.members.keys()
        runs = {pid: run_of(pid) for pid in there - self._others}
        self._adopt([pid for pid, run in runs.items() if run == self._run])
        self._others = there - {pid for pid, run in runs.items() if run in (None, self._run)}

    def now(self) -> TreeNow:
        """What is read of its processes as of the last refresh."""
        boot_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        processes = {pid: each.now(each.stat) for pid, each in self.members.items() if each.stat is not None}
        threads = self._threads.read({pid: each.stat.threads for pid, each in processes.items() if not each.stat.has_ended})
        return TreeNow(boot_s, processes, threads, self._is_whole, _TICKS_PER_S, PAGE_BYTES)

    def _adopt_all(self) -> None:
        """Add children of all threads; where the kernel lists no children, by a walk over all processes."""
        if self._root.children is None:
            with suppress(OSError):
                self._adopt(descendants(set(self.members), {pid: each.parent for pid, each in stats().items()}))
            return
        for pid in list(self.members):
            for thread in names_in(f"/proc/{pid}/task"):
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
                self._is_whole = self._is_whole and not os.path.exists(f"/proc/{pid}")
                continue
            self.members[pid] = process
            new.append(process)
        return new

    def close(self) -> None:
        """Close all files."""
        for process in self.members.values():
            process.close()
        if self._orphans is not None:
            self._orphans.close()
        self._threads.close()


def _children_file(pid: int) -> KeptFile:
    """The file with the children of a process's first thread, which gets orphans, too."""
    return KeptFile(f"/proc/{pid}/task/{pid}/children")


def _pids(text: str | None) -> list[int]:
    return [int(pid) for pid in (text or "").split()]


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
