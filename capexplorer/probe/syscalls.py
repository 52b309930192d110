"""Readings of a process by one system call each. They need no descriptor, so they work under EMFILE."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from . import parse

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
        return otherwise if text is None else parse.soft_limit_of_open_files(text)
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
