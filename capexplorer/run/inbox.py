"""Calls that other threads hand to one thread, which waits for them with a timeout. Native: no hub is needed, and none waits.

`SimpleQueue.get(timeout)` is not used: where a signal reaches the waiting thread after the timeout has passed, as SIGCONT does to
a process that was stopped, CPython 3.11 goes on waiting without any timeout. The pump then stood still for ever after `fg`.
"""

from __future__ import annotations

from _queue import Empty, SimpleQueue
from collections.abc import Callable

from ..load import native

Call = Callable[[], None]


class Inbox:
    """`put` from any thread, `take` from one."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Call] = SimpleQueue()
        self._news = native.allocate_lock()
        """Locked while nothing was put since the last `take`; waiting for it keeps its timeout even if signals arrive."""
        self._news.acquire()

    def put(self, call: Call) -> None:
        """Hand over `call`; never blocks."""
        self._calls.put(call)
        try:
            self._news.release()
        except RuntimeError:  # it is free already: the other thread has not looked yet
            return

    def take(self, timeout_s: float) -> Call | None:
        """The next call. Waits up to `timeout_s`; None if there was none, which may be returned early."""
        call = self._next()
        if call is not None or timeout_s <= 0:
            return call
        self._news.acquire(timeout=timeout_s)
        return self._next()

    def _next(self) -> Call | None:
        try:
            return self._calls.get_nowait()
        except Empty:
            return None
