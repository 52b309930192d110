"""The judges of trials: which marks of a run are right, which are wrong, and which are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import pytest
from marked import marked

from capexplorer.model.events import Mark, PartState, Sample, Verdict
from capexplorer.model.findings import Bottleneck, Knee, RateCapacityFinding
from capexplorer.model.readings import HostReading
from capexplorer.model.verdicts import KneeVerdict, Overload, RateCapacity, RateVerdict, RegimeVerdict
from lab.kit.runs import Ran
from lab.trial import Result
from lab.trials import moving, services, sweeps
from lab.trials.experiments.reports import around, mistakes
from lab.trials.faults import trial as faults
from lab.trials.moving import Truth
from lab.trials.parts import trial as parts
from lab.trials.parts.shop import Host, Place
from lab.trials.protocols.trial import of_fault

Ids = tuple[str, ...]


def mark(name: str, severity: str = "error", state: str = "open", kind: str = "cause") -> Mark:
    return marked(t_s=30.0, key=f"{kind}:{name}", state=state, kind=kind, id=name, severity=severity)


# -- faults --------------------------------------------------------------------------------------------------------------------

ROW = faults.Row(name="row", family="http", fault="", expected=("server_error",), also_true={"connection_reset": "so it is"})
HEALTHY = faults.Row(name="well", family="healthy", fault="")
ONE_OF = faults.Row(name="row", family="http", fault="", one_of=("a", "b"))
STILL = faults.Row(name="still", family="moving", fault="", no_knee=True)
INJECTED = mark("server_error")
POINT = {kind: marked(t_s=1.0, key=kind, state="open", kind=kind, id=kind, users=8) for kind in ("knee", "bend", "latency_knee")}


@pytest.mark.parametrize(
    ("row", "marks", "missing", "wrong"),
    [
        (ROW, [INJECTED], (), ()),
        (ROW, [INJECTED, mark("server_error", state="closed")], (), ()),
        (ROW, [], ("server_error",), ()),
        (ROW, [INJECTED, mark("server_error", state="retracted")], ("server_error",), ()),
        (ROW, [INJECTED, mark("bad_gateway", "error")], (), ("bad_gateway",)),
        (ROW, [INJECTED, mark("bad_gateway", "critical")], (), ("bad_gateway",)),
        (ROW, [INJECTED, mark("bad_gateway"), mark("bad_gateway", state="retracted")], (), ("bad_gateway",)),
        (ROW, [INJECTED, mark("connection_churn", "warning")], (), ()),
        (ROW, [INJECTED, mark("gil_bound", "warning", kind="bottleneck")], (), ("gil_bound",)),
        (ROW, [INJECTED, mark("fd_leak", "warning", kind="leak")], (), ("fd_leak",)),
        (ROW, [INJECTED, mark("not_saturated", "info", kind="bottleneck")], (), ()),
        (ROW, [INJECTED, mark("connection_reset")], (), ()),
        (ROW, [INJECTED, POINT["knee"], mark("goodput_fell", kind="shift")], (), ()),
        (ONE_OF, [mark("b")], (), ()),
        (ONE_OF, [], ("a or b",), ()),
        (HEALTHY, [mark("connection_churn", "info")], (), ("connection_churn",)),
        (HEALTHY, [mark("think_time_limited", "info", kind="bottleneck"), POINT["bend"]], (), ()),
        (STILL, list(POINT.values()), (), tuple(POINT)),
    ],
)
def test_the_marks_of_a_fault(row: faults.Row, marks: list[Mark], missing: Ids, wrong: Ids) -> None:
    found = faults.judge(row, marks)
    assert (found.missing, found.wrong) == (missing, wrong)


def test_a_mark_that_cannot_be_in_the_log_is_found_on_stderr() -> None:
    row = faults.Row(name="row", family="host", fault="", expected=("disk_full",), reported={"disk_full": "No space left"})
    assert faults.judge(row, [], "capexplorer: No space left on device").right
    assert faults.judge(row, []).missing == ("disk_full",)


def test_a_mark_of_neighbours_is_right_only_if_other_processes_used_cpu() -> None:
    neighbours = [mark("noisy_neighbours", "warning", kind="bottleneck")]
    assert faults.judge(HEALTHY, neighbours, others=1.2).right
    assert faults.judge(HEALTHY, neighbours, others=0.05).wrong == ("noisy_neighbours",)


@pytest.mark.parametrize(
    ("cores", "found"),
    [
        ([], 0.0),
        ([0.1, 0.3], 0.2),
        ([0.0] * 40 + [0.9] * faults.BURST_S + [0.0] * 15, 0.9),
        ([0.0] * 40 + [0.9] * (faults.BURST_S // 2) + [0.0] * 20, 0.45),
    ],
    ids=["not measured", "a short run", "a burst as long as a level", "a shorter burst"],
)
def test_other_processes_count_by_the_seconds_in_which_they_used_most(cores: list[float], found: float) -> None:
    assert faults.busiest(cores) == pytest.approx(found)


# -- parts ---------------------------------------------------------------------------------------------------------------------

LOCKED = parts.ALL["db-lock"]


def limit(name: str, part: str | None) -> Mark:
    found = Bottleneck(name=name, part=part, users_at=16.0)
    return Mark(t_s=1.0, key=f"{name}:{part}", state="open", finding=found, severity="warning")


@pytest.mark.parametrize(
    ("place", "marks", "others", "missing", "wrong"),
    [
        ("namespaces", [limit("lock_waits", "db")], 0.0, (), ()),
        ("namespaces", [limit("lock_waits", "web")], 0.0, ("lock_waits",), ("lock_waits of web",)),
        ("namespaces", [limit("lock_waits", None)], 0.0, ("lock_waits",), ("lock_waits of no part",)),
        ("here", [limit("lock_waits", None)], 0.0, ("lock_waits",), ("lock_waits of proxy",)),
        ("namespaces", [limit("lock_waits", "db"), limit("noisy_neighbours", None)], 0.5, (), ()),
        ("namespaces", [limit("lock_waits", "db"), limit("noisy_neighbours", None)], 0.0, (), ("noisy_neighbours of no part",)),
    ],
)
def test_the_right_cause_of_another_part_is_wrong(
    place: Place, marks: list[Mark], others: float, missing: Ids, wrong: Ids
) -> None:
    found = parts.judge(LOCKED, place, marks, others)
    assert (found.missing, found.wrong) == (missing, wrong)


def result(others: float, *marks: Mark) -> Result:
    host = HostReading(cpu_ratio=others)
    sample = Sample(t_s=1.0, level=0, duration_s=1.0, users=4, wanted=4, phase="settled", settled=True, host=host)
    return Result(case="db-lock", **msgspec.structs.asdict(parts.judged(LOCKED, "namespaces", Ran((sample, *marks)))))


def test_a_fault_that_is_missed_beside_busy_neighbours_is_spoilt_and_a_wrong_mark_beside_them_is_wrong() -> None:
    assert not result(0.1).spoilt and not result(0.1).right
    assert result(1.5).spoilt and result(1.5, limit("noisy_neighbours", None)).spoilt
    assert result(1.5, limit("lock_waits", "db")).right
    assert not result(1.5, limit("host_cpu_saturated", "db")).spoilt


@pytest.mark.parametrize(
    ("host", "reader", "offset_s", "wrong"),
    [
        ("without python", "shell", 0.4, ()),
        ("without python", "python", 0.0, ("db read by python",)),
        ("clock off", "python", 90.02, ()),
        ("clock off", "python", 0.0, ("clock of db reported as 0.0 s off",)),
    ],
)
def test_a_host_must_have_been_read_under_the_condition_of_its_row(
    host: Host, reader: Literal["python", "shell"], offset_s: float, wrong: Ids
) -> None:
    part = PartState(t_s=1.0, name="db", state="read", reader=reader, clock_offset_s=offset_s, clock_error_s=0.01)
    row = msgspec.structs.replace(LOCKED, host=host)
    assert parts.judged(row, "namespaces", Ran((part, limit("lock_waits", "db")))).wrong == wrong


# -- services that change ------------------------------------------------------------------------------------------------------

DIES = moving.Row(name="a row", what="", plan="4:12s", knees=(Truth(24),), marked=("bad_gateway",))
HALVES = moving.Row(name="halves", what="", plan="4:12s", knees=(Truth(24, until_s=36), Truth(12, from_s=36)))
RATE_HALVES = moving.Row(name="halves", what="", plan="rate 4/s 12s", capacities=(Truth(80, until_s=36), Truth(40, from_s=36)))
FAILS = mark("bad_gateway")


def knee(users: float, *, t_s: float = 60.0, state: Literal["open", "retracted"] = "open", **times: float) -> Mark:
    verdict = KneeVerdict(kind="knee", users=users, capacity_rps=80.0, **times)  # type: ignore[arg-type]
    return Mark(t_s=t_s, key="knee:0", state=state, finding=Knee(verdict=verdict))


def capacity(per_s: float, *, t_s: float = 60.0, kind: Literal["capacity", "departs"] = "capacity") -> Mark:
    found = RateCapacity(kind=kind, per_s=per_s)
    return Mark(t_s=t_s, key="rate:0", state="open", finding=RateCapacityFinding(capacity=found))


@pytest.mark.parametrize(
    ("row", "marks", "missing", "wrong"),
    [
        (DIES, [FAILS, knee(23.0)], (), ()),
        (DIES, [FAILS, knee(12.0)], (), ("knee 12",)),
        (DIES, [FAILS, knee(20.0)], (), ("knee 20",)),
        (DIES, [knee(23.0)], ("bad_gateway",), ()),
        (DIES, [FAILS, knee(12.0), knee(12.0, state="retracted")], (), ()),
        (DIES, [FAILS, mark("gil_bound", kind="bottleneck")], (), ("gil_bound",)),
        (HALVES, [knee(24.0, t_s=35.0)], (), ()),
        (HALVES, [knee(12.0, t_s=35.0)], (), ("knee 12",)),
        (HALVES, [knee(12.0, since_s=37.0)], (), ()),
        (HALVES, [knee(24.0, since_s=37.0)], (), ("knee 24",)),
        (HALVES, [knee(24.0, until_s=37.0)], (), ()),
        (HALVES, [knee(12.0, until_s=37.0)], (), ("knee 12",)),
        (HALVES, [knee(18.0)], (), ("knee 18",)),
        (RATE_HALVES, [capacity(80.0, t_s=35.0)], (), ()),
        (RATE_HALVES, [capacity(40.0, t_s=35.0)], (), ("capacity 40",)),
        (RATE_HALVES, [capacity(40.0)], (), ()),
        (RATE_HALVES, [capacity(55.0)], (), ("capacity 55",)),
        (RATE_HALVES, [capacity(35.0, kind="departs")], (), ()),
        (RATE_HALVES, [capacity(30.0, kind="departs")], (), ("departs 30",)),
    ],
)
def test_a_knee_or_capacity_is_one_that_the_service_had_in_the_time_that_it_describes(
    row: moving.Row, marks: list[Mark], missing: Ids, wrong: Ids
) -> None:
    found = moving.judge(row, marks)
    assert (found.missing, found.wrong) == (missing, wrong)


def test_a_false_knee_that_was_retracted_is_counted_separately() -> None:
    assert moving.judged(DIES, Ran((knee(12.0), knee(23.0)))).figures["once"] == ["knee 12"]


def test_a_verdict_states_how_the_service_behaves_and_changes() -> None:
    overload = Overload(kind="queues", offered_per_s=90.0, goodput_per_s=80.0, failure_ratio=0.0, growth_per_s=10.0)
    fell, failed = (
        RegimeVerdict(began_s=30.0, began=began, inside=True, users=8, after_rps=40.0, most_users=8, most_rps=40.0)
        for began in ("goodput", "failures")
    )
    rates = RateVerdict(capacity=RateCapacity(kind="capacity", per_s=80.0, overload=overload), regimes=(fell, failed))
    verdict = Verdict(t_s=60.0, rates=rates)
    assert moving.stated(verdict) == {"queues", "changed", "fault"}
    row = moving.Row(name="row", what="", plan="rate 4/s 12s", stated=("refuses", "times_out"))
    assert moving.judge(row, [], verdict=verdict).missing == ("refuses or times_out",)


# -- services of known capacity, and twice the knee ----------------------------------------------------------------------------

FOUND: dict[str, Any] = {"users": 26.0, "capacity_rps": 51.0}


@pytest.mark.parametrize(
    ("found", "blamed", "missing", "wrong"),
    [
        (FOUND, ["queue_growth"], (), ()),
        (FOUND | {"users": 28.0}, [], (), ("knee",)),
        (FOUND | {"capacity_rps": 44.0}, [], (), ("capacity",)),
        ({}, [], ("knee", "capacity"), ()),
        (FOUND, ["gil_bound", "queue_growth"], (), ("gil_bound",)),
    ],
)
def test_knee_and_capacity_of_a_known_service_must_be_near_and_nothing_wrongly_blamed(
    found: dict[str, Any], blamed: list[str], missing: Ids, wrong: Ids
) -> None:
    judged = services.judge(services.KnownService("go", 5, 0.1, 0.4, ""), found, blamed)
    assert (judged.missing, judged.wrong) == (missing, wrong)


def swept(workers: int, per_s: float | None, **said: bool) -> dict[str, Any]:
    usual = {"at_least": False, "compared": True, "lower_than_best": False, "enough": False}
    return {"params": {"workers": workers}, "capacity_per_s": per_s, **usual, **said}


@pytest.mark.parametrize(
    ("settings", "missing", "wrong"),
    [
        ([swept(2, 20.0, lower_than_best=True), swept(4, 41.0, enough=True), swept(8, 39.0, enough=True)], (), ()),
        ([swept(2, 20.0), swept(4, 41.0, at_least=True)], ("workers=2 is lower", "capacity of workers=4"), ()),
        ([swept(4, 30.0, lower_than_best=True)], (), ("capacity of workers=4", "workers=4 is not lower")),
        (
            [swept(2, None, compared=False), swept(2, 20.0, lower_than_best=True, enough=True)],
            ("capacity of workers=2",),
            ("workers=2 is not enough",),
        ),
    ],
)
def test_of_a_sweep_capacities_must_be_near_and_what_is_said_of_settings_true(
    settings: list[dict[str, Any]], missing: Ids, wrong: Ids
) -> None:
    judged = sweeps.judge(sweeps.SERVICES["go"], settings)
    assert (judged.missing, judged.wrong) == (missing, wrong)


def level(users: int, goodput_rps: float | None, failures: int = 0, unsettled: int = 0) -> dict[str, Any]:
    """A level as in the JSON summary of a session."""
    counts = {"requests": 100, "failures": failures, "failures_while_unsettled": unsettled}
    return {"users": users, "goodput_rps": goodput_rps, "started_s": 0.0, "ended_s": 20.0, **counts}


LOW, TWICE_THE_KNEE = level(20, 20.0), level(80, 40.0)
FAILING, UNSETTLED = level(80, 30.0, failures=5), level(80, 30.0, unsettled=5)


@pytest.mark.parametrize(
    ("levels", "has_cause", "problems"),
    [
        ([level(40, 39.0), LOW, TWICE_THE_KNEE, LOW], False, []),
        ([LOW, TWICE_THE_KNEE, level(19, 19.0)], False, []),
        ([LOW, FAILING, LOW], True, []),
        ([LOW, UNSETTLED, LOW], True, []),
        ([LOW, FAILING, LOW], False, ["failures_without_cause"]),
        ([LOW, UNSETTLED, LOW], False, ["failures_without_cause"]),
        ([LOW, TWICE_THE_KNEE, level(20, 20.0, failures=1)], True, ["failures_afterwards"]),
        ([LOW, TWICE_THE_KNEE, level(20, 20.0, unsettled=1)], True, []),
        ([LOW, TWICE_THE_KNEE, level(20, 0.0)], True, ["nothing_finished_afterwards"]),
        ([LOW, TWICE_THE_KNEE, level(20, None)], True, ["nothing_finished_afterwards"]),
        ([], False, ["not_reached"]),
        ([LOW, TWICE_THE_KNEE], False, ["not_reached"]),
        ([LOW, TWICE_THE_KNEE, level(30, 20.0)], False, ["not_reached"]),
        ([TWICE_THE_KNEE, LOW, TWICE_THE_KNEE], False, ["not_reached"]),
    ],
)
def test_failures_at_twice_the_knee_need_a_cause_and_the_service_must_answer_again(
    levels: Sequence[dict[str, Any]], has_cause: bool, problems: list[str]
) -> None:
    assert list(mistakes(around(levels), has_cause=has_cause)) == problems


def test_the_parts_of_a_level_that_a_shift_split_are_judged_as_one_with_the_goodput_of_the_last() -> None:
    found = around([LOW, level(80, 10.0, 3), level(80, 10.0, 4), level(20, None), level(20, 19.0)])
    assert found is not None
    assert (found[1]["failures"], found[1]["goodput_rps"], found[2]["goodput_rps"]) == (7, 10.0, 19.0)


# -- protocols -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marks", "missing", "wrong"),
    [
        ([mark("deadlock"), mark("think_time_limited", "info", kind="bottleneck")], (), ()),
        ([mark("deadlock", state="retracted")], ("deadlock",), ()),
        ([mark("deadlock"), mark("lock_timeout")], (), ("lock_timeout",)),
        ([mark("unknown")], ("deadlock",), ("unknown",)),
    ],
)
def test_a_fault_of_a_protocol_has_its_cause_and_no_other(marks: list[Mark], missing: Ids, wrong: Ids) -> None:
    found = of_fault("deadlock", Ran(tuple(marks)))
    assert (found.missing, found.wrong) == (missing, wrong)
