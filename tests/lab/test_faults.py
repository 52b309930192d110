"""The fault matrix: each cause is injected or has a reason, and which marks make a row right."""

from __future__ import annotations

from pathlib import Path

import pytest
from marked import marked

from capexplorer.model.catalogue import ENTRIES
from capexplorer.model.events import Mark
from lab.trials.faults.trial import ALL, BURST_S, FAMILIES, NOT_INJECTED, Row, busiest, judge

MOST_SHORT_RUNS = 8
ROOT = Path(__file__).resolve().parents[2]


def test_a_row_names_known_causes_only_and_there_are_more_than_thirty_faults() -> None:
    named = {each for row in ALL.values() for each in (*row.expected, *row.one_of, *row.also_true)}
    assert named <= set(ENTRIES)
    assert len([row for row in ALL.values() if row.family != "healthy"]) >= 30


def test_every_cause_has_a_row_or_a_reason_why_not() -> None:
    injected = {each for row in ALL.values() for each in (*row.expected, *row.one_of)}
    assert injected | set(NOT_INJECTED) >= set(ENTRIES)
    assert not injected & set(NOT_INJECTED)


def test_each_family_has_a_short_row_for_make_test_except_healthy_and_moving() -> None:
    short = [row for row in ALL.values() if row.short]
    assert {row.family for row in short} == set(FAMILIES) - {"healthy", "moving"}
    assert len(short) <= MOST_SHORT_RUNS


@pytest.mark.parametrize("target", sorted(path.parent.name for path in ROOT.glob("targets/*/target.toml")))
def test_every_target_has_a_page_a_profile_and_a_healthy_row(target: str) -> None:
    healthy = {row.profile for row in ALL.values() if row.family == "healthy"}
    of_target = {path.stem for path in ROOT.glob("profiles/*.toml") if f'target = "{target}"' in path.read_text("utf-8")}
    assert (ROOT / "targets" / target / "README.md").is_file()
    assert of_target & healthy


ROW = Row(name="row", family="http", fault="", expected=("server_error",), also_true={"connection_reset": "so it is"})
HEALTHY = Row(name="well", family="healthy", fault="")
ONE_OF = Row(name="row", family="http", fault="", one_of=("a", "b"))
STILL = Row(name="still", family="moving", fault="", no_knee=True)


def mark(name: str, severity: str = "error", state: str = "open", kind: str = "cause") -> Mark:
    return marked(t_s=1.0, key=f"{kind}:{name}", state=state, kind=kind, id=name, severity=severity)


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
def test_the_marks_of_a_run_are_judged_by_its_row(
    row: Row, marks: list[Mark], missing: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    found = judge(row, marks)
    assert (found.missing, found.wrong) == (missing, wrong)


def test_a_mark_that_cannot_be_in_the_log_is_found_on_stderr() -> None:
    row = Row(name="row", family="host", fault="", expected=("disk_full",), reported={"disk_full": "No space left"})
    assert judge(row, [], "capexplorer: No space left on device").right
    assert judge(row, []).missing == ("disk_full",)


def test_a_mark_of_neighbours_is_right_only_if_other_processes_used_cpu() -> None:
    neighbours = [mark("noisy_neighbours", "warning", kind="bottleneck")]
    assert judge(HEALTHY, neighbours, others=1.2).right
    assert judge(HEALTHY, neighbours, others=0.05).wrong == ("noisy_neighbours",)


@pytest.mark.parametrize(
    ("cores", "found"),
    [
        ([], 0.0),
        ([0.1, 0.3], 0.2),
        ([0.0] * 40 + [0.9] * BURST_S + [0.0] * 15, 0.9),
        ([0.0] * 40 + [0.9] * (BURST_S // 2) + [0.0] * 20, 0.45),
    ],
    ids=["not measured", "a short run", "a burst as long as a level", "a shorter burst"],
)
def test_other_processes_count_by_the_seconds_in_which_they_used_most(cores: list[float], found: float) -> None:
    assert busiest(cores) == pytest.approx(found)
