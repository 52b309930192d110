"""Readings of the generator, which is this process, and of its threads. CPU ratios are in cores."""

from __future__ import annotations

import os
import resource
import time

from ..model.readings import GeneratorReading
from . import procfs
from .machine import fds_limit
from .processes import Schedules, core_share
from .procfs import Growth, KeptFile, per_second, read_once

# -- syscalls ------------------------------------------------------------------------------------------------------------------
# Readings of a process by one system call each. They need no descriptor, so they work under EMFILE.


PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def open_files(pid: int | str) -> int | None:
    """Open descriptors of a process. Since Linux 6.2 the size of /proc/PID/fd is that number (3 us, no descriptor); before, it is
    0."""
    try:
        return os.stat(f"/proc/{pid}/fd").st_size or len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


def soft_limit_of_open_files(pid: int) -> int | None:
    """The limit of a process, None if it is unlimited. Where the call is not permitted, as for nginx's workers, it is read from
    /proc, which takes a descriptor."""
    try:
        soft = resource.prlimit(pid, resource.RLIMIT_NOFILE)[0]
    except OSError:
        return procfs.soft_limit_of_open_files(read_once(f"/proc/{pid}/limits"))
    return None if soft == resource.RLIM_INFINITY else soft


def cpus_allowed(pid: int) -> int | None:
    """Cores that a process may run on; None if it may use all of them, or has ended."""
    try:
        allowed = len(os.sched_getaffinity(pid))
    except OSError:
        return None
    return allowed if allowed < (os.cpu_count() or 0) else None


def disk_free_bytes(pid: int) -> int | None:
    """Free space on the file system of a process's working folder; None if it has ended, or is another user's."""
    try:
        found = os.statvfs(f"/proc/{pid}/cwd")
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


class GeneratorProbe:
    """Reads one GeneratorReading per tick. Threads are given by their native ids; None: there is no such thread."""

    def __init__(self, load_tid: int | None, screen_tid: int | None, pump_tid: int | None) -> None:
        tids = {"load": load_tid, "screen": screen_tid, "recorder": pump_tid}
        self._threads = {name: KeptFile(f"/proc/self/task/{tid}/schedstat") for name, tid in tids.items() if tid is not None}
        self._schedules = Schedules()
        self._statm = KeptFile("/proc/self/statm")
        self._growth = Growth()

    def read(self, elapsed_s: float) -> GeneratorReading:
        """The generator over the last `elapsed_s`, without its loop lag, which the load thread measures."""
        read = {name: procfs.schedstat(file.read()) for name, file in self._threads.items()}
        grown = self._schedules.grown({name: each for name, each in read.items() if each is not None})
        load = grown.get("load")
        process_ns = self._growth("process", time.process_time_ns())
        rss_pages = procfs.statm_rss_pages(self._statm.read())
        return GeneratorReading(
            cpu_ratio=core_share(load, elapsed_s),
            run_delay_ratio=per_second(load.run_delay_ns, elapsed_s, 1e9) if load else None,
            screen_cpu_ratio=core_share(grown.get("screen"), elapsed_s),
            recorder_cpu_ratio=core_share(grown.get("recorder"), elapsed_s),
            process_cpu_ratio=per_second(process_ns, elapsed_s, 1e9),
            rss_bytes=None if rss_pages is None else rss_pages * PAGE_BYTES,
            fds=open_files("self"),
            fds_limit=fds_limit(),
        )

    def close(self) -> None:
        """Close the files."""
        for each in (*self._threads.values(), self._statm):
            each.close()
