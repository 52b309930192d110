"""The interface between a knee finder and a service: the finder sets the number of users and measures for some seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

MAX_USERS = 1_000
"""No finder goes beyond this."""

LIMIT_S = 1_800.0
"""No finder takes longer than this; it then answers with the results so far."""


@dataclass(frozen=True, slots=True)
class Window:
    """The figures of some seconds at one number of users."""

    users: int
    seconds: int
    goodput_rps: float
    failure_ratio: float
    mean_ms: float | None
    """Mean and p95 are those of successes; None without any."""
    p95_ms: float | None


class World(Protocol):
    """A service and its users."""

    @property
    def now_s(self) -> float:
        """Seconds since the exploration began."""

    @property
    def users(self) -> int:
        """Users now."""

    def step(self, users: int) -> None:
        """Set the number of users."""

    def watch(self, seconds: int) -> Window:
        """Let that many seconds pass, and return their figures."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a finder. `users` None: it found no knee."""

    users: float | None
    capacity_rps: float | None = None
    users_low: float | None = None
    users_high: float | None = None
    """The interval, where the policy has one."""


Finder = Callable[[World], Answer]

NO_KNEE = Answer(None)
