"""A native thread of this process with a gevent hub of its own. Other threads post calls to it and get values back."""

from __future__ import annotations

import sys
from _queue import SimpleQueue
from _thread import get_native_id
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import gevent
from gevent.event import Event as HubEvent
from gevent.hub import set_hub

from .lag import LagMeter
from .native import allocate_lock, start_thread
from .user_code import LoadHub, UserErrors, place, place_in_user_code

T = TypeVar("T")

BEAT_S = 0.25


class HubThread:
    """Start once, call, stop once. `is_user` says whether a greenlet is a user's, so that its exceptions count as user errors."""

    def __init__(self, errors: UserErrors, is_user: Callable[[Any], bool]) -> None:
        self.lag = LagMeter(self._where_in_user_code)
        self.beats = 0
        """Grows four times a second while the hub runs."""
        self.ended_by: BaseException | None = None
        """The exception that ended the thread before it was stopped; None if there was none."""
        self.has_ended = False
        self.native_id: int | None = None
        """Thread id of the operating system, for CPU accounting."""
        self._python_id = 0
        self._errors, self._is_user = errors, is_user
        self._posted: deque[Callable[[], None]] = deque()
        self._wake: Any = None
        self._heartbeat: Any = None
        self._asked_to_end: HubEvent | None = None
        self._running = allocate_lock()
        """A lock held while the thread runs (`run/inbox.py` explains why it is not a queue)."""
        self._running.acquire()
        self._was_stopped = False

    # -- from any thread

    def start(self, at_end: Callable[[], None]) -> None:
        """Start the thread and wait for its hub. `at_end` runs in it when it is stopped."""
        ready: SimpleQueue[None] = SimpleQueue()
        start_thread(lambda: self._main(ready, at_end))
        ready.get()

    def stop(self, timeout_s: float) -> bool:
        """End the thread. False if that took longer than `timeout_s`, or `stop` was called before and the thread still runs."""
        if self._asked_to_end is None or self.has_ended:
            return True
        if self._was_stopped:
            return False
        self._was_stopped = True
        self.post(self._asked_to_end.set)
        return self._running.acquire(timeout=timeout_s)

    def post(self, body: Callable[[], None]) -> None:
        """Run `body` in a greenlet of the thread, soon."""
        self._posted.append(body)
        self._wake.send()

    def call(self, body: Callable[[], T]) -> T:
        """Run `body` in a greenlet of the thread and wait for its value or exception. Not from the thread itself.

        Raises RuntimeError if the thread has ended.
        """
        answers: list[tuple[T | None, BaseException | None]] = []
        waiting = allocate_lock()
        waiting.acquire()

        def run() -> None:
            try:
                answers.append((body(), None))
            except BaseException as error:  # noqa: BLE001 - handed over to the caller
                answers.append((None, error))
            waiting.release()

        self.post(run)
        while not waiting.acquire(timeout=1.0):
            if self.has_ended:
                raise RuntimeError("the load thread has ended") from self.ended_by
        value, error = answers[0]
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    def where(self) -> str:
        """`FILE:LINE in FUNCTION` that the thread executes now; empty when it has ended."""
        frame = sys._current_frames().get(self._python_id)
        return place(frame, frame.f_lineno) if frame is not None else ""

    def _where_in_user_code(self) -> str:
        """As `where`, of user code alone: empty while it runs none."""
        return place_in_user_code(sys._current_frames().get(self._python_id))

    # -- in the thread

    def _main(self, ready: SimpleQueue[None], at_end: Callable[[], None]) -> None:
        try:
            self._begin()
            ready.put(None)
            self._asked_to_end.wait()  # type: ignore[union-attr]
            at_end()
        except BaseException as error:  # noqa: BLE001 - the thread's boundary: `ended_by` shows it to other threads
            self.ended_by = error
        finally:
            self.has_ended = True
            self._running.release()

    def _begin(self) -> None:
        hub = LoadHub(self._errors, self._is_user)
        set_hub(hub)
        self.native_id, self._python_id = get_native_id(), hub.thread_ident
        self._asked_to_end = HubEvent()
        self._wake = hub.loop.async_()
        self._wake.start(self._run_posted)
        self._heartbeat = hub.loop.timer(BEAT_S, BEAT_S)
        self._heartbeat.start(self._beat)
        gevent.spawn(self.lag.run)

    def _beat(self) -> None:
        self.beats += 1

    def _run_posted(self) -> None:
        while self._posted:
            gevent.spawn(self._posted.popleft())
