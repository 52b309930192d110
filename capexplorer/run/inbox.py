"""A queue of calls from other threads to one thread, which waits with a timeout. Uses native locks, so no gevent hub is involved.

`SimpleQueue.get(timeout)` is not used: where a signal reaches the waiting thread after the timeout has passed, as SIGCONT does to
a process that was stopped, CPython 3.11 goes on waiting without any timeout. The pump then hung forever after `fg`.
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
        """Locked while no call was put since the last `take`. A wait for this lock keeps its timeout even if signals arrive."""
        self._news.acquire()

    def put(self, call: Call) -> None:
        """Hand over `call`; never blocks."""
        self._calls.put(call)
        try:
            self._news.release()
        except RuntimeError:  # already released: the other thread has not taken it yet
            return

    def take(self, timeout_s: float) -> Call | None:
        """The next call, waiting up to `timeout_s`; None if there was none, possibly before the timeout."""
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
