"""Carries out one kill on the real program, and checks what is left."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep, time

import msgspec
import psutil
from e2e.pty_rig import OnTerminal, modes_left_on, on_terminal
from e2e.rig import Run, events_of, started_run, wait_until

from capexplorer.errors import SessionError
from capexplorer.model.events import Event, Header, Sample, Target
from capexplorer.session.reader import open_session

from .plan import Kill, Service

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]

LOST_MOST_S = 2.0
"""The second that is not a sample yet, and one tick. The largest of 500 kills was 1.004 s (lab/trials/results/kills.json)."""

GONE_WITHIN_S = 20.0
"""Grace period of a target that ignores signals (2 s), with room for a busy machine."""

_PYTHON = sys.executable
_NGINX = "--folder {scratch} --workers 2 --keep-alive true --file-bytes 612"
COMMANDS: dict[Service, str] = {
    "process": f"{_PYTHON} {ROOT}/tests/e2e/targets/actor/actor.py {{port}} serves",
    "nginx": f"{_PYTHON} {ROOT}/targets/static/serve.py --port {{port}} {_NGINX}",
    "gunicorn": f"{_PYTHON} -m gunicorn --chdir {HERE}/services --workers 3 --bind 127.0.0.1:{{port}} wsgi:app",
    "daemon": f"{_PYTHON} {HERE}/services/daemon.py {{port}}",
}
PROGRAMS: dict[Service, tuple[str, ...]] = {"nginx": ("nginx",)}
"""Programs other than Python that a service needs."""

_LOADS = {"spawning": ("--plan", "40:60s", "--spawn-rate", "5")}
_STEADY = ("--plan", "4:60s")


class Outcome(msgspec.Struct, kw_only=True):
    """The outcome of one kill."""

    kill: Kill
    problems: list[str] = []
    lost_s: float | None = None
    """Seconds from the last sample (before the first sample: from the last line) to the kill; None without a log or while
    quitting."""
    samples: int = 0
    processes: int = 0
    """Processes at the time of the kill."""
    already_over: bool = False
    """The run had ended by itself before the kill."""


def carry_out(kill: Kill, folder: Path) -> Outcome:
    """One run that is killed; `problems` of the outcome is empty if none was found."""
    outcome = Outcome(kill=kill)
    with _started(kill, folder) as run:
        before = run.settings() if isinstance(run, OnTerminal) else None
        try:
            _await_stage(run, kill)
            _wait_reading(run, kill.after_s)
            ports = _listening(run)
            killed_at = _send_kill(run, kill, outcome)
            _end_survivor(run, kill, outcome)
            _check_processes(run, ports, outcome)
            check_logs(run.sessions, killed_at, outcome)
            if isinstance(run, OnTerminal):
                _check_terminal(run, before, outcome)
        except AssertionError as error:  # a wait timed out
            outcome.problems.append(str(error)[-2000:])
    return outcome


def _started(kill: Kill, folder: Path) -> AbstractContextManager[Run]:
    load = _LOADS.get(kill.stage, _STEADY)
    arguments = (str(HERE / "profile.toml"), "--target-cmd", COMMANDS[kill.service], "--ready", "/", *load)
    return on_terminal(folder, *arguments) if kill.surface == "terminal" else started_run(folder, *arguments, "--headless")


def _await_stage(run: Run, kill: Kill) -> None:
    if kill.stage == "spawning":
        wait_until(
            lambda: [event for event in _events(run) if isinstance(event, Target) and event.state == "ready"], "a ready target"
        )
    elif kill.stage in ("steady", "quitting"):
        wait_until(lambda: events_of(_events(run), Sample), "a sample")
    if kill.stage == "quitting":
        os.kill(run.process.pid, signal.SIGTERM)


def _events(run: Run) -> list[Event]:
    _drain(run)
    assert run.process.poll() is None, f"the run ended with {run.process.returncode}: {run.stderr[-1000:]}"
    return run.events()


def _drain(run: Run) -> None:
    """Read the terminal: a full buffer would block the run."""
    if isinstance(run, OnTerminal):
        _ = run.written


def _wait_reading(run: Run, seconds: float) -> None:
    """Let some seconds pass, and keep reading the terminal."""
    deadline_s = monotonic() + seconds
    while (left_s := deadline_s - monotonic()) > 0:
        _drain(run)
        sleep(min(left_s, 0.02))


def _send_kill(run: Run, kill: Kill, outcome: Outcome) -> float:
    """Send SIGKILL to the victims; returns the wall-clock time. Waits for a supervisor that has not started yet; does nothing
    if the run has ended."""
    if kill.victims != "app":
        _wait(run, lambda: _supervisor(run) or run.process.poll() is not None, "a supervisor")
    outcome.processes = len(run.marked.processes())
    pids = [run.process.pid] if kill.victims in ("app", "both") and run.process.poll() is None else []
    pids += _supervisor(run) if kill.victims in ("supervisor", "both") else []
    killed_at = time()
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return killed_at


def _supervisor(run: Run) -> list[int]:
    """Pid of the supervisor: its program runs in two processes, of which it is the child. While it starts there is only one."""
    pair = run.marked.pids("supervisor_process")
    with suppress(psutil.Error):
        return [pid for pid in pair if psutil.Process(pid).ppid() in pair] or pair
    return pair


def _end_survivor(run: Run, kill: Kill, outcome: Outcome) -> None:
    """Wait for the app's end, and check its exit code. If only its supervisor was killed, a headless app ends by itself, and a
    screen, which waits for its user, gets SIGTERM."""
    if kill.victims == "supervisor" and kill.surface == "terminal":
        _wait_reading(run, 0.5)
        if run.process.poll() is None:
            run.process.terminate()
    _wait(run, lambda: run.process.poll() is not None, "the app's end")
    code = run.process.returncode
    outcome.already_over = kill.stage == "quitting" and code == 128 + signal.SIGTERM
    allowed = {-signal.SIGKILL} if kill.victims != "supervisor" else {4, 128 + signal.SIGTERM, -signal.SIGTERM}
    if code not in allowed and not outcome.already_over:
        outcome.problems.append(f"exit code {code}: {run.stderr[-500:]}")


def _wait(run: Run, condition: object, what: str) -> None:
    assert callable(condition), condition
    deadline_s = monotonic() + GONE_WITHIN_S
    while not condition():
        assert monotonic() < deadline_s, f"not within {GONE_WITHIN_S:g} s: {what}"
        _wait_reading(run, 0.05)


def _listening(run: Run) -> set[int]:
    """Ports on which the run's processes listen."""
    pids = run.marked.processes()
    return {each.laddr.port for each in psutil.net_connections("tcp") if each.pid in pids and each.status == "LISTEN"}


def _check_processes(run: Run, ports: set[int], outcome: Outcome) -> None:
    try:
        _wait(run, lambda: not run.marked.processes(), "no process left")
    except AssertionError:
        outcome.problems.append(f"processes left: {run.marked.processes()}")
    open_ports = {each.laddr.port for each in psutil.net_connections("tcp") if each.status == "LISTEN"}
    if left := sorted(ports & open_ports):
        outcome.problems.append(f"still listened on: {left}")


def check_logs(sessions: Path, killed_at: float, outcome: Outcome) -> None:
    """Check that all logs can be read, and how much is missing. Only a run that was killed while it started may have none: the
    other stages begin with an event of the log."""
    logs = list(sessions.glob("*.jsonl"))
    if not logs and outcome.kill.stage != "starting":
        outcome.problems.append("no log")
    for path in logs:
        try:
            with open_session(path) as log:
                events = list(log)
        except SessionError as error:
            outcome.problems.append(f"unreadable: {error}")
            continue
        header, samples = events[0], events_of(events, Sample)
        assert isinstance(header, Header)
        outcome.samples = len(samples)
        if outcome.kill.stage == "quitting" or outcome.kill.victims == "supervisor":
            continue
        began_at = datetime.fromisoformat(header.started_at).timestamp()
        last_at = began_at + samples[-1].t_s if samples else path.stat().st_mtime
        outcome.lost_s = round(killed_at - last_at, 3)
        if outcome.lost_s > LOST_MOST_S:
            outcome.problems.append(f"{outcome.lost_s} s lost")


def _check_terminal(run: OnTerminal, before: object, outcome: Outcome) -> None:
    try:
        _wait(run, lambda: run.settings() == before and not modes_left_on(run.written), "the terminal as it was")
    except AssertionError:
        outcome.problems.append(
            f"terminal: settings restored {run.settings() == before}, modes left {modes_left_on(run.written)}"
        )
