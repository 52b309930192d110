"""The marks of stop rules during a run. That a rule ends a plan with exit code 3: tests/e2e/test_stopped_by_a_rule.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from marked import marked

from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.analysis.reanalysis import reanalyse
from capexplorer.model.timeline import Timeline
from capexplorer.profile import MetricLimit, StopRules
from capexplorer.report.summary import summarise
from capexplorer.run.load_control import limits_of
from capexplorer.session.reader import read

from .run_without_load import RunWithoutLoad


def test_the_limits_of_a_profile_by_the_names_of_their_rules() -> None:
    rules = StopRules(p95_ms=100.0, load_average=3.0, metric=MetricLimit(name="queued", over=5.0))
    assert limits_of(rules) == {"p95_ms": 100.0, "load_average": 3.0, "metric:queued": 5.0}
    assert limits_of(StopRules()) == {}


def test_a_rule_is_triggered_once_per_level_after_the_level_has_settled(tmp_path: Path) -> None:
    run = RunWithoutLoad(tmp_path / "a.jsonl", rules=StopRules(p95_ms=100.0))
    run.step(10)
    run.add_seconds([20] * 4, 500.0)
    assert run.marks_of("stop_rule") == []
    run.add_seconds([20] * 10, 500.0)
    run.step(20)
    run.add_seconds([20] * 10, 500.0)
    run.end()
    assert [mark.key for mark in run.marks_of("stop_rule")] == ["stop_rule:p95_ms:level0", "stop_rule:p95_ms:level1"]


def test_the_mark_of_a_rule_has_the_measured_value_and_its_limit(tmp_path: Path) -> None:
    run = RunWithoutLoad(tmp_path / "a.jsonl", rules=StopRules(failure_ratio=0.02))
    run.step(10)
    for _ in range(10):
        run.add_second(18, failures=2)
    run.end()
    (mark,) = run.marks_of("stop_rule")
    assert (mark.id, mark.users, mark.finding.figures()["limit"]) == ("failure_ratio", 10, 0.02)
    assert mark.finding.figures()["measured"] == pytest.approx(0.1)
    assert "ended" not in mark.finding.figures(), "no driver was ended: the users were set by hand"
    (reported,) = summarise(run.screen_timeline)["stop_rules"]
    assert (reported["rule"], reported["users"], reported["level"]) == ("failure_ratio", 10, 0)


@pytest.mark.parametrize(
    ("rules", "load", "app"),
    [
        (StopRules(load_average=3.0), 3.5, {}),
        (StopRules(metric=MetricLimit(name="queued", over=100.0)), 0.5, {"queued": 150.0}),
    ],
)
def test_readings_of_the_machine_and_metrics_of_the_target_trigger_rules(
    rules: StopRules, load: float, app: dict[str, float], tmp_path: Path
) -> None:
    run = RunWithoutLoad(tmp_path / "a.jsonl", rules=rules)
    run.step(10)
    for _ in range(12):
        run.add_second(20)
    assert run.marks_of("stop_rule") == []
    for _ in range(5):
        run.add_second(20, load=load, app=app)
    assert len(run.marks_of("stop_rule")) == 1
    run.end()


def test_reanalysis_keeps_the_marks_of_stop_rules(tmp_path: Path) -> None:
    run = RunWithoutLoad(tmp_path / "a.jsonl", rules=StopRules(p95_ms=100.0))
    run.step(10)
    run.add_seconds([20] * 10, 500.0)
    run.end()
    assert len(run.marks_of("stop_rule")) == 1
    assert reanalyse(Timeline(read(run.path))).changes == ()


def test_a_rule_is_triggered_also_in_a_level_that_the_generator_made_invalid(tmp_path: Path) -> None:
    """Such a level does not count for the knee, but load must end nevertheless if failures exceed 2%."""
    run = RunWithoutLoad(tmp_path / "a.jsonl", rules=StopRules(failure_ratio=0.02))
    run.step(10)
    run.add_seconds([20] * 8)
    run.step(20)
    evidence = {"first_s": run.now_s, "last_s": run.now_s + 60, "count": 900}
    key = "cause:ephemeral_port_exhaustion_time_wait"
    port_exhaustion = marked(
        t_s=run.now_s, key=key, state="open", kind="cause", id=key.partition(":")[2], severity="critical", evidence=evidence
    )
    run.sink.emit(port_exhaustion)
    for _ in range(10):
        run.add_second(4, failures=36)
    assert [level.users for level in epoch_of(run.timeline, 0).judgeable] == [10.0]
    assert [mark.key for mark in run.marks_of("stop_rule")] == ["stop_rule:failure_ratio:level1"]
