"""Knees, objectives and recoveries as a run goes on: marked once known, superseded when they change, silent otherwise."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from session.samples import HEADER

from capexplorer import wording
from capexplorer.analysis.reanalysis import reanalyse
from capexplorer.model.events import Event, Mark, Verdict
from capexplorer.model.readings import TargetReading
from capexplorer.model.timeline import Timeline
from capexplorer.report.summary import summarise
from capexplorer.run.live_marks import JUDGED_AT, is_due
from capexplorer.session.reader import read
from trials.timeline_digest import digest

from .driven import Driven

CAPACITY = 40.0
"""A second; each user makes one request a second alone, so the knee is at 40 users."""

OBJECTIVES = msgspec.structs.replace(HEADER, profile={"name": "p", "slo": {"p95_ms": 300.0, "failure_ratio": 0.01}})


def hold(run: Driven, users: int, seconds: int = 10, capacity: float = CAPACITY, seed: int = 1) -> None:
    """A level of a closed system: users think for a second, latency is what Little's law leaves."""
    rng = np.random.default_rng(users + seed)
    run.step(users)
    rate = min(float(users), capacity)
    latency_ms = max(20.0, 1000 * (users / rate - 1))
    for _ in range(seconds):
        run.second(int(rng.binomial(round(2 * rate), 0.5)), latency_ms)


def ladder(path: Path, *levels: int, header: Event = OBJECTIVES, capacity: float = CAPACITY) -> Driven:
    run = Driven(path, header)
    for users in levels:
        hold(run, users, capacity=capacity)
    return run


UP = (5, 10, 15, 20, 30, 40, 50, 60)


def test_a_knee_is_marked_within_one_level_of_passing_it(tmp_path: Path) -> None:
    run = ladder(tmp_path / "a.jsonl", 5, 10, 20, 30)
    assert run.marked("knee", "bend", "at_or_below") == []
    hold(run, 50)
    hold(run, 60, seconds=9)
    (*_, knee) = run.marked("knee")
    assert knee.key == "knee:epoch0" and knee.users == pytest.approx(40, rel=0.1)
    run.end()


def test_a_knee_s_mark_carries_what_a_screen_draws(tmp_path: Path) -> None:
    run = ladder(tmp_path / "a.jsonl", *UP)
    run.end()
    knee = run.timeline.marks["knee:epoch0"]
    assert knee.finding.figures()["users_low"] < 40 < knee.finding.figures()["users_high"]
    assert knee.finding.figures()["capacity_rps"] == pytest.approx(40, rel=0.05) and knee.finding.figures()["limit"] == "queueing"
    assert knee.finding.figures()["provisional"] is True
    assert knee.confidence == "high"
    assert "soak" in wording.advice(knee.finding)
    verdict = run.watched.verdict
    assert verdict is not None and verdict.capacity.knee is not None and verdict.capacity.curve is not None
    assert verdict.capacity.knee.users == knee.users
    assert verdict.capacity.curve.capacity_rps == knee.finding.figures()["capacity_rps"]


def test_reanalysis_of_the_log_finds_the_recorded_marks(tmp_path: Path) -> None:
    run = ladder(tmp_path / "a.jsonl", *UP, 10)
    run.end()
    saved = Timeline(read(run.path))
    again = reanalyse(saved)
    assert again.recorded and again.changes == ()
    assert {each.epoch: each.capacity for each in again.verdicts} == {
        epoch: each.capacity for epoch, each in saved.verdicts.items()
    }
    assert digest(saved) == digest(run.watched) == digest(run.timeline)


def test_a_mark_is_published_again_only_when_it_changes(tmp_path: Path) -> None:
    run = ladder(tmp_path / "a.jsonl", *UP)
    before = len(run.marked("knee"))
    for _ in range(200):
        run.second(40, 500)
    assert len(run.marked("knee")) - before <= 2
    run.end()
    marks = run.marked("knee")
    assert [mark.revision for mark in marks] == list(range(1, len(marks) + 1)) and len(marks) <= 6
    assert [mark.state for mark in marks] == ["open", *["updated"] * (len(marks) - 1)]


def test_a_bend_that_becomes_a_knee_is_one_mark(tmp_path: Path) -> None:
    run = Driven(tmp_path / "a.jsonl")
    for users, rate in ((10, 10), (20, 20), (30, 29), (40, 33), (50, 38), (70, 42), (120, 43), (200, 43)):
        run.step(users)
        run.seconds([rate, rate + 1, rate, rate - 1] * 3, 1000 * (users / rate - 1) + 1)
    run.end()
    reported = [(mark.key, mark.kind) for mark in run.marked("bend", "knee", "at_or_below")]
    assert {key for key, _ in reported} == {"knee:epoch0"}
    assert [kind for index, (_, kind) in enumerate(reported) if not index or reported[index - 1][1] != kind] == ["bend", "knee"]


def test_linear_scaling_has_no_mark_but_the_verdict_says_up_to_where(tmp_path: Path) -> None:
    run = ladder(tmp_path / "a.jsonl", 5, 10, 20, 30, 60, capacity=1000)
    run.end()
    assert run.marked("knee", "bend", "at_or_below", "latency_knee") == []
    document = summarise(run.watched)
    assert document["no_knee_up_to_users"] == 60 and document["verdict"].startswith("No knee up to 60 users")


def test_the_verdict_of_a_session_is_one_sentence_with_its_knee(tmp_path: Path) -> None:
    run = ladder(tmp_path / "a.jsonl", *UP)
    run.end()
    document = summarise(run.watched)
    verdict = document["verdict"]
    assert verdict.startswith("Knee at ") and "limited by queueing" in verdict
    assert verdict.endswith("; provisional: a soak of 20 s at 28 users, then 49 users, then a return to 5 users would verify it.")
    assert document["no_knee_up_to_users"] is None
    (knee,) = [each for each in document["knees"] if each["kind"] == "knee"]
    assert knee["users_low"] < knee["users"] < knee["users_high"] and "soft" in knee["evidence"]


def test_objectives_are_reported_with_their_load(tmp_path: Path) -> None:
    run = ladder(tmp_path / "a.jsonl", *UP)
    run.end()
    found = {each["name"]: each for each in summarise(run.watched)["slo"]}
    assert set(found) == {"p95_ms", "failure_ratio"}
    assert set(found["p95_ms"]) == {"epoch", "name", "limit", "users", "users_low", "users_high", "goodput_rps"}
    assert 40 <= found["p95_ms"]["users"] <= 60 and found["p95_ms"]["goodput_rps"] == pytest.approx(40, rel=0.1)
    assert found["failure_ratio"]["users"] == 60 and found["failure_ratio"]["users_high"] is None


def test_recovery_is_reported_with_its_duration(tmp_path: Path) -> None:
    run = ladder(tmp_path / "a.jsonl", *UP, 80)
    run.step(20)
    run.seconds([20] * 6, 900.0)
    run.seconds([20] * 14, 20.0)
    run.end()
    reported = run.marked("recovery")
    assert [mark.id for mark in reported][0] == "not_recovered" and reported[-1].id == "recovered"
    (recovery,) = summarise(run.watched)["recoveries"]
    assert recovery == {"epoch": 0, "from_users": 80.0, "to_users": 20.0, "recovered": True, "after_s": pytest.approx(5, abs=2)}
    assert [each["kind"] for each in summarise(run.watched)["levels"]][-1] == "recovery"


def test_a_step_down_after_recovery_is_not_recovery_from_overload(tmp_path: Path) -> None:
    """webdav: recovered at 63 users, and 53 were then "not recovered after stepping down from 63", an error (measured)."""
    run = ladder(tmp_path / "a.jsonl", *UP, 80)
    run.step(20)
    run.seconds([20] * 30, 20.0)
    run.step(10)
    run.seconds([10] * 14, 90.0)
    run.end()
    assert [each["to_users"] for each in summarise(run.watched)["recoveries"]] == [20.0]


def test_a_full_disk_is_marked_while_no_level_describes_the_service(tmp_path: Path) -> None:
    """A disk that is full before the first level has settled: every settled second fails, so there is no verdict."""
    run = Driven(tmp_path / "a.jsonl")
    run.step(8)
    run.seconds([80, 80, 80])
    for _ in range(15):
        run.second(0, failures=80, target=TargetReading(pid=1, disk_free_bytes=0))
    (*_, mark) = run.marked("bottleneck")
    assert mark.key == "bottleneck:disk_full:epoch0" and mark.state == "open"
    assert not any(isinstance(event, Verdict) for event in run.shown)
    run.end()


def test_each_epoch_is_judged_alone(tmp_path: Path) -> None:
    run = ladder(tmp_path / "a.jsonl", *UP)
    run.close_level()
    run.tracker.epoch = 1
    for users in UP:
        hold(run, users, capacity=20)
    run.end()
    knees = {mark.key: mark.users for mark in run.watched.marks.values() if mark.kind == "knee"}
    assert knees == {"knee:epoch0": pytest.approx(40, rel=0.1), "knee:epoch1": pytest.approx(20, rel=0.1)}
    assert reanalyse(Timeline(read(run.path))).changes == ()


def test_verdicts_are_known_at_the_moment_that_is_replayed(tmp_path: Path) -> None:
    run = ladder(tmp_path / "a.jsonl", *UP)
    run.end()
    times = [event.t_s for event in run.shown if isinstance(event, Verdict)]
    assert times == sorted(times) and len(times) > len(UP)
    half = Timeline(event for event in run.shown if event.t_s < 30)
    assert half.verdict is not None and half.verdict.t_s < 30


def test_levels_are_judged_as_they_settle_and_at_each_doubling() -> None:
    assert [seconds for seconds in range(1, 1000) if is_due(seconds)] == [*JUDGED_AT, 120, 240, 480, 960]


def test_detectors_raise_no_error_on_random_seconds(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    for seed in range(12):
        run = Driven(tmp_path / f"{seed}.jsonl", OBJECTIVES)
        for _ in range(int(rng.integers(1, 8))):
            run.step(int(rng.choice([0, 1, 1, 2, 50, 1000])))
            mean, slow_ms, bad = rng.choice([0, 0.2, 3, 500]), rng.choice([0.001, 5, 60_000]), rng.choice([0, 0, 3, 400])
            for _ in range(int(rng.integers(0, 40))):
                run.second(int(rng.poisson(mean)), float(slow_ms), int(rng.poisson(bad)))
        run.end()
        saved = Timeline(read(run.path))
        assert digest(saved) == digest(run.watched)
        assert reanalyse(saved).changes == ()
        summarise(saved)


def test_a_mark_has_the_time_at_which_it_was_known(tmp_path: Path) -> None:
    run = ladder(tmp_path / "a.jsonl", *UP)
    events = [event for event in run.shown + run.take() if isinstance(event, Mark)]
    run.end()
    assert all(mark.t_s <= run.now_s + 0.01 for mark in events)
