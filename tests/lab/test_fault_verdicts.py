"""Which marks make a row of the fault matrix right: marks in, verdict out."""

from __future__ import annotations

import pytest

from capexplorer.model.events import Mark
from lab.trials.faults.execution import BURST_S, busiest
from lab.trials.faults.judge import judge
from lab.trials.faults.row import Row
from lab.trials.marked import marked

ROW = Row(name="row", family="http", fault="", expected=("server_error",), also_true={"connection_reset": "so it is"})
HEALTHY = Row(name="well", family="healthy", fault="", expected=())


def mark(name: str, severity: str = "error", state: str = "open", kind: str = "cause") -> Mark:
    return marked(t_s=1.0, key=f"{kind}:{name}", state=state, kind=kind, id=name, severity=severity)


def test_the_cause_that_was_injected_is_right() -> None:
    assert judge(ROW, [mark("server_error")]).right


def test_a_closed_mark_counts_like_an_open_one() -> None:
    assert judge(ROW, [mark("server_error"), mark("server_error", state="closed")]).right


def test_a_run_without_marks_is_a_miss() -> None:
    assert judge(ROW, []).missing == ("server_error",)


def test_a_retracted_mark_is_a_miss() -> None:
    assert judge(ROW, [mark("server_error"), mark("server_error", state="retracted")]).missing == ("server_error",)


@pytest.mark.parametrize("severity", ["error", "critical"])
@pytest.mark.parametrize("kind", ["cause", "bottleneck", "leak"])
def test_another_severe_mark_is_wrong(severity: str, kind: str) -> None:
    assert judge(ROW, [mark("server_error"), mark("bad_gateway", severity, kind=kind)]).wrong == ("bad_gateway",)


def test_a_wrong_mark_counts_even_if_it_was_retracted() -> None:
    marks = [mark("server_error"), mark("bad_gateway"), mark("bad_gateway", state="retracted")]
    assert judge(ROW, marks).wrong == ("bad_gateway",)


@pytest.mark.parametrize("severity", ["warning", "info"])
def test_an_additional_warning_is_not_a_wrong_mark(severity: str) -> None:
    assert judge(ROW, [mark("server_error"), mark("connection_churn", severity)]).right


@pytest.mark.parametrize("kind", ["bottleneck", "leak"])
def test_an_additional_bottleneck_or_leak_is_wrong_even_as_a_warning(kind: str) -> None:
    assert judge(ROW, [mark("server_error"), mark("gil_bound", "warning", kind=kind)]).wrong == ("gil_bound",)


def test_harmless_findings_may_be_reported_of_any_run() -> None:
    assert judge(ROW, [mark("server_error"), mark("not_saturated", "info", kind="bottleneck")]).right


def test_other_true_causes_may_be_marked() -> None:
    assert judge(ROW, [mark("server_error"), mark("connection_reset")]).right


def test_knees_and_shifts_are_not_judged() -> None:
    assert judge(ROW, [mark("server_error"), mark("knee", kind="knee"), mark("goodput_fell", kind="shift")]).right


def test_one_of_several_alternative_marks_suffices() -> None:
    row = Row(name="row", family="http", fault="", expected=(), one_of=("a", "b"))
    assert judge(row, [mark("b")]).right
    assert judge(row, []).missing == ("a or b",)


@pytest.mark.parametrize("severity", ["warning", "info"])
def test_an_additional_warning_on_a_healthy_service_is_wrong(severity: str) -> None:
    assert judge(HEALTHY, [mark("connection_churn", severity)]).wrong == ("connection_churn",)


def test_a_healthy_run_may_be_marked_as_not_saturated_or_limited_by_think_time() -> None:
    marks = [mark("not_saturated", "info", kind="bottleneck"), mark("think_time_limited", "info", kind="bottleneck")]
    assert judge(HEALTHY, marks).right


NEIGHBOURS = mark("noisy_neighbours", "warning", kind="bottleneck")


def test_a_mark_of_neighbours_is_right_only_if_other_processes_used_cpu() -> None:
    assert judge(HEALTHY, [NEIGHBOURS], others=1.2).right
    assert judge(HEALTHY, [NEIGHBOURS], others=0.05).wrong == ("noisy_neighbours",)


@pytest.mark.parametrize("kind", ["knee", "at_or_below", "bend", "latency_knee"])
def test_in_a_row_without_a_knee_any_point_of_the_curve_is_wrong(kind: str) -> None:
    still = Row(name="still", family="moving", fault="", expected=(), no_knee=True)
    point = marked(t_s=1.0, key=f"{kind}:epoch0", state="open", kind=kind, id=kind, users=8, evidence={})
    assert judge(still, [point]).wrong == (kind,)
    assert judge(HEALTHY, [point]).right, "other rows are not about the curve"


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
