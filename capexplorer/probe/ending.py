"""How a process that is not our child ended: by a signal, or with an exit code.

After its parent has waited for it, a pidfd that was opened earlier gives the status (PIDFD_GET_INFO with PIDFD_INFO_EXIT, since
Linux 6.15). Until then /proc/PID/stat gives it, on any kernel. Where neither works the status is None; it is never guessed.
"""

from __future__ import annotations

import fcntl
import os
import signal
import struct

_INFO = struct.Struct("=Q52xi")
"""struct pidfd_info, first version: mask, ids, exit_code."""
_GET_INFO = 3 << 30 | _INFO.size << 16 | 0xFF << 8 | 11
_EXIT = 1 << 3


class ProcessEnding:
    """How one process ended. To be created while the process runs."""

    def __init__(self, pid: int) -> None:
        self._fd: int | None = None
        try:
            self._fd = os.pidfd_open(pid)
        except (OSError, AttributeError):  # gone, EMFILE, or a C library without it
            pass

    def wait_status(self) -> int | None:
        """As waitpid returns it; None until the parent has waited for the process, and where the kernel does not report it."""
        if self._fd is None:
            return None
        info = bytearray(_INFO.pack(_EXIT, 0))
        try:
            fcntl.ioctl(self._fd, _GET_INFO, info, True)
        except OSError:
            return None
        mask, status = _INFO.unpack(info)
        return int(status) if mask & _EXIT else None

    def close(self) -> None:
        """Close the descriptor. May be called twice."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def described(wait_status: int) -> str:
    """`SIGKILL`, or `exit 1`."""
    if not os.WIFSIGNALED(wait_status):
        return f"exit {os.WEXITSTATUS(wait_status)}"
    number = os.WTERMSIG(wait_status)
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
