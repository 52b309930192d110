"""How many users are wanted, and the one way by which that reaches the load. Called from the screen's and the pump's thread."""

from __future__ import annotations

from _queue import SimpleQueue
from collections.abc import Iterator
from contextlib import contextmanager

from ..load.host import LoadHost

SPAWN_RATE_MOST = 100.0
"""Users a second, unless told otherwise; beyond it Locust itself warns."""


class Steering:
    """`wanted` is kept while the gate is shut (no service yet, or none any more), and takes effect when it opens."""

    def __init__(self, wanted: int, spawn_rate: float | None) -> None:
        self.wanted = wanted
        self.spawn_rate = spawn_rate
        self.is_open = False
        self.piloted = False
        """The autopilot steps; whoever else steps takes over."""
        self._ramping = False
        """A plan moves the users evenly; whoever else steps ends that."""
        self.host: LoadHost | None = None
        self._turn: SimpleQueue[None] = SimpleQueue()  # a lock that gevent does not patch
        self._turn.put(None)

    def step(self, users: int, *, at_once: bool = False) -> float:
        """To `users`; returns the spawn rate in users a second, however high with `at_once`. Ends the autopilot and a ramp."""
        with self._alone():
            self.piloted = self._ramping = False
            return self._step(users, at_once)

    def begin_ramp(self) -> None:
        """A plan moves the users from now on, with `ramp`."""
        with self._alone():
            self.piloted, self._ramping = False, True

    def ramp(self, users: int) -> None:
        """A little further; nothing happens where someone has taken over meanwhile."""
        with self._alone():
            if self._ramping and users != self.wanted:
                self._step(users)

    def pilot(self, users: int) -> float | None:
        """The same by the autopilot; None, and nothing happens, where someone has taken over meanwhile."""
        with self._alone():
            self._ramping = self._ramping and not self.piloted
            return self._step(users) if self.piloted else None

    def _step(self, users: int, at_once: bool = False) -> float:
        rate = float(max(1, abs(users - self.wanted))) if at_once else self.rate(self.wanted, users)
        self.wanted = users
        if self.is_open and self.host is not None:
            self.host.set_users(users, rate)
        return rate

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._turn.get()
        try:
            yield
        finally:
            self._turn.put(None)

    def open(self) -> float:
        """Let users run: as many as are wanted."""
        self.is_open = True
        rate = self.rate(0, self.wanted)
        if self.host is not None:
            self.host.set_users(self.wanted, rate)
        return rate

    def follow_shape(self) -> None:
        """Let users run as the locustfile's shape says."""
        self.is_open = True
        if self.host is not None:
            self.host.start_shape()

    def shut(self) -> None:
        """No users, at once; what is wanted is kept."""
        self.is_open = False
        if self.host is not None:
            self.host.set_users(0, max(1.0, float(self.host.users)))

    def rate(self, before: int, users: int) -> float:
        """The spawn rate of a step: as told, else the difference in one second, at most 100 a second; to zero always at once.

        The difference is the greater of that to the users wanted before and to those who are there: a step may be under way.
        """
        there = self.host.users if self.host is not None else before
        difference = float(max(1, abs(users - before), abs(users - there)))
        if users == 0:
            return difference
        return self.spawn_rate if self.spawn_rate is not None else min(SPAWN_RATE_MOST, difference)
