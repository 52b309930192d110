"""Sessions as no recorded one is: knees of each kind, objectives, rates, causes, epochs, ramps, unmeasured figures.

Their exports are compared with digests, as those of recordings are (`recorded_exports`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import kit.stacks
from kit.scenario import Scenario
from kit.stacks import POOL_AND_QUERY
from kit.streams import streams
from marked import marked
from msgspec.structs import replace
from session.samples import busy_sample

from capexplorer.model.catalogue import ENTRIES
from capexplorer.model.events import (
    ClientOverhead,
    Ended,
    Engine,
    Event,
    Explained,
    FailureSignature,
    FailureTick,
    FigureChange,
    HostFacts,
    LevelOpened,
    Mark,
    MarkChange,
    Note,
    PartState,
    Reanalysed,
    Sample,
    Target,
    Telemetry,
    Verdict,
)
from capexplorer.model.experiments import Experiment, Explanation, Inference, Outcome
from capexplorer.model.figures import LevelEndpoint, LevelFigures
from capexplorer.model.findings import MarkKind
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.intervals import Latency
from capexplorer.model.load import Drops, OfferedFigures, OfferedTick
from capexplorer.model.readings import HostReading, PartReading, TargetReading
from capexplorer.model.telemetry import BegunLines, BentSeries, TelemetryChanges
from capexplorer.model.verdicts import (
    CapacityVerdict,
    CurveFit,
    EndpointDegradation,
    KneeVerdict,
    Peak,
    RateCapacity,
    RateLevelVerdict,
    RateObjective,
    RateVerdict,
    RegimeVerdict,
    SloVerdict,
    UslFit,
    Verification,
    Why,
)

from .compared import USERS, LevelSpec
from .compared import events as levels_of
from .exported_sessions import HEADER, HOSTILE, ramp, session, unfinished_session
from .made_sweeps import swept

# -- what its own log and metrics did

CHANGES = TelemetryChanges(
    bend=30.0,
    series=(
        BentSeries(
            name='pool_pending{pool="a"}', part="app", kind="gauge", before=0.0, load_before=20.0, after=31.0, load_after=50.0,
            since_s=61.5, q=2e-7,
        ),
        BentSeries(
            name=HOSTILE, kind="mean", before=0.012, load_before=20.0, after=0.4, load_after=50.0, since_s=61.5, q=0.0004
        ),
    ),
    lines=(
        BegunLines(
            text="TimeoutError: no connection of 8 within 0.5 s", is_exception=True, count_below=0, count=412, first_s=63.0,
            load=50.0, q=3e-6,
        ),
        BegunLines(text=HOSTILE, count_below=3, count=1, first_s=64.0, load=50.0, q=0.01),
    ),
    tested=31,
    recorded=40,
    groups=2,
)  # fmt: skip
CHANGES_AT_RATES = TelemetryChanges(
    bend=42.5,
    at_rates=True,
    series=(
        BentSeries(
            name="errors_total", kind="rate", before=2.0, load_before=40.0, after=0.5, load_after=60.0, since_s=9.0, q=0.02
        ),
    ),
    tested=1,
    recorded=1,
    is_after_only=True,
)


def telling(changes: TelemetryChanges) -> list[Event]:
    """A knee with this."""
    return [*with_verdict(), Telemetry(t_s=90.0, changes=changes)]


# -- knees

KNEE = KneeVerdict(
    kind="knee",
    users=30,
    users_low=26,
    users_high=35,
    capacity_rps=122.0,
    limit="queueing",
    confidence="medium",
    provisional=True,
)
USL = UslFit(lambda_rps=4.2, sigma=0.031, kappa=0.0004, peak_users=49.2, peak_rps=120.0, r_squared=0.99)
CURVE = CurveFit(
    low_load_rps_per_user=4.0, low_load_se=0.03, baseline_users=(5, 20), capacity_rps=122.0, capacity_se_rps=2.0, usl=USL
)
VERDICT = CapacityVerdict(knee=KNEE, curve=CURVE)
OBJECTIVES = (
    SloVerdict(name="p95_ms", limit=300, state="crossed", users=22, users_low=20, users_high=25, goodput_rps=80.0, thin=True),
    SloVerdict(name="p99_ms", limit=900, state="kept", users=50),
    SloVerdict(name="failure_ratio", limit=0.01, state="broken", users_high=5.0),
)
PEAK = Peak(users=40, goodput_rps=125.0, shape="retrograde", fall_ratio=0.2)
LATENCY_KNEE = KneeVerdict(kind="latency_knee", users=20, users_low=10, users_high=30, confidence="high")


def with_verdict(
    verdict: CapacityVerdict = VERDICT, *, recovery: tuple[int, ...] = (), slo: tuple[SloVerdict, ...] = ()
) -> list[Event]:
    """A session of 5, 20 and 50 users with this verdict; `recovery`: the indices of levels of recovery from overload."""
    return [*session((5, 20, 50)), Verdict(t_s=38.0, capacity=verdict, slo=slo, recovery_levels=recovery)]


def of_kind(kind: Any, **fields: Any) -> list[Event]:
    return with_verdict(replace(VERDICT, knee=KneeVerdict(kind=kind, **fields)))


def two_epochs() -> list[Event]:
    other = replace(KNEE, users=10, users_low=8, users_high=12, epoch=1)
    verdicts = [Verdict(t_s=75.0, capacity=VERDICT), Verdict(t_s=75.0, epoch=1, capacity=replace(VERDICT, knee=other))]
    return [*session((5, 20, 50, 5, 20, 40)), *verdicts]


def marked_knee(id_: str, kind: str = "knee", **evidence: object) -> list[Event]:
    mark = marked(t_s=30.0, key=id_, state="open", kind=kind, id=id_, users=30.0, confidence="low", evidence=evidence)
    return [*session((5, 20, 50)), mark]


# -- what operators are told

LEVELS = [LevelSpec(6), LevelSpec(12, p50_ms=30.0), LevelSpec(24), LevelSpec(48)]
AT_25 = KneeVerdict(kind="knee", users=25.0, users_low=23.0, users_high=28.0, capacity_rps=76.8)
WAITS: Mapping[str, Any] = {
    "between two times": {"between": [0.1, 0.5]},
    "a constant": {"constant": 0.3}, "a number": 0.3, "none": {"constant": 0}, "a mean": {"poisson": 2.0},
    "a pace": {"constant_pacing": 1.0}, "a throughput": {"constant_throughput": 2.0},
}  # fmt: skip


def judged(knee: KneeVerdict = AT_25, *slo: SloVerdict, **header: Any) -> list[Event]:
    """Levels with latencies and this verdict; other fields are the header's."""
    return levels_of(LEVELS, more=[Verdict(t_s=40.0, capacity=CapacityVerdict(knee=knee), slo=slo)], **header)


def judged_epochs() -> list[Event]:
    levels = [*LEVELS, *(replace_users(each) for each in LEVELS)]
    lows = {0: 20.0, 1: 40.0}
    verdicts = [
        Verdict(t_s=40.0, epoch=epoch, capacity=CapacityVerdict(knee=replace(AT_25, users_low=low)))
        for epoch, low in lows.items()
    ]
    return levels_of(levels, more=verdicts)


def replace_users(level: LevelSpec) -> LevelSpec:
    return LevelSpec(level.users, epoch=1)


# -- offered rates


def _histogram(value_ms: float) -> str:
    latencies = LatencyHistogram()
    latencies.record_us([1000 * value_ms] * 2)
    return latencies.encode()


def served(*objectives: RateObjective, capacity: RateCapacity | None = None) -> list[Event]:
    """Levels of 20/s and 40/s that are served, and one of 60/s that is not; the capacity is 50/s."""
    made = Scenario(HEADER, at_s=0.0)
    verdicts = []
    for index, (per_s, p95) in enumerate(((20.0, 30.0), (40.0, 80.0), (60.0, 4000.0))):
        offered = OfferedFigures(offered_per_s=per_s, finished=80, finished_per_s=min(per_s, 50.0), from_plan_ms=Latency(p95=p95))
        figures = LevelFigures(settled=True, settled_seconds=8.0, offered=offered)
        made.measured(figures=figures, lasts_s=15.0, settled_s=5.0, offered_per_s=per_s)
        state: Any = "kept" if per_s < 50 else "queue_grows"
        verdicts.append(
            RateLevelVerdict(
                level=index, offered_per_s=per_s, goodput_per_s=min(per_s, 50.0), goodput_se_per_s=1.0, state=state,
                failure_ratio=0.0, dropped_ratio=0.0, growth_per_s=0.0,
            )
        )  # fmt: skip
    found = capacity or RateCapacity(kind="capacity", per_s=50.0, low_per_s=47.5, high_per_s=52.0)
    before = RegimeVerdict(began_s=0.0, users=50, after_rps=50.0, most_users=50, most_rps=50.0, judged=True, levels=(0, 1))
    regimes = (before, replace(before, began_s=48.0, began="goodput", judged=False, levels=(1, 2)))
    rates = RateVerdict(capacity=found, levels=tuple(verdicts), objectives=objectives, regimes=regimes)
    return made.add(Verdict(t_s=60.0, rates=rates)).events


def dropping(*, is_closed: bool = True, ramp: bool = False) -> list[Event]:
    """For 6 s 40 iterations a second are offered: two of them finish, and 38 are dropped."""
    offered = OfferedTick(
        offered_per_s=40.0, planned=40, started=2, finished=2, dropped=Drops(target=38), from_plan=_histogram(300.0),
        from_plan_sum_ms=600.0, late_p99_ms=1.25,
        late_max_ms=3.0,
    )  # fmt: skip
    made = Scenario(HEADER, at_s=0.0).open(offered_per_s=40.0, arrivals="even", ramp=ramp)
    made.seconds(6, rps=2, p99_ms=10.0, settled=not ramp, offered=offered)
    return (made.close() if is_closed else made).events


def recovering(why: Why = "recovery") -> list[Event]:
    """Two levels of 40/s with two endpoints, of which one degrades first; the second level is recovery from overload, or not
    part of the curve for another reason.
    """
    endpoints = tuple(
        LevelEndpoint(name=name, method="GET", requests=400, failures=0, latency_ms=Latency(mean=50.0)) for name in ("/a", "/b")
    )
    figures = LevelFigures(
        settled=True, settled_seconds=10.0, requests=800, latency_ms=Latency(mean=50.0, p50=50.0, p95=80.0, p99=90.0),
        offered=OfferedFigures(offered_per_s=40.0, planned=400, finished=400, from_plan_ms=Latency(p50=60.0, p95=7500.0)),
    )  # fmt: skip
    made = Scenario(HEADER, at_s=0.0)
    for _ in range(2):
        made.measured(figures=figures, lasts_s=20.0, settled_s=10.0, offered_per_s=40.0, endpoints=endpoints)
    level = RateLevelVerdict(
        level=1, offered_per_s=40.0, goodput_per_s=50.0, goodput_se_per_s=1.0, state="kept", failure_ratio=0.0, dropped_ratio=0.0,
        growth_per_s=0.0, why=why,
    )  # fmt: skip
    first = EndpointDegradation(method="GET", name="/a", users=40.0, column="latency", before=1.0, after=9.0, at_rates=True)
    return made.add(Verdict(t_s=40.0, rates=RateVerdict(levels=(level,), first_endpoint=first))).events


# -- causes

PORTS = "ephemeral_port_exhaustion_time_wait"


def mark(id_: str, t_s: float, users: float, evidence: dict[str, Any], kind: MarkKind = "cause") -> Mark:
    return marked(
        t_s=t_s, key=f"{kind}:{id_}:epoch0", state="open", kind=kind, id=id_, users=users, severity=ENTRIES[id_].severity,
        confidence="high", evidence=evidence,
    )  # fmt: skip


def with_causes(example: str = "OSError, errno 99: Cannot assign requested address") -> list[Event]:
    """Three levels with a cause (ports run out at 50 users from 00:30 on), a bottleneck and a leak. `example`: of the cause."""
    *events, ended = session()
    counted = {"count": 412, "first_s": 30.0, "last_s": 36.5, "rate_per_s": 63.4}
    found = {"endpoints": {"GET /tasks/list": 400, "POST http://db7.corp.internal:18080/orders": 12}, "example": example}
    readings = {"ports_used": 1_998, "ports_capacity": 2_000, "time_wait": 1_996}
    doubts = {"unavailable": ["listen_queue"], "competing": ["connection_churn"]}
    return [
        *events,
        mark(PORTS, 36.5, 50, {**counted, **found, **readings, **doubts}),
        mark("gil_bound", 24.0, 20, {"target_cpu_ratio": 0.94}, "bottleneck"),
        mark("fd_leak", 30.0, 50, {"unit": "fds", "growth_per_hour": 7200.0, "limit_in_s": 240.0, "pid": 17}, "leak"),
        ended,
    ]


def without_a_knee_up_to_50(events: Sequence[Event]) -> list[Event]:
    curve = CurveFit(low_load_rps_per_user=2.0, low_load_se=0.1, baseline_users=(5.0,))
    found = CapacityVerdict(knee=KneeVerdict(kind="no_knee", users=50, users_high=50), curve=curve)
    return [*events[:-1], Verdict(t_s=36.0, capacity=found), events[-1]]


def finding(kind: str, key: str, t_s: float, state: str = "open", revision: int = 1, **evidence: object) -> Mark:
    return marked(t_s=t_s, key=key, revision=revision, state=state, kind=kind, id=key, users=50, evidence=evidence)


def all_kinds_of_findings() -> Iterator[Event]:
    """A level in which everything was measured, and a mark of each kind."""
    made = Scenario(HEADER, at_s=0.0).open(10)
    made.add(*(replace(busy_sample(float(t), seed=t), t_s=float(t), duration_s=1.0, level=0) for t in range(1, 9))).close()
    yield from made.events
    yield Note(t_s=3.0, text='deployed "\\ [markup] \x1b[31m 🎉 \u2028')
    yield finding("knee", "knee:0", 4.0, users_low=40, users_high=60, capacity_rps=123.4, limit="queueing", top_slope=0.9)
    yield finding("cause", "cause:refused", 5.0, count=3, first_s=1.0, last_s=4.5, errno=111)
    yield finding("cause", "gone", 5.0)
    yield finding("bottleneck", "bottleneck:gil", 6.0, threads=5)
    yield finding("recovery", "recovery:0", 7.0, from_users=100, to_users=50, recovered=True, after_s=3.0)
    yield finding("shift", "shift:0", 7.0, before=170, after=120)
    yield finding("stop_rule", "stop:0", 7.0, rule="p95_ms")
    yield finding("cause", "cause:refused", 7.5, "updated", 2, count=9)
    yield finding("cause", "gone", 8.0, "retracted", 2)
    yield Ended(t_s=9.0, reason="plan finished")


SAID: Mapping[str, tuple[str, dict[str, Any]]] = {
    "a knee at or below": ("at_or_below", {"users_high": 9.0}),
    "a knee by few levels": ("knee", {"users_low": 7.0, "users_high": 9.0, "capacity_rps": 40.0, "levels_below": 3}),
    "a knee with all its evidence": ("knee", {
        "low_load_rps_per_user": 2.69, "baseline_levels": 3, "top_efficiency": 0.5, "top_slope": -0.07,
        "levels_below": 1, "levels_beyond": 2, "half_width_ratio": 0.15, "response_ratio": 6.27,
        "little_ratio": 1.25,
    }),
    "a knee at which more requests fail": ("knee", {
        "top_efficiency": 0.6, "top_slope": 0.2, "failure_ratio_more": 0.12, "failures_replied_ratio": 1.0,
    }),
    "a knee of latency": ("latency_knee", {"latency_ms": 120.0, "low_load_latency_ms": 66.0, "ratio": 1.8}),
    "a shift with its figures": ("shift", {"at_s": 3_662.3, "column": "goodput", "before": 50.0, "after": 60.0}),
    "a shift": ("shift", {"at_s": 3_662.3, "column": "goodput"}),
    "stolen CPU": ("bottleneck", {"goodput_growth_ratio": -0.0279, "latency_growth_ratio": 5.13, "users_at": 8.0, "levels": 2}),
    "a busy generator": ("cause", {"grounds": "busy, idle_target"}),
}  # fmt: skip
"""Kind and evidence of marks. A kind has a name in the catalogue that is not its own in IDS."""
IDS = {"shift": "goodput_rose", "bottleneck": "cpu_steal", "cause": "generator_cpu_saturated"}


def reanalysed() -> list[Event]:
    """With a mark that is new, one that is gone, and one whose figures changed."""
    header, *events = with_causes()
    before = mark(PORTS, 36.5, 50, {"count": 3, "example": "refused by db7.corp.internal"})
    after = replace(before, users=20.0)
    figures = (FigureChange(name="users", recorded=50.0, found=20.0), FigureChange(name="seen", recorded="/srv/a/b", found=None))
    changes = (
        MarkChange(kind="new", key=after.key, found=after),
        MarkChange(kind="gone", key=before.key, recorded=before),
        MarkChange(kind="changed", key=after.key, recorded=before, found=after, figures=figures),
    )
    return [header, Reanalysed(t_s=0.0, version="0.2.0", recorded=4, found=3, changes=changes), *events]


def with_parts() -> list[Event]:
    """Two watched parts, one of them not read; a level in which the first was, and a bottleneck there."""
    reading = PartReading(
        name="payroll-db", age_s=0.2, target=TargetReading(pid=9, cpu_ratio=0.5, rss_bytes=100_000_000, processes=3),
        host=HostReading(cpu_ratio=1.5, disk_busy_ratio=0.25), server={"connections": 12.0, "connections_limit": 100.0},
    )  # fmt: skip
    made = Scenario(HEADER, at_s=0.0).add(
        PartState(
            t_s=0.2, name="payroll-db", state="read", place="ssh payroll-db: port 5432", program="postgres", pid=9,
            machine="payroll-db", host=HostFacts(name="payroll-db", kernel="6.1", cpus=4, cgroup_cpus=1.5, memory_bytes=8 << 30),
        ),
        PartState(t_s=0.3, name="edge", state="unread", place="docker exec -i edge", reason="no such container: edge"),
    )  # fmt: skip
    made.level(users=10, rps=40, p99_ms=12.0, parts=(reading,))
    evidence: dict[str, Any] = {
        "part": "payroll-db", "target_cpu_ratio": 3.9, "unavailable": ["part payroll-db"], "idle_parts": "payroll-db, edge",
    }  # fmt: skip
    return made.add(mark("target_cpu_saturated", 12.0, 10, evidence, "bottleneck")).events


# -- what is not measured


def single(*events: Event) -> list[Event]:
    return [HEADER, *events]


def unmeasured(latency: Latency) -> list[Event]:
    figures = LevelFigures(settled=True, counted=False, goodput_rps=7.0, throughput_rps=7.0, latency_ms=latency)
    return Scenario(HEADER).measured(5, figures, lasts_s=1.0).events


def failed_once() -> list[Event]:
    signature = FailureSignature(types=("CatchResponseError",), text="lost_updates")
    example = "lost_updates: 90 at db7.corp.internal, 60 at 10.1.2.3"
    failed = (FailureTick(name="/x", method="GET", signature=signature, count=1, example=example),)
    return single(Sample(t_s=1.0, duration_s=1.0, level=0, users=1, wanted=1, phase="settled", failures=failed))


def degraded() -> list[Event]:
    *events, ended = session()
    first = EndpointDegradation(method="GET", name="/health", users=50.0, column="latency", before=1.0, after=9.0)
    return [*events, Verdict(t_s=37.0, first_endpoint=first), ended]


def with_header(**changes: Any) -> list[Event]:
    return session(header=replace(HEADER, **changes))


ONE_AT_A_TIME = Inference(
    reason="one_at_a_time", levels=(9,), excludes=("pool",), supports="lock", endpoint="GET /<a>", value=1.1
)
ALONE = Outcome(
    experiment=Experiment(name="alone", endpoint="GET /<a>"), level=9, result="less", goodput_rps=48.0,
    ratio=0.7, ratio_low=0.65, ratio_high=0.75,
)  # fmt: skip
EXPLAINED = Explained(
    t_s=90.0,
    explanation=Explanation(
        users=30,
        causes=("lock", "pool"),
        outcomes=(ALONE,),
        inferences=(ONE_AT_A_TIME,),
        left=("lock",),
        confirmed="lock",
    ),
)

MADE: Mapping[str, Callable[[], Sequence[Event]]] = {
    "steps": session,
    "epochs": lambda: session((5, 20, 5, 20)),
    "a ramp": ramp,
    "an open level": unfinished_session,
    "hostile text": lambda: session(text=HOSTILE),
    "few values": lambda: session((5,), seconds=6),
    "a level that did not settle": lambda: session((5,), seconds=2),
    "a header": single,
    "experiments": lambda: [*with_verdict(), EXPLAINED],
    "levels of experiments": lambda: Scenario(HEADER).level(users=5).level(users=9, experiment=ALONE.experiment).events,
    "an opened level": lambda: single(LevelOpened(t_s=1.0, index=0, users=5, spawn_rate=5, by="user")),
    "a void level": lambda: Scenario(HEADER).measured(5, LevelFigures(settled=False), void="worker_lost").events,
    "a mean latency": lambda: unmeasured(Latency(mean=12.0)),
    "no latency": lambda: unmeasured(Latency()),
    "an example of a failure": failed_once,
    "an endpoint that degrades first": degraded,
    "an unknown host": lambda: with_header(host=HostFacts()),
    "an older client": lambda: with_header(client_overhead_ms={"HttpUser": ClientOverhead(p50_ms=1.9, p99_ms=4.0)}),
    "a version that answered": lambda: [HEADER, Target(t_s=0.5, state="ready", version="1.4"), *session()[1:]],
    "a version of the profile": lambda: with_header(target=replace(HEADER.target, version="2.0")),
    "a knee": with_verdict,
    "a knee with peak, latency knee and objectives": lambda: with_verdict(
        replace(VERDICT, knee=replace(KNEE, peak=PEAK), latency_knee=LATENCY_KNEE), slo=OBJECTIVES
    ),
    "its own log and metrics": lambda: telling(CHANGES),
    "its own log and metrics at rates": lambda: telling(CHANGES_AT_RATES),
    "few levels for its own metrics": lambda: telling(TelemetryChanges(bend=30.0, unknown_why="few_levels", recorded=40)),
    "none of its own metrics": lambda: telling(TelemetryChanges(bend=30.0, recorded=40, tested=31, groups=2)),
    "an unreliable fit": lambda: with_verdict(
        replace(VERDICT, curve=replace(CURVE, usl=replace(USL, unreliable_why="few_levels")))
    ),
    "a bend": lambda: of_kind("bend", users=30, users_low=20),
    "no knee": lambda: with_verdict(
        replace(VERDICT, knee=KneeVerdict(kind="no_knee", users=50), curve=replace(CURVE, capacity_rps=None))
    ),
    "a knee below the levels": lambda: of_kind("at_or_below", users=5, users_high=6),
    "recovery": lambda: with_verdict(recovery=(2,)),
    "a knee of each epoch": two_epochs,
    "a knee of a ramp": lambda: [
        *ramp(),
        Verdict(t_s=31.0, capacity=replace(VERDICT, knee=replace(KNEE, users=20, users_low=18, users_high=23))),
    ],
    "a mark of a knee": lambda: marked_knee("knee", users_low=26, users_high=35),
    **{
        f"a user that waits {name}": partial(judged, profile={"name": "x", "users": {**USERS, "wait_s": wait}})
        for name, wait in WAITS.items()
    },
    "a locustfile": lambda: judged(profile={"users": {"locustfile": "locustfile.py"}}),
    "objectives met and not met": lambda: judged(
        AT_25,
        SloVerdict(name="p95_ms", limit=200.0, state="crossed", users=23.0),
        SloVerdict(name="failure_ratio", limit=0.01, state="broken", users_high=6.0),
    ),
    "an objective crossed below the knee": lambda: judged(
        AT_25, SloVerdict(name="p95_ms", limit=200.0, state="crossed", users=14.0, users_low=12.4)
    ),
    "an objective that could not be judged": lambda: judged(profile={"users": USERS, "slo": {"p95_ms": 300.0, "p99_ms": None}}),
    "a contradicted knee": lambda: judged(replace(AT_25, verification=Verification(state="contradicted", steps=()))),
    "operating loads of epochs": judged_epochs,
    "an open session": lambda: levels_of(LEVELS, complete=False),
    "rates": served,
    "rates with an objective": lambda: served(
        RateObjective(name="p95_ms", limit=60.0, state="crossed", per_s=33.0, low_per_s=25.0, high_per_s=39.0)
    ),
    "rates that are kept": lambda: served(capacity=RateCapacity(kind="keeps_up", per_s=60.0)),
    "rates above the capacity": lambda: served(capacity=RateCapacity(kind="at_or_below", per_s=20.0, high_per_s=20.0)),
    "rates that depart": lambda: served(capacity=RateCapacity(kind="departs", per_s=50.0, kept_per_s=40.0, limit="queue_growth")),
    "dropped iterations": dropping,
    "dropped iterations of an open level": lambda: dropping(is_closed=False),
    "dropped iterations of a ramp": lambda: dropping(ramp=True),
    "an unsettled rate": lambda: single(LevelOpened(t_s=0.0, index=0, users=0, spawn_rate=1.0, by="user", offered_per_s=40.0)),
    "rates of recovery": recovering,
    "causes": with_causes,
    "a hostile example": lambda: with_causes(HOSTILE),
    "levels limited by the generator": lambda: without_a_knee_up_to_50(with_causes()),
    "a healthy session without a knee": lambda: without_a_knee_up_to_50(session()),
    "marks that were found again": reanalysed,
    "stacks": lambda: kit.stacks.session(*POOL_AND_QUERY).events,
    "stacks of one load, and what could not be sampled": lambda: (
        kit.stacks.session(POOL_AND_QUERY[1], failed=("perf: no",)).events
    ),
    "streams": lambda: streams().events,
    "streams at offered rates": lambda: streams(at_rates=True).events,
    "a sweep": lambda: swept().events,
    "a sweep by offered rates": lambda: swept(finds_rate=True).events,
    "watched parts": with_parts,
    "a died target": lambda: [
        *session()[:-1],
        Target(t_s=36.0, state="died", reason="killed by SIGKILL", output=("out of memory",)),
    ],
    "limits and a quota": lambda: with_header(
        host=replace(
            HEADER.host, cgroup_cpus=1.5, cpu_model="EPYC", ports_capacity=28_232, tcp_tw_reuse=2, fds_limit=1024, somaxconn=128
        ),
        profile={**HEADER.profile, "limits": {"target": {"open_files": 64}}},
        source="locust 2.47",
        engine=Engine(mode="workers", workers=2),
    ),
    "all kinds of findings": lambda: [*all_kinds_of_findings()],
    **{name: partial(marked_knee, IDS.get(kind, kind), kind, **evidence) for name, (kind, evidence) in SAID.items()},
}
