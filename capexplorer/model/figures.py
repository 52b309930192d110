"""The figures of a level over its settled seconds: in total, by endpoint, and for a ramp by user count."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated

import msgspec

from .intervals import Latency
from .load import OfferedFigures
from .readings import Reading
from .stages import LatencyKind, LimitName, Stage, StageFigures


class LevelEndpoint(Reading, frozen=True, kw_only=True):
    """One endpoint over the settled seconds of a level."""

    name: str
    method: str
    requests: Annotated[int, msgspec.Meta(ge=0)]
    failures: Annotated[int, msgspec.Meta(ge=0)]
    within_limits: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Successes within the limits on a single request; None: there are none."""
    mean_bytes: float | None = None
    latency_ms: Latency = Latency()
    latency: str | None = None
    """Latencies of successes: HdrHistogram V2, base64, microseconds; only in the event that closes a level."""
    stages: dict[Stage, StageFigures] = {}
    """Of successes whose replies are streams."""
    tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Tokens, or events, in these streams."""

    @property
    def good(self) -> int:
        """Requests that are goodput."""
        return self.requests - self.failures if self.within_limits is None else self.within_limits


class LevelFigures(Reading, frozen=True, kw_only=True):
    """A level's figures. Rates, latencies and readings are means over settled seconds; None if the level did not settle."""

    settled: bool
    counted: bool = True
    """False for an imported table of rates: then `requests`, `failures` and `settled_seconds` are 0, but not known."""
    settled_seconds: float = 0.0
    requests: Annotated[int, msgspec.Meta(ge=0)] = 0
    failures: Annotated[int, msgspec.Meta(ge=0)] = 0
    failure_ratio: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    failures_while_unsettled: int = 0
    throughput_rps: float | None = None
    goodput_rps: float | None = None
    goodput_se_rps: float | None = None
    """Standard error from six batch means, without a lower bound; None with fewer than six settled seconds."""
    served_rps: float | None = None
    served_se_rps: float | None = None
    """Finished work irrespective of the limits of `[slo]` on a single request, and its standard error; None: there are no such
    limits, and all finished work is goodput."""
    beyond_limits: dict[LimitName, float] = {}
    """The share of the successes that exceeds each of these limits; without those that none exceeds."""
    goodput_tokens_per_s: float | None = None
    """Tokens, or events, of the requests within these limits; None: there are no limits, or no streams."""
    latency_ms: Latency = Latency()
    latency_se_ms: float | None = None
    """Standard error of the mean latency of successes, by batch means."""
    stages: dict[Stage, StageFigures] = {}
    """As of its endpoints, of all together; without histograms."""
    tokens_per_s: float | None = None
    """Tokens, or events, of successes whose replies are streams; None: there is no stream."""
    response_ms: float | None = None
    """Mean latency of all requests, failures included, as Little's law needs it."""
    wait_s: float | None = None
    """Mean wait between two tasks that users chose."""
    think_s: float | None = None
    """Mean think time per request: waits between tasks and sleeps inside them (Z in Little's law). None in older logs."""
    think_se_s: float | None = None
    """Its standard error, by batch means."""
    requests_per_task: float | None = None
    task_s: float | None = None
    """Mean time of the tasks that ended, requests and sleeps included."""
    warm_ratio: float | None = None
    """Share of its users that were warm in its last second; a level settles when nearly all are."""
    users_mean: float | None = None
    target_cpu_ratio: float | None = None
    target_rss_bytes: float | None = None
    host_cpu_ratio: float | None = None
    load_average_1m: float | None = None
    generator_cpu_ratio: float | None = None
    generator_run_delay_ratio: float | None = None
    loop_lag_p99_ms: float | None = None
    received_bytes_per_s: float | None = None
    sent_bytes_per_s: float | None = None
    open_sockets: float | None = None
    disk_busy_ratio: float | None = None
    ports_used: float | None = None
    """The greatest value in the level, not the mean."""
    ports_capacity: float | None = None
    offered: OfferedFigures | None = None
    """The iterations of a level of an offered rate; None for a level of users."""
    readings: dict[str, float] = {}
    """The mean of each reading over the settled ticks in which it was measured, by name, such as `target.listen_queue`,
    `tcp.listen_overflows` or `app.queued` (see `reading_means`)."""
    other_processes: dict[str, float] = {}
    """Cores used by the three busiest processes that belong neither to the target nor to the generator, by name; empty while such
    processes use little, and in older logs."""

    @property
    def pause_s(self) -> float | None:
        """Think time per request; in older logs, which lack it, the mean wait between tasks."""
        return self.wait_s if self.think_s is None else self.think_s


class LevelBin(Reading, frozen=True, kw_only=True):
    """The seconds of a ramp with about the same number of users, or about the same offered rate."""

    users: float
    """Mean number of running users."""
    figures: LevelFigures
    endpoints: tuple[LevelEndpoint, ...] = ()
    metrics: tuple[LevelEndpoint, ...] = ()


def latency_of_kind(found: LevelEndpoint | LevelFigures, kind: LatencyKind) -> Latency:
    """One of its latencies of successes; without a value if it has no such stage."""
    if kind == "total":
        return found.latency_ms
    return found.stages[kind].ms if kind in found.stages else Latency()


POOLED_REQUESTS = 20
"""Levels that follow each other are pooled until they have so many requests: the mean response of a few says little."""


def least_response_s(levels: Iterable[LevelFigures]) -> float | None:
    """The least mean response of these levels, in the order in which they ran: how long replies take without a queue. None: not
    known."""
    least_ms, requests, sum_ms = math.inf, 0, 0.0
    for figures in levels:
        requests += figures.requests
        sum_ms += figures.requests * (figures.response_ms or 0.0)
        if requests >= POOLED_REQUESTS:
            least_ms, requests, sum_ms = min(least_ms, sum_ms / requests), 0, 0.0
    if least_ms == math.inf and requests:
        least_ms = sum_ms / requests
    return None if least_ms == math.inf else least_ms / 1000
