"""The users' activity besides requests: waits between tasks, sleeps and time inside tasks, and how many users are warm.

The load thread adds up, the recorder's thread drains. Per-user state (`user_cycle`) is an attribute of the user's greenlet.
"""

from __future__ import annotations

import time
from collections.abc import Container
from dataclasses import astuple, dataclass

from gevent import getcurrent
from gevent.event import Event

from .user_cycle import UserCycle


@dataclass(slots=True)
class ActivitySums:
    """Sums over a tick, or since the beginning."""

    waits: int = 0
    """Waits between two tasks."""
    wait_sum_s: float = 0.0
    sleeps: int = 0
    """Pauses between two requests in which user code slept."""
    sleep_sum_s: float = 0.0
    tasks: int = 0
    """Tasks that ended."""
    task_sum_s: float = 0.0
    """Sum of their durations, requests and sleeps included."""
    users_stopped: int = 0
    """Users that stopped themselves (StopUser)."""


class UserActivity:
    """`drain` and `warm_users` are called in the recorder's thread, all others in the load thread."""

    def __init__(self, greenlets: Container[object] = ()) -> None:
        self.greenlets = greenlets
        """The greenlets of the users: the runner's gevent Group."""
        self._sums, self._drained = ActivitySums(), ActivitySums()
        self.ended = Event()
        """Set where a user has ended by itself."""
        self.successors = 0
        """Users that have stopped themselves inside a task and are about to be replaced: flows follow each other at once, so
        they count as running and warm."""

    def on_task(self) -> float:
        """A task begins; returns its start (`time.monotonic`)."""
        cycle, now_s = self._cycle(), time.monotonic()
        if cycle is not None:
            cycle.task_begins(now_s)
        return now_s

    def on_task_end(self, began_s: float) -> None:
        """A task that began at `began_s` has ended."""
        self._sums.tasks += 1
        self._sums.task_sum_s += time.monotonic() - began_s

    def on_user_end(self) -> None:
        """The user whose greenlet runs now ends. If it has stopped itself inside a task, its whole flow is a cycle, and whoever
        replaces it is warm from the start.
        """
        greenlet = getcurrent()
        if not getattr(greenlet, "has_stopped", False):
            return
        self._sums.users_stopped += 1
        cycle: UserCycle | None = getattr(greenlet, "user_cycle", None)
        if cycle is not None and cycle.has_begun:
            greenlet.user_cycle = None  # it does not count beside its successor
            self.successors += 1
            self.ended.set()

    def on_idle(self) -> None:
        """A user of a rate level waits for an arrival. Its requests count from now on, since arrivals do not start all new
        users at once.
        """
        cycle = self._cycle()
        if cycle is not None:
            cycle.waits()

    def on_wait(self, seconds: float) -> None:
        """A user waits: its first cycle has ended, and its requests count from now on."""
        cycle = self._cycle()
        if cycle is not None:
            cycle.waits()
        self._sums.waits += 1
        self._sums.wait_sum_s += seconds

    def on_sleep(self, seconds: object) -> None:
        """A greenlet sleeps; `seconds` may be any value that user code passes. Only users' sleeps are think time."""
        cycle = self._cycle()
        if cycle is not None and isinstance(seconds, int | float) and seconds > 0:
            cycle.sleeps(time.monotonic(), seconds)

    def on_request(self, response_ms: float) -> bool:
        """A request ends. Returns whether it counts in figures; False: it is a new user's warm-up."""
        cycle = self._cycle()
        if cycle is None or (cycle.is_warm and not cycle.slept_s):
            return True
        now_s, response_s = time.monotonic(), response_ms / 1000
        if cycle.slept_s:
            self._sums.sleeps += 1
            self._sums.sleep_sum_s += cycle.think_s(now_s, response_s)
        return cycle.is_warm or cycle.warms_up(now_s, response_s)

    def _cycle(self) -> UserCycle | None:
        """The cycle of the user whose greenlet runs now; None in other greenlets, such as those that a user spawned."""
        greenlet = getcurrent()
        cycle: UserCycle | None = getattr(greenlet, "user_cycle", None)
        if cycle is None and greenlet in self.greenlets:
            cycle = greenlet.user_cycle = UserCycle()
        return cycle

    def drain(self) -> ActivitySums:
        """The sums since the last call. Additions of the load thread during this call may be in the next one."""
        now = ActivitySums(*astuple(self._sums))
        before, self._drained = self._drained, now
        return ActivitySums(*(new - old for new, old in zip(astuple(now), astuple(before), strict=True)))

    def warm_users(self) -> int:
        """Number of running users that are warm."""
        now_s = time.monotonic()
        users = tuple(getattr(self.greenlets, "greenlets", ()))  # copied at once: the load thread changes the set
        cycles = (getattr(greenlet, "user_cycle", None) for greenlet in users)
        return self.successors + sum(1 for cycle in cycles if cycle is not None and cycle.is_warm_at(now_s))
