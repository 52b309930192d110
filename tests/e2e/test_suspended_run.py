"""A run that is suspended (SIGSTOP) and continued: no settled second includes the suspension, and a new level starts after it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from time import sleep

import pytest

from capexplorer.model.events import LevelClosed, LevelOpened, Log, Mark, Sample
from capexplorer.model.timeline import Timeline

from .rig import Run, events_of, export, started_run
from .suspensions import SUSPENDED_S, assert_no_settled_sample_includes_a_suspension

pytestmark = pytest.mark.slow


def suspend(run: Run, seconds: float) -> None:
    """Send SIGSTOP, and SIGCONT after a time."""
    os.kill(run.process.pid, signal.SIGSTOP)
    sleep(seconds)
    os.kill(run.process.pid, signal.SIGCONT)


def test_a_rate_is_measured_again_after_a_suspension(tmp_path: Path) -> None:
    with started_run(tmp_path, "actor", "--headless", "--plan", "rate 20/s 10m") as run:
        before = run.wait_for_events(Sample, lambda sample: sample.settled, count=3)
        suspend(run, SUSPENDED_S)
        run.wait_for_events(Sample, lambda sample: sample.level > before[-1].level and sample.settled, count=3)
        os.kill(run.process.pid, signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    assert {level.offered_per_s for level in events_of(run.events(), LevelOpened)} == {20.0}


def test_a_suspension_ends_the_level_and_is_in_no_settled_sample(tmp_path: Path) -> None:
    with started_run(tmp_path, "actor", "--headless", "--plan", "3:10m") as run:
        before = run.wait_for_events(Sample, lambda sample: sample.settled, count=3)
        suspend(run, SUSPENDED_S)
        run.wait_for_events(Sample, lambda sample: sample.level > before[-1].level and sample.settled, count=3)
        os.kill(run.process.pid, signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    events = run.events()
    assert_no_settled_sample_includes_a_suspension(events)
    opened = events_of(events, LevelOpened)
    assert {(level.users, level.by) for level in opened} == {(3, "plan")}
    first, *_, last = [level for level in events_of(events, LevelClosed) if level.figures.settled]
    assert first.figures.throughput_rps == pytest.approx(last.figures.throughput_rps, rel=0.5)
    # A busy machine may suspend the process, too: each suspension ends a level and is logged.
    assert [log.level for log in events_of(events, Log) if "was suspended" in log.text] == ["warning"] * (len(opened) - 1)
    assert len(opened) >= 2
    assert not [mark for mark in events_of(events, Mark) if mark.kind in ("cause", "shift")]
    assert len(export(run.sessions)["levels"]) == len(Timeline(events).levels) == len(opened)
