"""One tick of a run: requests by endpoint, failures by signature, and the readings of the probes."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..offered import OfferedTick
from ..part_reading import PartReading
from ..readings import (
    GeneratorReading,
    HostReading,
    NeighboursReading,
    PortsReading,
    Reading,
    TargetReading,
    TcpReading,
    WorkersReading,
)
from .event import Event

Phase = Literal["spawning", "settling", "settled"]


class FailureSignature(Reading, frozen=True, kw_only=True):
    """An exception reduced to what distinguishes causes (docs/causes.md), without addresses and ids, so that there are few."""

    types: tuple[str, ...]
    """Exception type names, outermost first."""
    errno: int | None = None
    status: int | None = None
    text: str = ""
    """At most 200 characters; numbers and addresses are replaced by placeholders. Data from a target: escape before display."""
    reused: bool | None = None
    """Whether the connection had carried a request before; None: not known."""
    after_status: int | None = None
    """Status of the connection's reply before, if that was an error: services often close a connection after one. None also in
    older logs."""

    @property
    def kind(self) -> str:
        """A short text, such as `503 code=503: upstream pool exhausted`, `[Errno 111] Connection refused`, `ReadTimeout timed
        out`.
        """
        number = f"[Errno {self.errno}]" if self.errno is not None else str(self.status or "".join(self.types[-1:]))
        return f"{number} {self.text}".strip()


class EndpointTick(Reading, frozen=True, kw_only=True):
    """One endpoint in one tick. Counts and latencies are without `on_start` and the first cycle of each new user (warm-up)."""

    name: str
    method: str = "GET"
    requests: int = 0
    failures: int = 0
    received_bytes: int = 0
    latency: str | None = None
    """Latencies of successes: HdrHistogram V2, base64, microseconds."""
    latency_sum_ms: float = 0.0
    """Exact sum over successes."""
    failure_latency_sum_ms: float = 0.0
    clamped: int = 0
    """Number of latencies outside 1 us to 1 h, which are recorded at the bound."""
    warmup_requests: int = 0
    """Warm-up requests: those of `on_start` and of first cycles, failures included. They are in none of the figures above."""
    warmup_failures: int = 0


class FailureTick(Reading, frozen=True, kw_only=True):
    """Failures of one endpoint with one signature, warm-up included, in this tick or in earlier ones with too many signatures."""

    name: str
    method: str
    signature: FailureSignature
    count: int
    example: str | None = None
    """Full text of one of them: one line, at most 200 characters, with its numbers. Only in the first tick with that signature,
    and only if it contains more than the signature. Data from a target: escape before display."""


class ClientTick(Reading, frozen=True, kw_only=True):
    """Requests as the clients count them, where they start and end, as a check of those that are reported one by one.

    Requests in flight are what was started in all ticks so far, less what was reported and abandoned: none is left once all users
    have ended. Without events that user code fires itself, `reported` is the number of requests of all endpoints.
    """

    started: int = 0
    reported: int = 0
    """Ended as a success or a failure."""
    abandoned: int = 0
    """Without a result: the user was stopped meanwhile, or user code ended the task early within the request's with-block."""


class Sample(Event, frozen=True, kw_only=True, tag="sample"):
    """One tick: requests and readings in the `duration_s` seconds before `t_s`."""

    duration_s: float
    level: int
    """Index of the level."""
    users: int
    """Running users at the end of the tick."""
    wanted: int
    """Requested users; at an offered rate those of the pool."""
    phase: Phase
    settled: bool = False
    """Whether this tick counts in its level's figures."""
    suspended_s: float | None = msgspec.field(name="stood_still_s", default=None)
    """Seconds of this tick in which the process was suspended or the machine slept. 0 in the tick after that, in which delayed
    requests still end; None in all others. No detector uses a tick with this field.
    """
    endpoints: tuple[EndpointTick, ...] = ()
    failures: tuple[FailureTick, ...] = ()
    retried: tuple[FailureTick, ...] = ()
    """Failed attempts that the client repeated by itself. Each request counts once, by its final result."""
    work: float | None = None
    """Finished work in this tick: successful requests, or the target's own count. None: it could not be measured."""
    warmup_work: float = 0.0
    """Finished work of warm-up requests: shown in the time chart, but in no level's figures."""
    clients: ClientTick | None = None
    """None in older logs, and if a worker is plain Locust."""
    connects: int = 0
    """Connections that users tried to open. Also 0 in older logs, which did not count them."""
    closed_by_service: int | None = None
    closed_by_users: int | None = None
    """Connections that ended, by who ended them: the service (it closed or reset them, or announced it in a reply), or the users
    (no keep-alive, a timeout, user code). None in older logs."""
    waits: int = 0
    wait_sum_s: float = 0.0
    """Number and sum of the waits between tasks that users began in this tick."""
    sleeps: int = 0
    sleep_sum_s: float | None = None
    """Number and sum of the pauses inside tasks, between two requests, in which user code slept. None in older logs."""
    tasks: int = 0
    task_sum_s: float = 0.0
    """Number and total duration of the tasks that ended in this tick, requests and sleeps included."""
    users_stopped: int = 0
    """Users that stopped themselves (StopUser) in this tick; others took their places. 0 in older logs."""
    warm_users: int | None = None
    """Running users that have completed a task cycle, whose requests count. None in older logs."""
    offered: OfferedTick | None = None
    """None: no rate was offered, and no iteration of an earlier rate level is in flight."""
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    """Latency of successes over all endpoints, without warm-up."""
    generator: GeneratorReading | None = None
    """The process that runs the users; with several workers, the fullest one."""
    workers: WorkersReading | None = None
    """None if users run in this process."""
    targets: tuple[TargetReading, ...] = ()
    host: HostReading | None = None
    neighbours: NeighboursReading | None = None
    """None also in older logs."""
    ports: PortsReading | None = None
    tcp: TcpReading | None = None
    app: dict[str, float] = {}
    """The target's own metrics, by name."""
    parts: tuple[PartReading, ...] = ()
    """Watched parts, in the order of the profile and of options."""
