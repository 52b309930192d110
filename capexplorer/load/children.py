"""Child processes that user code starts: `subprocess`, `os.fork`, `multiprocessing` wait for them through the hub's loop.

gevent's own child watchers need an event loop in the main thread, where there is none here, and they reap every child of the
process, the supervisor included. The watchers here wait for one child each, by a pidfd, which becomes readable when its process
ends.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from gevent import config
from gevent.monkey import get_original

POLL_S = 0.02
"""Polling interval if there is no pidfd (not Linux, or no free descriptor)."""


class ChildWatcher:
    """Implements gevent's `child` watcher: sets `rpid` and `rstatus` before it calls the callback."""

    def __init__(self, loop: Any, pid: int, ref: bool) -> None:
        """`pid` 0: the next watched child that ends."""
        self.loop, self.pid = loop, pid
        self.rpid = self.rstatus = 0
        self._ref = ref
        self._pidfd: int | None = None
        self._event: Any = None
        self._call: Callable[[], object] | None = None

    def start(self, callback: Callable[..., object], *args: Any) -> None:
        """Call `callback(*args)` in the hub once the child has ended."""
        self._call = lambda: callback(*args)
        self.loop.watched.append(self)
        if self.pid:
            self._event = self._readable() or self.loop.timer(POLL_S, POLL_S, ref=self._ref)
            self._event.start(self._look)

    def _readable(self) -> Any:
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            return None
        return self.loop.io(self._pidfd, 1, ref=self._ref)

    def _look(self) -> None:
        try:
            ended, status = get_original("os", "waitpid")(self.pid, os.WNOHANG)
        except ChildProcessError:  # it was reaped elsewhere: as in the standard library, its status counts as 0
            ended, status = self.pid, 0
        if ended:
            for watcher in [each for each in self.loop.watched if each.pid in (self.pid, 0)]:
                watcher.child_ended(ended, status)

    def child_ended(self, pid: int, status: int) -> None:
        """The child has ended; `status` as `os.waitpid` gives it."""
        call, self.rpid, self.rstatus = self._call, pid, status
        self.stop()
        if call is not None:
            call()

    def stop(self) -> None:
        """Stop watching: the callback is not called any more."""
        self._call = None
        with contextlib.suppress(ValueError):
            self.loop.watched.remove(self)
        if self._event is not None:
            self._event.stop()
            self._event.close()
            self._event = None
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    close = stop

    def __enter__(self) -> ChildWatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class LoadLoop(config.loop):  # type: ignore[misc]
    """gevent's event loop for a native thread, with watchers of children."""

    def __new__(cls) -> LoadLoop:
        """Not libev's default loop, which is the main thread's: its constructor is C, and takes what `__new__` gets."""
        made: LoadLoop = super().__new__(cls, default=False)
        return made

    def __init__(self) -> None:
        super().__init__(default=False)
        self.watched: list[ChildWatcher] = []

    def child(self, pid: int, trace: int = 0, ref: bool = True) -> ChildWatcher:  # noqa: ARG002 - gevent's signature
        """A watcher of one child."""
        return ChildWatcher(self, pid, ref)

    def install_sigchld(self) -> None:
        """Does not install a SIGCHLD handler: pidfds need no signal."""
