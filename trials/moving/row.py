"""A row of the trial: a service, its change over time, and which marks are right. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Client = Literal["fast", "requests"]
CLIENTS: tuple[Client, ...] = ("fast", "requests")

NEAR = 0.25
"""Relative error within which a knee or a capacity is right."""

QUEUES = (
    "worker_pool_exhausted", "lock_or_pool_limit", "queue_growth", "rate_limit", "think_time_limited", "not_saturated",
    "noisy_neighbours",
)  # fmt: skip
"""Bottlenecks that may be marked in every row: requests queue, think time is the limit below the knee, the machine may be
busy."""

Axis = Literal["users", "rates"]
AXES: tuple[Axis, ...] = ("users", "rates")

Param = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One service that changes. By default the target is `targets/moving` with 8 workers that sleep 100 ms, and users think
    for 0.2 s on average: the capacity is 80/s and N* = 24. At offered rates there is no think time."""

    name: str
    what: str
    """The service and its change, in one line."""
    plan: str
    change: str = "none"
    """A name of `targets/moving/changes.py`."""
    at_s: float = 0.0
    """Seconds from the first request to the change."""
    for_s: float = 0.0
    """Duration of the change; 0: it is permanent."""
    knees: tuple[float, ...] = ()
    """Every N* of the service, before and after the change; empty: no knee may be marked."""
    needs_knee: bool = False
    """A knee must be found."""
    capacities: tuple[float, ...] = ()
    """For rows that offer rates: every capacity, 1/s, that may be marked."""
    needs_capacity: bool = False
    marked: tuple[str, ...] = ()
    """Ids or kinds of marks (causes, `shift`), at least one of which must be marked at the end."""
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
        """Whether its plan has user counts or offered rates."""
        return "rates" if self.plan.startswith("rate") else "users"
