"""Whether a process of any user runs here; the check has no effect on the process."""

from __future__ import annotations

import os

from ..procs.stat import stat_of


def is_alive(pid: int) -> bool:
    """Also True for a process that we may not signal. False for a zombie: it has ended, even if no process ever waits for it.
    Where /proc is missing, a zombie counts as alive.
    """
    stat = stat_of(pid)
    return _takes_signals(pid) if stat is None else not stat.has_ended


def _takes_signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
