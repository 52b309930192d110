"""What a rate level offers: iterations planned by a schedule that does not wait for late ones, and what became of them.

An iteration is one task of one user. At every moment planned = finished + failed + dropped + in flight, where those in flight are
queued (no user is free) or running. Time from plan is from the moment that the schedule gave to the end of the task, so it holds
the wait for a user; service time, the latency of requests, does not (Tene, "How NOT to measure latency": coordinated omission).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .percentiles import Latency
from .readings import Reading

Arrivals = Literal["poisson", "even"]
"""How the schedule spaces arrivals: independent exponential gaps, or equal ones."""

RATE_LEAST_PER_S = 0.01
RATE_MOST_PER_S = 100_000.0
"""Bounds of an offered rate above zero."""


def clamped_rate(per_s: float) -> float:
    """A rate within the bounds, to a millionth; 0 stays 0, and less becomes 0."""
    return 0.0 if per_s <= 0 else round(max(RATE_LEAST_PER_S, min(per_s, RATE_MOST_PER_S)), 6)


class Drops(Reading, frozen=True, kw_only=True):
    """Iterations that were planned and did not run to their end, by reason."""

    max_users: int = 0
    """No user was free, and max_users is below what the rate needs even at the least mean task time so far (Little's law)."""
    target: int = 0
    """No user was free: the target held all of max_users, which the rate would not need at the least mean task time so far."""
    starting: int = 0
    """No user was free, and further users had not started yet."""
    late: int = 0
    """No user was free, and the load thread handled the arrival a second or more after it was due."""
    stopped: int = 0
    """Load was taken away: queued when the rate ended, or running when its user or its worker ended."""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(msgspec.structs.astuple(self))

    def __add__(self, other: Drops) -> Drops:
        return self._with(other, 1)

    def __sub__(self, other: Drops) -> Drops:
        return self._with(other, -1)

    def _with(self, other: Drops, sign: int) -> Drops:
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Drops(**dict(zip(self.__struct_fields__, (mine + sign * theirs for mine, theirs in pairs), strict=True)))


NO_DROPS = Drops()
"""As a default it is left out of a log's line."""


class OfferedTick(Reading, frozen=True, kw_only=True):
    """Iterations in one tick. Counts are of the tick, `queued` and `running` at its end."""

    offered_per_s: float = 0.0
    """The schedule's rate at the end of the tick; 0: there is no schedule any more, only iterations of an earlier level."""
    planned: int = 0
    started: int = 0
    finished: int = 0
    failed: int = 0
    """Ended with a failed request or an exception."""
    dropped: Drops = NO_DROPS
    queued: int = 0
    running: int = 0
    in_flight_counted: int | None = None
    """Iterations in flight as the load thread counted them, apart from what was reported of each. None: nothing happened, or an
    older log."""
    from_plan: str | None = None
    """Time from plan of finished iterations: HdrHistogram V2, base64, microseconds."""
    from_plan_sum_ms: float = 0.0
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    """Percentiles of `from_plan`."""
    late_p50_ms: float | None = None
    late_p99_ms: float | None = None
    late_max_ms: float | None = None
    """How late the schedule was: from the moment planned to the moment at which the load thread handled the arrival, the wait for
    a user left out. None: no arrival in this tick."""

    @property
    def in_flight(self) -> int:
        """Planned, and neither ended nor dropped by the end of the tick."""
        return self.queued + self.running

    @property
    def is_miscounted(self) -> bool:
        """Whether the load thread counts other iterations in flight than those that were reported: a report was lost."""
        return self.in_flight_counted is not None and self.in_flight_counted != self.in_flight

    @property
    def in_flight_before(self) -> int:
        """The same at its begin, by conservation: of consecutive ticks it is the earlier one's `in_flight`."""
        return self.in_flight - self.planned + self.finished + self.failed + self.dropped.total


class OfferedFigures(Reading, frozen=True, kw_only=True):
    """A rate level over its settled seconds. planned + in_flight_before = finished + failed + dropped + in_flight."""

    offered_per_s: float
    """Mean rate of the schedule."""
    planned: int = 0
    started: int = 0
    finished: int = 0
    failed: int = 0
    dropped: Drops = NO_DROPS
    in_flight_before: int = 0
    in_flight: int = 0
    """At the begin and at the end of these seconds."""
    miscounted: bool = False
    """In one of these seconds the load thread counted other iterations in flight than were reported: no count can be trusted."""
    finished_per_s: float = 0.0
    """Goodput in iterations: compare it with `offered_per_s`, while `goodput_rps` counts work."""
    finished_se_per_s: float | None = None
    """Standard error by batch means, as of `goodput_se_rps`."""
    in_flight_mean: float = 0.0
    queued_mean: float = 0.0
    from_plan_ms: Latency = Latency()
    """Time from plan of finished iterations."""
    late_p99_ms: float | None = None
    """Mean over seconds of their 99th percentile."""
    late_max_ms: float | None = None
    from_plan: str | None = None
    """Merged histogram; only in the event that closes a level."""

    @property
    def is_conserved(self) -> bool:
        """Whether each iteration is accounted for; False where a second in between was left out, or a report was lost."""
        ended = self.finished + self.failed + self.dropped.total
        return self.planned + self.in_flight_before == ended + self.in_flight and not self.miscounted
