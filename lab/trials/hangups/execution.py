"""Carries out the kills of one run over a real sshd on loopback, and checks the run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from e2e.rig import MarkedEnvironment, events_in, events_of, run_command, wait_until
from e2e.sshd_rig import Sshd, sshd

from capexplorer.model.events import Ended, Event, Header, Sample
from capexplorer.session.reader import open_session

from .figures import Change, change_at, gaps
from .plan import CONTROL_S, WINDOW_S, Hangup

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PROGRAM = str(Path(sys.executable).with_name("capexplorer"))
SERVICE = f"{sys.executable} {ROOT}/tests/e2e/targets/actor/actor.py {{port}} serves"
USERS = 10

_PAINTED = b"settled"
"""Text in the status of a screen that has drawn the level."""
_PAINTED_WITHIN_S = 60.0


class Outcome(msgspec.Struct, kw_only=True):
    """The outcome of one run."""

    kills: list[Change] = []
    controls: list[Change] = []
    painted_s: list[float] = []
    """From the start of ssh to an attached screen that shows the level."""
    problems: list[str] = []
    requests: int = 0
    failures: int = 0
    seconds: int = 0


def carry_out(hangups: Sequence[Hangup], folder: Path) -> Outcome:
    """One run, whose clients are killed one after the other; `problems` of the outcome is empty if none was found."""
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    outcome, started = Outcome(), MarkedEnvironment()
    killed_at, controls_at = [], []
    try:
        with sshd(folder / "sshd") as server:
            for index, each in enumerate(hangups):
                marked = started if index == 0 else MarkedEnvironment()
                arguments = _run_arguments(folder) if index == 0 else ("attach", _session(folder))
                killed, control = _kill(server, arguments, marked, folder / f"output-{index}", each, outcome)
                if killed is not None:
                    killed_at.append(killed)
                if control is not None:
                    controls_at.append(control)
                if marked is not started:
                    marked.assert_no_process_left()
            _stop_run(folder, started, outcome)
    except AssertionError as error:  # a wait timed out
        outcome.problems.append(str(error)[-1000:])
    finally:
        started.kill_remaining()
    _check_session(folder / "sessions", killed_at, controls_at, outcome)
    return outcome


def _run_arguments(folder: Path) -> tuple[str, ...]:
    """Arguments of capexplorer that start the run."""
    profile = str(ROOT / "trials" / "kills" / "profile.toml")
    sessions = str(folder / "sessions")
    return ("run", profile, "--target-cmd", SERVICE, "--ready", "/", "--users", str(USERS), "--sessions-dir", sessions)


def _session(folder: Path) -> str:
    """The id of the run's session; other sessions of this user may run."""
    (path,) = (folder / "sessions").glob("*.jsonl")
    return path.stem


def _kill(
    server: Sshd, arguments: Sequence[str], marked: MarkedEnvironment, output: Path, hangup: Hangup, outcome: Outcome
) -> tuple[float | None, float | None]:
    """Start a client with these arguments, and kill it. Returns the wall-clock times of the kill and of the moment without a kill
    before it; (None, None) for a client that was killed while it started, which is not compared."""
    began_at = time.time()
    client, keys = server.typing_client([PROGRAM, *arguments], marked, output, ROOT)
    control_at = None
    try:
        if hangup.stage == "starting":
            time.sleep(hangup.after_s)
        else:
            wait_until(lambda: _PAINTED in output.read_bytes(), "the first paint", _PAINTED_WITHIN_S)
            if arguments[0] == "attach":
                outcome.painted_s.append(round(time.time() - began_at, 2))
            time.sleep(CONTROL_S)
            control_at = time.time()
            os.write(keys, hangup.keys.encode())
            time.sleep(hangup.after_s - CONTROL_S)
        killed_at = time.time()
        client.kill()
    finally:
        _end_client(client, keys)
    time.sleep(WINDOW_S + 1)
    return (killed_at, control_at) if hangup.stage == "watching" else (None, None)


def _end_client(client: subprocess.Popen[bytes], keys: int) -> None:
    if client.poll() is None:
        client.kill()
    client.wait()
    os.close(keys)


def _stop_run(folder: Path, started: MarkedEnvironment, outcome: Outcome) -> None:
    """Stop the run, which must still accept connections, and check that no process or socket is left."""
    stopped = run_command("stop", _session(folder))
    if stopped.returncode:
        outcome.problems.append(f"stop: {stopped.stderr}")
    started.assert_no_process_left()
    if left := list((folder / "capexplorer").glob("*.sock")):
        outcome.problems.append(f"sockets left: {left}")


def _check_session(sessions: Path, killed_at: Sequence[float], controls_at: Sequence[float], outcome: Outcome) -> None:
    events: list[Event] = events_in(sessions)
    if not events or not isinstance(events[-1], Ended):
        outcome.problems.append("the session is not complete")
        return
    for path in sessions.glob("*.jsonl"):
        with open_session(path) as log:
            if log.damaged:
                outcome.problems.append(f"{log.damaged} lines of the log are damaged")
    header, samples = events[0], events_of(events, Sample)
    assert isinstance(header, Header)
    began_at = datetime.fromisoformat(header.started_at).timestamp()
    outcome.kills = [change for at in killed_at if (change := change_at(samples, at - began_at))]
    outcome.controls = [change for at in controls_at if (change := change_at(samples, at - began_at))]
    outcome.requests, outcome.failures, outcome.seconds = events[-1].requests, events[-1].failures, len(samples)
    if outcome.failures:
        outcome.problems.append(f"{outcome.failures} requests failed")
    if missing := gaps(events):
        outcome.problems.append(f"seconds are missing before {missing}")
