"""The driver, which sets the number of users: a person, a plan, the locustfile's shape or the autopilot; exactly one at a time.

Every change of driver begins a new generation. A driver keeps the generation that it began with and passes it with each of its
steps and reports, so that those of a former driver are recognised and dropped.
"""

from __future__ import annotations

from _queue import SimpleQueue
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ...model.events import By


@dataclass(frozen=True, slots=True)
class Manual:
    """No program sets the users: they stay until a person changes them."""

    by: By = "user"
    """Who ended the previous driver: a person (in the screen's thread), or the run itself (in the pump's thread)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan sets the users."""

    finds_knee: bool = False
    """Whether the autopilot acts for the plan, until it has found the knee."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The load shape of a locustfile sets the users, in the load thread."""


@dataclass(frozen=True, slots=True)
class Autopilot:
    """The autopilot sets the users."""


Driver = Manual | Plan | Shape | Autopilot


class SharedDriver:
    """The current driver and its generation. The screen's and the pump's threads change it; use `locked` for a change."""

    def __init__(self, kind: Driver) -> None:
        self.kind = kind
        self.generation = 0
        self._lock: SimpleQueue[None] = SimpleQueue()  # a lock that gevent does not patch
        self._lock.put(None)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Within the context no other thread changes the driver or the users. Not reentrant."""
        self._lock.get()
        try:
            yield
        finally:
            self._lock.put(None)

    def change(self, kind: Driver) -> int:
        """Change to another driver; returns its generation."""
        self.kind = kind
        self.generation += 1
        return self.generation

    @property
    def autopilot_steps(self) -> bool:
        """Whether the autopilot sets the users, for a plan or by itself."""
        return self.kind in (Autopilot(), Plan(finds_knee=True))
