"""The events of a session: header, processes, commands, levels, samples, marks, verdicts; and events of an unknown type."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec

from .experiments import Experiment, Explanation
from .figures import LevelBin, LevelEndpoint, LevelFigures
from .findings import AnyFinding, MarkKind, kind_of
from .load import Arrivals, Load, OfferedTick, Rate, Users, logged_load
from .proposals import Proposal
from .readings import (
    GeneratorReading,
    HostReading,
    NeighboursReading,
    PartReading,
    PortsReading,
    Reading,
    TargetReading,
    TcpReading,
    WorkersReading,
)
from .requirements import Answer
from .stacks import SampledStacks
from .stages import Stage, StageTick
from .sweep import Params, SettingResult
from .telemetry import TelemetryChanges
from .verdicts import (
    CapacityVerdict,
    Confidence,
    EndpointDegradation,
    RateCapacity,
    RateVerdict,
    RegimeVerdict,
    Severity,
    SloVerdict,
)

Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Sum = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
"""What is counted in a second, and summed over these: bounded, so that a damaged line cannot make a total too large."""

By = Literal["user", "plan", "autopilot", "guard", "shift"]
"""Who gave a command. A Locust load shape counts as a plan."""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Base of all events."""

    t_s: Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]
    """When it happened, in seconds of the session. Bounded to 30 years, so that it can be added to a wall time."""


class Unknown(Event, frozen=True, kw_only=True, tag="unknown"):
    """An event of a type that this version does not know, kept as it was read."""

    original_type: str
    fields: dict[str, Any] = {}


# -- The first line of a log: which service was explored, from which machine, with which versions.

SCHEMA = 2
"""Version of the log's format."""


class HostFacts(Reading, frozen=True, kw_only=True):
    """Facts about a machine, read once. None: not known."""

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
    """Speed of its fastest network link in one direction; None if no link reports it."""
    cgroup_cpus: float | None = None
    """CPU cores that the cgroup's quota allows; None without a quota."""
    cgroup_memory_bytes: int | None = None
    """Memory that the cgroup allows; None without a limit."""


class ClientOverhead(Reading, frozen=True, kw_only=True):
    """The overhead of a client class: latency of 200 requests to a null responder on loopback."""

    p50_ms: float
    p99_ms: float


class TargetFacts(Reading, frozen=True, kw_only=True):
    """The explored service: a process that the app started, or a service that was already running."""

    name: str
    url: str
    command: tuple[str, ...] = ()
    """Command that started it; empty if the app did not start it."""
    params: dict[str, str | int | float | bool] = {}
    version: str | None = None
    """The version that the profile names, else that of its source: `git describe` in the folder of its command; None: not known.
    Its own answer is in the event that it is ready."""


class Engine(Reading, frozen=True, kw_only=True):
    """How load was generated. None: an imported file does not contain it."""

    mode: Literal["in-process", "workers"] | None = "in-process"
    workers: int | None = 0


class Header(Event, frozen=True, kw_only=True, tag="header"):
    """First line of a log."""

    schema: int
    id: str
    started_at: str
    """Wall time, ISO 8601 with offset; empty if an imported file does not contain it."""
    label: str | None = None
    source: str | None = None
    """For an imported session: its files, and what they do not contain. None: recorded by this app."""
    versions: dict[str, str] = {}
    """Versions of capexplorer, locust, python and others, by name."""
    clients: tuple[str, ...] = ()
    """Client classes of the users, by Locust's names: FastHttpUser, HttpUser, User. Empty in older logs (see `clients_of`)."""
    client_overhead_ms: dict[str, ClientOverhead] = msgspec.field(name="client_floor_ms", default_factory=dict)
    """Overhead by name of the client class; only HTTP clients have one."""
    pacing_s: float | None = None
    """Seconds from the start of one task of a user to that of the next, if users are paced (Locust's `constant_pacing`,
    `constant_throughput`): as long as tasks are shorter, the number of users sets the throughput. None: users are not paced, or
    an older log."""
    profile: dict[str, Any] = {}
    """The whole resolved profile, as plain values (secrets removed)."""
    target: TargetFacts
    host: HostFacts
    engine: Engine = Engine()
    interval_s: float = 1.0
    trace_url: str | None = None
    """Where the trace of a request is shown, with `{trace_id}` in place of its id; None: not known."""

    @property
    def profile_name(self) -> str:
        """The name of the profile, else that of the target."""
        return str(self.profile.get("name") or self.target.name)


# -- Events of processes: states of the target, lines that were logged or printed, the end of the app.

TargetState = Literal["building", "starting", "ready", "stopping", "stopped", "died", "failed"]
"""`building`: its build runs, before the start. `died`: it ended by itself. `failed`: it could not be built or started, or did
not become ready. `stopped`: the app ended it."""


class Target(Event, frozen=True, kw_only=True, tag="target"):
    """A new state of the target."""

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
    version: str | None = None
    """Of a ready target that the app started: the version that its readiness answer names; None: it names none."""
    output: tuple[str, ...] = ()
    """Its last lines of output, if it died or failed."""


class Log(Event, frozen=True, kw_only=True, tag="log"):
    """A line that was logged or printed by Locust, user code, capexplorer or the target."""

    source: Literal["stdout", "stderr", "locust", "target", "capexplorer"]
    level: Literal["debug", "info", "warning", "error", "critical"] = "info"
    text: str
    repeated: int = 1
    """Number of equal lines that this one represents."""

    @property
    def warns(self) -> bool:
        """Whether it is a warning of the app itself."""
        return (self.source, self.level) == ("capexplorer", "warning")


class Ended(Event, frozen=True, kw_only=True, tag="ended"):
    """The end of the session: the last line of a complete log."""

    reason: str
    exit_code: int = 0
    signal: str | None = None
    requests: int = 0
    failures: int = 0
    levels: int = 0
    requests_kept: int = 0
    """Number of requests that are kept whole in `requests_file`."""
    requests_file: str | None = None
    """Name of a file in the folder of the log; None: there is none."""


# -- Commands, from a person, a plan or the autopilot, and notes.


class Note(Event, frozen=True, kw_only=True, tag="note"):
    """A note of the user."""

    text: str


CommandName = Literal[
    "users",
    "rate",
    "step",
    "spawn_rate",
    "new_level",
    "zero",
    "note",
    "restart",
    "quit",
    "autopilot",
    "plan",
    "stacks",
    "require",
    "runner",
    "controls",
    "workers",
    "watch",
    "experiment",
]


class Command(Event, frozen=True, kw_only=True, tag="command"):
    """A command to a live run."""

    name: CommandName
    by: By = "user"
    args: dict[str, str | int | float | bool | None] = {}


# -- The start and the end of a level.


class LevelOpened(Event, frozen=True, kw_only=True, tag="level"):
    """A level opened, since a command changed the users or the offered rate; the level before it ended."""

    index: int
    users: int
    """Requested users; 0 at an offered rate, whose pool has as many users as the arrivals need."""
    offered_per_s: float | None = None
    """Iterations offered per second, on a schedule that does not wait for replies. None: a level of users, as in older logs."""
    arrivals: Arrivals = "poisson"
    """How the schedule spaces arrivals at an offered rate."""
    spawn_rate: float
    by: By
    epoch: int = 0
    workers: int = 0
    """Worker processes that run its users; 0: they run in this process, as in older logs."""
    ramp: bool = False
    """Whether users, or the offered rate, change all the time: seconds are binned by them. `offered_per_s` is then the last
    rate."""
    since_s: float | None = None
    """For a level opened by a shift: the time of the shift, from which on seconds belong to the level. Ticks until the shift was
    detected have the index of the previous level."""
    shifted: Literal["goodput", "latency"] | None = None
    """For such a level: what changed permanently."""
    stacks: bool = False
    """Whether the target's stacks are sampled during all of it, which costs CPU: it is in no curve. The levels before and after
    it have the same load."""
    experiment: Experiment | None = None
    """What was changed for this level beside the load; it is in no curve. None: nothing."""

    @property
    def is_aside(self) -> bool:
        """Whether it is in no curve, whatever it shows."""
        return self.stacks or self.experiment is not None

    @property
    def load(self) -> Load:
        """The load that was requested, or the last of a ramp."""
        return logged_load(self.users, self.offered_per_s)


class LevelClosed(Event, frozen=True, kw_only=True, tag="level_closed"):
    """A level ended at `t_s`, with its figures, so that readers of the log need not decode every second."""

    index: int
    users: int
    offered_per_s: float | None = None
    """As in `LevelOpened`."""
    started_s: float
    ended_s: float | None = None
    """End of its seconds if a shift ended it, which is detected later; None: `t_s`."""
    settled_s: float | None = None
    """When it settled; None if it did not."""
    settling_s: float | None = None
    """Of a level that did not settle: seconds from its start until it would have settled, by the cycles of its users; None: not
    known, as in older logs."""
    void: Literal["worker_lost"] | None = None
    """Why it has no figures and is not judged; None: it has figures."""
    figures: LevelFigures
    endpoints: tuple[LevelEndpoint, ...] = ()
    metrics: tuple[LevelEndpoint, ...] = ()
    """As `Tick.metrics`, over its settled seconds."""
    bins: tuple[LevelBin, ...] = ()
    """The seconds of a ramp by user count or offered rate, at most 24 bins; its `figures` have no rates."""

    @property
    def load(self) -> Load:
        """As in `LevelOpened`."""
        return logged_load(self.users, self.offered_per_s)


class PartState(Event, frozen=True, kw_only=True, tag="part"):
    """The state of a watched part, and facts about it; the latest event with a name is valid."""

    name: str
    state: Literal["read", "unread"]
    """`unread`: it cannot be read, for the reason in `reason`."""
    place: str = ""
    """Where it is, as in the profile or option: `ssh web1: port 8080`."""
    reason: str | None = None
    host: HostFacts = HostFacts()
    """Facts about its machine. `cgroup_cpus`: the lowest CPU quota of the part's own control groups."""
    machine: str | None = None
    """Name of its machine: `generator`, or the name of the first part that runs on it. None: not known."""
    pid: int | None = None
    """Process id on its machine."""
    program: str | None = None
    """File name of its executable."""
    reader: Literal["python", "shell"] | None = None
    """The program that reads there: a shell, which reads less, where there is no Python 3."""
    clock_offset_s: float | None = None
    """The clock there minus this machine's clock, with an error of at most `clock_error_s`."""
    clock_error_s: float | None = None
    denied: tuple[str, ...] = ()
    """Readings that the user there has no permission to take."""


# -- One tick of a run: requests by endpoint, failures by signature, and the readings of the probes.

Phase = Literal["spawning", "settling", "settled"]


CODE = re.compile(r"(SQLSTATE|Redis|MQTT|DNS|gRPC|WebSocket|GraphQL) [A-Z0-9_]{1,40}(?=:|$)")
"""The code by which a protocol other than HTTP says why a request failed, at the beginning of a failure's text."""


class FailureSignature(Reading, frozen=True, kw_only=True):
    """An exception reduced to what distinguishes causes (docs/causes.md): few, since they have no URLs, numbers and ids."""

    types: tuple[str, ...]
    """Exception type names, outermost first."""
    errno: int | None = None
    status: int | None = None
    text: str = ""
    """At most 200 characters; numbers and ids are replaced by placeholders, IPv4 addresses stay. Data from a target: escape
    before display."""
    reused: bool | None = None
    """Whether the connection had carried a request before; None: not known."""
    after_status: int | None = None
    """Status of the connection's reply before, if that was an error: services often close a connection after one. None also in
    older logs."""

    @property
    def code(self) -> str:
        """`SQLSTATE 53300`, `gRPC UNAVAILABLE`; empty: the failure has none."""
        found = CODE.match(self.text)
        return found[0] if found else ""

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
    requests: Count = 0
    failures: Count = 0
    received_bytes: Count = 0
    latency: str | None = None
    """Latencies of successes: HdrHistogram V2, base64, microseconds."""
    latency_sum_ms: Sum = 0.0
    """Exact sum over successes."""
    failure_latency_sum_ms: Sum = 0.0
    clamped: Count = 0
    """Number of latencies outside 1 us to 1 h, which are recorded at the bound."""
    warmup_requests: Count = 0
    """Warm-up requests: those of `on_start` and of first cycles, failures included. They are in none of the figures above."""
    warmup_failures: Count = 0
    tokens: Count = 0
    """Tokens, or events, in the streams of successes."""
    stages: dict[Stage, StageTick] = {}
    """Of successes whose replies are streams."""
    within_limits: Count | None = None
    """Successes that meet every limit of `[slo]` on a single request; None: there is none, so that all of them count as work."""
    within_limits_tokens: Count = 0
    """Their tokens."""
    beyond_ttft: Count = 0
    beyond_tpot: Count = 0
    beyond_total: Count = 0
    """Successes that exceed each of these limits; one may exceed several."""
    warmup_beyond_limits: Count = 0
    """Successes of the warm-up that exceed one."""


class FailureTick(Reading, frozen=True, kw_only=True):
    """Failures of one endpoint with one signature, warm-up included, in this tick or in earlier ones with too many signatures."""

    name: str
    method: str
    signature: FailureSignature
    count: Count
    example: str | None = None
    """Full text of one of them: one line, at most 200 characters, with its numbers. Only in the first tick with that signature,
    and only if it contains more than the signature. Data from a target: escape before display."""


class ClientTick(Reading, frozen=True, kw_only=True):
    """Requests as the clients count them, where they start and end, as a check of those that are reported one by one.

    Requests in flight are what was started in all ticks so far, less what was reported and abandoned: none is left once all users
    have ended. Without events that user code fires itself, `reported` is the number of requests of all endpoints.
    """

    started: Count = 0
    reported: Count = 0
    """Ended as a success or a failure."""
    abandoned: Count = 0
    """Without a result: the user was stopped meanwhile, or user code ended the task early within the request's with-block."""


class Tick(Event, frozen=True, kw_only=True):
    """What users did in the `duration_s` seconds before `t_s`. Those of several processes are merged into one.

    A sample has all of it. So a line of the log has its fields in this order, and some of them only the run can know.
    """

    duration_s: float
    level: int | None = None
    users: int
    """Running users at the end of the tick."""
    wanted: int | None = None
    phase: Phase | None = None
    settled: bool = False
    """Whether this tick counts in its level's figures."""
    suspended_s: float | None = msgspec.field(name="stood_still_s", default=None)
    """Seconds of this tick in which the process was suspended or the machine slept. 0 in the tick after that, in which delayed
    requests still end; None in all others. No detector uses a tick with this field.
    """
    endpoints: tuple[EndpointTick, ...] = ()
    metrics: tuple[EndpointTick, ...] = ()
    """What user code fired beside its requests, by name: `requests` is how often, the latencies are what it gave as the response
    time, `received_bytes` as the length. They count in no figure of requests."""
    failures: tuple[FailureTick, ...] = ()
    """With a bound on their bytes a second, so some may belong to an earlier one."""
    retried: tuple[FailureTick, ...] = ()
    """Failed attempts that the client repeated by itself. Each request counts once, by its final result."""
    work: float | None = None
    """Finished work in this tick: successful requests, those within all limits of `[slo]` on a single request if there are such
    limits, or the target's own count. None: it could not be measured."""
    work_beyond_limits: float | None = None
    """Further successes, which exceed a limit on a single request; None: there is no such limit."""
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

    @property
    def all_requests(self) -> int:
        """Requests of all endpoints, warm-up and failures included."""
        return sum(each.requests + each.warmup_requests for each in self.endpoints)


class Sample(Tick, frozen=True, kw_only=True, tag="sample"):
    """One tick of a run: what users did, and what the probes read."""

    level: int
    """Index of the level."""
    wanted: int
    """Requested users; at an offered rate those of the pool."""
    phase: Phase
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

    @property
    def load(self) -> Load:
        """The rate that is offered, or the users that run, also while the last iterations of a rate run on after it has ended."""
        return Rate(self.offered.offered_per_s) if self.offered is not None and self.offered.offered_per_s else Users(self.users)


# -- The results of analysis: marks, and verdicts on the capacity of an epoch.


class Mark(Event, frozen=True, kw_only=True, tag="mark"):
    """A finding with its time. A mark is never edited; one with the same `key` and a higher `revision` supersedes it."""

    key: str
    revision: int = 1
    state: Literal["open", "updated", "closed", "retracted"]
    finding: AnyFinding
    epoch: int = 0
    users: float | None = None
    """The load, if the finding is about users."""
    offered_per_s: float | None = None
    """The load, if the finding is about offered rates; iterations a second."""
    severity: Severity = "info"
    confidence: Confidence | None = None

    @property
    def kind(self) -> MarkKind:
        """The kind of the finding."""
        return kind_of(self.finding)

    @property
    def id(self) -> str:
        """The finding's id; for a cause, a bottleneck or a leak an id of the catalogue."""
        return self.finding.id


class Verdict(Event, frozen=True, kw_only=True, tag="verdict"):
    """The current verdict on one epoch's capacity, from which curves are drawn."""

    epoch: int = 0
    capacity: CapacityVerdict = CapacityVerdict()
    rates: RateVerdict | None = None
    """The verdict on levels of offered rates. `capacity` is from levels of users only."""
    slo: tuple[SloVerdict, ...] = ()
    recovery_levels: tuple[int, ...] = ()
    """Indices of levels of recovery from overload, which the fit does not use."""
    regimes: tuple[RegimeVerdict, ...] = ()
    """Regimes in the order they began; empty if the service did not change."""
    disturbed_levels: tuple[int, ...] = msgspec.field(name="held_levels", default=())
    """Indices of levels in which other processes used CPU that service or generator needed."""
    left_out_levels: tuple[int, ...] = ()
    """Those of `disturbed_levels` that do not describe the service, so that the fit does not use them."""
    first_endpoint: EndpointDegradation | None = None
    """The endpoint that degrades first at levels of users; `rates` has that of offered rates."""

    @property
    def rate_capacity(self) -> RateCapacity | None:
        """The capacity as a rate; None if the maximum of goodput was not measured."""
        found = self.rates.capacity if self.rates is not None else None
        return found if found is not None and found.kind == "capacity" else None

    def first_to_degrade(self, *, at_rates: bool) -> EndpointDegradation | None:
        """The endpoint that degrades first, at levels of offered rates or of users; None if there is none."""
        if not at_rates:
            return self.first_endpoint
        return self.rates.first_endpoint if self.rates is not None else None


class Proposed(Event, frozen=True, kw_only=True, tag="proposed"):
    """The proposal that is valid from `t_s` until the next one. Its durations count from `t_s`."""

    proposal: Proposal


class Answered(Event, frozen=True, kw_only=True, tag="answered"):
    """What is required of the service, in the order in which it was asked, and the answers so far, for one epoch."""

    epoch: int = 0
    answers: tuple[Answer, ...] = ()


class Explained(Event, frozen=True, kw_only=True, tag="explained"):
    """What the experiments of an epoch have shown so far."""

    epoch: int = 0
    explanation: Explanation


class StacksSampled(Event, frozen=True, kw_only=True, tag="stacks"):
    """Stacks of the target were sampled in the seconds before; the level in which that happened is in no curve."""

    level: int
    """Index of the level."""
    sampled: tuple[SampledStacks, ...] = ()
    failed: tuple[str, ...] = ()
    """Why a runtime's stacks could not be sampled, a line each."""

    def __hash__(self) -> int:
        """By when and where: a hash of all stacks would cost as much as to read them."""
        return hash((self.t_s, self.level))


class Telemetry(Event, frozen=True, kw_only=True, tag="telemetry"):
    """What the service's own log and metrics did where the curve of one epoch bends; the latest of an epoch is valid."""

    epoch: int = 0
    changes: TelemetryChanges = TelemetryChanges()


class Sweep(Event, frozen=True, kw_only=True, tag="sweep"):
    """This session explores the target with one setting of its parameters after the other. Follows the header."""

    settings: tuple[Params, ...]
    """The parameters that it changes, as `Target.params` has them, in the order of reports."""
    finds_rate: bool = False
    """Whether it looks for the capacity as an offered rate, not for the knee in users."""
    within_s: float | None = None
    """Most seconds of load with each setting; None: until its search has ended."""
    earlier: tuple[SettingResult, ...] = ()
    """Results of the sweep that this one continues: these settings are not explored again."""


class FigureChange(Reading, frozen=True, kw_only=True):
    """A figure of a mark that changed."""

    name: str
    """A field of the mark, or a key of its evidence."""
    recorded: Any = None
    found: Any = None


class MarkChange(Reading, frozen=True, kw_only=True):
    """The difference between a recorded mark and the same mark of a reanalysis."""

    kind: Literal["new", "gone", "changed"]
    key: str
    recorded: Mark | None = None
    """The recorded mark; None if it is new."""
    found: Mark | None = None
    """The mark found now; None if it is gone."""
    figures: tuple[FigureChange, ...] = ()
    """Figures that changed; empty unless `kind` is `changed`."""


class Reanalysed(Event, frozen=True, kw_only=True, tag="reanalysed"):
    """The marks of this sequence are those of a reanalysis, not the recorded ones. Follows the header; never live."""

    version: str
    """Version of the app whose detectors ran."""
    recorded: int
    found: int
    """Numbers of marks of detectors, recorded and found now."""
    changes: tuple[MarkChange, ...] = ()


KnownEvent = (
    Header
    | LevelOpened
    | Sample
    | LevelClosed
    | Mark
    | Note
    | Command
    | Proposed
    | Answered
    | Explained
    | StacksSampled
    | Telemetry
    | Target
    | PartState
    | Log
    | Sweep
    | Reanalysed
    | Verdict
    | Ended
)
"""All types of events in a log of this version; others are read as `Unknown`."""


# -- Which client classes made a session's requests, by Locust's names. Only this module knows how older logs record it.

_BY_SETTING = {"fast": "FastHttpUser", "requests": "HttpUser", "lean": "LeanHttpUser"}
"""Value of a profile's `users.client` -> client class."""


def clients_of(header: Header) -> tuple[str, ...]:
    """The client classes, sorted, such as `("FastHttpUser",)`; empty if the log does not name them (imported tables).

    An older log without `clients` has the measured overhead of exactly the HTTP clients in use. Without that, the profile's
    setting counts, unless the users came from a locustfile, which never followed it.
    """
    if header.clients:
        return header.clients
    if header.client_overhead_ms:
        return tuple(sorted(header.client_overhead_ms))
    users = header.profile.get("users")
    setting = users.get("client") if isinstance(users, dict) else None
    has_locustfile = isinstance(users, dict) and bool(users.get("locustfile"))
    return (_BY_SETTING[setting],) if setting in _BY_SETTING and not has_locustfile else ()
