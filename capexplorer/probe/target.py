"""Readings of the target: a process and its descendants. CPU ratios are in cores. A sum is None if one process cannot be read."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Collection, Sequence

import msgspec

from ..model.readings import TargetReading
from . import procfs
from .cgroup import cgroup_of
from .generator import PAGE_BYTES, cpus_allowed, disk_free_bytes, open_files, soft_limit_of_open_files
from .procfs import Growth, KeptFile, complete_sum, per_second
from .tree import Cpu, Process, Threads, Tree, core_share

_SLOW_EVERY_S = 5.0
"""Seconds between readings of values that change slowly; reading them each second would add 60 bytes per second to the log."""

_COUNTERS = frozenset(("major_faults_per_s", "oom_kills", "processes_started", "processes_ended"))


class TargetProbe:
    """Reads one TargetReading per tick: of the process `pid` and its descendants. `port`: where it listens; None: unknown."""

    def __init__(self, pid: int, port: int | None = None) -> None:
        self.pid = pid
        self.port = port
        self._tree = Tree(pid)
        self._limits = KeptFile(f"/proc/{pid}/limits")
        self._cgroup = cgroup_of(pid)
        self._cpu = Cpu()
        self._threads = Threads()
        self._growth = Growth()
        self._lost_before = 0
        self._since_slow_s = _SLOW_EVERY_S

    @property
    def pids(self) -> Collection[int]:
        """Process ids of the tree, as of the latest reading."""
        return self._tree.members.keys()

    def read(self, elapsed_s: float, accept_queue: tuple[int, int | None] | None = None) -> TargetReading:
        """The tree over the last `elapsed_s`. `accept_queue`: connections that wait on its port, and how many may wait."""
        self._tree.refresh(elapsed_s)
        counters = self._counters(elapsed_s)
        running = [process for process in self._tree.members.values() if process.running]
        if self._tree.root.waits_for_fd:
            found = TargetReading(pid=self.pid, alive=os.path.exists(f"/proc/{self.pid}"))
        elif not running:
            found = TargetReading(pid=self.pid, alive=False, processes=0)
        else:
            found = self._running(running, elapsed_s, accept_queue or (None, None))
        known = {name: value for name, value in counters.items() if value is not None}
        return msgspec.structs.replace(
            found, ended_by=_counted(self._tree.ended), unread=tuple(sorted(_COUNTERS - known.keys())), **known
        )

    def _counters(self, elapsed_s: float) -> dict[str, float | None]:
        """Growth since the last call; None where it was not measured."""
        stats = {process.pid: process.stat for process in self._tree.members.values() if process.stat and process.running}
        faults = [self._growth(("faults", pid), stat.major_faults) for pid, stat in stats.items()]
        known = [growth for growth in faults if growth is not None] or ([] if faults else [0])
        faults_per_s = per_second(sum(known), elapsed_s) if known and self._tree.complete else None
        return {
            "major_faults_per_s": faults_per_s,
            "oom_kills": self._cgroup.oom_kills(),
            "processes_started": self._tree.started,
            "processes_ended": None if self._tree.root.waits_for_fd else len(self._tree.ended),
        }

    def _running(
        self, running: Sequence[Process], elapsed_s: float, accept_queue: tuple[int | None, int | None]
    ) -> TargetReading:
        fullest, limit = self._fullest(running)
        queue, backlog = accept_queue
        memory_limit, disk_free = self._memory_limit_and_free_disk(elapsed_s)
        return msgspec.structs.replace(
            self._sums(running, elapsed_s) if self._tree.complete else TargetReading(pid=self.pid),
            alive=self._tree.root.running,
            cpus_allowed=cpus_allowed(self.pid),
            throttled_ratio=self._cgroup.throttled_ratio(elapsed_s),
            cpu_pressure_ratio=self._cgroup.pressure_ratio("cpu", elapsed_s),
            memory_pressure_ratio=self._cgroup.pressure_ratio("memory", elapsed_s),
            memory_limit_bytes=memory_limit,
            disk_free_bytes=disk_free,
            fds_fullest=fullest if self._tree.complete else None,
            fds_limit=limit,
            listen_queue=queue,
            listen_backlog=backlog,
        )

    def _memory_limit_and_free_disk(self, elapsed_s: float) -> tuple[int | None, int | None]:
        """Both in bytes, every `_SLOW_EVERY_S`; None in between."""
        self._since_slow_s += elapsed_s
        if self._since_slow_s < _SLOW_EVERY_S:
            return None, None
        self._since_slow_s = 0.0
        return self._cgroup.memory_limit_bytes(), disk_free_bytes(self.pid)

    def _fullest(self, running: Sequence[Process]) -> tuple[int | None, int | None]:
        """(open files, limit) of the process nearest to its limit. The root's limit stands for one that may not be read."""
        root_limit = procfs.soft_limit_of_open_files(self._limits.read())
        each = [(open_files(process.pid), soft_limit_of_open_files(process.pid, root_limit)) for process in running]
        known = [(fds, limit) for fds, limit in each if fds is not None]
        if len(known) < len(each):
            return None, root_limit
        return max(known, key=lambda pair: (pair[0] / pair[1] if pair[1] else 0.0, pair[0]))

    def _sums(self, running: Sequence[Process], elapsed_s: float) -> TargetReading:
        """Sums over the tree; None while a process of it could not be opened."""
        stats = [process.stat for process in running if process.stat is not None]
        threads = self._threads.read({process.pid: process.stat.threads for process in running if process.stat is not None})
        read_bytes, written_bytes = self._disk_bytes(running)
        return TargetReading(
            pid=self.pid,
            processes=len(stats),
            threads=sum(stat.threads for stat in stats),
            cpu_ratio=per_second(self._cpu_ns(threads or []), elapsed_s, 1e9),
            busiest_thread_ratio=core_share(max(threads, default=None), elapsed_s) if threads else None,
            run_delay_ratio=per_second(sum(thread.run_delay_ns for thread in threads), elapsed_s, 1e9) if threads else None,
            rss_bytes=sum(stat.rss_pages for stat in stats) * PAGE_BYTES,
            fds=complete_sum([open_files(process.pid) for process in running]),
            read_bytes_per_s=per_second(read_bytes, elapsed_s),
            written_bytes_per_s=per_second(written_bytes, elapsed_s),
        )

    def _cpu_ns(self, threads: Sequence[procfs.Schedule]) -> int | None:
        """CPU time of the tree, including ended children; None if it is stale: it does not grow although threads ran."""
        used = {process.pid: process.used() for process in self._tree.members.values()}
        measured = {pid: each for pid, each in used.items() if each is not None}
        grown = self._cpu.grown_ns(measured, time.clock_gettime(time.CLOCK_BOOTTIME)) if measured else None
        return None if grown == 0 and any(thread.slices for thread in threads) else grown

    def _disk_bytes(self, running: Sequence[Process]) -> tuple[int | None, int | None]:
        """(read from, written to) storage. None in a tick in which a child ends, and in the next: its parent inherits its
        counts."""
        grown: list[list[int]] = [[], []]
        denied = False
        for process in running:
            now = procfs.colon_table(process.io.read())
            for index, name in enumerate(("read_bytes", "write_bytes")):
                denied = denied or name not in now
                growth = self._growth((name, process.pid), now.get(name))
                grown[index] += [] if growth is None else [growth]
        settled = not self._tree.lost and not self._lost_before
        self._lost_before = self._tree.lost
        if denied or not settled or not grown[0]:
            return None, None
        return sum(grown[0]), sum(grown[1])

    def close(self) -> None:
        """Close all files."""
        for each in (self._tree, self._limits, self._cgroup, self._threads):
            each.close()


def _counted(endings: Sequence[str | None]) -> dict[str, int]:
    """Number of processes by how they ended, where that is known."""
    return dict(sorted(Counter(ending for ending in endings if ending is not None).items()))
