"""Arrivals meet idle users: who runs which, what queues, and what is dropped and why. Pure: times are passed in.

Every change goes to `record` as one entry (see `ledger`) that keeps planned = finished + failed + dropped + queued + running.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Literal

from .iteration import Iteration, Seat
from .ledger import Entry

QUEUE_S = 1.0
QUEUE_LEAST = 10
"""An iteration for which no user is free queues while fewer than a second's arrivals do (at least ten): what comes back from a
stall that short is delayed, not lost. Beyond that it is dropped, so that an overload takes no memory and ends soon after."""

LATE_MOST_S = 1.0
"""An arrival that the load thread handles later than this, with no user free, was dropped for that reason."""

TASKS = 20
"""Tasks whose mean time is one measurement of the task time."""

Reason = Literal["max_users", "target", "starting", "late"]


class Dispatch:
    """`arrive` and `park` in any order, `ended` or `abandoned` for each iteration that a user got."""

    def __init__(self, record: Callable[[Entry], None], wake: Callable[[Seat], None]) -> None:
        """`wake`: let the user of a seat run its iteration, soon."""
        self.offered_per_s = 0.0
        self.max_users = 0
        self.users: Callable[[], int] = lambda: 0
        """Users of the pool, those that are starting included."""
        self.running: dict[str, int] = {}
        """Iterations that run, by user class."""
        self.idle: dict[str, dict[Seat, None]] = {}
        """By user class; the one that became idle last is the next, so that few connections do most of the work."""
        self._record_entry, self._wake = record, wake
        self._under_way: set[Iteration] = set()
        self._queues: dict[str, deque[Iteration]] = {}
        self._queued = 0
        self._least_task_s = math.inf
        self._tasks, self._task_sum_s = 0, 0.0

    @property
    def queued(self) -> int:
        """Iterations that wait for a user."""
        return self._queued

    @property
    def in_flight(self) -> int:
        """Iterations that queue or run, counted one by one."""
        return sum(map(len, self._queues.values())) + len(self._under_way)

    def _record(self, what: str, seconds: float = 0.0) -> None:
        self._record_entry((what, seconds, self.in_flight))

    def queued_of(self, kind: str) -> int:
        """Those of one user class."""
        return len(self._queues.get(kind, ()))

    # -- arrivals

    def arrive(self, planned_s: float, now_s: float, kind: str) -> None:
        """An iteration was due at `planned_s`."""
        iteration, late_s = Iteration(planned_s, kind), max(0.0, now_s - planned_s)
        seats = self.idle.get(kind)
        if seats:
            seat, _ = seats.popitem()
            self._start(iteration, now_s)
            self._record("started", late_s)
            seat.iteration = iteration
            self._wake(seat)
        elif self._queued < max(QUEUE_LEAST, self.offered_per_s * QUEUE_S) and late_s < LATE_MOST_S:
            self._queues.setdefault(kind, deque()).append(iteration)
            self._queued += 1
            self._record("queued", late_s)
        else:
            self._record(self._why(late_s), late_s)

    def _why(self, late_s: float) -> Reason:
        """Why no user is free for so long."""
        if late_s >= LATE_MOST_S:
            return "late"
        if self.users() < self.max_users or sum(self.running.values()) < self.max_users:
            return "starting"
        needed = self.offered_per_s * self._least_task_s  # Little's law
        return "max_users" if self.max_users < needed < math.inf else "target"

    # -- users

    def park(self, seat: Seat, now_s: float) -> Iteration | None:
        """A user is idle: the iteration that it runs at once, or None and it is kept until one arrives."""
        queue = self._queues.get(seat.kind)
        if not queue:
            self.idle.setdefault(seat.kind, {})[seat] = None
            return None
        iteration = queue.popleft()
        self._queued -= 1
        self._start(iteration, now_s)
        self._record("dequeued")
        return iteration

    def _start(self, iteration: Iteration, now_s: float) -> None:
        iteration.started_s = now_s
        self.running[iteration.kind] = self.running.get(iteration.kind, 0) + 1
        self._under_way.add(iteration)

    def left(self, seat: Seat) -> None:
        """A user has ended while it was idle, or before it began what it had got."""
        if seat.iteration is not None:
            self.abandoned(seat.iteration)
        else:
            self.idle.get(seat.kind, {}).pop(seat, None)

    def ended(self, iteration: Iteration, now_s: float) -> None:
        """Its task has ended."""
        self.running[iteration.kind] -= 1
        self._under_way.discard(iteration)
        if iteration.failed:
            self._record("failed")
            return
        self._record("finished", now_s - iteration.planned_s)
        self._tasks += 1
        self._task_sum_s += now_s - iteration.started_s
        if self._tasks == TASKS:
            self._least_task_s = min(self._least_task_s, self._task_sum_s / TASKS)
            self._tasks, self._task_sum_s = 0, 0.0

    def abandoned(self, iteration: Iteration) -> None:
        """Its user has ended before its task did."""
        self.running[iteration.kind] -= 1
        self._under_way.discard(iteration)
        self._record("abandoned")

    # -- the end of a rate

    def clear(self) -> list[Seat]:
        """No rate is offered any more: what queues is dropped. The idle users."""
        for queue in self._queues.values():
            while queue:
                queue.popleft()
                self._queued -= 1
                self._record("unqueued")
        seats = [seat for seats in self.idle.values() for seat in seats]
        self.idle.clear()
        return seats
