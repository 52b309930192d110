"""A row of the trial: a service, its change over time, and which marks are right. Data only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Client = Literal["fast", "requests"]
CLIENTS: tuple[Client, ...] = ("fast", "requests")

NEAR = 0.15
"""Relative error within which a knee or a capacity is right."""

LATE_S = 3.0
"""Seconds by which a change may be noticed late. A regime that overlaps the time of a truth by less is not its own."""

QUEUES = (
    "worker_pool_exhausted", "lock_or_pool_limit", "queue_growth", "rate_limit", "think_time_limited", "not_saturated",
    "noisy_neighbours",
)  # fmt: skip
"""Bottlenecks that may be marked in every row: requests queue, think time is the limit below the knee, the machine may be
busy."""

Axis = Literal["users", "rates"]
AXES: tuple[Axis, ...] = ("users", "rates")

Param = str | int | float


@dataclass(frozen=True, slots=True)
class Truth:
    """A knee in users, or a capacity in 1/s, that the service has by arithmetic, and when, in seconds from the first request."""

    value: float
    from_s: float = 0.0
    until_s: float = math.inf

    def overlaps(self, from_s: float, until_s: float) -> bool:
        """Whether the service had it for longer than LATE_S between these seconds from the first request."""
        return min(until_s, self.until_s) - max(from_s, self.from_s) > LATE_S

    def __str__(self) -> str:
        from_s = f" from {self.from_s:g} s" if self.from_s else ""
        until_s = f" until {self.until_s:g} s" if self.until_s < math.inf else ""
        return f"{self.value:g}{from_s}{until_s}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One service that changes. By default the target is `targets/moving` with 8 workers that sleep 100 ms, and users think
    for 0.2 s on average: the capacity is 80/s and N* = 24. At offered rates there is no think time."""

    name: str
    what: str
    """The service, its change, and the arithmetic of its knees or capacities, in one line."""
    plan: str
    change: str = "none"
    """A name of `targets/moving/changes.py`."""
    at_s: float = 0.0
    """Seconds from the first request to the change."""
    for_s: float = 0.0
    """Duration of the change; 0: it is permanent."""
    knees: tuple[Truth, ...] = ()
    """Every N* of the service, before and after the change; empty: no knee may be marked."""
    needs_knee: bool = False
    """A knee must be found."""
    capacities: tuple[Truth, ...] = ()
    """For rows that offer rates: every capacity that may be marked."""
    departs_from_per_s: float | None = None
    """Rate from which a service refuses some requests, since arrivals of a Poisson process come in clusters; None: from its
    capacity."""
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
