"""The rows of the changing services fit the services, and the trial's judge distinguishes right marks from wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from marked import marked

from capexplorer import profile
from capexplorer.model.events import Mark
from capexplorer.model.findings import Knee, RateCapacityFinding
from capexplorer.model.rate_verdicts import RateCapacity
from capexplorer.model.verdicts import KneeVerdict
from capexplorer.steer.plan import parse
from capexplorer.target.spec import load_spec
from lab.kit.runs import LAB
from lab.trials.moving.trial import ALL, LOCUSTFILE, Row, Truth, marked_once, prepared, wrong

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


@pytest.mark.parametrize("row", ALL.values(), ids=lambda row: row.name)
def test_the_profile_of_each_moving_service_fits_its_target(row: Row, tmp_path: Path) -> None:
    found = profile.load(prepared(row, "fast", tmp_path))
    folder = LAB / "targets" / row.target
    spec = load_spec(folder if folder.is_dir() else SHIPPED / row.target)
    assert set(found.params) <= set(spec.params)
    assert parse(row.plan, "plan", found.guards.max_users)
    if row.target == "moving":
        assert row.change in (spec.params["change"].choices or ())


def test_a_row_of_long_tasks_has_a_locustfile_that_compiles(tmp_path: Path) -> None:
    prepared(ALL["long-tasks-sleepers"], "requests", tmp_path)
    text = (tmp_path / LOCUSTFILE).read_text()
    compile(text, LOCUSTFILE, "exec")
    assert "class Visitor(HttpUser)" in text and "for _ in range(60)" in text


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ([UPSTREAM_FAILS, knee(23.0)], []),
        ([UPSTREAM_FAILS, knee(12.0)], ["knee at 12"]),
        ([UPSTREAM_FAILS, knee(20.0)], ["knee at 20"]),
        ([knee(23.0)], ["missing bad_gateway"]),
        ([UPSTREAM_FAILS, knee(12.0), knee(12.0, revision=2, state="retracted")], []),
        ([UPSTREAM_FAILS, marked(kind="bottleneck", id="gil_bound", key="b", state="open", t_s=1.0)], ["bottleneck gil_bound"]),
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
def test_a_run_is_judged_by_the_service_at_its_end(marks: list[Mark], expected: list[str]) -> None:
    assert wrong(ROW, marks, (), "") == expected


def test_a_false_knee_that_was_retracted_is_counted_separately() -> None:
    assert marked_once(ROW, [knee(12.0), knee(23.0, revision=2)], ()) == ["knee at 12"]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (knee(24.0, t_s=35.0), []),
        (knee(12.0, t_s=35.0), ["knee at 12"]),
        (knee(12.0, since_s=37.0), []),
        (knee(24.0, since_s=37.0), ["knee at 24"]),
        (knee(24.0, until_s=37.0), []),
        (knee(12.0, until_s=37.0), ["knee at 12"]),
        (knee(18.0), ["knee at 18"]),
    ],
    ids=["before", "not yet", "since the change", "no longer", "until the change", "later only", "between both"],
)
def test_a_knee_is_one_that_the_service_had_in_the_time_that_it_describes(found: Mark, expected: list[str]) -> None:
    assert wrong(HALVES, [found], (), "") == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (capacity(80.0, t_s=35.0), []),
        (capacity(40.0, t_s=35.0), ["capacity 40/s"]),
        (capacity(40.0), []),
        (capacity(55.0), ["capacity 55/s"]),
        (capacity(35.0, kind="departs"), []),
        (capacity(30.0, kind="departs"), ["departs 30/s"]),
    ],
    ids=["before", "not yet", "after", "between both", "at the capacity", "far below"],
)
def test_a_capacity_is_one_that_the_service_has_had(found: Mark, expected: list[str]) -> None:
    assert wrong(RATE_HALVES, [found], (), "") == expected
