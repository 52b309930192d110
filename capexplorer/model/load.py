"""The load of a service: users, or an offered rate. The log has it as two fields, of which one is empty."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypedDict

import msgspec
from msgspec import Meta

from .intervals import Latency
from .readings import Reading

# -- Iterations at an offered rate: planned by a schedule that does not wait for late ones, and their outcomes.
#
# An iteration is one task of one user. At every moment planned = finished + failed + dropped + in flight, where those in flight
# are queued (no user is free) or running. Time from plan is from the scheduled start to the end of the task, so it includes the
# wait for a user; service time, the latency of requests, does not (Tene, "How NOT to measure latency": coordinated omission).

Arrivals = Literal["poisson", "even"]
"""How the schedule spaces arrivals: independent exponential gaps, or equal ones."""

RATE_LEAST_PER_S = 0.01
RATE_MOST_PER_S = 100_000.0
"""Bounds of an offered rate above zero."""


def clamped_rate(per_s: float) -> float:
    """The nearest rate within the bounds, rounded to a millionth; 0 and less give 0."""
    return 0.0 if per_s <= 0 else round(max(RATE_LEAST_PER_S, min(per_s, RATE_MOST_PER_S)), 6)


class Drops(Reading, frozen=True, kw_only=True):
    """Iterations that were planned and did not run to their end, by reason."""

    max_users: int = 0
    """No user of its class was free, and as many as the class has, with `max_users` in all, are fewer than its rate needs even at
    the least mean task time so far (Little's law).
    """
    target: int = 0
    """No user was free: all of its class waited for the target, and would be enough at the least mean task time so far."""
    starting: int = 0
    """No user was free, and further users of its class had not started yet."""
    late: int = 0
    """No user was free, and the load thread handled the arrival a second or more after it was due."""
    stopped: int = 0
    """The load ended: the iteration was queued when the rate ended, or running when its user or worker ended."""

    @property
    def total(self) -> int:
        """Drops for all reasons."""
        return sum(msgspec.structs.astuple(self))

    def __add__(self, other: Drops) -> Drops:
        return self._with(other, 1)

    def __sub__(self, other: Drops) -> Drops:
        return self._with(other, -1)

    def _with(self, other: Drops, sign: int) -> Drops:
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Drops(**dict(zip(self.__struct_fields__, (mine + sign * theirs for mine, theirs in pairs), strict=True)))


NO_DROPS = Drops()
"""The default, which is left out of a line of the log."""


class OfferedTick(Reading, frozen=True, kw_only=True):
    """Iterations in one tick. `queued` and `running` are at its end, other counts are of the tick."""

    offered_per_s: float = 0.0
    """Rate of the schedule at the end of the tick; 0: the schedule has ended, and only iterations of an earlier level run."""
    planned: int = 0
    started: int = 0
    finished: int = 0
    failed: int = 0
    """Iterations that ended with a failed request or an exception."""
    beyond_limits: int = 0
    """Finished iterations with a request that exceeded a limit of `[slo]` on a single request."""
    dropped: Drops = NO_DROPS
    queued: int = 0
    running: int = 0
    in_flight_counted: int | None = None
    """Iterations in flight by the load thread's own count, as a check of those that were reported one by one. None: nothing
    happened, or an older log."""
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
    """How late the schedule was: from the planned start to the time at which the load thread handled the arrival, without the
    wait for a user. None: no arrival in this tick."""

    @property
    def in_flight(self) -> int:
        """Iterations that were planned, and neither ended nor dropped by the end of the tick."""
        return self.queued + self.running

    @property
    def is_miscounted(self) -> bool:
        """Whether the load thread's count of iterations in flight differs from the reported ones: a report was lost."""
        return self.in_flight_counted is not None and self.in_flight_counted != self.in_flight

    @property
    def in_flight_before(self) -> int:
        """Iterations in flight at the start of the tick, by conservation: equal to `in_flight` of the tick before."""
        return self.in_flight - self.planned + self.finished + self.failed + self.dropped.total


class OfferedFigures(Reading, frozen=True, kw_only=True):
    """Iterations in the settled seconds of a level. planned + in_flight_before = finished + failed + dropped + in_flight."""

    offered_per_s: float
    """Mean rate of the schedule."""
    planned: int = 0
    started: int = 0
    finished: int = 0
    failed: int = 0
    beyond_limits: int = 0
    """Of those that finished, as in OfferedTick."""
    dropped: Drops = NO_DROPS
    in_flight_before: int = 0
    in_flight: int = 0
    """Iterations in flight at the start and at the end of these seconds."""
    miscounted: bool = False
    """Whether `OfferedTick.is_miscounted` in one of these seconds: then no count can be trusted."""
    finished_per_s: float = 0.0
    """Goodput in iterations, within limits on a single request: compare it with `offered_per_s`; `goodput_rps` counts work."""
    finished_se_per_s: float | None = None
    """Standard error by batch means, as of `LevelFigures.goodput_se_rps`."""
    served_se_per_s: float | None = None
    """The same of all that finished; None: all were within limits, or there are too few seconds."""
    in_flight_mean: float = 0.0
    queued_mean: float = 0.0
    """Mean numbers of iterations in flight, and of those among them that waited for a user."""
    from_plan_ms: Latency = Latency()
    """Time from plan of finished iterations."""
    late_p99_ms: float | None = None
    """Mean over seconds of the 99th percentile of each."""
    late_max_ms: float | None = None
    from_plan: str | None = None
    """Histogram of time from plan, as in OfferedTick; only in the event that closes a level."""


class NamedLoad(TypedDict):
    """The fields of a mark that name its load; one of them is None."""

    users: float | None
    offered_per_s: float | None


class Users(msgspec.Struct, frozen=True, tag="users"):
    """Users who send their next request after the reply to the last one."""

    users: Annotated[int, Meta(ge=0, le=1_000_000_000)]
    per_s: ClassVar[None] = None
    column: ClassVar[Literal["users"]] = "users"
    """Of the seconds, with the load at each."""

    @property
    def zero(self) -> Users:
        """No load, in users."""
        return NO_LOAD

    @property
    def is_zero(self) -> bool:
        """Whether nothing is requested."""
        return self.users == 0

    @property
    def amount(self) -> float:
        """Their number."""
        return float(self.users)

    @property
    def named(self) -> NamedLoad:
        """The load as the fields of a mark."""
        return NamedLoad(users=float(self.users), offered_per_s=None)

    def is_less_than(self, other: Load) -> bool:
        """Whether these are fewer users. False for a rate, which users cannot be compared with."""
        return isinstance(other, Users) and self.users < other.users


class Rate(msgspec.Struct, frozen=True, tag="rate"):
    """Iterations offered a second, on a schedule that does not wait for replies. The pool has as many users as they need."""

    per_s: Annotated[float, Meta(ge=0, le=1e9)]
    users: ClassVar[int] = 0
    column: ClassVar[Literal["offered_per_s"]] = "offered_per_s"
    """Of the seconds, with the load at each."""

    @property
    def zero(self) -> Rate:
        """No load, as a rate."""
        return Rate(0.0)

    @property
    def is_zero(self) -> bool:
        """Whether nothing is offered."""
        return self.per_s == 0

    @property
    def amount(self) -> float:
        """Iterations a second."""
        return self.per_s

    @property
    def named(self) -> NamedLoad:
        """The load as the fields of a mark."""
        return NamedLoad(users=None, offered_per_s=self.per_s)

    def is_less_than(self, other: Load) -> bool:
        """Whether this is a lower rate. False for users, which a rate cannot be compared with."""
        return isinstance(other, Rate) and self.per_s < other.per_s


Load = Users | Rate
"""Bounds hold for what arrives from another process.

`users` and `per_s` of each are the two fields of the log: 0 users at a rate, and the rate None for users."""

NO_LOAD = Users(0)


def logged_load(users: int, offered_per_s: float | None) -> Load:
    """The load of two fields of the log."""
    return Users(users) if offered_per_s is None else Rate(offered_per_s)


class OfferedRate(msgspec.Struct, frozen=True, kw_only=True):
    """A rate with all that the schedule and its pool need."""

    per_s: float
    arrivals: Arrivals = "poisson"
    max_users: int
    """The most users of the pool."""
    at_once: bool = False
    """Whether it begins without waiting for the users that it needs."""
