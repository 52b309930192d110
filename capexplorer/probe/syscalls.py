"""What one system call reports about a process. It needs no descriptor, so it works under EMFILE."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from . import parse

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def open_files(pid: int | str) -> int | None:
    """Open descriptors of a process. The folder's size is that number since Linux 6.2 (3 us, no descriptor); before, it is 0."""
    try:
        return os.stat(f"/proc/{pid}/fd").st_size or len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


def soft_limit_of_open_files(pid: int, otherwise: int | None) -> int | None:
    """Of a process, without a descriptor; where this process may not ask, such as of nginx's workers, from /proc, with one.
    `otherwise` where neither can be read. None when there is no limit."""
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
    """Cores that a process may run on; None where those are all, and when it is gone."""
    try:
        allowed = len(os.sched_getaffinity(pid))
    except OSError:
        return None
    return allowed if allowed < (os.cpu_count() or 0) else None


def disk_free_bytes(pid: int) -> int | None:
    """Room on the file system of a process's working folder; None when it is gone, or another user's."""
    try:
        room = os.statvfs(f"/proc/{pid}/cwd")
    except OSError:
        return None
    return room.f_bavail * room.f_frsize


def own_limit_of_open_files() -> int | None:
    """The soft limit; None when there is none."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft
