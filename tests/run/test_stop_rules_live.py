"""Stop rules over a run: they end plans (and headless runs, with exit code 3), and by hand only mark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from capexplorer import wording
from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.analysis.reanalysis import reanalyse
from capexplorer.model.events import Ended, LevelOpened, Mark
from capexplorer.model.timeline import Timeline
from capexplorer.profile import MetricLimit, StopRules
from capexplorer.report.summary import summarise
from capexplorer.run.drivers.stop_watch import limits_of
from capexplorer.session.reader import read
from trials.marked import marked

from .driven import Driven

PROFILE = """
title = "Twice as slow as allowed"
target = "sleepers"
params = { workers = 2, sleep_ms = 50 }
[users]
wait_s = { constant = 0.2 }
[[users.task]]
name = "/work"
[stop]
p95_ms = 200
"""


def test_a_profile_s_rules_have_names() -> None:
    rules = StopRules(p95_ms=100.0, load_average=3.0, metric=MetricLimit(name="queued", over=5.0))
    assert limits_of(rules) == {"p95_ms": 100.0, "load_average": 3.0, "metric:queued": 5.0}
    assert limits_of(StopRules()) == {}


def test_a_rule_is_triggered_once_per_level_and_only_after_it_settled(tmp_path: Path) -> None:
    run = Driven(tmp_path / "a.jsonl", rules=StopRules(p95_ms=100.0))
    run.step(10)
    run.seconds([20] * 4, 500.0)
    assert run.marked("stop_rule") == []
    run.seconds([20] * 10, 500.0)
    run.step(20)
    run.seconds([20] * 10, 500.0)
    run.end()
    assert [mark.key for mark in run.marked("stop_rule")] == ["stop_rule:p95_ms:level0", "stop_rule:p95_ms:level1"]


def test_a_mark_has_the_measured_value_and_the_driver_that_it_ended(tmp_path: Path) -> None:
    run = Driven(tmp_path / "a.jsonl", rules=StopRules(failure_ratio=0.02))
    run.step(10)
    for _ in range(10):
        run.second(18, failures=2)
    run.end()
    (mark,) = run.marked("stop_rule")
    assert (mark.id, mark.users, mark.finding.figures()["limit"]) == ("failure_ratio", 10, 0.02)
    assert mark.finding.figures()["measured"] == pytest.approx(0.1) and "ended" not in mark.finding.figures()
    assert wording.mark(mark) == "stop rule: failure ratio 0.1 exceeds 0.02 at 10 users"
    (reported,) = summarise(run.watched)["stop_rules"]
    assert (reported["rule"], reported["users"], reported["level"]) == ("failure_ratio", 10, 0)


@pytest.mark.parametrize(
    ("rules", "load", "app"),
    [
        (StopRules(load_average=3.0), 3.5, {}),
        (StopRules(metric=MetricLimit(name="queued", over=100.0)), 0.5, {"queued": 150.0}),
    ],
)
def test_readings_of_the_last_seconds_trigger_a_rule_too(
    rules: StopRules, load: float, app: dict[str, float], tmp_path: Path
) -> None:
    run = Driven(tmp_path / "a.jsonl", rules=rules)
    run.step(10)
    for _ in range(12):
        run.second(20)
    assert run.marked("stop_rule") == []
    for _ in range(5):
        run.second(20, load=load, app=app)
    assert len(run.marked("stop_rule")) == 1
    run.end()


def test_reanalysis_keeps_stop_rules_as_they_are(tmp_path: Path) -> None:
    run = Driven(tmp_path / "a.jsonl", rules=StopRules(p95_ms=100.0))
    run.step(10)
    run.seconds([20] * 10, 500.0)
    run.end()
    assert run.marked("stop_rule") and reanalyse(Timeline(read(run.path))).changes == ()


@pytest.mark.slow
def test_a_headless_run_that_a_rule_ends_exits_with_3_and_says_which(tmp_path: Path) -> None:
    profile = tmp_path / "slow.toml"
    profile.write_text(PROFILE)
    command = [sys.executable, "-m", "capexplorer", "run", str(profile), "--headless", "--sessions-dir", str(tmp_path / "s")]
    run = subprocess.run([*command, "--plan", "3:5s,30:15s,60:30s"], capture_output=True, text=True, check=False)
    assert run.returncode == 3, run.stderr
    assert "stop rule: p95 ms" in run.stderr.splitlines()[-1] and "Traceback" not in run.stderr
    (path,) = run.stdout.split()
    events = list(read(Path(path)))
    (mark,) = [event for event in events if isinstance(event, Mark) and event.kind == "stop_rule"]
    assert (mark.finding.figures()["rule"], mark.finding.figures()["ended"], mark.users) == ("p95_ms", "plan", 30)
    ended = events[-1]
    assert isinstance(ended, Ended) and ended.exit_code == 3 and "p95" in ended.reason
    assert [event.users for event in events if isinstance(event, LevelOpened)] == [3, 30, 0]
    assert reanalyse(Timeline(events)).changes == ()
    document = json.dumps(summarise(Timeline(events)))
    assert "p95_ms" in document


def test_a_rule_ends_a_run_also_in_a_level_that_the_generator_spoiled(tmp_path: Path) -> None:
    """Such a level feeds no curve, but it must not keep load on a service that is asked to stay under 2% failures."""
    run = Driven(tmp_path / "a.jsonl", rules=StopRules(failure_ratio=0.02))
    run.step(10)
    run.seconds([20] * 8)
    run.step(20)
    evidence = {"first_s": run.now_s, "last_s": run.now_s + 60, "count": 900}
    key = "cause:ephemeral_port_exhaustion_time_wait"
    spoiling = marked(
        t_s=run.now_s, key=key, state="open", kind="cause", id=key.partition(":")[2], severity="critical", evidence=evidence
    )
    run.sink.emit(spoiling)
    for _ in range(10):
        run.second(4, failures=36)
    assert [level.users for level in epoch_of(run.timeline, 0).judgeable] == [10.0]
    assert [mark.key for mark in run.marked("stop_rule")] == ["stop_rule:failure_ratio:level1"]
