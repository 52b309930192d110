"""A target with a build command: the build is not limited by the time to be ready, is shown, and ends with the run."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from capexplorer.model.events import Ended, Log, Sample

from .rig import PROGRAM, events_of, started_run, target_states
from .tmux_rig import needs_tmux, on_screen

pytestmark = pytest.mark.slow

PLAN = ("--headless", "--plan", "2:6s")
READY_TIMEOUT_S = 20.0
"""`timeout_s` in targets/built/target.toml."""


def end_build(gate: Path, content: str) -> None:
    """Write, at once, the file that the build waits for: `built` for success, or the message with which it fails."""
    gate.with_suffix(".new").write_text(content)
    gate.with_suffix(".new").replace(gate)


def test_a_build_may_take_longer_than_the_time_to_be_ready(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with started_run(tmp_path, "built", "--set", f"gate={gate}", *PLAN) as run:
        run.wait_for_events(Sample, lambda sample: sample.t_s > READY_TIMEOUT_S + 1)
        assert target_states(run.events()) == ["building"]
        end_build(gate, "built")
        assert run.exit_code() == 0, run.stderr
    assert target_states(run.events()) == ["building", "starting", "ready", "stopping", "stopped"]
    assert [line.split(maxsplit=2)[2] for line in run.stderr.splitlines()[:2]] == ["target building", "target ready"]
    assert ("target", "compiling") in {(log.source, log.text) for log in events_of(run.events(), Log)}, "output of the build"


def test_a_failed_build_ends_the_run_with_exit_code_4_and_one_line(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    end_build(gate, "main.go:7: undefined: x")
    with started_run(tmp_path, "built", "--set", f"gate={gate}", *PLAN) as run:
        assert run.exit_code() == 4
    [line] = [line for line in run.stderr.splitlines() if line.startswith("capexplorer: ")]
    assert "built: the build failed (exit code 1): main.go:7: undefined: x" in line
    assert target_states(run.events()) == ["building", "failed"]


@needs_tmux
def test_the_screen_shows_the_build_and_a_signal_ends_it(tmp_path: Path) -> None:
    with on_screen(tmp_path, "built", "--set", f"gate={tmp_path / 'gate'}", size=(100, 30)) as screen:
        screen.wait_for_text(" building ")
        screen.press("8")
        screen.wait_for_text("compiling")
        [run_pid] = [pid for pid, command in screen.remaining_processes().items() if f"{PROGRAM} run" in command]
        os.kill(run_pid, signal.SIGTERM)
        assert screen.exit_code() == 128 + signal.SIGTERM
    events = screen.events()
    assert target_states(events) == ["building", "stopping", "stopped"]
    assert isinstance(events[-1], Ended)
