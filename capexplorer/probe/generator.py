"""Readings of the generator, which is this process, and of its threads. CPU ratios are in cores."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

from ..model.readings import GeneratorReading
from . import procfs
from .procfs import Growth, KeptFile, per_second
from .tree import Thread, core_share

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


def soft_limit_of_open_files(pid: int, otherwise: int | None) -> int | None:
    """The limit of a process, None if it is unlimited. Where the call is not permitted, as for nginx's workers, it is read from
    /proc, which takes a descriptor; `otherwise` is returned if that fails, too."""
    try:
        soft = resource.prlimit(pid, resource.RLIMIT_NOFILE)[0]
    except OSError:
        text = _limits(pid)
        return otherwise if text is None else procfs.soft_limit_of_open_files(text)
    return None if soft == resource.RLIM_INFINITY else soft


def _limits(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/limits").read_text()
    except OSError:
        return None


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


def own_limit_of_open_files() -> int | None:
    """The soft limit; None when there is none."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft


class GeneratorProbe:
    """Reads one GeneratorReading per tick. Threads are given by their native ids; None: there is no such thread."""

    def __init__(self, load_tid: int | None, screen_tid: int | None, pump_tid: int | None) -> None:
        self._load, self._screen, self._recorder = (
            Thread(f"/proc/self/task/{tid}/schedstat") if tid is not None else None for tid in (load_tid, screen_tid, pump_tid)
        )
        self._statm = KeptFile("/proc/self/statm")
        self._growth = Growth()

    def read(self, elapsed_s: float, lag_ms: tuple[float, float, float] | None = None) -> GeneratorReading:
        """The generator over the last `elapsed_s`. `lag_ms` is the loop lag that the load room measured: p50, p99, max."""
        load, screen, recorder = (each.read() if each else None for each in (self._load, self._screen, self._recorder))
        process_ns = self._growth("process", time.process_time_ns())
        rss_pages = procfs.statm_rss_pages(self._statm.read())
        lag_p50, lag_p99, lag_max = lag_ms or (None, None, None)
        return GeneratorReading(
            cpu_ratio=core_share(load, elapsed_s),
            run_delay_ratio=per_second(load.run_delay_ns, elapsed_s, 1e9) if load else None,
            screen_cpu_ratio=core_share(screen, elapsed_s),
            recorder_cpu_ratio=core_share(recorder, elapsed_s),
            process_cpu_ratio=per_second(process_ns, elapsed_s, 1e9),
            rss_bytes=None if rss_pages is None else rss_pages * PAGE_BYTES,
            fds=open_files("self"),
            fds_limit=own_limit_of_open_files(),
            loop_lag_p50_ms=lag_p50,
            loop_lag_p99_ms=lag_p99,
            loop_lag_max_ms=lag_max,
        )

    def close(self) -> None:
        """Close the files."""
        for each in (self._load, self._screen, self._recorder, self._statm):
            if each is not None:
                each.close()
