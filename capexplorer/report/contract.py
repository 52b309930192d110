"""The contract of the JSON documents: the types of what `summary` and `compare/json` write.

The writers build plain values; tests hold every recorded and made session against these types, closed: a missing or an additional
key fails. `capexplorer schema` publishes them. None: not measured, or not known. Numbers have their units in their names.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from ..analysis.stacks import Unnamed
from ..model.events import By
from ..model.experiments import Explanation
from ..model.findings import MarkKind
from ..model.intervals import Latency
from ..model.level import Void
from ..model.load import Arrivals
from ..model.recommended import Estimate
from ..model.stacks import Clock, Runtime
from ..model.stages import LimitName, Stage
from ..model.sweep import SettingEnd
from ..model.telemetry import BegunLines, BentSeries, UnknownWhy
from ..model.verdicts import Confidence, EndpointDegradation, KneeKind, Limit, RateLimit, RateVerdict, Severity
from .compare.difference import Judgement

# -- `export --format json`


class Overhead(TypedDict):
    """Latency that a client class adds by itself, in ms."""

    p50: float | None
    p99: float | None


class EngineFacts(TypedDict):
    """How load was generated."""

    mode: Literal["in-process", "workers"] | None
    workers: int | None


class SessionFacts(TypedDict):
    """What was explored, when, and how."""

    id: str
    label: str | None
    started_at: str | None
    """Wall time, ISO 8601 with offset."""
    duration_s: float | None
    profile: str | None
    target: str
    complete: bool
    """Whether the log has its end."""
    requests_file: str | None
    """Name of the file of whole requests, in the folder of the log."""
    clients: list[str]
    """Client classes of the users, by Locust's names."""
    engine: EngineFacts
    client_floor_ms: dict[str, Overhead]
    """By client class."""


class EndpointOfLevel(TypedDict):
    """One endpoint over the settled seconds of a level."""

    name: str
    method: str
    requests: int
    failures: int
    goodput_rps: float | None
    leaves_first: bool
    """Whether it degrades first, and has at this level."""
    mean_bytes: float | None
    latency_ms: Latency
    tokens_per_s: NotRequired[float | None]
    stages: NotRequired[dict[Stage, Latency]]
    """Both only of a session with streams."""


class MetricOfLevel(TypedDict):
    """What a locustfile fired beside its requests, over the settled seconds of a level."""

    name: str
    method: str
    events: int
    failures: int
    mean_length: float | None
    """Of what it gave as the response length."""
    value: Latency
    """Of what it gave as the response time, in its own unit; empty if that was always 0."""


class DroppedIterations(TypedDict):
    """Iterations that were planned and did not run to their end: in all, and by the reasons of `levels.csv`."""

    total: int
    max_users: int
    target: int
    starting: int
    late: int
    stopped: int


class Offered(TypedDict):
    """The iterations of a rate level over its settled seconds. Only the first two keys if it has none."""

    offered_per_s: float | None
    arrivals: Arrivals
    planned: NotRequired[int]
    started: NotRequired[int]
    finished: NotRequired[int]
    """Without a failed request."""
    failed: NotRequired[int]
    in_flight_before: NotRequired[int]
    in_flight: NotRequired[int]
    """Queued or running at the start, and at the end of the settled seconds."""
    finished_per_s: NotRequired[float]
    finished_se_per_s: NotRequired[float | None]
    in_flight_mean: NotRequired[float]
    queued_mean: NotRequired[float]
    late_p99_ms: NotRequired[float | None]
    late_max_ms: NotRequired[float | None]
    """How late the generator handled arrivals."""
    dropped: NotRequired[DroppedIterations]
    from_plan_ms: NotRequired[Latency]
    """From the planned time of arrival to the end of the iteration."""


class LevelEntry(TypedDict):
    """A level, or a bin of a ramp: means over its settled seconds."""

    index: int
    epoch: int
    """Other parameters of the target open an epoch."""
    users: float
    """0 at a rate level."""
    by: By
    kind: Literal["step", "ramp", "rate", "recovery", "stacks", "experiment"]
    """`recovery`: after overload with less load. `stacks`: the target's stacks were sampled in it. `experiment`: something
    was changed beside the load. None of these is part of a curve."""
    started_s: float | None
    settled_s: float | None
    ended_s: float | None
    settled: bool
    """Whether the figures exist."""
    void: Void | None
    """Why it has no figures."""
    warm_ratio: float | None
    requests: int | None
    failures: int | None
    failure_ratio: float | None
    failures_while_unsettled: int | None
    throughput_rps: float | None
    goodput_rps: float | None
    """Finished work: successful requests, or the target's own count."""
    goodput_se_rps: float | None
    think_s: float | None
    requests_per_task: float | None
    task_s: float | None
    latency_ms: Latency
    tokens_per_s: NotRequired[float | None]
    """Tokens, or events, of streams that ended well; only of a session with streams, as `stages`."""
    stages: NotRequired[dict[Stage, Latency]]
    """By stage in ms: `ttfb` to the first byte, `ttft` to the first token or event, `tpot` per further token, `itl` between
    events."""
    endpoints: list[EndpointOfLevel]
    target_cpu_ratio: float | None
    """1 is one core busy, here and in the other CPU ratios."""
    target_rss_bytes: int | None
    host_cpu_ratio: float | None
    load_average_1m: float | None
    generator_cpu_ratio: float | None
    loop_lag_p99_ms: float | None
    received_bytes_per_s: float | None
    sent_bytes_per_s: float | None
    open_sockets: int | None
    disk_busy_ratio: float | None
    ports_used: int | None
    ports_capacity: int | None
    others_cpu_ratio: float | None
    other_processes: dict[str, float] | None
    """CPU of other processes, by name."""
    target_run_delay_ratio: float | None
    generator_run_delay_ratio: float | None
    cpu_pressure_ratio: float | None
    steal_ratio: float | None
    offered: Offered | None
    """None: a level of users."""
    held: bool
    """Whether other processes used CPU that service or generator needed (disturbed)."""
    service_state: Literal["changed", "other"] | None
    """`changed` during the level; `other` than the state that the verdict is about."""
    parts: NotRequired[dict[str, dict[str, float | None]]]
    """Mean readings of watched parts, by part and reading."""
    limits: NotRequired[LevelLimits]
    """Only under limits of `[slo]` on a single request, within which goodput is."""
    metrics: NotRequired[list[MetricOfLevel]]


class LevelLimits(TypedDict):
    """What the limits on a single request leave of a level."""

    served_rps: float
    """Finished work irrespective of them."""
    beyond: dict[LimitName, float]
    """Share of the successes beyond each; without those that none exceeds."""
    goodput_tokens_per_s: float | None


class EndpointTotal(TypedDict):
    """One endpoint over the settled seconds of all levels."""

    name: str
    method: str
    requests: int
    failures: int


class KneeEntry(TypedDict):
    """A knee, or another finding on the capacity curve."""

    kind: Literal["knee", "at_or_below", "bend", "latency_knee"]
    epoch: int
    users: float | None
    users_low: float | None
    """Ends of a 90% interval; of other kinds than `knee` the levels between which it lies."""
    users_high: float | None
    capacity_rps: float | None
    limit: Limit | None
    confidence: Confidence | None
    evidence: dict[str, Any]
    """Figures by name; `verification` is provisional, verified or contradicted."""


class CauseEntry(TypedDict):
    """The cause of failures, or a leak. Its id is one of docs/causes.md."""

    id: str
    epoch: int
    severity: Severity
    count: int | None
    first_s: float | None
    last_s: float | None
    users: float | None
    offered_per_s: float | None
    evidence: dict[str, Any]
    """Readings that confirm it, `competing` causes, an `example` of a failure: text of the service."""
    advice: str


class BottleneckEntry(TypedDict):
    """What limits the service. Its id is one of docs/causes.md."""

    id: str
    epoch: int
    users: float | None
    offered_per_s: float | None
    confidence: Confidence | None
    evidence: dict[str, Any]
    advice: str


class RecommendedEntry(TypedDict):
    """The greatest load to operate at, in users or as a rate, what was measured there, and settings that follow. None: cannot be
    derived. A figure that is an object has the ends of a 90% interval, which may be unknown.
    """

    epoch: int
    users: float | None
    offered_per_s: float | None
    sentence: str
    objective: Literal["p95_ms", "p99_ms", "failure_ratio"] | None
    """What keeps the load that low; None: it is 80% of the lower end of the knee or capacity, or a measured load just below."""
    measured: bool
    """Whether a level had this load; otherwise figures are of the chord between the loads beside it."""
    goodput_per_s: Estimate | None
    p95_ms: Estimate | None
    """Not measured: `low` is that of the load below, `value` that of the chord."""
    failure_ratio: float | None
    verified: bool
    generator_limited: bool
    rate_limit_per_s: Estimate | None
    in_flight: Estimate | None
    """Requests in flight at the knee, by Little's law: more would wait."""
    busy: Estimate | None
    """Requests that are worked on at once at the capacity."""
    parameter: str | None
    """The target's parameter that has this value, and may be the limit."""
    workers: Estimate | None
    """So many workers, or processes, use up the CPU."""
    by_process: bool
    replicas: int | None
    """For the rate that is required, each at its operating load."""
    wanted_per_s: float | None
    cpu_target_ratio: Estimate | None
    cpu_cores: float | None
    """The cores that the target is a share of."""
    timeout_ms: Estimate | None
    """A quantile of latency at the operating load; a timeout is at least its upper end."""
    timeout_quantile: float | None
    next_limit_per_s: Estimate | None
    """Goodput at which the CPU would be full."""


class ObjectiveEntry(TypedDict):
    """The highest number of users at which an objective of the profile is met, with a 90% interval."""

    epoch: int
    name: Literal["p95_ms", "p99_ms", "failure_ratio"]
    limit: float
    users: float | None
    users_low: float | None
    users_high: float | None
    goodput_rps: float | None


class RequirementEntry(TypedDict):
    """What was required, and the answer. The interval of the figure is open on a side that is None."""

    required: str
    kind: Literal["capacity", "knee", "percentile", "failures"]
    state: Literal["met", "not_met", "undecided"]
    per_s: NotRequired[float | None]
    low_per_s: NotRequired[float | None]
    high_per_s: NotRequired[float | None]
    """Of `capacity`."""
    users: NotRequired[float | None]
    low_users: NotRequired[float | None]
    high_users: NotRequired[float | None]
    """Of `knee`."""
    ms: NotRequired[float | None]
    low_ms: NotRequired[float | None]
    high_ms: NotRequired[float | None]
    replies: NotRequired[int]
    """Of `percentile`."""
    share: NotRequired[float | None]
    low: NotRequired[float]
    high: NotRequired[float]
    requests: NotRequired[int]
    """Of `failures`."""
    seconds: NotRequired[float]
    """Of `percentile` and `failures`: in which replies or requests were counted."""


class RecoveryEntry(TypedDict):
    """Whether the service recovered after overload; `recovered` None: not known."""

    epoch: int
    from_users: float
    to_users: float
    recovered: bool | None
    after_s: float | None


class ShiftEntry(TypedDict):
    """A permanent change of goodput (1/s) or latency (ms) within a level."""

    epoch: int
    users: float | None
    offered_per_s: float | None
    at_s: float
    level: int
    column: Literal["goodput", "latency"]
    before: NotRequired[float]
    after: NotRequired[float]


class RegimeEntry(TypedDict):
    """A period in which the service did not change, and the change with which it began."""

    epoch: int
    began_s: float
    began: Literal["goodput", "failures", "latency"] | None
    inside: bool
    after_step_s: float | None
    users: float | None
    offered_per_s: float | None
    before_rps: float | None
    after_rps: float
    before_ms: NotRequired[float | None]
    after_ms: NotRequired[float | None]
    unchanged_until_s: NotRequired[float | None]
    failure_ratio: float | None
    most_users: float | None
    most_offered_per_s: float | None
    most_rps: float
    knee_users: float | None
    levels: list[int]
    judged: bool
    """Whether the verdict is about it."""


class StopRuleEntry(TypedDict):
    """A limit of the profile's `[stop]` that a level exceeded."""

    t_s: float
    epoch: int
    users: float | None
    offered_per_s: float | None
    rule: str
    limit: float
    measured: float
    level: int
    ended: NotRequired[Literal["plan", "autopilot"]]


class NoteEntry(TypedDict):
    """A note of a person."""

    t_s: float
    text: str


class TelemetryEntry(TypedDict):
    """What the service's own log and metrics did where the curve of an epoch bends: a correlation with the load, not a cause."""

    epoch: int
    bend: float
    """Users, or the offered rate if `at_rates`."""
    at_rates: bool
    unknown_why: UnknownWhy | None
    """Why nothing is known."""
    series: list[BentSeries]
    """At most 12, the clearest first. `q`: share of false findings to expect among those that are as clear."""
    lines: list[BegunLines]
    tested: int
    """Series that vary, of those `recorded`."""
    recorded: int
    groups: int
    """Kinds of lines."""
    is_after_only: bool
    """Whether no lower load was measured after the bend, so that time may be the reason."""


class EpochVerdict(TypedDict):
    """The verdict on one epoch, as a sentence."""

    epoch: int
    verdict: str
    no_knee_up_to_users: float | None


class ChangedFigure(TypedDict):
    """A figure of a mark, as recorded and as found now."""

    name: str
    recorded: Any
    found: Any


class ChangedMark(TypedDict):
    """How a mark differs from the recorded one."""

    kind: Literal["new", "gone", "changed"]
    key: str
    said: str
    figures: list[ChangedFigure]


class Reanalysis(TypedDict):
    """Which version made the marks, and how they differ from the recorded ones."""

    version: str
    recorded: int
    found: int
    changes: list[ChangedMark]


class SweptKnee(TypedDict):
    """The knee with a setting, with its 90% interval; of other kinds the ends are levels."""

    kind: KneeKind
    users: float | None
    users_low: float | None
    users_high: float | None
    limit: Limit | None
    confidence: Confidence | None
    verification: str | None


class SweptRate(TypedDict):
    """The capacity as a rate with a setting, in iterations a second."""

    kind: Literal["capacity", "departs", "at_or_below", "keeps_up"]
    per_s: float
    low_per_s: float | None
    high_per_s: float | None
    kept_per_s: float | None
    limit: RateLimit | None
    confidence: Confidence | None


class CapacityChange(TypedDict):
    """A change of the capacity, with its 90% interval: -0.5 is half as much."""

    ratio: float | None
    low: float | None
    high: float | None


class SweptSetting(TypedDict):
    """What a sweep found with one setting."""

    params: dict[str, str | int | float | bool]
    state: Literal["explored", "no_verdict", "failed", "not_explored"]
    session: str | None
    """Id of the session in which it was explored."""
    epoch: int | None
    ended: SettingEnd | None
    """Why its search ended; None: it has not."""
    why: str | None
    limit: str | None
    """Id of a bottleneck."""
    invalid: str | None
    """Id of the cause by which generator, host or network failed."""
    levels: int
    """Settled ones."""
    disturbed_levels: int
    are_others_busy: bool
    """Whether other processes had a share of a saturated machine at its limit, although its levels count."""
    seconds: float
    p95_ms: float | None
    p95_at: float | None
    """The load, users or a rate, at which p95 was that."""
    capacity_per_s: float | None
    capacity_low_per_s: float | None
    capacity_high_per_s: float | None
    at_least: bool
    """Whether the limit was not reached."""
    knee: SweptKnee | None
    rate: SweptRate | None
    compared: bool
    """Whether it can be compared: False if other processes disturbed it, or later levels contradict it."""
    lower_than_best: bool
    enough: bool
    """Whether the best one surely (90%) has less than 15% more."""
    against_best: CapacityChange | None


class SweepEntry(TypedDict):
    """A sweep: the settings in order, and what they say together."""

    sentence: str
    load: Literal["users", "rate"]
    best: dict[str, str | int | float | bool] | None
    enough: list[dict[str, str | int | float | bool]]
    """The least settings that are enough."""
    complete: bool
    """Whether each setting has a verdict."""
    settings: list[SweptSetting]


class FunctionEntry(TypedDict):
    """A function of the service, or one that none of the service's own called. `low_ms` and `high_ms` are times of threads for
    each request while no deeper function is the service's own, `total_` while it is anywhere in the stack."""

    function: str
    file: str
    line: int | None
    """At which it gained most."""
    is_own: bool
    calls: str
    """The library's function that it calls there most, or empty."""
    low_ms: float
    high_ms: float
    growth_ms: float
    growth_se_ms: float
    """One standard error."""
    total_low_ms: float
    total_high_ms: float
    threads_low: float
    threads_high: float
    """Threads that are in it at the same time."""
    grew: bool
    """Beyond the error of sampling."""


class NamedFunction(FunctionEntry):
    """The function to look at first."""

    how: Literal["grew", "busy", "cpu"]
    clock: Clock
    share_ratio: float
    """Of the growth in the service's own functions; of the threads in these; of the CPU time."""
    is_wait: bool | None


class ClockEntry(TypedDict):
    """What one clock shows of one runtime; at most 50 functions."""

    runtime: Runtime
    clock: Clock
    functions: list[FunctionEntry]


class SamplingCostEntry(TypedDict):
    """How the level differs from its neighbours of the same load, in which no stacks were sampled: -0.02 is 2% less."""

    change_ratio: float
    """Of the rate."""
    change_se_ratio: float
    """One standard error."""
    p99_ms: float | None
    beside_p99_ms: float | None


class SamplingEntry(TypedDict):
    """The seconds of a level in which stacks were sampled."""

    level: int
    users: float | None
    offered_per_s: float | None
    throughput_rps: float
    response_ms: float | None
    """Mean latency."""
    tools: list[str]
    seconds: float
    lost: int
    """Samples that could not be taken."""
    cost: SamplingCostEntry | None
    """None: no neighbour has figures."""


class StacksEntry(TypedDict):
    """The sampled stacks of an epoch, at its least and at its greatest load."""

    epoch: int
    said: str
    low: SamplingEntry | None
    high: SamplingEntry | None
    named: NamedFunction | None
    unnamed: Unnamed | None
    """Why no function is named."""
    failed: list[str]
    """What could not be sampled, and why."""
    clocks: list[ClockEntry]


class ExperimentsEntry(TypedDict):
    """What experiments at the knee of an epoch have shown (docs/why.md)."""

    epoch: int
    said: str
    found: Explanation


class Summary(TypedDict):
    """A session: what was measured, and what was concluded. Texts of endpoints, examples and notes come from the service and its
    users."""

    schema: Literal["capexplorer.summary/1"]
    conventions: str
    """What the errors and intervals mean."""
    session: SessionFacts
    levels: list[LevelEntry]
    endpoints: list[EndpointTotal]
    first_endpoint: EndpointDegradation | None
    """The endpoint that degrades first."""
    knees: list[KneeEntry]
    no_knee_up_to_users: float | None
    rates: RateVerdict | None
    """The verdict on offered rates."""
    recommended: list[RecommendedEntry]
    """What to set, of each epoch by its knee, then by its capacity as a rate."""
    causes: list[CauseEntry]
    bottlenecks: list[BottleneckEntry]
    requirements: list[RequirementEntry]
    """What was required of the service, and the answers."""
    slo: list[ObjectiveEntry]
    recoveries: list[RecoveryEntry]
    shifts: list[ShiftEntry]
    regimes: list[RegimeEntry]
    stop_rules: list[StopRuleEntry]
    notes: list[NoteEntry]
    verdict: str
    """The conclusion, in at most three sentences."""
    verdicts: list[EpochVerdict]
    stacks: NotRequired[list[StacksEntry]]
    """Only if stacks were sampled; one entry for each epoch in which they were."""
    experiments: NotRequired[list[ExperimentsEntry]]
    telemetry: NotRequired[list[TelemetryEntry]]
    """Only with log lines or metrics of the service."""
    sweep: NotRequired[SweepEntry]
    """Only of a session that is one."""
    reanalysis: NotRequired[Reanalysis]
    """Only with --reanalyse."""


# -- `compare --format json`


class Figure(TypedDict):
    """An estimate and its standard error."""

    value: float | None
    se: float | None


class Change(TypedDict):
    """The difference of a figure between two sessions."""

    before: Figure
    after: Figure
    change: float | None
    ratio: float | None
    """0.05 is 5% more."""
    noise: float | None
    """The change that must be exceeded for significance, in the unit of `change`."""
    judgement: Judgement
    """Whether the change is `beyond` or `within` noise, or why that is not known."""
    sure: bool
    """Whether the verdict claims it: significant among all tests of the comparison."""
    alone: bool
    """Whether it is beyond noise at this load only."""
    better: bool | None
    floor_change_ms: float | None
    """How much the clients' own overhead differs."""


class OverallChangeEntry(TypedDict):
    """The mean change of a figure over all loads in common."""

    levels: int
    beyond_knee: bool
    ratio: float | None
    noise: float | None
    detectable: float | None
    """The least change that this comparison finds in nine of ten cases."""
    sure: bool


class FiguresAtLoad(TypedDict):
    """The pooled figures of one session at a number of users, or at an offered rate; those that were measured."""

    users: NotRequired[int]
    pooled: NotRequired[int]
    """Levels of this number of users."""
    per_s: NotRequired[float]
    goodput: NotRequired[Figure]
    throughput: NotRequired[Figure]
    mean: NotRequired[Figure]
    p50: NotRequired[Figure]
    p95: NotRequired[Figure]
    p99: NotRequired[Figure]
    ttft_p50: NotRequired[Figure]
    ttft_p95: NotRequired[Figure]
    ttft_p99: NotRequired[Figure]
    tpot_p50: NotRequired[Figure]
    tpot_p95: NotRequired[Figure]
    tpot_p99: NotRequired[Figure]
    """Those of stages: only of sessions with streams."""
    failure_ratio: NotRequired[Figure]
    target_cpu: NotRequired[Figure]


class ChangesAtLoad(TypedDict):
    """The changes at a number of users, or at an offered rate, that both sessions have."""

    users: NotRequired[int]
    held_by_others: NotRequired[bool]
    """Whether other processes disturbed the level in one of them."""
    per_s: NotRequired[float]
    goodput: NotRequired[Change]
    throughput: NotRequired[Change]
    mean: NotRequired[Change]
    p50: NotRequired[Change]
    p95: NotRequired[Change]
    p99: NotRequired[Change]
    ttft_p50: NotRequired[Change]
    ttft_p95: NotRequired[Change]
    ttft_p99: NotRequired[Change]
    tpot_p50: NotRequired[Change]
    tpot_p95: NotRequired[Change]
    tpot_p99: NotRequired[Change]
    """Those of stages: only of sessions with streams."""
    failure_ratio: NotRequired[Change]
    target_cpu: NotRequired[Change]


class KneeFigures(TypedDict):
    """The knee in users, and the goodput there in 1/s."""

    knee: Figure
    capacity: Figure


class ComparedMark(TypedDict):
    """A mark of one of the sessions."""

    kind: MarkKind
    id: str
    severity: Severity
    users: float | None
    offered_per_s: float | None
    count: int | None
    first_s: float | None
    last_s: float | None


class ComparedSession(TypedDict):
    """One session, or one epoch of it."""

    letter: str
    id: str
    epoch: int | None
    title: str | None
    label: str | None
    started_at: str
    complete: bool
    client_floor_ms: dict[str, Overhead]
    knee: KneeFigures | None
    levels: list[FiguresAtLoad]
    unsettled_users: list[float]
    rates: list[FiguresAtLoad]
    rate_capacity: Figure | None
    marks: list[ComparedMark]
    verdict: str


class Condition(TypedDict):
    """A row of facts, by the letter of the session."""

    name: str
    values: dict[str, str | None]


class OverallChanges(TypedDict):
    """By figure; those that were tested."""

    service_time: NotRequired[OverallChangeEntry]
    goodput: NotRequired[OverallChangeEntry]
    mean: NotRequired[OverallChangeEntry]
    p50: NotRequired[OverallChangeEntry]
    p95: NotRequired[OverallChangeEntry]
    ttft_p95: NotRequired[OverallChangeEntry]
    tpot_p95: NotRequired[OverallChangeEntry]
    target_cpu: NotRequired[OverallChangeEntry]
    failure_ratio: NotRequired[OverallChangeEntry]


class ComparedPair(TypedDict):
    """A session beside the baseline."""

    before: str
    after: str
    clients: list[str] | None
    """If they differ: the client classes of both."""
    levels: list[ChangesAtLoad]
    rates: list[ChangesAtLoad]
    rate_capacity: Change | None
    users_only_before: list[int]
    users_only_after: list[int]
    knee: Change
    capacity: Change
    overall: OverallChanges


class ComparisonDocument(TypedDict):
    """Sessions compared with the first one."""

    schema: Literal["capexplorer.compare/1"]
    conventions: str
    sessions: list[ComparedSession]
    conditions: list[Condition]
    """What differs between the machines and runs, and may be a reason for a difference."""
    subject: list[Condition]
    """What differs on purpose: versions, parameters."""
    warnings: list[str]
    comparisons: list[ComparedPair]
    verdict: str
