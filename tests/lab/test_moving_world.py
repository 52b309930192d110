"""The rows of the changing services fit the services, and the trial's judge distinguishes right marks from wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from marked import marked

from capexplorer import profile
from capexplorer.model.events import Mark, Verdict
from capexplorer.model.findings import Knee, RateCapacityFinding
from capexplorer.model.verdicts import KneeVerdict, Overload, RateCapacity, RateVerdict, RegimeVerdict
from capexplorer.steer.plan import parse
from capexplorer.target.spec import load_spec
from lab.kit.runs import LAB, Ran
from lab.trials.moving import LOCUSTFILE, Moving, Row, Truth, judge, judged, prepared, stated

SHIPPED = Path(__file__).resolve().parents[2] / "targets"
ROW = Row(name="a row", what="", plan="4:12s", knees=(Truth(24),), marked=("bad_gateway",))
UPSTREAM_FAILS = marked(kind="cause", id="bad_gateway", key="cause:bad_gateway", state="open", t_s=30.0, severity="error")


HALVES = Row(name="halves", what="", plan="4:12s", knees=(Truth(24, until_s=36), Truth(12, from_s=36)))
RATE_HALVES = Row(name="halves", what="", plan="rate 4/s 12s", capacities=(Truth(80, until_s=36), Truth(40, from_s=36)))


def knee(
    users: float,
    *,
    t_s: float = 60.0,
    since_s: float | None = None,
    until_s: float | None = None,
    revision: int = 1,
    state: Literal["open", "retracted"] = "open",
) -> Mark:
    verdict = KneeVerdict(kind="knee", users=users, capacity_rps=80.0, since_s=since_s, until_s=until_s)
    return Mark(t_s=t_s, key="knee:0", revision=revision, state=state, finding=Knee(verdict=verdict))


def capacity(per_s: float, *, t_s: float = 60.0, kind: Literal["capacity", "departs"] = "capacity") -> Mark:
    found = RateCapacity(kind=kind, per_s=per_s)
    return Mark(t_s=t_s, key="rate:0", revision=1, state="open", finding=RateCapacityFinding(capacity=found))


@pytest.mark.parametrize("row", Moving.cases.values(), ids=lambda row: row.name)
def test_the_profile_of_each_moving_service_fits_its_target(row: Row, tmp_path: Path) -> None:
    found = profile.load(prepared(row, "fast", tmp_path))
    folder = LAB / "targets" / row.target
    spec = load_spec(folder if folder.is_dir() else SHIPPED / row.target)
    assert set(found.params) <= set(spec.params)
    assert parse(row.plan, "plan", found.guards.max_users)
    if row.target == "moving":
        assert row.change in (spec.params["change"].choices or ())


def test_a_row_of_long_tasks_has_a_locustfile_that_compiles(tmp_path: Path) -> None:
    prepared(Moving.cases["long-tasks-sleepers"], "requests", tmp_path)
    text = (tmp_path / LOCUSTFILE).read_text()
    compile(text, LOCUSTFILE, "exec")
    assert "class Visitor(HttpUser)" in text and "for _ in range(60)" in text


@pytest.mark.parametrize(
    ("marks", "missing", "wrong"),
    [
        ([UPSTREAM_FAILS, knee(23.0)], (), ()),
        ([UPSTREAM_FAILS, knee(12.0)], (), ("knee 12",)),
        ([UPSTREAM_FAILS, knee(20.0)], (), ("knee 20",)),
        ([knee(23.0)], ("bad_gateway",), ()),
        ([UPSTREAM_FAILS, knee(12.0), knee(12.0, revision=2, state="retracted")], (), ()),
        ([UPSTREAM_FAILS, marked(kind="bottleneck", id="gil_bound", key="b", state="open", t_s=1.0)], (), ("gil_bound",)),
    ],
    ids=[
        "right",
        "a false knee",
        "a knee 17% too low",
        "no mark of the fault",
        "a retracted knee",
        "a bottleneck that the service does not have",
    ],
)
def test_a_run_is_judged_by_the_service_at_its_end(marks: list[Mark], missing: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    found = judge(ROW, marks)
    assert (found.missing, found.wrong) == (missing, wrong)


def test_a_false_knee_that_was_retracted_is_counted_separately() -> None:
    assert judged(ROW, Ran((knee(12.0), knee(23.0, revision=2)))).figures["once"] == ["knee 12"]


def test_a_verdict_states_how_the_service_behaves_and_changes() -> None:
    overload = Overload(kind="queues", offered_per_s=90.0, goodput_per_s=80.0, failure_ratio=0.0, growth_per_s=10.0)
    fell, failed = (
        RegimeVerdict(began_s=30.0, began=began, inside=True, users=8, after_rps=40.0, most_users=8, most_rps=40.0)
        for began in ("goodput", "failures")
    )
    rates = RateVerdict(capacity=RateCapacity(kind="capacity", per_s=80.0, overload=overload), regimes=(fell, failed))
    verdict = Verdict(t_s=60.0, rates=rates)
    assert stated(verdict) == {"queues", "changed", "fault"}
    row = Row(name="row", what="", plan="rate 4/s 12s", stated=("refuses", "times_out"))
    assert judge(row, [], verdict=verdict).missing == ("refuses or times_out",)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (knee(24.0, t_s=35.0), []),
        (knee(12.0, t_s=35.0), ["knee 12"]),
        (knee(12.0, since_s=37.0), []),
        (knee(24.0, since_s=37.0), ["knee 24"]),
        (knee(24.0, until_s=37.0), []),
        (knee(12.0, until_s=37.0), ["knee 12"]),
        (knee(18.0), ["knee 18"]),
    ],
    ids=["before", "not yet", "since the change", "no longer", "until the change", "later only", "between both"],
)
def test_a_knee_is_one_that_the_service_had_in_the_time_that_it_describes(found: Mark, expected: list[str]) -> None:
    assert list(judge(HALVES, [found]).wrong) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (capacity(80.0, t_s=35.0), []),
        (capacity(40.0, t_s=35.0), ["capacity 40"]),
        (capacity(40.0), []),
        (capacity(55.0), ["capacity 55"]),
        (capacity(35.0, kind="departs"), []),
        (capacity(30.0, kind="departs"), ["departs 30"]),
    ],
    ids=["before", "not yet", "after", "between both", "at the capacity", "far below"],
)
def test_a_capacity_is_one_that_the_service_has_had(found: Mark, expected: list[str]) -> None:
    assert list(judge(RATE_HALVES, [found]).wrong) == expected
