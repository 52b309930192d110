"""Knees, objectives, recoveries and bottlenecks during a run: marked when known, revised when they change, found in the log."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from kit.scenario import HEADER
from timeline_digest import digest

from capexplorer.analysis.reanalysis import reanalyse
from capexplorer.model.events import Event, Mark, Target, Verdict
from capexplorer.model.readings import TargetReading
from capexplorer.model.timeline import Timeline
from capexplorer.report.summary import summarise
from capexplorer.run.live_levels import JUDGED_AT, is_due, leaks_are_due
from capexplorer.session.reader import read

from .run_without_load import RunWithoutLoad

CAPACITY = 40.0
"""Requests per second of the service. A user sends one request a second at low load, so that the knee is at 40 users."""

HEADER_WITH_OBJECTIVES = msgspec.structs.replace(HEADER, profile={"name": "p", "slo": {"p95_ms": 300.0, "failure_ratio": 0.01}})


def add_level(run: RunWithoutLoad, users: int, seconds: int = 10, capacity: float = CAPACITY, seed: int = 1) -> None:
    """A level of users who think for 1 s; the latency follows from the rate and the think time by Little's law."""
    rng = np.random.default_rng(users + seed)
    run.step(users)
    rate = min(float(users), capacity)
    latency_ms = max(20.0, 1000 * (users / rate - 1))
    for _ in range(seconds):
        run.add_second(int(rng.binomial(round(2 * rate), 0.5)), latency_ms)


def run_with_levels(
    path: Path, *levels: int, header: Event = HEADER_WITH_OBJECTIVES, capacity: float = CAPACITY
) -> RunWithoutLoad:
    """A run with a level for each number of users; the last level is open."""
    run = RunWithoutLoad(path, header)
    for users in levels:
        add_level(run, users, capacity=capacity)
    return run


LEVELS = (5, 10, 15, 20, 30, 40, 50, 60)


def test_a_knee_is_marked_within_one_level_of_passing_it(tmp_path: Path) -> None:
    run = run_with_levels(tmp_path / "a.jsonl", 5, 10, 20, 30)
    assert run.marks_of("knee", "bend", "at_or_below") == []
    add_level(run, 50)
    add_level(run, 60, seconds=9)
    (*_, knee) = run.marks_of("knee")
    assert knee.key == "knee:epoch0"
    assert knee.users == pytest.approx(40, rel=0.1)
    run.end()


def test_the_mark_of_a_knee_has_its_interval_capacity_limit_and_confidence(tmp_path: Path) -> None:
    run = RunWithoutLoad(tmp_path / "a.jsonl", HEADER_WITH_OBJECTIVES)
    for users in LEVELS:
        add_level(run, users, seconds=20)
    run.end()
    knee = run.timeline.marks["knee:epoch0"]
    figures = knee.finding.figures()
    assert figures["users_low"] < 40 < figures["users_high"]
    assert figures["capacity_rps"] == pytest.approx(40, rel=0.05)
    assert figures["limit"] == "queueing"
    assert figures["provisional"] is True
    assert knee.confidence == "high"
    verdict = run.screen_timeline.verdict
    assert verdict is not None
    assert verdict.capacity.knee is not None
    assert verdict.capacity.curve is not None
    assert verdict.capacity.knee.users == knee.users
    assert verdict.capacity.curve.capacity_rps == figures["capacity_rps"]


def test_reanalysis_of_the_log_finds_the_recorded_marks(tmp_path: Path) -> None:
    run = run_with_levels(tmp_path / "a.jsonl", *LEVELS, 10)
    run.end()
    saved = Timeline(read(run.path))
    again = reanalyse(saved)
    assert again.recorded
    assert again.changes == ()
    assert {each.epoch: each.capacity for each in again.verdicts} == {
        epoch: each.capacity for epoch, each in saved.verdicts.items()
    }
    assert digest(saved) == digest(run.screen_timeline) == digest(run.timeline)


def test_the_mark_of_a_knee_is_revised_only_when_it_changes(tmp_path: Path) -> None:
    run = run_with_levels(tmp_path / "a.jsonl", *LEVELS)
    before = len(run.marks_of("knee"))
    for _ in range(200):
        run.add_second(40, 500)
    assert len(run.marks_of("knee")) - before <= 2
    run.end()
    marks = run.marks_of("knee")
    assert len(marks) <= 6
    assert [mark.revision for mark in marks] == list(range(1, len(marks) + 1))
    assert [mark.state for mark in marks] == ["open", *["updated"] * (len(marks) - 1)]


def test_a_bend_that_becomes_a_knee_keeps_its_mark(tmp_path: Path) -> None:
    """One unsteady level far beyond the knee does not say where it is; further ones do."""
    run = RunWithoutLoad(tmp_path / "a.jsonl")
    for users, rate in ((10, 10), (20, 20), (100, 30), (150, 30), (200, 30)):
        run.step(users)
        run.add_seconds([round(0.6 * rate), round(1.4 * rate), rate, rate, rate] * 2, 1000 * (users / rate - 1) + 1)
    run.end()
    reported = [(mark.key, mark.kind) for mark in run.marks_of("bend", "knee", "at_or_below")]
    assert {key for key, _ in reported} == {"knee:epoch0"}
    assert [kind for index, (_, kind) in enumerate(reported) if not index or reported[index - 1][1] != kind] == ["bend", "knee"]


def test_recovery_is_reported_with_its_duration(tmp_path: Path) -> None:
    run = run_with_levels(tmp_path / "a.jsonl", *LEVELS, 80)
    run.step(20)
    run.add_seconds([20] * 6, 900.0)
    run.add_seconds([20] * 14, 20.0)
    run.end()
    reported = run.marks_of("recovery")
    assert reported[0].id == "not_recovered"
    assert reported[-1].id == "recovered"
    (recovery,) = summarise(run.screen_timeline)["recoveries"]
    assert recovery == {"epoch": 0, "from_users": 80.0, "to_users": 20.0, "recovered": True, "after_s": pytest.approx(5, abs=2)}


def test_a_step_down_after_recovery_is_not_recovery_from_overload(tmp_path: Path) -> None:
    """A measured session recovered from overload at 63 users, and a step to 53 was then reported as not recovered: an error."""
    run = run_with_levels(tmp_path / "a.jsonl", *LEVELS, 80)
    run.step(20)
    run.add_seconds([20] * 30, 20.0)
    run.step(10)
    run.add_seconds([10] * 14, 90.0)
    run.end()
    assert [each["to_users"] for each in summarise(run.screen_timeline)["recoveries"]] == [20.0]


def test_a_full_disk_is_marked_before_there_is_a_verdict(tmp_path: Path) -> None:
    """The disk is full from the first settled second on: all requests fail, so that there is no verdict."""
    run = RunWithoutLoad(tmp_path / "a.jsonl")
    run.step(8)
    run.add_seconds([80, 80, 80])
    for _ in range(15):
        run.add_second(0, failures=80, target=TargetReading(pid=1, disk_free_bytes=0))
    (*_, mark) = run.marks_of("bottleneck")
    assert mark.key == "bottleneck:disk_full:epoch0"
    assert mark.state == "open"
    assert not any(isinstance(event, Verdict) for event in run.shown)
    run.end()


def test_each_epoch_is_judged_alone(tmp_path: Path) -> None:
    run = run_with_levels(tmp_path / "a.jsonl", *LEVELS)
    run.levels.close()
    run.sink.emit(Target(t_s=run.now_s, state="ready", epoch=1))
    for users in LEVELS:
        add_level(run, users, capacity=20)
    run.end()
    knees = {mark.key: mark.users for mark in run.screen_timeline.marks.values() if mark.kind == "knee"}
    assert knees == {"knee:epoch0": pytest.approx(40, rel=0.1), "knee:epoch1": pytest.approx(20, rel=0.1)}
    assert reanalyse(Timeline(read(run.path))).changes == ()


def test_levels_are_judged_at_the_listed_seconds_and_then_at_each_doubling() -> None:
    assert [seconds for seconds in range(1, 1000) if is_due(seconds)] == [*JUDGED_AT, 120, 240, 480, 960]


def test_detectors_raise_no_error_on_random_seconds(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    for seed in range(12):
        run = RunWithoutLoad(tmp_path / f"{seed}.jsonl", HEADER_WITH_OBJECTIVES)
        for _ in range(int(rng.integers(1, 8))):
            run.step(int(rng.choice([0, 1, 1, 2, 50, 1000])))
            mean, slow_ms, bad = rng.choice([0, 0.2, 3, 500]), rng.choice([0.001, 5, 60_000]), rng.choice([0, 0, 3, 400])
            for _ in range(int(rng.integers(0, 40))):
                run.add_second(int(rng.poisson(mean)), float(slow_ms), int(rng.poisson(bad)))
        run.end()
        saved = Timeline(read(run.path))
        assert digest(saved) == digest(run.screen_timeline)
        assert reanalyse(saved).changes == ()
        summarise(saved)


def target(fds: int = 30) -> TargetReading:
    """A reading of an idle target with this many open descriptors."""
    return TargetReading(
        pid=7, processes=1, threads=8, cpu_ratio=0.05, busiest_thread_ratio=0.02, run_delay_ratio=0.0, rss_bytes=40_000_000,
        fds=fds, fds_fullest=fds, fds_limit=1024, listen_queue=0, listen_backlog=128,
    )  # fmt: skip


def alternate(run: RunWithoutLoad, users: int, goodput: int, latency_ms: float, seconds: int = 14) -> None:
    """A level at which goodput alternates between two values."""
    run.step(users)
    for second in range(seconds):
        run.add_second(goodput + second % 2, latency_ms, target=target())


def states(marks: list[Mark], id_: str) -> list[str]:
    """The states of all revisions of one finding, in order."""
    return [mark.state for mark in marks if mark.id == id_]


def test_a_bottleneck_is_marked_where_goodput_stops_growing_and_closed_at_fewer_users(tmp_path: Path) -> None:
    run = RunWithoutLoad(tmp_path / "a.jsonl")
    alternate(run, 10, 200, 50.0)
    alternate(run, 20, 400, 50.0)
    assert states(run.marks_of("bottleneck"), "lock_or_pool_limit") == []
    assert run.screen_timeline.marks["bottleneck:not_saturated:epoch0"].users == 20
    alternate(run, 40, 405, 100.0)
    assert states(run.marks_of("bottleneck"), "lock_or_pool_limit")[0] == "open"
    assert run.screen_timeline.marks["bottleneck:not_saturated:epoch0"].state == "closed"
    alternate(run, 10, 200, 50.0)
    run.end()
    assert states(run.marks_of("bottleneck"), "lock_or_pool_limit")[-1] == "closed"
    assert reanalyse(Timeline(read(run.path))).changes == ()


def test_the_mark_of_a_growing_queue_stays_open_at_the_next_level(tmp_path: Path) -> None:
    run, queued = RunWithoutLoad(tmp_path / "a.jsonl"), 0
    for users in (120, 140):
        run.step(users)
        for _ in range(30):
            queued += users // 20
            run.add_second(20, 2.0, target=target(), app={"queued": float(queued), "running": 4.0})
    assert set(states(run.marks_of("bottleneck"), "queue_growth")[1:]) <= {"updated"}
    assert states(run.marks_of("bottleneck"), "not_saturated") == []
    alternate(run, 12, 2, 2.0)
    run.end()
    assert states(run.marks_of("bottleneck"), "queue_growth")[-1] == "closed"
    assert reanalyse(Timeline(read(run.path))).changes == ()


def test_a_descriptor_leak_of_two_per_second_is_marked_within_forty_seconds(tmp_path: Path) -> None:
    run = RunWithoutLoad(tmp_path / "a.jsonl")
    run.step(10)
    for second in range(45):
        run.add_second(200, target=target(30 + 2 * second))
    (first, *later) = run.marks_of("leak")
    assert (first.id, first.state) == ("fd_leak", "open")
    assert first.t_s <= 40
    assert len(later) <= 2
    run.end()
    assert reanalyse(Timeline(read(run.path))).changes == ()


def test_a_finding_that_does_not_change_is_marked_once(tmp_path: Path) -> None:
    run = RunWithoutLoad(tmp_path / "a.jsonl")
    alternate(run, 10, 200, 50.0, seconds=200)
    assert [mark.state for mark in run.marks_of("bottleneck", "leak")] == ["open"]
    run.end()


def test_the_search_for_leaks_is_every_10_s_at_first_and_every_10_min_after_half_an_hour() -> None:
    due_at_s = [seconds for seconds in range(3_700) if leaks_are_due(seconds)]
    assert due_at_s[:13] == [*range(10, 121, 10), 180]
    assert due_at_s[-5:] == [1740, 1800, 2400, 3000, 3600]
