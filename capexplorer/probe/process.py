"""The generator (this process, a thread at a time) and the target (a whole process tree). CPU ratios are in cores."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Sequence

import msgspec

from ..model.readings import GeneratorReading, TargetReading
from . import parse
from .procfs import Growth, KeptFile, per_second
from .threads import Thread, Threads, core_share
from .tree import Cpu, Process, Tree

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class GeneratorProbe:
    """This process. Threads by their native ids; None for one that is not there."""

    def __init__(self, load_tid: int | None, screen_tid: int | None, recorder_tid: int | None) -> None:
        self._load, self._screen, self._recorder = (
            Thread(f"/proc/self/task/{tid}/schedstat") if tid is not None else None
            for tid in (load_tid, screen_tid, recorder_tid)
        )
        self._statm = KeptFile("/proc/self/statm")
        self._growth = Growth()

    def read(self, elapsed_s: float, lag_ms: tuple[float, float, float] | None = None) -> GeneratorReading:
        """The generator over the last `elapsed_s`. `lag_ms` is the loop lag that the load room measured: p50, p99, max."""
        load, screen, recorder = (each.read() if each else None for each in (self._load, self._screen, self._recorder))
        process_ns = self._growth("process", time.process_time_ns())
        rss_pages = parse.statm_rss_pages(self._statm.read())
        lag_p50, lag_p99, lag_max = lag_ms or (None, None, None)
        return GeneratorReading(
            cpu_ratio=core_share(load, elapsed_s),
            run_delay_ratio=per_second(load.run_delay_ns, elapsed_s, 1e9) if load else None,
            screen_cpu_ratio=core_share(screen, elapsed_s),
            recorder_cpu_ratio=core_share(recorder, elapsed_s),
            process_cpu_ratio=per_second(process_ns, elapsed_s, 1e9),
            rss_bytes=None if rss_pages is None else rss_pages * _PAGE_BYTES,
            fds=open_files("self"),
            fds_limit=own_limit_of_open_files(),
            loop_lag_p50_ms=lag_p50,
            loop_lag_p99_ms=lag_p99,
            loop_lag_max_ms=lag_max,
        )

    def close(self) -> None:
        """Give the files back."""
        for each in (self._load, self._screen, self._recorder, self._statm):
            if each is not None:
                each.close()


class TargetProbe:
    """A target: the process `pid` and all that descend from it. `port` is where it listens, if that is known."""

    def __init__(self, pid: int, port: int | None = None) -> None:
        self.pid = pid
        self.port = port
        self._tree = Tree(pid)
        self._limits = KeptFile(f"/proc/{pid}/limits")
        self._cpu = Cpu()
        self._threads = Threads()
        self._growth = Growth()
        self._lost_before = 0

    def read(self, elapsed_s: float, accept_queue: tuple[int, int] | None = None) -> TargetReading:
        """The tree over the last `elapsed_s`. `accept_queue`: connections that wait on its port, and how many may."""
        self._tree.refresh(elapsed_s)
        running = [process for process in self._tree.members.values() if process.running]
        if not running:
            return TargetReading(pid=self.pid, alive=False, processes=0)
        sums = self._sums(running, elapsed_s)
        queue, backlog = accept_queue or (None, None)
        return msgspec.structs.replace(
            sums if self._tree.complete else TargetReading(pid=self.pid),
            alive=self._tree.root.running,
            fds_limit=parse.soft_limit_of_open_files(self._limits.read()),
            listen_queue=queue,
            listen_backlog=backlog,
        )

    def _sums(self, running: Sequence[Process], elapsed_s: float) -> TargetReading:
        """What is summed over the tree: not to be told while a member could not be opened."""
        stats = [process.stat for process in running if process.stat is not None]
        threads = self._threads.read(process.pid for process in running)
        read_bytes, written_bytes = self._disk_bytes(running)
        return TargetReading(
            pid=self.pid,
            processes=len(stats),
            threads=sum(stat.threads for stat in stats),
            cpu_ratio=per_second(self._cpu_ns(threads or []), elapsed_s, 1e9),
            busiest_thread_ratio=core_share(max(threads, default=None), elapsed_s) if threads else None,
            run_delay_ratio=self._run_delay_ratio(running, elapsed_s),
            rss_bytes=sum(stat.rss_pages for stat in stats) * _PAGE_BYTES,
            fds=total([open_files(process.pid) for process in running]),
            read_bytes_per_s=per_second(read_bytes, elapsed_s),
            written_bytes_per_s=per_second(written_bytes, elapsed_s),
        )

    def _cpu_ns(self, threads: Sequence[parse.Schedule]) -> int | None:
        """CPU time of the tree, dead children included. Stale when it stands still while threads ran."""
        used = {process.pid: process.used() for process in self._tree.members.values()}
        measured = {pid: each for pid, each in used.items() if each is not None}
        grown = self._cpu.grown_ns(measured, time.clock_gettime(time.CLOCK_BOOTTIME)) if measured else None
        return None if grown == 0 and any(thread.slices for thread in threads) else grown

    def _run_delay_ratio(self, running: Sequence[Process], elapsed_s: float) -> float | None:
        """Of main threads."""
        delays = []
        for process in running:
            schedule = parse.schedstat(process.schedstat.read())
            delays.append(self._growth(("delay", process.pid), schedule.run_delay_ns if schedule else None))
        measured = [delay for delay in delays if delay is not None]
        return per_second(sum(measured), elapsed_s, 1e9) if measured else None

    def _disk_bytes(self, running: Sequence[Process]) -> tuple[int | None, int | None]:
        """Read from and written to storage. A parent inherits the counts of a child it waits for: None while any ends."""
        grown: list[list[int]] = [[], []]
        denied = False
        for process in running:
            now = parse.colon_table(process.io.read())
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
        """Give all files back."""
        for each in (self._tree, self._limits, self._threads):
            each.close()


def open_files(pid: int | str) -> int | None:
    """Open descriptors of a process. The folder's size tells since Linux 6.2 (3 us, no descriptor); before, it is 0."""
    try:
        return os.stat(f"/proc/{pid}/fd").st_size or len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


def own_limit_of_open_files() -> int | None:
    """The soft limit; None when there is none."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def total(each: Sequence[int | None]) -> int | None:
    """Their sum; None when one was not measured."""
    return sum(value for value in each if value is not None) if None not in each else None
