"""Sleeps until a moment, exact to some microseconds. Timers of gevent's loop are only exact to milliseconds, to which epoll's
timeout is rounded up.

On Linux a timerfd wakes the loop; elsewhere, or where no descriptor is left, a timer of gevent does.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import time
from typing import Any

from gevent.event import Event
from gevent.hub import get_hub

_libc = ctypes.CDLL(None)
_CLOCK_MONOTONIC, _ABSOLUTE = 1, 1
_READABLE = 1
"""The event mask of gevent's loop for a readable descriptor."""


class _Setting(ctypes.Structure):
    """`struct itimerspec`: interval and first expiry, each in seconds and nanoseconds."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("every_s", "every_ns", "at_s", "at_ns"))


class Alarm:
    """One greenlet calls `wait_until`; others of the same thread end its wait by `ring`."""

    def __init__(self) -> None:
        self._rung = Event()
        self._descriptor = _timer_descriptor()
        self._watcher: Any = get_hub().loop.io(self._descriptor, _READABLE) if self._descriptor >= 0 else None

    def wait_until(self, at_s: float) -> None:
        """Sleep until this moment (`time.monotonic`; infinite: forever) or until `ring`. Returns at once if `ring` was called
        before.
        """
        if self._rung.is_set() or at_s <= time.monotonic():
            pass
        elif self._watcher is None or at_s == math.inf:
            self._rung.wait(None if at_s == math.inf else at_s - time.monotonic())
        else:
            self._set(at_s)
            get_hub().wait(self._watcher)
            with contextlib.suppress(BlockingIOError):
                os.read(self._descriptor, 8)
        self._rung.clear()

    def ring(self) -> None:
        """End the wait now."""
        self._rung.set()
        if self._watcher is not None:
            self._set(time.monotonic())

    def close(self) -> None:
        """Free the timer. Call it after the last wait."""
        if self._watcher is not None:
            self._watcher.close()
            os.close(self._descriptor)
            self._watcher = None

    def _set(self, at_s: float) -> None:
        whole_s = int(at_s)
        setting = _Setting(0, 0, whole_s, int((at_s - whole_s) * 1e9))
        _libc.timerfd_settime(self._descriptor, _ABSOLUTE, ctypes.byref(setting), None)


def _timer_descriptor() -> int:
    """A timerfd; -1 if there is none on this system or no descriptor is free."""
    try:
        return int(_libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC))
    except AttributeError:  # not on Linux
        return -1
