"""Starts the real program as a user does, reads its output and its session, and finds all of its processes. For tests.

Every process of a run inherits a mark in its environment, so that a process left behind is found whatever its parent is.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import lru_cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

from capexplorer import cli
from capexplorer.errors import SessionError
from capexplorer.model.events import Event, Sample, Target
from capexplorer.session.reader import open_session

E2E_FOLDER = Path(__file__).resolve().parent
"""The working folder of runs: the program finds the targets/ and profiles/ of this folder before its own."""

ROOT = E2E_FOLDER.parents[1]
PROGRAM = str(Path(sys.executable).with_name("capexplorer"))
TIMEOUT_S = 120.0
MARK_VARIABLE = "CAPEXPLORER_E2E"

T = TypeVar("T")
E = TypeVar("E", bound=Event)


def wait_until(condition: Callable[[], T], expected: str, timeout_s: float = TIMEOUT_S, pause_s: float = 0.05) -> T:
    """The first truthy value of `condition`, called again after each pause. `expected`: a noun for the failure message."""
    deadline_s = monotonic() + timeout_s
    while not (value := condition()):
        assert monotonic() < deadline_s, f"not seen in {timeout_s:g} s: {expected}"
        sleep(pause_s)
    return value


class MarkedEnvironment:
    """Environment variables with a unique mark, by which all processes that inherit them are found."""

    def __init__(self, **more: str) -> None:
        self.mark = uuid.uuid4().hex
        self.environment = {**os.environ, MARK_VARIABLE: self.mark, **more}
        for name in ("NO_COLOR", "COLUMNS", "LINES", "TMUX", "TMUX_PANE"):
            self.environment.pop(name, None)

    def processes(self) -> dict[int, str]:
        """Process id and command line of each living process with the mark."""
        found = {}
        variable = f"{MARK_VARIABLE}={self.mark}".encode()
        for folder in Path("/proc").iterdir():
            with suppress(OSError):
                if folder.name.isdigit() and variable in (folder / "environ").read_bytes().split(b"\0"):
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found[int(folder.name)] = command.strip()
        return found

    def pids(self, text: str) -> list[int]:
        """Ids of the processes whose command line contains a text."""
        return [pid for pid, command in self.processes().items() if text in command]

    def assert_no_process_left(self) -> None:
        """Fails unless all processes end within 60 s: the kernel needs a moment to end a killed process."""
        deadline_s = monotonic() + 60.0
        while left := self.processes():
            assert monotonic() < deadline_s, f"processes left: {left}"
            sleep(0.05)

    def kill_remaining(self) -> None:
        """Kill all processes that a failed test left."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Run:
    """One `capexplorer run` process, with its output, its session and its processes."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, sessions: Path, marked: MarkedEnvironment) -> None:
        self.process, self.folder, self.sessions, self.marked = process, folder, sessions, marked

    @property
    def stdout(self) -> str:
        return (self.folder / "stdout").read_bytes().decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_bytes().decode("utf-8", "replace")

    @property
    def errors(self) -> list[str]:
        """The lines of stderr, without lines of progress."""
        return [line for line in self.stderr.splitlines() if line.startswith("capexplorer: ")]

    def exit_code(self) -> int:
        """Wait until the run has ended; fails if it leaves a process."""
        code = self.process.wait(TIMEOUT_S)
        self.marked.assert_no_process_left()
        return code

    def events(self) -> list[Event]:
        """The events of its session that are written so far."""
        return events_in(self.sessions)

    def wait_for_events(self, kind: type[E], condition: Callable[[E], object] = lambda event: True, count: int = 1) -> list[E]:
        """The events of a kind that meet a condition, as soon as there are `count`; fails if the run ends before."""

        def enough_events() -> list[E]:
            assert self.process.poll() is None, f"the run ended with exit code {self.process.returncode}: {self.stderr}"
            found = [event for event in events_of(self.events(), kind) if condition(event)]
            return found if len(found) >= count else []

        return wait_until(enough_events, f"{count} x {kind.__name__} in the session")

    def target_pid(self) -> int:
        """The process id of the target; waits until it is ready."""
        ready = self.wait_for_events(Target, lambda event: event.state == "ready")
        assert ready[-1].pid is not None
        return ready[-1].pid


@contextmanager
def started_run(
    folder: Path,
    *args: str,
    cwd: Path = E2E_FOLDER,
    before: Sequence[str] = (),
    program: str = PROGRAM,
    sessions: Path | None = None,
) -> Iterator[Run]:
    """A process `capexplorer run ARGS` with its output and its session in `folder`; it is killed at the end if it still runs.

    `before`: words of a command that runs it, such as `env NAME=VALUE`.
    """
    sessions, marked = sessions or folder / "sessions", MarkedEnvironment()
    command = [*before, program, "run", "--sessions-dir", str(sessions), *args]
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            command, cwd=cwd, env=marked.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
    try:
        yield Run(process, folder, sessions, marked)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        marked.kill_remaining()


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


def run_command(*args: str, cwd: Path = E2E_FOLDER, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run `capexplorer ARGS` in a new process; `before`: words of a command that runs it."""
    return subprocess.run(
        [*before, PROGRAM, *args], cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL
    )


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


def session_path(sessions: Path) -> Path | None:
    """The log in a folder, which must be the only one; None if there is none yet."""
    paths = sorted(sessions.glob("*.jsonl"))
    assert len(paths) <= 1, paths
    return paths[0] if paths else None


def events_in(sessions: Path) -> list[Event]:
    """All events that are written so far to the log in a folder."""
    path = session_path(sessions)
    if path is None:
        return []
    return list(_parsed_log(path, path.stat().st_size))


@lru_cache(maxsize=1)
def _parsed_log(path: Path, size_bytes: int) -> tuple[Event, ...]:
    """Cached until the log has grown, which it does once a second: tests that wait ask 20 times a second."""
    try:
        with open_session(path) as log:
            return tuple(log)
    except SessionError:  # its header is not written yet
        return ()


def events_of(events: Sequence[Event], kind: type[E]) -> list[E]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def target_states(events: Sequence[Event]) -> list[str]:
    """The states of the target in their order, without reports of a slow start, which a busy machine may add."""
    return [each.state for each in events_of(events, Target) if not (each.state == "starting" and each.reason)]


@contextmanager
def actor_service(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A service that runs without having been started by capexplorer."""
    program = E2E_FOLDER / "targets" / "actor" / "actor.py"
    process = subprocess.Popen([sys.executable, str(program), str(port), "serves"], stdout=subprocess.DEVNULL)
    try:
        from capexplorer.target.ready import answer

        def answers() -> bool:
            with suppress(OSError):
                return answer(port, "/health", timeout_s=2.0).status == 200
            return False

        wait_until(answers, "the service answers")
        yield process
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)
