"""The file name of a process's executable. Some bottlenecks apply only to certain interpreters (`gil_bound`)."""

from __future__ import annotations

import os
import sys


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
