"""One tick of a run: requests by endpoint, failures by signature, and what the probes read."""

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
    """An exception reduced to what distinguishes causes (docs/causes.md). Bounded: never carries addresses or ids."""

    types: tuple[str, ...]
    """Exception type names, outermost first."""
    errno: int | None = None
    status: int | None = None
    text: str = ""
    """At most 200 characters, numbers and addresses folded. Data from a target: escape before display."""
    reused: bool | None = None
    """Whether the connection had carried a request before; None: not known."""

    @property
    def kind(self) -> str:
        """`503 code=503: upstream pool exhausted`, `[Errno 111] Connection refused`, `ReadTimeout timed out`."""
        number = f"[Errno {self.errno}]" if self.errno is not None else str(self.status or "".join(self.types[-1:]))
        return f"{number} {self.text}".strip()


class EndpointTick(Reading, frozen=True, kw_only=True):
    """One endpoint in one tick. Counts, latencies and failures leave out `on_start` and each new user's first cycle."""

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
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    """Percentiles of `latency`. The log omits them, since they are a tenth of a day's bytes; `merged.tick_latency` computes them
    again."""
    clamped: int = 0
    """Values outside 1 us to 1 h, recorded at the bound."""
    warmup_requests: int = 0
    """Requests of `on_start` and of first cycles, failures included; not in any of the figures above."""
    warmup_failures: int = 0


class FailureTick(Reading, frozen=True, kw_only=True):
    """Failures of one endpoint with one signature, warm-up included: of this tick, or of earlier ones that had no room."""

    name: str
    method: str
    signature: FailureSignature
    count: int
    example: str | None = None
    """Full text of one of them: one line, at most 200 characters, numbers as they were. Only in the first tick with that
    signature, and only where it holds more than the signature. Data from a target: escape before display."""


class Sample(Event, frozen=True, kw_only=True, tag="sample"):
    """One tick: what was done and what was read in the `duration_s` that end at `t_s`."""

    duration_s: float
    level: int
    users: int
    """Running users at the end of the tick."""
    wanted: int
    """Users requested; at a rate level those that its pool has."""
    phase: Phase
    settled: bool = False
    """True when this tick makes its level's figures."""
    suspended_s: float | None = msgspec.field(name="stood_still_s", default=None)
    """Seconds of this tick in which the process was suspended or the machine slept. 0: in the tick after such a one, in which
    what was held up still ends. None: it ran. No detector uses a tick with this field.
    """
    endpoints: tuple[EndpointTick, ...] = ()
    failures: tuple[FailureTick, ...] = ()
    retried: tuple[FailureTick, ...] = ()
    """Errors of attempts that the client repeated by itself. Each request counts once, by its final result."""
    work: float | None = None
    """Finished work in this tick; None when it could not be measured."""
    warmup_work: float = 0.0
    """Finished work of warm-up requests: shown in the time chart, but in no level's figures."""
    connects: int = 0
    """Connections that users tried to open. Also 0 in older logs, which did not count them."""
    closed_by_service: int | None = None
    closed_by_users: int | None = None
    """Connections that ended, by who ended them: the service (it closed or reset them, or a reply said that it would), or the
    users (no keep-alive, a timeout, user code). Those opened beyond both are first connections of a client. None: older logs."""
    waits: int = 0
    wait_sum_s: float = 0.0
    """Waits between tasks that users chose in this tick: how many, and their sum."""
    sleeps: int = 0
    sleep_sum_s: float | None = None
    """Pauses inside tasks, between two requests, in which user code slept. None: not recorded, in older logs."""
    tasks: int = 0
    task_sum_s: float = 0.0
    """Tasks that ended in this tick, and how long they took, requests and sleeps included."""
    warm_users: int | None = None
    """Of `users`, those that have completed a task cycle: their requests count. None: not recorded, in older logs."""
    offered: OfferedTick | None = None
    """None: no rate was offered, and no iteration of an earlier rate level is in flight."""
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    """Over all endpoints, successes, warm-up left out."""
    generator: GeneratorReading | None = None
    """Of the process that runs the users; of the fullest worker where there are several."""
    workers: WorkersReading | None = None
    """None: users run in this process."""
    targets: tuple[TargetReading, ...] = ()
    host: HostReading | None = None
    neighbours: NeighboursReading | None = None
    """None in logs from before it was measured, too."""
    ports: PortsReading | None = None
    tcp: TcpReading | None = None
    app: dict[str, float] = {}
    """The target's own metrics."""
    parts: tuple[PartReading, ...] = ()
    """Watched parts, in the order in which they were asked for."""
