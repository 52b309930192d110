"""The one vocabulary: everything that happens in a session is one of these events.

Live, saved and replayed sessions are the same sequence of events. `t_s` is seconds since the session began, on a monotonic
clock; wall time stands once, in the header. Unknown event types survive a read as `Unknown`; unknown fields are ignored.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from .figures import LevelBin, LevelEndpoint, LevelFigures
from .findings import AnyFinding, MarkKind, kind_of
from .grades import Confidence, Severity
from .readings import (
    GeneratorReading,
    HostReading,
    NeighboursReading,
    PortsReading,
    Reading,
    TargetReading,
    TcpReading,
)
from .verdicts import CapacityVerdict, EndpointDeparture, RegimeVerdict, SloVerdict

SCHEMA = 2
"""1: lines had no seal, and marks held untyped evidence and sentences of advice (`session/upgrade.py`)."""

By = Literal["user", "plan", "autopilot", "guard", "shift"]
"""Who asked. A Locust shape is a plan."""

Phase = Literal["spawning", "settling", "settled"]

TargetState = Literal["building", "starting", "ready", "stopping", "stopped", "died", "failed"]
"""`building`: its build runs, before the start. `died`: ended by itself. `failed`: never got built or ready, or could not be
started. `stopped`: we ended it."""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Base of all events: when it happened."""

    t_s: Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]
    """Within 30 years, so that it can be added to a wall time."""


class HostFacts(Reading, frozen=True, kw_only=True):
    """What the machine is, read once: the environment that `compare` warns about."""

    name: str | None = None
    system: str | None = None
    kernel: str | None = None
    python: str | None = None
    cpu_model: str | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    fds_limit: int | None = None
    """Soft RLIMIT_NOFILE of this process."""
    fds_limit_of_system: int | None = None
    """Open files of all processes together (`file-nr`)."""
    port_range: tuple[int, int] | None = None
    ports_reserved: int | None = None
    ports_capacity: int | None = None
    tcp_tw_reuse: int | None = None
    somaxconn: int | None = None
    tcp_max_syn_backlog: int | None = None
    conntrack_max: int | None = None
    link_bytes_per_s: float | None = None
    """Speed of its fastest network link in one direction; None where no link reports it."""
    cgroup_cpus: float | None = None
    """CPU cores that the cgroup's quota allows; None without a quota."""
    cgroup_memory_bytes: int | None = None
    """Memory that the cgroup allows; None without a limit."""


class ClientFloor(Reading, frozen=True, kw_only=True):
    """What a client class costs by itself: latency of 200 requests to a null responder on loopback."""

    p50_ms: float
    p99_ms: float


class TargetFacts(Reading, frozen=True, kw_only=True):
    """What is explored: a process that the app started, or a service that was already running."""

    name: str
    url: str
    command: tuple[str, ...] = ()
    """Empty when the target was not started by us."""
    params: dict[str, str | int | float | bool] = {}


class Engine(Reading, frozen=True, kw_only=True):
    """How load is made; None where an imported file does not say."""

    mode: Literal["in-process", "workers"] | None = "in-process"
    workers: int | None = 0


class Header(Event, frozen=True, kw_only=True, tag="header"):
    """First line of a log."""

    schema: int
    id: str
    started_at: str
    """Wall time, ISO 8601 with offset; empty where an imported file does not say."""
    label: str | None = None
    source: str | None = None
    """Of an imported session: from which files, and what they do not hold. None: recorded by this app."""
    versions: dict[str, str] = {}
    """capexplorer, locust, python, ..."""
    clients: tuple[str, ...] = ()
    """Client classes that the users are built on, by Locust's names: FastHttpUser, HttpUser, User. Empty in older logs (see
    `clients_of`)."""
    client_floor_ms: dict[str, ClientFloor] = {}
    """By client class name; only HTTP clients have one."""
    profile: dict[str, Any] = {}
    """The whole resolved profile, as plain values (secrets removed)."""
    target: TargetFacts
    host: HostFacts
    engine: Engine = Engine()
    interval_s: float = 1.0


class LevelOpened(Event, frozen=True, kw_only=True, tag="level"):
    """A command changed the users: a level opened, and the one before it ended."""

    index: int
    users: int
    spawn_rate: float
    by: By
    epoch: int = 0
    ramp: bool = False
    """Users change all the time (a shape): seconds are binned by user count."""
    since_s: float | None = None
    """Of a level that opened by a shift: its seconds began here. Until it was found, ticks named the level before."""
    shifted: Literal["goodput", "latency"] | None = None
    """What changed for good, of such a level."""


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
    phase: Phase
    settled: bool = False
    """True when this tick makes its level's figures."""
    stood_still_s: float | None = None
    """Seconds of this tick in which the process did not run: it was stopped, or the machine slept. 0: in the tick after such a
    one, in which what was held up still ends. None: it ran. Nothing is judged by a tick that has this."""
    endpoints: tuple[EndpointTick, ...] = ()
    failures: tuple[FailureTick, ...] = ()
    retried: tuple[FailureTick, ...] = ()
    """Errors of attempts that the client repeated by itself. Each request counts once, by its final result."""
    work: float | None = None
    """Finished work in this tick (DESIGN section 4); None when it could not be measured."""
    warmup_work: float = 0.0
    """Finished work of warm-up requests: on the wire, so in the time chart, but in no level's figures."""
    connects: int = 0
    """Connections that users tried to open. Also 0 in older logs, which did not count them."""
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
    """Of `users`, those that have lived through a cycle of their own: their requests count. None: not recorded, in older logs."""
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    """Over all endpoints, successes, warm-up left out."""
    generator: GeneratorReading | None = None
    targets: tuple[TargetReading, ...] = ()
    host: HostReading | None = None
    neighbours: NeighboursReading | None = None
    """None in logs from before it was measured, too."""
    ports: PortsReading | None = None
    tcp: TcpReading | None = None
    app: dict[str, float] = {}
    """The target's own metrics."""


class LevelClosed(Event, frozen=True, kw_only=True, tag="level_closed"):
    """A level ended, at `t_s`: its figures, so that readers need not decode every second."""

    index: int
    users: int
    started_s: float
    ended_s: float | None = None
    """Where a shift was found later than it happened: when. None: at `t_s`."""
    settled_s: float | None = None
    """When it settled; None when it never did."""
    figures: LevelFigures
    endpoints: tuple[LevelEndpoint, ...] = ()
    bins: tuple[LevelBin, ...] = ()
    """Of a ramp: its seconds by user count, at most 24 bins; `figures` then has no rates."""


class Mark(Event, frozen=True, kw_only=True, tag="mark"):
    """A finding, and since when it stands. Superseded by one with the same `key` and a higher `revision`; never edited."""

    key: str
    revision: int = 1
    state: Literal["open", "updated", "closed", "retracted"]
    finding: AnyFinding
    epoch: int = 0
    users: float | None = None
    severity: Severity = "info"
    confidence: Confidence | None = None

    @property
    def kind(self) -> MarkKind:
        """Of the finding."""
        return kind_of(self.finding)

    @property
    def id(self) -> str:
        """What was found: of a cause, a bottleneck or a leak an id of the catalogue."""
        return self.finding.id


class Verdict(Event, frozen=True, kw_only=True, tag="verdict"):
    """All that is known of one epoch's capacity from this moment on: what curves are drawn from. Findings are marks."""

    epoch: int = 0
    capacity: CapacityVerdict = CapacityVerdict()
    slo: tuple[SloVerdict, ...] = ()
    recovery_levels: tuple[int, ...] = ()
    """Indices of levels on the way down from overload, which feed no fit."""
    regimes: tuple[RegimeVerdict, ...] = ()
    """In the order they began, where the service changed in time; empty: it did not."""
    held_levels: tuple[int, ...] = ()
    """Indices of levels in which other processes held the CPU that service or generator needed."""
    left_out_levels: tuple[int, ...] = ()
    """Those of `held_levels` that feed no fit, because they show nothing about the service."""
    partial_levels: tuple[int, ...] = ()
    """Indices of settled levels whose figures cover only a part of their users, which feed no fit either."""
    first_endpoint: EndpointDeparture | None = None
    """The endpoint that leaves the low-load line first."""


class FigureChange(Reading, frozen=True, kw_only=True):
    """A figure of a mark that is another one now."""

    name: str
    """A field of the mark, or a key of its evidence."""
    recorded: Any = None
    found: Any = None


class MarkChange(Reading, frozen=True, kw_only=True):
    """What became of one mark when the detectors ran again."""

    kind: Literal["new", "gone", "changed"]
    key: str
    recorded: Mark | None = None
    """None when it is new."""
    found: Mark | None = None
    """None when it is gone."""
    figures: tuple[FigureChange, ...] = ()
    """Which changed; empty unless `kind` is `changed`."""


class Reanalysed(Event, frozen=True, kw_only=True, tag="reanalysed"):
    """The marks of this sequence are not those recorded: detectors ran over it again. Stands behind the header; never live."""

    version: str
    """Of the app whose detectors they are."""
    recorded: int
    found: int
    """How many marks of detectors there were, and are."""
    changes: tuple[MarkChange, ...] = ()


class Note(Event, frozen=True, kw_only=True, tag="note"):
    """What the user wrote."""

    text: str


class Command(Event, frozen=True, kw_only=True, tag="command"):
    """What was asked, and by whom."""

    name: Literal["users", "step", "spawn_rate", "new_level", "zero", "note", "restart", "quit", "autopilot", "plan", "runner"]
    by: By = "user"
    args: dict[str, str | int | float | bool | None] = {}


class Target(Event, frozen=True, kw_only=True, tag="target"):
    """The target's life."""

    state: TargetState
    epoch: int = 0
    pid: int | None = None
    program: str | None = None
    """File name of the executable that runs as `pid`, e.g. python3.11."""
    exit_code: int | None = None
    signal: str | None = None
    """Name of the signal that ended it, e.g. SIGKILL."""
    reason: str | None = None
    params: dict[str, str | int | float | bool] = {}
    output: tuple[str, ...] = ()
    """Last output lines, when it died or failed."""


class Log(Event, frozen=True, kw_only=True, tag="log"):
    """What was logged or printed: by Locust, by user code, by us, by the target."""

    source: Literal["stdout", "stderr", "locust", "target", "capexplorer"]
    level: Literal["debug", "info", "warning", "error", "critical"] = "info"
    text: str
    repeated: int = 1
    """How many equal lines this one stands for."""


class Ended(Event, frozen=True, kw_only=True, tag="ended"):
    """Last line of a complete log."""

    reason: str
    exit_code: int = 0
    signal: str | None = None
    requests: int = 0
    failures: int = 0
    levels: int = 0


class Unknown(Event, frozen=True, kw_only=True, tag="unknown"):
    """An event of a type that this version does not know, kept as it was read."""

    original_type: str
    fields: dict[str, Any] = {}
