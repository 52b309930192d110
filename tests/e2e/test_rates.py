"""Offered rates on the real program: every planned iteration is accounted for, in this process and in workers."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from capexplorer.model.events import Command, LevelClosed, LevelOpened, Sample

from .rig import Run, of, start

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")]


def assert_conserved(run: Run) -> None:
    """What a second begins with is what the one before it left, and the load thread counts as much in flight by itself."""
    left = 0
    for sample in of(run.events(), Sample):
        if sample.offered is not None:
            assert sample.offered.in_flight_before == left, f"at {sample.t_s} s"
            assert not sample.offered.is_miscounted, f"at {sample.t_s} s"
            left = sample.offered.in_flight


def test_rates_and_users_take_turns_in_one_plan(tmp_path: Path) -> None:
    with start(tmp_path, "actor", "--headless", "--plan", "rate 20/s 6s, 3:2s, rate 10/s 6s") as run:
        assert run.exit_code() == 0, run.stderr
    assert_conserved(run)
    opened = [(level.users, level.offered_per_s) for level in of(run.events(), LevelOpened)]
    assert opened == [(0, 20.0), (3, None), (0, 10.0)]
    closed = of(run.events(), LevelClosed)
    assert [level.figures.offered is not None for level in closed] == [True, False, True]
    assert all(level.figures.offered.finished > 0 for level in closed if level.figures.offered)


def test_workers_take_over_the_share_of_a_stopped_one_and_the_run_fails_when_none_is_left(tmp_path: Path) -> None:
    with start(tmp_path, "actor", "--headless", "--workers", "2", "--plan", "rate 20/s 10m") as run:
        run.until(Sample, lambda event: event.settled)
        first, second = run.marked.pids("capexplorer worker --join")
        os.kill(first, signal.SIGSTOP)
        run.until(Command, lambda event: event.name == "workers" and event.args.get("change") == "lost")
        run.until(Sample, lambda event: event.level == 1 and event.settled)
        os.kill(second, signal.SIGKILL)
        assert run.exit_code() == 4
    assert run.stderr.rstrip().endswith("capexplorer: no worker is left")
    assert_conserved(run)
    before, after, *_ = of(run.events(), LevelClosed)
    assert (before.void, after.void) == ("worker_lost", "worker_lost")
    offered = [sample.offered for sample in of(run.events(), Sample) if sample.level == 1 and sample.settled and sample.offered]
    assert {tick.offered_per_s for tick in offered} == {20.0} and sum(tick.finished for tick in offered) > 0
