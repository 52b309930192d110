"""Starts the real program as a user does, in the folder of these tests, and reads its output and its session."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, chdir, redirect_stderr, redirect_stdout
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from capexplorer import cli
from capexplorer.model.events import Ended, Event, Sample, Target
from lab.kit import runs, terminal
from lab.kit.runs import PROGRAM, ROOT, TIMEOUT_S, MarkedEnvironment, Run, events_in, events_of, session_path, wait_until
from lab.kit.servers import listening
from lab.kit.terminal import OnTerminal, modes_left_on

__all__ = (
    "E2E_FOLDER", "PROGRAM", "ROOT", "TIMEOUT_S", "MarkedEnvironment", "OnTerminal", "Run", "actor_service",
    "assert_no_gap_between_samples", "command_on_terminal", "ended", "events_in", "events_of", "export", "modes_left_on",
    "on_terminal", "run_command", "run_in_process", "run_to_end", "run_to_end_unsuspended", "session_path", "started_run",
    "target_states", "wait_until",
)  # fmt: skip

E2E_FOLDER = Path(__file__).resolve().parent
"""The working folder of runs: the program finds the targets/ and profiles/ of this folder before its own."""

started_run = partial(runs.started_run, cwd=E2E_FOLDER)
run_command = partial(runs.run_command, cwd=E2E_FOLDER)
on_terminal = partial(terminal.on_terminal, cwd=E2E_FOLDER)
command_on_terminal = partial(terminal.command_on_terminal, cwd=E2E_FOLDER)


def run_to_end(folder: Path, *args: str, cwd: Path = E2E_FOLDER, before: Sequence[str] = ()) -> tuple[Run, int]:
    """A run that ends by itself, and its exit code."""
    with started_run(folder, *args, cwd=cwd, before=before) as run:
        return run, run.exit_code()


def run_to_end_unsuspended(folder: Path, *args: str) -> tuple[Run, int]:
    """As `run_to_end`, repeated at most twice if the machine gave the run no CPU for half a second or more: that counts as a
    suspension, which ends a level.
    """
    for attempt in range(3):
        (attempt_folder := folder / f"attempt-{attempt}").mkdir()
        run, code = run_to_end(attempt_folder, *args)
        if not any(sample.suspended_s for sample in events_of(run.events(), Sample)):
            break
    return run, code


def run_in_process(*args: str, cwd: Path = E2E_FOLDER) -> subprocess.CompletedProcess[str]:
    """Run `capexplorer ARGS` in this process, which saves half a second of CPU for its start.

    For commands that neither import Locust nor need a terminal.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))  # exports write bytes
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        code = cli.run(list(args))
    stdout, stderr = (stream.buffer.getvalue().decode() for stream in (out, err))
    return subprocess.CompletedProcess(args, code, stdout, stderr)


def export(sessions: Path) -> dict[str, Any]:
    """The JSON export of the last session in a folder, by a command in this process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.json"
        assert cli.run(["export", "last", "--format", "json", "-o", str(path), "--sessions-dir", str(sessions)]) == 0
        exported: dict[str, Any] = json.loads(path.read_bytes())
    return exported


def ended(events: Sequence[Event]) -> Ended:
    """The last event of a complete session."""
    assert isinstance(events[-1], Ended), events[-1]
    return events[-1]


def assert_no_gap_between_samples(events: Sequence[Event]) -> None:
    for before, after in pairwise(events_of(events, Sample)):
        assert after.t_s - after.duration_s == pytest.approx(before.t_s, abs=0.01)


def target_states(events: Sequence[Event]) -> list[str]:
    """The states of the target in their order, without reports of a slow start, which a busy machine may add."""
    return [each.state for each in events_of(events, Target) if not (each.state == "starting" and each.reason)]


def actor_service(port: int) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """A service that runs without having been started by capexplorer."""
    return listening([sys.executable, str(E2E_FOLDER / "targets" / "actor" / "actor.py"), str(port), "serves"], port)
