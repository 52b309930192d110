"""Bottlenecks and leaks during a run: marked when they are known, closed when they end, and found again in the log."""

from __future__ import annotations

from pathlib import Path

from capexplorer.analysis.reanalysis import reanalyse
from capexplorer.model.events import Mark
from capexplorer.model.readings import TargetReading
from capexplorer.model.timeline import Timeline
from capexplorer.run.live_levels import leaks_are_due
from capexplorer.session.reader import read

from .run_without_load import RunWithoutLoad


def target(fds: int = 30) -> TargetReading:
    """A reading of an idle target with this many open descriptors."""
    return TargetReading(
        pid=7, processes=1, threads=8, cpu_ratio=0.05, busiest_thread_ratio=0.02, run_delay_ratio=0.0, rss_bytes=40_000_000,
        fds=fds, fds_fullest=fds, fds_limit=1024, listen_queue=0, listen_backlog=128,
    )  # fmt: skip


def add_level(run: RunWithoutLoad, users: int, goodput: int, latency_ms: float, seconds: int = 14) -> None:
    """A level at which goodput alternates between two values."""
    run.step(users)
    for second in range(seconds):
        run.add_second(goodput + second % 2, latency_ms, target=target())


def states(marks: list[Mark], id_: str) -> list[str]:
    """The states of all revisions of one finding, in order."""
    return [mark.state for mark in marks if mark.id == id_]


def test_a_bottleneck_is_marked_where_goodput_stops_growing_and_closed_at_fewer_users(tmp_path: Path) -> None:
    run = RunWithoutLoad(tmp_path / "a.jsonl")
    add_level(run, 10, 200, 50.0)
    add_level(run, 20, 400, 50.0)
    assert states(run.marks_of("bottleneck"), "lock_or_pool_limit") == []
    assert run.screen_timeline.marks["bottleneck:not_saturated:epoch0"].users == 20
    add_level(run, 40, 405, 100.0)
    assert states(run.marks_of("bottleneck"), "lock_or_pool_limit")[0] == "open"
    assert run.screen_timeline.marks["bottleneck:not_saturated:epoch0"].state == "closed"
    add_level(run, 10, 200, 50.0)
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
    add_level(run, 12, 2, 2.0)
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
    add_level(run, 10, 200, 50.0, seconds=200)
    assert [mark.state for mark in run.marks_of("bottleneck", "leak")] == ["open"]
    run.end()


def test_the_search_for_leaks_is_every_10_s_at_first_and_every_10_min_after_half_an_hour() -> None:
    due_at_s = [seconds for seconds in range(3_700) if leaks_are_due(seconds)]
    assert due_at_s[:13] == [*range(10, 121, 10), 180]
    assert due_at_s[-5:] == [1740, 1800, 2400, 3000, 3600]
