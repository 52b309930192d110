"""A target that is built before it starts: the build has its own time limit, is seen, and ends with the app."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from capexplorer.model.events import Ended, Log, Sample, Target

from .rig import PROGRAM, of, start
from .tmux_rig import needs_tmux, on_screen

pytestmark = pytest.mark.slow

PLAN = ("--headless", "--plan", "2:6s")
READY_TIMEOUT_S = 5.0
"""Of targets/built."""


def release(gate: Path, content: str) -> None:
    gate.with_suffix(".new").write_text(content)
    gate.with_suffix(".new").replace(gate)


def test_a_build_may_take_longer_than_readiness(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with start(tmp_path, "built", "--set", f"gate={gate}", *PLAN) as run:
        run.until(Sample, lambda sample: sample.t_s > READY_TIMEOUT_S + 1)
        assert [event.state for event in of(run.events(), Target)] == ["building"]
        release(gate, "built")
        assert run.exit_code() == 0, run.stderr
    assert [event.state for event in of(run.events(), Target)] == ["building", "starting", "ready", "stopping", "stopped"]
    assert run.stderr.splitlines()[:2] == ["target building", "target ready"]
    assert any((log.source, log.text) == ("target", "compiling") for log in of(run.events(), Log))


def test_a_build_that_fails_is_one_line(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    release(gate, "main.go:7: undefined: x")
    with start(tmp_path, "built", "--set", f"gate={gate}", *PLAN) as run:
        assert run.exit_code() == 4
    [line] = [line for line in run.stderr.splitlines() if line.startswith("capexplorer: ")]
    assert "built: the build failed (exit code 1): main.go:7: undefined: x" in line
    assert [event.state for event in of(run.events(), Target)] == ["building", "failed"]


@needs_tmux
def test_the_screen_says_that_it_builds_and_a_signal_ends_the_build(tmp_path: Path) -> None:
    with on_screen(tmp_path, "built", "--set", f"gate={tmp_path / 'gate'}", size=(100, 30)) as screen:
        screen.shows(" building ")
        screen.press("8")
        screen.shows("compiling")
        [app] = [pid for pid, command in screen.left().items() if f"{PROGRAM} run" in command]
        os.kill(app, signal.SIGTERM)
        assert screen.exit_code() == 128 + signal.SIGTERM
    events = screen.events()
    assert [event.state for event in of(events, Target)] == ["building", "stopping", "stopped"]
    assert isinstance(events[-1], Ended)
