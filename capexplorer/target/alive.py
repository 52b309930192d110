"""Whether a process of any user runs here: the kernel answers that without any effect on the process."""

from __future__ import annotations

import os


def is_alive(pid: int) -> bool:
    """Also True for a process that we may not signal, and for a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
