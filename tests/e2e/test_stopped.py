"""A run that is stopped and continued: users stand still meanwhile, and no settled second mixes that in."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from capexplorer.model.events import Event, LevelClosed, LevelOpened, Log, Mark, Sample
from capexplorer.model.timeline import Timeline

from .rig import Run, export, of, start, until

pytestmark = pytest.mark.slow

STOPPED_S = 3.0
"""A settled second that had the stop would last at least so long; one that is late on a busy machine is shorter."""


def stopped_for(run: Run, seconds: float) -> None:
    """SIGSTOP, and SIGCONT when so much time has passed."""
    os.kill(run.process.pid, signal.SIGSTOP)
    began = os.times().elapsed
    until(lambda: os.times().elapsed - began >= seconds, "the time is over")
    os.kill(run.process.pid, signal.SIGCONT)


def assert_no_settled_second_has_a_stop(events: list[Event], count: int = 1) -> None:
    samples = of(events, Sample)
    suspended_s = [sample.suspended_s for sample in samples]
    stops = [place for place, seconds in enumerate(suspended_s) if (seconds or 0.0) > STOPPED_S / 2]
    assert len(stops) == count
    assert [suspended_s[stop + 1] for stop in stops] == [0.0] * count, "the second after it is void, too"
    assert not [sample for sample in samples if sample.suspended_s is not None and sample.settled]
    assert max(sample.duration_s for sample in samples if sample.settled) < STOPPED_S


def test_a_stop_ends_the_level_and_no_settled_second_includes_it(tmp_path: Path) -> None:
    with start(tmp_path, "actor", "--headless", "--plan", "3:25s") as run:
        seen = run.until(Sample, lambda sample: sample.settled, count=3)
        stopped_for(run, STOPPED_S)
        run.until(Sample, lambda sample: sample.level > seen[-1].level and sample.settled, count=3)
        os.kill(run.process.pid, signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    events = run.events()
    assert_no_settled_second_has_a_stop(events)
    opened = of(events, LevelOpened)
    assert {(level.users, level.by) for level in opened} == {(3, "plan")}
    first, *_, last = [level for level in of(events, LevelClosed) if level.figures.settled]
    assert first.figures.throughput_rps == pytest.approx(last.figures.throughput_rps, rel=0.5)
    # A busy machine may suspend the process, too: each suspension ends a level and is logged.
    assert [log.level for log in of(events, Log) if "was suspended" in log.text] == ["warning"] * (len(opened) - 1)
    assert len(opened) >= 2
    assert not [mark for mark in of(events, Mark) if mark.kind in ("cause", "shift")]
    assert len(export(run.sessions)["levels"]) == len(Timeline(events).levels) == len(opened)
