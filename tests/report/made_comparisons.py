"""Comparisons of made sessions: what is claimed, what is within noise, what may not be compared. Their exports are compared with
digests, as those of sessions are (`recorded_exports`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from kit.scenario import Scenario
from kit.streams import streams
from marked import marked
from msgspec.structs import replace

from capexplorer.model.events import HostFacts, Mark, Target, TargetFacts, Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict
from capexplorer.report.compare import SecondLatencies, Session

from . import simulated_rates
from .compared import HOST, USERS, LevelSpec, knee, overheads, session, timeline

LOW = [LevelSpec(users, 3.0 * users, 0.05 * users) for users in (1, 3, 6, 12)]
KNEES = (
    knee(26, 78.0, users_low=23, users_high=29, capacity_se_rps=1.0),
    knee(50, 151.0, users_low=42, users_high=61, capacity_se_rps=1.7),
)
FEW, MORE = LevelSpec(48, 78.0, mean_ms=330.0), LevelSpec(48, 140.0, mean_ms=50.0)
POOL_LEVELS = [*LOW, LevelSpec(24, 70.0), FEW, LevelSpec(58, 77.0)]
POOL_OF_2 = timeline(POOL_LEVELS, more=[KNEES[0]])
POOL_OF_4 = timeline([*LOW, LevelSpec(24, 72.0), MORE, LevelSpec(96, 150.0)], more=[KNEES[1]], id="b")
FLAT = [LevelSpec(24, 158.0, 4.0), LevelSpec(26, 128.0, 2.0), LevelSpec(37, 157.0, 6.0), LevelSpec(45, 145.0, 20.0)]
UNEVEN = (0.9, 1.1, 0.95, 1.05, 1.0, 0.92, 1.08, 1.0)


def with_seconds(scenario: Scenario) -> Session:
    """A session whose seconds are known, so that there is an error of each percentile."""
    latencies = SecondLatencies()
    return Session(Timeline(latencies.collecting(scenario.events)), latencies=latencies)


def pair(before: Timeline, after: Timeline) -> Sequence[Session]:
    """Sessions that have figures of levels and no seconds."""
    return [Session(before), Session(after)]


def levels(before: Sequence[LevelSpec], after: Sequence[LevelSpec], **of_after: Any) -> Sequence[Session]:
    return pair(timeline(before), timeline(after, **of_after))


def verdict(kind: Any, users: float) -> Verdict:
    return Verdict(t_s=99.0, capacity=CapacityVerdict(knee=KneeVerdict(kind=kind, users=users)))


def failing(cause: str) -> Mark:
    return marked(t_s=9.0, key="c", state="open", kind="cause", id=cause, severity="warning", evidence={"count": 12})


def slower_at(*slow: int) -> Sequence[Session]:
    """Two sessions of eight user counts; at those in `slow` the second has about four times the latency."""
    counts = range(10, 90, 10)
    before = session([LevelSpec(n, p50_ms=10.0 + n % 3, latency_factors=UNEVEN) for n in counts])
    return [before, session([LevelSpec(n, p50_ms=40.0 if n in slow else 10.0 + n % 3, latency_factors=UNEVEN) for n in counts])]


def clients(before: Mapping[str, float], after: Mapping[str, float]) -> Sequence[Session]:
    slow = session([LevelSpec(50, 49.3, mean_ms=2.22, p50_ms=2.2)], client_overhead_ms=overheads(**before))
    return [slow, session([LevelSpec(50, 48.6, mean_ms=0.93, p50_ms=0.9)], client_overhead_ms=overheads(**after))]


def started(*command: str, params: Any = None, version: str | None = None, answered: str | None = None) -> Timeline:
    """A session of a target that was started by this command, and named its version when it became ready."""
    target = TargetFacts(name="shop", url="http://127.0.0.1:1", command=command, params=params or {}, version=version)
    found = timeline([LevelSpec(10)], target=target)
    if answered is not None:
        found.apply(Target(t_s=0.5, state="ready", version=answered))
    return found


def on_another_machine() -> Sequence[Session]:
    host = HostFacts(name="two", cpus=4, memory_bytes=16 << 30, fds_limit=2048, port_range=(1024, 60999))
    profile = {"name": "mixed", "users": {**USERS, "wait_s": {"constant": 1.0}, "task": [{"name": "/", "weight": 2}]}}
    other = timeline([LevelSpec(10, 200.0)], host=host, versions={"capexplorer": "1", "locust": "3"}, profile=profile)
    return pair(timeline([LevelSpec(10)]), other)


def disturbed() -> Sequence[Session]:
    quiet = LevelSpec(10, 100.0, cpu_ratio=0.2, host_cpu_ratio=0.4)
    return [session([quiet]), session([LevelSpec(10, 50.0, p50_ms=40.0, cpu_ratio=0.2, host_cpu_ratio=1.95)])]


def failing_more() -> Sequence[Session]:
    counts = (10, 20, 40)
    marks = (knee(26, 78.0, capacity_se_rps=1.0), knee(50, 151.0, capacity_se_rps=1.7))
    return [
        session([LevelSpec(users) for users in counts], more=[marks[0]]),
        session([LevelSpec(users, failures=300) for users in counts], more=[marks[1]]),
    ]


def at_rates(*capacities: float) -> Sequence[Session]:
    return [Session(found, latencies=latencies) for found, latencies in map(simulated_rates.session, capacities)]


TEN = [LevelSpec(10)]

COMPARED: Mapping[str, Callable[[], Sequence[Session]]] = {
    "later first tokens": lambda: [with_seconds(streams(20)), with_seconds(streams(20, slower=1.6))],
    "a doubled capacity": lambda: pair(POOL_OF_2, POOL_OF_4),
    "a change at one level below the limit": lambda: pair(
        POOL_OF_2, timeline([*LOW[:-1], LevelSpec(12, 99.0), LevelSpec(24, 72.0), LevelSpec(48, 78.0)], more=[KNEES[0]])
    ),
    "a capacity that was not reached": lambda: pair(
        POOL_OF_2, timeline([*LOW, LevelSpec(24, 72.0), LevelSpec(48, 140.0)], id="b")
    ),
    "too few users": lambda: pair(POOL_OF_2, timeline([*LOW, LevelSpec(24, 72.0)], id="b")),
    "a bend": lambda: pair(timeline([*LOW, LevelSpec(24, 60.0), LevelSpec(96, 77.0)], more=[verdict("bend", 20)]), POOL_OF_4),
    "a bend of imprecise levels": lambda: pair(
        timeline([*LOW, *FLAT], more=[verdict("bend", 12)]), timeline(POOL_LEVELS, more=[KNEES[0]], id="b")
    ),
    "a knee and a retracted one": lambda: pair(
        timeline(TEN, more=[knee(45, 90.0)]), timeline(TEN, more=[replace(knee(45, 90.0), state="retracted")])
    ),
    "a knee and none": lambda: pair(timeline(TEN, more=[knee(45, 90.0)]), timeline(TEN, more=[verdict("no_knee", 80)])),
    "knees with intervals": lambda: pair(
        timeline(TEN, more=[knee(60, 120.0, users_low=55, users_high=65, capacity_se_rps=2.0)]),
        timeline(TEN, more=[knee(45, 90.0, users_low=42, users_high=48, capacity_se_rps=1.0)]),
    ),
    "a capacity within noise": lambda: pair(
        timeline(LOW, more=[knee(26, 78.0, capacity_se_rps=4.0)]),
        timeline(LOW, more=[knee(26, 89.0, capacity_se_rps=4.0)], id="b"),
    ),
    "means that say nothing": lambda: levels(
        [LevelSpec(users, mean_ms=10.0) for users in (1, 2, 3)],
        [LevelSpec(users, mean_ms=mean_ms) for users, mean_ms in ((1, 10.0), (2, 40.0), (3, 400.0))],
    ),
    "failures of one": lambda: levels(TEN, TEN, more=[failing("connection_reset")], id="b"),
    "unlike failures": lambda: pair(
        timeline(TEN, more=[failing("connection_reset")]), timeline([LevelSpec(10, 80.0)], more=[failing("bad_gateway")], id="b")
    ),
    "a greater capacity with more failures": failing_more,
    "no user count in common": lambda: levels(TEN, [LevelSpec(20)]),
    "equal goodput": lambda: levels(TEN, [LevelSpec(10, 101.0)]),
    "less goodput": lambda: levels(TEN, [LevelSpec(10, 80.0)]),
    "more goodput": lambda: levels([*TEN, LevelSpec(20)], [*TEN, LevelSpec(20, 150.0)]),
    "more and less goodput": lambda: levels([LevelSpec(20), LevelSpec(100)], [LevelSpec(20, 120.0), LevelSpec(100, 60.0)]),
    "unknown noise": lambda: levels(TEN, [LevelSpec(10, 900.0, None)]),
    "levels that are not matched": lambda: levels(
        [*TEN, LevelSpec(0), LevelSpec(20, settled=False), LevelSpec(30, ramp=True)], [*TEN, LevelSpec(20), LevelSpec(100)]
    ),
    "seconds": lambda: [session(TEN), session([LevelSpec(10, 110.0, p50_ms=20.0, mean_ms=20.0)])],
    "few successes": lambda: [session([LevelSpec(10, failures=1_900)])] * 2,
    "epochs": lambda: [Session(timeline([LevelSpec(10, 100.0), LevelSpec(10, 200.0, epoch=1)]))],
    "slower at one user count": partial(slower_at, 40),
    "slower above 50 users": partial(slower_at, 60, 70, 80),
    "equal services": slower_at,
    "another client": lambda: clients({"HttpUser": 1.9}, {"FastHttpUser": 0.5}),
    "a client of unknown overhead": lambda: clients({"HttpUser": 1.9}, {}),
    "another machine": on_another_machine,
    "the same machine": lambda: levels(TEN, TEN, id="b", host=replace(HOST, memory_bytes=8_590_000_000)),
    "labels": lambda: pair(timeline(TEN, label="x" * 40), timeline(TEN, label="new", profile={"name": "io", "users": USERS})),
    "an argument more": lambda: pair(started("app", "--port", "31289"), started("app", "--port", "17704", "--pool", "4")),
    "another argument": lambda: pair(started("app", "--pool", "2"), started("app", "--pool", "4")),
    "parameters": lambda: pair(started("app", "2", params={"n": 2}), started("app", "4", params={"n": 4})),
    "versions": lambda: pair(started("app", version="1.0"), started("app", version="1.1")),
    "versions that answered": lambda: pair(started("app", answered="1.0"), started("app", answered="1.1")),
    "other processes": disturbed,
    "rates": partial(at_rates, 100.0, 130.0),
    "rates of which one is served": partial(at_rates, 100.0, 1000.0),
    "an open session": lambda: levels(TEN, TEN, complete=False),
    "nothing": lambda: pair(timeline([LevelSpec(1, settled=False)]), timeline([])),
}
