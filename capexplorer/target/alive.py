"""Whether a process of any user runs here; the check has no effect on the process."""

from __future__ import annotations

import os
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Also True for a process that we may not signal. False for a zombie: it has ended, even if no process ever waits for it.
    Where /proc is missing, a zombie counts as alive.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _takes_signals(pid)
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def _takes_signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
