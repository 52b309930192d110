"""One settled level: its rates with their errors, and what is known of how they were measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

RELATIVE_ERROR_FLOOR = 0.02
"""Least relative error of goodput: six batch means are sometimes equal by chance."""

COUNT_ERROR_SHARE = 0.3
"""Least error of a count, in square roots of it: counts of closed systems vary less than Poisson's, but they do vary."""

SHORT_S = 6.0
"""Shorter levels have no batch means and may be shorter than a user's cycle: their counts vary as much as Poisson's."""

SHORT_ERROR = 0.1
"""Relative error of such a level beside its count: the speed of a machine wanders by 3-10% from second to second, and a few
seconds do not average that out."""

FIRST_REQUESTS = 0.6
"""Share of a ramp's new users whose first request adds to the steady rate: by renewal theory half (constant waits) to all
(exponential waits), minus those still in their first response (`responding_share`). Applies only to figures that hold first
requests, such as Locust's histories."""

LATENCY_ERROR_FLOOR = 0.02
"""Least relative error of latency, for the same reason."""

LATENCY_ERROR_UNKNOWN = 0.05
"""Relative error of latency if a table has none: means of published tables repeat within a few percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderLevel:
    """One settled level. Only users and goodput are required; the other fields make the verdict more precise."""

    users: float
    """The load: actual mean users; on the axis of offered rates iterations a second."""
    goodput_rps: float
    """Finished work, 1/s."""
    goodput_se_rps: float | None = None
    throughput_rps: float | None = None
    """All requests, failures included."""
    response_ms: float | None = None
    """Mean over all requests."""
    latency_ms: float | None = None
    """Mean over successes."""
    latency_se_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    failure_ratio: float | None = None
    dropped_ratio: float = 0.0
    """Share of the arrivals at an offered rate that were dropped."""
    replied_ratio: float | None = None
    """Share of the failed requests that got a reply with an HTTP status; None: no failures, or not known."""
    refused_ratio: float | None = None
    """Share of them with a status that refuses: 429, 503."""
    requests: int | None = None
    seconds: float | None = None
    wait_s: float | None = None
    """Mean pause between a user's requests, measured or declared."""
    knows_pauses: bool = False
    """Whether that holds sleeps inside tasks, too: not in older logs."""
    started_s: float = 0.0
    """Seconds of the session; orders the levels."""
    ended_s: float | None = None
    """None: it is open."""
    ramp: bool = False
    """A bin of a ramp, in which the user count changed all the time."""
    arrivals_per_s: float = 0.0
    """New users a second whose first requests are in these figures."""
    generator_saturated: bool | None = None
    loop_lag_ms: float | None = None
    """Delay of the generator's own timers (p99)."""
    disturbed: bool = False
    """Whether other processes used CPU that it needed (`neighbours`): its latency then includes their effect."""
    goodput_disturbed: bool = False
    """Whether they used so much that its goodput is only a lower bound."""
    work_is_metric: bool = False
    """Goodput is the target's own count, not successful requests."""
    accepted_rps: float | None = None
    """Accepted work, 1/s, if the target reports it separately from finished work."""

    @property
    def goodput_error_rps(self) -> float:
        """Standard error of goodput, not under the floors above; a count is never known better than to one request."""
        if not self.seconds:
            return max(self.goodput_se_rps or 0.0, RELATIVE_ERROR_FLOOR * self.goodput_rps, 1e-9)
        count = self.goodput_rps * self.seconds
        if self.goodput_se_rps is None and self.seconds < SHORT_S:
            return max(math.hypot(math.sqrt(count), SHORT_ERROR * count), 1.0) / self.seconds
        counted = max(COUNT_ERROR_SHARE * math.sqrt(count), 1.0) / self.seconds
        return max(self.goodput_se_rps or 0.0, counted, RELATIVE_ERROR_FLOOR * self.goodput_rps)

    @property
    def is_short_bin(self) -> bool:
        """A part of a ramp that is too short for batch means: high or low by luck."""
        return self.ramp and 0 < (self.seconds or 0.0) < SHORT_S

    @property
    def steady_rps(self) -> float:
        """Goodput without the first requests of users who have just started."""
        first = max(FIRST_REQUESTS - self.responding_share, 0.0) * self.arrivals_per_s
        return max(self.goodput_rps - first * (1 - (self.failure_ratio or 0.0)), 0.0)

    @property
    def responding_share(self) -> float:
        """Share of users who wait for a response, X R / N by Little's law; 0 where that was not measured."""
        return min((self.throughput_rps or 0.0) * (self.response_s or 0.0) / self.users, 1.0)

    @property
    def response_s(self) -> float | None:
        """Mean response time of all requests, in seconds; that of successes if the other is not known."""
        chosen = self.response_ms if self.response_ms is not None else self.latency_ms
        return None if chosen is None else chosen / 1000

    @property
    def latency_error_ms(self) -> float | None:
        """Standard error of the mean latency of successes, floored; None without a latency."""
        if self.latency_ms is None:
            return None
        if self.latency_se_ms is None:
            return max(LATENCY_ERROR_UNKNOWN, 1 / math.sqrt(self.requests) if self.requests else 0.0) * self.latency_ms
        return max(self.latency_se_ms, LATENCY_ERROR_FLOOR * self.latency_ms)
