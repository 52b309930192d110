"""Conclusions as data: levels, the verdict and marks in; clauses in their order out. Their sentences are tested in `wording`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from kit.scenario import HEADER, Scenario
from kit.stacks import POOL_AND_QUERY, session
from wording.judged_sessions import UP_TO_82, failing_levels, knee_verdict, levels, levels_beside_others, mark, samples

from capexplorer.analysis.conclusion import conclude, epochs_with_findings
from capexplorer.model import conclusions
from capexplorer.model.conclusions import (
    CapacityFound as Curve,
)
from capexplorer.model.conclusions import (
    Conclusion,
    CpuStolen,
    CpuUsedByOthers,
    DiskUsedByOthers,
    Explains,
    FiguresOfUserCode,
    Leaking,
    LevelsTooShort,
    MachineShared,
    NotJudged,
    PartsNotRead,
    PartsShowLess,
    RepliesDiffer,
    RequestsFailed,
    RunInvalid,
    ServiceChanged,
    ServiceLimited,
    ShortStall,
    TargetDied,
    ThinkTimeLimit,
    Told,
    UsersNotWarm,
    UsersPoll,
)
from capexplorer.model.events import Event, Explained, LevelClosed, Mark, PartState, Verdict
from capexplorer.model.experiments import Experiment, Explanation, Outcome
from capexplorer.model.figures import LevelFigures
from capexplorer.model.findings import RepliesChanged
from capexplorer.model.load import Users
from capexplorer.model.stacks import FunctionBlamed
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, EndpointDegradation, KneeVerdict, RateCapacity, RateVerdict, RegimeVerdict

SHARED = mark("generator_shares_host", generator_share_ratio=0.4)
FAILURES = mark("server_error", count=9)
KNEE = knee_verdict("knee", 47)
NO_KNEE = knee_verdict("no_knee", 82, "unknown")
REGIMES = (
    RegimeVerdict(began_s=0.0, users=10, after_rps=100.0, most_users=47, most_rps=400.0, judged=True),
    RegimeVerdict(
        began_s=70.0, began="goodput", inside=True, users=47, before_rps=400.0, after_rps=200.0, most_users=47, most_rps=200.0
    ),
)
DEGRADES = msgspec.structs.replace(
    KNEE,
    first_endpoint=EndpointDegradation(method="GET", name="/search", users=47, column="latency", before=12.0, after=480.0),
)
CHANGED = msgspec.structs.replace(KNEE, regimes=REGIMES)
TOO_NEW = Scenario(None).measured(5, LevelFigures(settled=False, warm_ratio=0.4), lasts_s=20.0).events
TOO_SHORT = Scenario(None).measured(5, LevelFigures(settled=False, warm_ratio=1.0), lasts_s=5.0, settling_s=8.0).events
RATES = Verdict(t_s=200.0, rates=RateVerdict(capacity=RateCapacity(kind="capacity", per_s=100.0)))


DATABASE = PartState(t_s=1.0, name="db", state="read", place="here: port 5432", program="postgres", pid=17)
UNREAD = PartState(t_s=1.0, name="db", state="unread", place="ssh db1", reason="Connection refused")
POOL = mark("lock_or_pool_limit")


def stalled_session() -> list[Event]:
    """A level of 20 users at 50/s that replies to nothing from 10 to 12 s."""
    replies: list[dict[str, Any]] = [{"rps": 50, "max_ms": 90.0} for _ in range(20)]
    replies[10] = replies[11] = {"rps": 0, "endpoints": ()}
    replies[12] = {"rps": 50, "max_ms": 2400.0}
    return Scenario(None, at_s=0.0).level(20, replies, latency_ms=60.0, is_closed=False).events


PAGES = Mark(t_s=90.0, key="h", state="open", users=24.0, epoch=0, finding=RepliesChanged(
    method="GET", name="/", share_ratio=0.77, size_bytes=41.0, size_before_bytes=620.0, latency_ms=2.0, latency_before_ms=102.0,
))  # fmt: skip


def polls(requests_per_task: float) -> list[Event]:
    """Levels of 3 users, of three requests a task, and of 150; a task takes 0.1 s a request."""
    scenario = Scenario(None)
    for users, requests in ((3, 3.0), (150, requests_per_task)):
        figures = LevelFigures(
            settled=True, settled_seconds=7.0, requests=round(100 * requests), response_ms=1.0, goodput_rps=14 * requests,
            throughput_rps=14 * requests, wait_s=0.5, think_s=0.1, requests_per_task=requests, task_s=0.1 * requests,
        )  # fmt: skip
        scenario.measured(users, figures, lasts_s=10.0)
    return scenario.events


def last_level_with(**readings: float) -> list[Event]:
    """UP_TO_82 on two cores, with these readings of the machine and the target in the last level."""
    *others, last = UP_TO_82
    assert isinstance(last, LevelClosed)
    named = {name.replace("__", "."): value for name, value in readings.items()}
    return [HEADER, *others, msgspec.structs.replace(last, figures=msgspec.structs.replace(last.figures, readings=named))]


BUSY_DISK = last_level_with(
    host__disk_busy_ratio=0.97,
    host__io_pressure_ratio=0.4,
    host__disk_bytes_per_s=4e8,
    target__read_bytes_per_s=0.0,
    target__written_bytes_per_s=1e6,
)


def robbed(steal_ratio: float | None, cpu_ratio: float = 1.5) -> list[Event]:
    return last_level_with(host__cpu_ratio=cpu_ratio, **({} if steal_ratio is None else {"host__steal_ratio": steal_ratio}))


AS_BEFORE = Outcome(
    experiment=Experiment(name="as_before"), level=9, result="same", goodput_rps=60.0, ratio=1.0, ratio_low=0.97, ratio_high=1.03
)
EXPLAINED = Explained(t_s=300.0, explanation=Explanation(users=100, causes=("lock", "pool"), outcomes=(AS_BEFORE,)))

CASES: dict[str, tuple[Sequence[Event], tuple[type, ...], str]] = {
    "nothing settled": ([], (NotJudged,), "info"),
    "no detector ran": (UP_TO_82, (NotJudged,), "info"),
    "a curve without marks": ([*UP_TO_82, NO_KNEE], (Curve,), "info"),
    "a knee": ([*UP_TO_82, KNEE], (Curve,), "info"),
    "rates alone": ([*UP_TO_82, RATES], (Curve,), "info"),
    "a capacity as a rate before a death": (
        [*UP_TO_82, RATES, mark("target_crashed", severity="critical")], (Curve, TargetDied), "warning",
    ),
    "rates beside a knee": ([*UP_TO_82, msgspec.structs.replace(KNEE, rates=RATES.rates)], (Curve, Curve), "info"),
    "a knee whose clause names its bottleneck": ([*UP_TO_82, KNEE, mark("disk_saturated")], (Curve,), "warning"),
    "a knee before a death": ([*UP_TO_82, KNEE, mark("target_crashed", severity="critical")], (Curve, TargetDied), "warning"),
    "a knee before a leak": (
        [*UP_TO_82, KNEE, mark("fd_leak", growth_per_hour=7200.0, unit="fds")], (Curve, Leaking), "warning",
    ),
    "failures before the bottleneck, and a leak last": (
        [*UP_TO_82, FAILURES, mark("disk_saturated"), mark("fd_leak", growth_per_hour=7200.0, unit="fds")],
        (RequestsFailed, ServiceLimited, Leaking), "error",
    ),
    "failures before what the curve shows": ([*UP_TO_82, NO_KNEE, FAILURES], (RequestsFailed, KneeVerdict), "error"),
    "the earliest failures before later ones that failed more requests": (
        [*UP_TO_82, FAILURES, mark("bad_gateway", at_s=190.0, count=90)], (RequestsFailed, RequestsFailed), "error",
    ),
    "later failures of fewer requests make no clause": (
        [*UP_TO_82, FAILURES, mark("bad_gateway", at_s=190.0, count=5)], (RequestsFailed,), "error",
    ),
    "a bottleneck without a curve": ([*UP_TO_82, mark("disk_saturated")], (ServiceLimited, Told), "warning"),
    "think time limits throughput": ([*UP_TO_82, mark("think_time_limited")], (ThinkTimeLimit, Told), "info"),
    "the first endpoint that degrades, after the knee": ([*UP_TO_82, DEGRADES], (Curve, EndpointDegradation), "info"),
    "what experiments showed, after the knee": ([*UP_TO_82, KNEE, EXPLAINED], (Curve, Explains), "info"),
    "a change in time after the knee": ([*UP_TO_82, CHANGED], (Curve, ServiceChanged), "info"),
    "a short stall inside a level": (stalled_session(), (NotJudged, ShortStall), "info"),
    "replies that may be errors, and no think time": (
        [*UP_TO_82, NO_KNEE, mark("think_time_limited"), PAGES], (Curve, RepliesDiffer), "info",
    ),
    "users who poll": (polls(59.0), (NotJudged, UsersPoll), "info"),
    "users of tasks that stay the same": (polls(3.0), (NotJudged,), "info"),
    "a level that its users did not let settle": (TOO_NEW, (Told, UsersNotWarm, Told), "info"),
    "a level that was too short to settle": (TOO_SHORT, (Told, LevelsTooShort), "info"),
    "other processes come first where they may have hidden a knee": (
        [
            *levels_beside_others(20, 1.6, {"chrome": 1.2}),
            knee_verdict("no_knee", 14, disturbed_levels=(2,), left_out_levels=(2,)),
        ],
        (CpuUsedByOthers, Curve), "warning",
    ),
    "other processes that disturbed a few seconds of a level that counts make no clause": (
        [*levels_beside_others(20, 0.09, {"chrome": 0.08}), knee_verdict("no_knee", 20, disturbed_levels=(2,))],
        (Curve,), "info",
    ),
    "a machine shared with the generator comes last": (
        [*UP_TO_82, KNEE, SHARED], (Curve, MachineShared), "info",
    ),
    "users that end by themselves": ([*UP_TO_82, NO_KNEE, mark("users_stopped")], (Curve, FiguresOfUserCode), "info"),
    "the hypervisor took CPU": ([*robbed(0.45), KNEE], (Curve, CpuStolen), "info"),
    "others use the disk": ([*BUSY_DISK, KNEE], (Curve, DiskUsedByOthers), "info"),
    "sampled stacks name a function": ([*session(*POOL_AND_QUERY).events, KNEE], (Curve, FunctionBlamed), "info"),
    "sampled stacks without a limit of the service": ([*session(*POOL_AND_QUERY).events, NO_KNEE], (Curve,), "info"),
    "a part that cannot be read": ([*UP_TO_82, NO_KNEE, UNREAD], (Curve, PartsNotRead), "warning"),
    "requests wait, and a database is read as a process alone": (
        [*UP_TO_82, KNEE, POOL, DATABASE], (Curve, PartsShowLess), "warning",
    ),
    "nothing is blamed for a knee, and a database is read as a process alone": (
        [*UP_TO_82, KNEE, DATABASE], (Curve, PartsShowLess), "info",
    ),
    "a resource limits the service, which a database's own figures would not explain": (
        [*UP_TO_82, KNEE, mark("disk_saturated"), DATABASE], (Curve,), "warning",
    ),
    "no limit was found, so nothing more needs to be shown": ([*UP_TO_82, NO_KNEE, DATABASE], (Curve,), "info"),
    "a part that is no well-known server": (
        [*UP_TO_82, KNEE, POOL, msgspec.structs.replace(DATABASE, program="shop")], (Curve,), "warning",
    ),
    "an invalid run has no other clause": (
        [*UP_TO_82, NO_KNEE, mark("dns_failure", count=9), mark("disk_saturated"), SHARED],
        (RunInvalid,), "critical",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_clauses_come_in_order_of_precedence(name: str) -> None:
    events, clauses, severity = CASES[name]
    found = conclude(Timeline(events), 0)
    assert tuple(type(each) for each in found.clauses) == clauses
    assert found.severity == severity


def test_an_invalid_run_keeps_the_knee_of_its_levels_without_the_fault() -> None:
    [clause] = concluded(*UP_TO_82[:4], knee_verdict("knee", 12), *UP_TO_82[4:], mark("dns_failure", at_s=190.0, count=9)).clauses
    assert isinstance(clause, RunInvalid)
    assert (clause.cause.id, clause.clean_users) == ("dns_failure", 74)
    assert clause.knee is not None
    assert clause.knee.users == 12


@pytest.mark.parametrize(("users_at", "named"), [(30, False), (82, True)])
def test_a_bottleneck_that_began_below_the_knee_and_lasts_beyond_it_is_its_limit(users_at: int, named: bool) -> None:
    [knee] = concluded(*UP_TO_82, KNEE, mark("cpu_throttled", users=30, users_at=users_at, throttled_ratio=0.5)).clauses
    assert isinstance(knee, Curve)
    assert [each.id for each in knee.blamed] == ["cpu_throttled"] * named


@pytest.mark.parametrize(
    ("offered_per_s", "state", "offered_at_per_s", "is_named"),
    [(50.0, "closed", 60.0, True), (10.0, "closed", 60.0, True), (10.0, "open", 26.0, True), (10.0, "closed", 26.0, False)],
)
def test_the_limit_of_a_capacity_as_a_rate_was_found_near_it_or_is_contradicted_by_no_level(
    offered_per_s: float, state: str, offered_at_per_s: float, is_named: bool
) -> None:
    """A CPU quota throttles from 10/s on, and at the rate of 26/s at which the search ends."""
    capacity = RateCapacity(kind="capacity", per_s=50.0, low_per_s=45.0)
    quota = mark("cpu_throttled", state=state, throttled_ratio=0.3)
    finding = msgspec.structs.replace(quota.finding, offered_at_per_s=offered_at_per_s)
    quota = msgspec.structs.replace(quota, offered_per_s=offered_per_s, users=None, finding=finding)
    curve, *_ = concluded(*UP_TO_82, Verdict(t_s=200.0, rates=RateVerdict(capacity=capacity)), quota).clauses
    assert isinstance(curve, Curve)
    assert bool(curve.blamed) is is_named


def test_failures_have_their_share_of_the_requests_since_they_began() -> None:
    [failed, _] = concluded(*samples(60), mark("server_error", at_s=31.0, count=60, last_s=60.0), mark("disk_saturated")).clauses
    assert isinstance(failed, RequestsFailed)
    assert failed.share_ratio == pytest.approx(0.1)


@pytest.mark.parametrize(("ratios", "even"), [((0.04, 0.05), True), ((0.01, 0.05), False)])
def test_failures_of_one_ratio_at_all_levels_do_not_depend_on_load(ratios: tuple[float, float], even: bool) -> None:
    [failed, *_] = concluded(*failing_levels((10, ratios[0]), (40, ratios[1])), mark("server_error", count=9)).clauses
    assert isinstance(failed, RequestsFailed)
    assert failed.at_every_load is even


def test_a_database_whose_own_figures_are_read_shows_all() -> None:
    *others, last = UP_TO_82
    assert isinstance(last, LevelClosed)
    figures = msgspec.structs.replace(last.figures, readings={"part.db.server.connections": 3.0})
    found = concluded(*others, msgspec.structs.replace(last, figures=figures), KNEE, POOL, DATABASE)
    assert [type(each) for each in found.clauses] == [Curve]


def test_only_epochs_with_marks_or_a_verdict_have_findings() -> None:
    events = [
        *levels(10),
        *levels(10, epoch=1, since_s=60.0),
        *levels(10, epoch=2, since_s=120.0),
        mark("disk_saturated", epoch=1),
    ]
    retracted = mark("gil_bound", epoch=2, state="retracted")
    assert epochs_with_findings(Timeline([*events, retracted])) == [1]


@pytest.mark.parametrize(
    ("steal_ratio", "cpu_ratio", "share"), [(0.45, 1.5, 0.231), (0.15, 1.8, None), (0.4, 0.9, None), (None, 1.9, None)]
)
def test_levels_that_the_hypervisor_robbed_are_named_with_its_share(
    steal_ratio: float | None, cpu_ratio: float, share: float | None
) -> None:
    found = next((each for each in concluded(*robbed(steal_ratio, cpu_ratio)).clauses if isinstance(each, CpuStolen)), None)
    assert (found is None) == (share is None)
    if found is not None:
        assert found.share_ratio == pytest.approx(share, abs=0.001)
        assert found.users == (82.0,)


def test_stolen_time_that_is_the_limit_is_named_once() -> None:
    found = concluded(*robbed(0.45), KNEE, mark("cpu_steal"))
    assert [type(each) for each in found.clauses] == [Curve]


def test_every_clause_occurs_in_these_cases() -> None:
    shown = {kind for _, clauses, _ in CASES.values() for kind in clauses}
    assert shown == set(conclusions.Clause.__args__)


def concluded(*events: Event) -> Conclusion:
    return conclude(Timeline(events), 0)


def test_a_short_stall_inside_a_level_is_in_the_conclusion_with_its_time_and_load() -> None:
    found = next(each for each in concluded(*stalled_session()).clauses if isinstance(each, ShortStall))
    assert found == ShortStall(at_s=10.0, seconds=2, times=1, load=Users(20))


@pytest.mark.parametrize(
    ("began_s", "is_named"), [(11.0, False), (4.0, True)], ids=["the change is the stall", "a change at another time"]
)
def test_a_stall_that_the_clause_about_changes_describes_is_not_named_again(began_s: float, is_named: bool) -> None:
    usual = RegimeVerdict(began_s=0.0, users=20, after_rps=50.0, most_users=20, most_rps=50.0, judged=True)
    silent = RegimeVerdict(
        began_s=began_s, until_s=began_s + 1, began="failures", inside=True, users=20, after_rps=0.0, most_users=20, most_rps=0.0
    )
    verdict = Verdict(t_s=20.0, capacity=CapacityVerdict(), regimes=(usual, silent))
    clauses = concluded(*stalled_session(), verdict).clauses
    assert any(isinstance(each, ShortStall) for each in clauses) is is_named
