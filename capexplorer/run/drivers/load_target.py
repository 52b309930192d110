"""How many users are wanted, and the one way by which that reaches the load. Called from the screen's and the pump's thread."""

from __future__ import annotations

from _queue import SimpleQueue
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from ...load.host import LoadHost

SPAWN_RATE_MOST = 100.0
"""Users a second, unless told otherwise; beyond it Locust itself warns."""


class Steering:
    """`wanted` is kept while the gate is shut (no service yet, or none any more), and takes effect when it opens.

    A plan, a shape or the autopilot may drive. A step by anyone else takes over at once, in the thread of whoever steps: what
    drove before has its next moves refused, even one that was decided already.
    """

    def __init__(self, wanted: int, spawn_rate: float | None) -> None:
        self.wanted = wanted
        self.spawn_rate = spawn_rate
        self.is_open = False
        self.planned = self.shaped = self.piloted = False
        """Whether a plan, a shape, the autopilot may step. A plan that looks for the knee shares with the autopilot."""
        self._ramping = False
        """A plan moves the users evenly."""
        self.host: LoadHost | None = None
        self._turn: SimpleQueue[None] = SimpleQueue()  # a lock that gevent does not patch
        self._turn.put(None)

    def step(self, users: int) -> float:
        """To `users`, by a person or a guard; returns the spawn rate in users a second. Whatever drove is over."""
        with self._alone():
            self.planned = self.shaped = self.piloted = self._ramping = False
            return self._step(users)

    def hand_to(self, driver: Literal["plan", "autopilot"] | None) -> None:
        """Only this one may step from now on; None: nobody but by `step`. Users stay as they are."""
        with self._alone():
            if self.shaped:
                self._step(self.wanted)  # the load follows a shape until it gets a step
            self.planned, self.piloted = driver == "plan", driver == "autopilot"
            self.shaped = self._ramping = False

    def plan(self, users: int, *, at_once: bool = False) -> float | None:
        """A plan's step; the spawn rate, however high with `at_once`. None, and nothing happens, where someone took over."""
        with self._alone():
            if not self.planned:
                return None
            self.piloted = self._ramping = False
            return self._step(users, at_once)

    def begin_ramp(self) -> bool:
        """A plan moves the users from now on, with `ramp`. False where someone has taken over."""
        with self._alone():
            if self.planned:
                self.piloted, self._ramping = False, True
            return self.planned

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

    def shape(self, users: int) -> bool:
        """The load follows a shape to so many users. False where someone has taken over: their step follows."""
        with self._alone():
            self.wanted = users if self.shaped else self.wanted
            return self.shaped

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
        self.is_open = self.shaped = True
        if self.host is not None:
            self.host.start_shape()

    def shut(self) -> None:
        """No users, at once; what is wanted is kept. A shape is over."""
        self.is_open = self.shaped = False
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
