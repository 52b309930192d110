"""Plans with offered rates (iterations per second), with and without workers: every planned iteration is accounted for."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from capexplorer.model.events import Command, LevelClosed, LevelOpened, Sample

from .rig import Run, events_of, started_run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")]


def assert_all_iterations_are_accounted_for(run: Run) -> None:
    """Each second starts with the iterations in flight that the second before ended with, and its sums agree."""
    in_flight = 0
    for sample in events_of(run.events(), Sample):
        if sample.offered is not None:
            assert sample.offered.in_flight_before == in_flight, f"at {sample.t_s} s"
            assert not sample.offered.is_miscounted, f"at {sample.t_s} s"
            in_flight = sample.offered.in_flight


def test_a_plan_may_alternate_between_rates_and_numbers_of_users(tmp_path: Path) -> None:
    with started_run(tmp_path, "actor", "--headless", "--plan", "rate 20/s 6s, 3:2s, rate 10/s 6s") as run:
        assert run.exit_code() == 0, run.stderr
    assert_all_iterations_are_accounted_for(run)
    opened = [(level.users, level.offered_per_s) for level in events_of(run.events(), LevelOpened)]
    assert list(dict.fromkeys(opened)) == [(0, 20.0), (3, None), (0, 10.0)], "a busy machine may open a level again"
    closed = events_of(run.events(), LevelClosed)
    assert [level.figures.offered is not None for level in closed] == [per_s is not None for _, per_s in opened]
    assert all(level.figures.offered.finished > 0 for level in closed if level.figures.offered)


def test_the_rate_of_a_lost_worker_is_offered_by_the_others_and_losing_the_last_one_ends_the_run_with_exit_code_4(
    tmp_path: Path,
) -> None:
    with started_run(tmp_path, "actor", "--headless", "--workers", "2", "--plan", "rate 20/s 10m") as run:
        run.wait_for_events(Sample, lambda event: event.settled)
        first, second = run.marked.pids("capexplorer worker --join")
        os.kill(first, signal.SIGSTOP)
        run.wait_for_events(Command, lambda event: event.name == "workers" and event.args.get("change") == "lost")
        run.wait_for_events(Sample, lambda event: event.level == 1 and event.settled)
        os.kill(second, signal.SIGKILL)
        assert run.exit_code() == 4
    assert "capexplorer: no worker is left: it ended" in run.stderr
    assert_all_iterations_are_accounted_for(run)
    before, after, *_ = events_of(run.events(), LevelClosed)
    assert before.void == "worker_lost"
    assert after.void == "worker_lost"
    offered = [
        sample.offered for sample in events_of(run.events(), Sample) if sample.level == 1 and sample.settled and sample.offered
    ]
    assert {second.offered_per_s for second in offered} == {20.0}, "the whole rate, by one worker"
    assert sum(second.finished for second in offered) > 0
