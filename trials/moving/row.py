"""A row of the trial: a service, its change over time, and which marks are right. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Client = Literal["fast", "requests"]
CLIENTS: tuple[Client, ...] = ("fast", "requests")

NEAR = 0.25
"""A knee within this of a true N* is right."""

QUEUES = (
    "worker_pool_exhausted", "lock_or_pool_limit", "queue_growth", "rate_limit", "think_time_limited", "not_saturated",
    "noisy_neighbours",
)  # fmt: skip
"""Bottlenecks that may be marked in every row: requests queue, below the knee users think, the machine may be busy."""

Axis = Literal["users", "rates"]
AXES: tuple[Axis, ...] = ("users", "rates")

Param = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One service that changes. By default: `targets/moving`, 8 workers of 100 ms, users that think for 0.2 s; so 80 a
    second, and N* = 24. At offered rates no user thinks."""

    name: str
    what: str
    """The service and its change, in one line."""
    plan: str
    change: str = "none"
    at_s: float = 0.0
    for_s: float = 0.0
    knees: tuple[float, ...] = ()
    """Every N* that a knee may stand for; empty: no knee may be marked."""
    needs_knee: bool = False
    """A knee must be found."""
    capacities: tuple[float, ...] = ()
    """For rows that offer rates: every capacity, 1/s, that may be marked."""
    needs_capacity: bool = False
    marked: tuple[str, ...] = ()
    """Ids or kinds of marks, at least one of which must stand: `shift`, or causes."""
    allowed: tuple[str, ...] = ()
    """Bottlenecks, and causes of severity error, that may be marked, too."""
    verdict: str = ""
    """A regular expression that the verdict must match."""

    target: str = "moving"
    params: Mapping[str, Param] = field(default_factory=dict)
    path: str = "/work"
    think_s: tuple[float, float] = (0.1, 0.3)
    steps: int = 0
    """Requests of one task, with sleeps of `think_s` inside it; 0: tasks of one request, with waits between them."""
    needs: tuple[str, ...] = ()
    """Programs that the service needs."""

    @property
    def axis(self) -> Axis:
        """Of its plan."""
        return "rates" if self.plan.startswith("rate") else "users"
