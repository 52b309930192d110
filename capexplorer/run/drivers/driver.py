"""Who steps the users: a person, a plan, the locustfile's shape or the autopilot. Exactly one of them at any moment.

Every change of driver begins a new generation. A driver keeps the generation that it began with and names it in each of its
moves and reports, so that those of a former driver are recognised and dropped.
"""

from __future__ import annotations

from _queue import SimpleQueue
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ...model.events import By


@dataclass(frozen=True, slots=True)
class Manual:
    """No program steps: users stay as they are until a person steps."""

    by: By = "user"
    """Who ended the driver before: a person in their own thread, or the run itself in the pump's thread."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan steps."""

    finds_knee: bool = False
    """The autopilot steps on the plan's behalf, until it has found the knee."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The load shape of a locustfile steps, in the load thread."""


@dataclass(frozen=True, slots=True)
class Autopilot:
    """The autopilot steps."""


Driver = Manual | Plan | Shape | Autopilot


class DriverSeat:
    """The driver and its generation. Threads of the screen and of the pump change it; hold `locked` for a change."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.generation = 0
        self._lock: SimpleQueue[None] = SimpleQueue()  # a lock that gevent does not patch
        self._lock.put(None)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """No other thread changes the driver or moves users meanwhile. Not reentrant."""
        self._lock.get()
        try:
            yield
        finally:
            self._lock.put(None)

    def change(self, driver: Driver) -> int:
        """Another driver from now on; returns its generation."""
        self.driver = driver
        self.generation += 1
        return self.generation

    @property
    def autopilot_steps(self) -> bool:
        """Whether the autopilot steps, for a plan or by itself."""
        return self.driver in (Autopilot(), Plan(finds_knee=True))
