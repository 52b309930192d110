"""The verdict line: one sentence about a session, from its levels, its marks and the verdict about its knee."""

from __future__ import annotations

import pytest
from kit.scenario import Scenario
from msgspec.structs import replace

from capexplorer import wording
from capexplorer.model.conclusions import CapacityFound
from capexplorer.model.events import Event, Note, Target, Verdict
from capexplorer.model.load import Users
from capexplorer.model.recommended import OperatingLoad
from capexplorer.model.stacks import Frame, FunctionBlamed, FunctionTime, RequestTime
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict, Verification
from capexplorer.wording.verdict import clause

from .judged_sessions import CURVE, STARTED_AT, UP_TO_82, knee_verdict, levels, mark, verdict_sentence
from .verdict_cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_each_case_has_its_verdict_line(name: str) -> None:
    events, expected = CASES[name]
    assert verdict_sentence(*events) == expected


@pytest.mark.parametrize("started_at", [STARTED_AT, "2026-01-01T03:59:00.000+00:00", ""])
def test_the_verdict_line_has_times_since_the_start_of_the_session(started_at: str) -> None:
    sentence = verdict_sentence(*UP_TO_82, mark("dns_failure", 82, 185.0), started_at=started_at)
    assert sentence.startswith("Limited by a name that does not resolve from 03:05 at 82 users")
    after_two_hours = verdict_sentence(*levels(10, since_s=7_200.0), mark("dns_failure", 10, 7_384.9), started_at=started_at)
    assert after_two_hours.startswith("Limited by a name that does not resolve from 2:03:04 at 10 users")


def test_the_verdict_line_of_an_earlier_epoch_names_the_epoch() -> None:
    timeline = Timeline([*UP_TO_82, knee_verdict("knee", 47), mark("server_error", 74, epoch=1)])
    assert wording.verdict(timeline, 0).startswith("Epoch 0: Knee at 47 users")


KNEE = KneeVerdict(
    kind="knee", users=63.0, users_low=61.0, users_high=66.0, capacity_rps=118.0, limit="queueing", confidence="high",
    verification=Verification(state="verified", steps=()),
)  # fmt: skip
SLOWER_BY = RequestTime(0.05, 0.157, 0.001)
IN_CHECKOUT = FunctionTime(
    Frame("checkout", "/app/own.py", 12, is_own=True), "Semaphore.acquire", SLOWER_BY, SLOWER_BY, (3.0, 19.0), is_more=True,
    is_less=False, grew=True,
)  # fmt: skip
CHECKOUT = FunctionBlamed("grew", "wall", IN_CHECKOUT, 1.0, is_wait=True)
POOL = CapacityFound(
    CapacityVerdict(knee=KNEE, curve=CURVE), (mark("lock_or_pool_limit"),), "pool", CHECKOUT, OperatingLoad(load=Users(45))
)  # fmt: skip


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (POOL, "a pool is the limit, in checkout (own.py:12); stay at 45 users or fewer; high confidence; verified."),
        (
            replace(POOL, confirmed=None),
            "a lock or a pool inside the service is the limit, in checkout (own.py:12); stay at 45 users or fewer; "
            "high confidence; verified.",
        ),
        (replace(POOL, confirmed="queue", function=None, operating=None), "workers that open connections hold are the limit "
         "(high confidence); verified."),
    ],
    ids=["confirmed", "not confirmed", "no line and no load"],
)  # fmt: skip
def test_two_lines_of_eighty_columns_have_the_knee_its_cause_the_line_of_code_and_the_load_to_stay_at(
    found: CapacityFound, sentence: str
) -> None:
    assert clause(found) == f"Knee at 63 users [61–66] and 118/s: {sentence}"
    assert found.operating is None or clause(found).index("; high confidence") <= 140


def restarted(*pools: int) -> Scenario:
    """Levels with each of these pools, one epoch after the other."""
    scenario = Scenario()
    for epoch, pool in enumerate(pools):
        scenario.add(Target(t_s=scenario.t_s, state="starting", epoch=epoch, params={"pool": pool, "threads": 8}))
        scenario.level(users=4, rps=20, epoch=epoch)
        scenario.add(Verdict(t_s=scenario.t_s, epoch=epoch, capacity=CapacityVerdict()))
    return scenario


def test_an_epoch_is_named_by_the_parameters_that_differ_and_by_its_time_if_it_had_them_before() -> None:
    timeline = restarted(3, 5, 3).timeline
    names = [wording.epoch_name(timeline, epoch) for epoch in range(3)]
    assert names == ["pool=3 from 00:01", "pool=5", "pool=3 from 00:25"]
    assert wording.epoch_name(restarted(3).timeline, 0) == ""


def test_after_a_restart_the_knee_from_before_it_stays_until_there_is_another() -> None:
    found = Verdict(t_s=30.0, capacity=CapacityVerdict(knee=KNEE, curve=CURVE))
    assert wording.operating_now(restarted(3).add(found).timeline).startswith("48 users or fewer")
    scenario = restarted(3, 5).add(found)
    assert wording.verdict(scenario.timeline).startswith("pool=3: Knee at 63 users")
    assert wording.before_restart(scenario.timeline, wording.judgement(scenario.timeline).epoch) == "before the restart, "
    assert wording.operating_now(scenario.timeline).startswith("before the restart, pool=3: 48 users or fewer")
    scenario.add(Verdict(t_s=40.0, epoch=1, capacity=CapacityVerdict(knee=replace(KNEE, users_low=90.0), curve=CURVE)))
    assert wording.verdict(scenario.timeline).startswith("pool=5: Knee at 63 users")
    assert wording.before_restart(scenario.timeline, wording.judgement(scenario.timeline).epoch) == ""
    assert wording.operating_now(scenario.timeline).startswith("72 users or fewer")


@pytest.mark.parametrize(
    ("findings", "severity", "rests_on_marks"),
    [
        ([knee_verdict("no_knee", 82), Note(t_s=1.0, text="x")], "info", False),
        ([mark("dns_failure")], "critical", True),
        ([mark("load_shedding")], "warning", True),
        ([knee_verdict("knee", 47)], "info", False),
        ([mark("think_time_limited")], "info", True),
        ([mark("think_time_limited"), mark("fd_leak")], "warning", True),
    ],
    ids=["no knee", "fault of the generator", "refused requests", "knee", "think time", "think time and a leak"],
)
def test_a_verdict_has_the_highest_severity_of_its_findings(findings: list[Event], severity: str, rests_on_marks: bool) -> None:
    judgement = wording.judgement(Timeline([*UP_TO_82, *findings]))
    assert judgement.severity == severity
    assert judgement.marked is rests_on_marks
