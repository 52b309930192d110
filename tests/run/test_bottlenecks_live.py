"""Bottlenecks and leaks as a run goes on: marked once known, closed when they end, the same over the saved log."""

from __future__ import annotations

from pathlib import Path

from capexplorer.analysis.reanalysis import reanalyse
from capexplorer.model.events import Mark
from capexplorer.model.readings import TargetReading
from capexplorer.model.timeline import Timeline
from capexplorer.run.live_marks import leaks_are_due
from capexplorer.session.reader import read

from .driven import Driven


def target(fds: int = 30) -> TargetReading:
    """A service at ease."""
    return TargetReading(
        pid=7, processes=1, threads=8, cpu_ratio=0.05, busiest_thread_ratio=0.02, run_delay_ratio=0.0, rss_bytes=40_000_000,
        fds=fds, fds_fullest=fds, fds_limit=1024, listen_queue=0, listen_backlog=128,
    )  # fmt: skip


def hold(run: Driven, users: int, goodput: int, latency_ms: float, seconds: int = 14) -> None:
    run.step(users)
    for second in range(seconds):
        run.second(goodput + second % 2, latency_ms, target=target())


def states(marks: list[Mark], id_: str) -> list[str]:
    return [mark.state for mark in marks if mark.id == id_]


def test_a_bottleneck_is_marked_where_goodput_stops_growing_and_closed_at_fewer_users(tmp_path: Path) -> None:
    run = Driven(tmp_path / "a.jsonl")
    hold(run, 10, 200, 50.0)
    hold(run, 20, 400, 50.0)
    assert states(run.marked("bottleneck"), "lock_or_pool_limit") == []
    assert run.watched.marks["bottleneck:not_saturated:epoch0"].users == 20
    hold(run, 40, 405, 100.0)
    assert states(run.marked("bottleneck"), "lock_or_pool_limit")[0] == "open"
    assert run.watched.marks["bottleneck:not_saturated:epoch0"].state == "closed"
    hold(run, 10, 200, 50.0)
    run.end()
    assert states(run.marked("bottleneck"), "lock_or_pool_limit")[-1] == "closed"
    assert reanalyse(Timeline(read(run.path))).changes == ()


def test_a_growing_queue_does_not_end_because_a_new_level_has_begun(tmp_path: Path) -> None:
    run, queued = Driven(tmp_path / "a.jsonl"), 0
    for users in (120, 140):
        run.step(users)
        for _ in range(30):
            queued += users // 20
            run.second(20, 2.0, target=target(), app={"queued": float(queued), "running": 4.0})
    assert set(states(run.marked("bottleneck"), "queue_growth")[1:]) <= {"updated"}
    assert states(run.marked("bottleneck"), "not_saturated") == []
    hold(run, 12, 2, 2.0)
    run.end()
    assert states(run.marked("bottleneck"), "queue_growth")[-1] == "closed"
    assert reanalyse(Timeline(read(run.path))).changes == ()


def test_a_descriptor_leak_of_two_per_second_is_marked_within_forty_seconds(tmp_path: Path) -> None:
    run = Driven(tmp_path / "a.jsonl")
    run.step(10)
    for second in range(45):
        run.second(200, target=target(30 + 2 * second))
    (first, *later) = run.marked("leak")
    assert (first.id, first.state) == ("fd_leak", "open")
    assert first.t_s <= 40
    assert len(later) <= 2
    run.end()
    assert reanalyse(Timeline(read(run.path))).changes == ()


def test_a_continuing_bottleneck_is_not_marked_again_and_again(tmp_path: Path) -> None:
    run = Driven(tmp_path / "a.jsonl")
    hold(run, 10, 200, 50.0, seconds=200)
    assert [mark.state for mark in run.marked("bottleneck", "leak")] == ["open"]
    run.end()


def test_leaks_are_looked_for_often_at_first() -> None:
    due_at_s = [seconds for seconds in range(3_700) if leaks_are_due(seconds)]
    assert due_at_s[:13] == [*range(10, 121, 10), 180] and due_at_s[-5:] == [1740, 1800, 2400, 3000, 3600]
