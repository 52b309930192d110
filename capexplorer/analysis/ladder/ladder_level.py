"""One settled level: its rates with their errors, and what is known of how they were measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

RELATIVE_ERROR_FLOOR = 0.02
"""Least relative standard error of goodput: six batch means are sometimes equal by chance."""

COUNT_ERROR_SHARE = 0.3
"""Least standard error of a count, as a share of its square root: counts of closed systems vary less than Poisson counts, but
they do vary."""

SHORT_S = 6.0
"""Levels with fewer seconds have no batch means and may be shorter than a user's cycle: their counts vary like Poisson counts."""

SHORT_ERROR = 0.1
"""Relative standard error of such a short level in addition to that of its count: the speed of a machine varies by 3-10% from
second to second, and a few seconds do not average that out."""

FIRST_REQUESTS = 0.6
"""Share of a ramp's new users whose first request adds to the steady rate: by renewal theory half (constant waits) to all
(exponential waits), minus those still in their first response (`responding_share`). Applies only to figures that hold first
requests, such as Locust's histories."""

LATENCY_ERROR_FLOOR = 0.02
"""Least relative standard error of latency: six batch means are sometimes equal by chance."""

LATENCY_ERROR_UNKNOWN = 0.05
"""Relative error of latency if a table has none: means of published tables repeat within a few percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderLevel:
    """One settled level. Only users and goodput are required; the other fields make the verdict more precise. None: not known."""

    users: float
    """The load: mean number of running users; for a level of offered rates (`rates.on_ladder`), iterations a second."""
    goodput_rps: float
    """Finished work, 1/s."""
    goodput_se_rps: float | None = None
    """Standard error by batch means."""
    throughput_rps: float | None = None
    """All requests, failures included."""
    response_ms: float | None = None
    """Mean over all requests."""
    latency_ms: float | None = None
    """Mean over successes."""
    latency_se_ms: float | None = None
    steady_latency_error_ms: float | None = None
    """Standard error of the latency at an offered rate. None: it is a level of users, or its queue was not in a steady state."""
    p95_ms: float | None = None
    p99_ms: float | None = None
    failure_ratio: float | None = None
    dropped_ratio: float = 0.0
    """Share of the arrivals at an offered rate that were dropped."""
    replied_ratio: float | None = None
    """Share of the failed requests that got a reply with an HTTP status; None: no failures, or not known."""
    refused_ratio: float | None = None
    """Share of the failed requests whose status refuses them: 429, 503."""
    requests: int | None = None
    """Number of requests in the settled seconds, failures included."""
    seconds: float | None = None
    """Settled seconds."""
    wait_s: float | None = None
    """Mean pause between a user's requests, measured or declared."""
    wait_se_s: float | None = None
    """Standard error of `wait_s`; None if it was declared, or does not include sleeps."""
    wait_includes_sleeps: bool = False
    """Whether `wait_s` includes sleeps inside tasks; it does not in older logs."""
    started_s: float = 0.0
    """Start, in seconds of the session; orders the levels."""
    ended_s: float | None = None
    """End, in seconds of the session; None while the level is open."""
    ramp: bool = False
    """A bin of a ramp, in which the user count changed all the time."""
    arrivals_per_s: float = 0.0
    """New users a second whose first requests are included in these figures."""
    generator_saturated: bool | None = None
    loop_lag_ms: float | None = None
    """Delay of the generator's own timers (p99)."""
    disturbed: bool = False
    """Whether other processes used CPU that the level needed: its latency then includes their effect."""
    goodput_disturbed: bool = False
    """Whether they used so much that the level's goodput is only a lower bound."""
    work_is_metric: bool = False
    """Goodput is the target's own count, not successful requests."""
    accepted_rps: float | None = None
    """Accepted work, 1/s, if the target reports it separately from finished work."""

    @property
    def goodput_error_rps(self) -> float:
        """Standard error of goodput, 1/s: at least RELATIVE_ERROR_FLOOR of it, and one request."""
        if not self.seconds:
            return max(self.goodput_se_rps or 0.0, RELATIVE_ERROR_FLOOR * self.goodput_rps, 1e-9)
        count = self.goodput_rps * self.seconds
        if self.goodput_se_rps is None and self.seconds < SHORT_S:
            return max(math.hypot(math.sqrt(count), SHORT_ERROR * count), 1.0) / self.seconds
        counted = max(COUNT_ERROR_SHARE * math.sqrt(count), 1.0) / self.seconds
        return max(self.goodput_se_rps or 0.0, counted, RELATIVE_ERROR_FLOOR * self.goodput_rps)

    @property
    def counted_error_rps(self) -> float:
        """Standard error of goodput, 1/s: at least that of a Poisson count. Counts of a few seconds may be equal by chance."""
        return max(self.goodput_error_rps, math.sqrt(self.goodput_rps / self.seconds) if self.seconds else 0.0)

    @property
    def is_short_bin(self) -> bool:
        """Whether it is a bin of a ramp that is too short for batch means, so that chance can make it high or low."""
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
        """Standard error of the mean latency of successes, at least LATENCY_ERROR_FLOOR of it; None without a latency."""
        if self.latency_ms is None:
            return None
        if self.latency_se_ms is None:
            return max(LATENCY_ERROR_UNKNOWN, 1 / math.sqrt(self.requests) if self.requests else 0.0) * self.latency_ms
        return max(self.latency_se_ms, LATENCY_ERROR_FLOOR * self.latency_ms)
