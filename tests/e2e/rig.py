"""The real program as a user runs it: started, watched, signalled, ended by pid. Only helps the tests beside it.

Every process that comes of it inherits a mark in its environment, so that one left behind is found whoever its parent is by then.
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
from capexplorer.model.events import Event, Target
from capexplorer.session.reader import open_session

HERE = Path(__file__).resolve().parent
"""Started from here, the program finds this folder's targets/ and profiles/ first."""

ROOT = HERE.parents[1]
PROGRAM = str(Path(sys.executable).with_name("capexplorer"))
TIMEOUT_S = 120.0
MARK = "CAPEXPLORER_E2E"

T = TypeVar("T")
E = TypeVar("E", bound=Event)


def until(look: Callable[[], T], what: str, wait_most_s: float = TIMEOUT_S, pause_s: float = 0.05) -> T:
    """The first truthy value of `look`, which is called again after each pause."""
    deadline_s = monotonic() + wait_most_s
    while not (found := look()):
        assert monotonic() < deadline_s, f"not seen in {wait_most_s:g} s: {what}"
        sleep(pause_s)
    return found


class Marked:
    """An environment whose processes can be found again."""

    def __init__(self, **more: str) -> None:
        self.mark = uuid.uuid4().hex
        self.environment = {**os.environ, MARK: self.mark, **more}
        for name in ("NO_COLOR", "COLUMNS", "LINES", "TMUX", "TMUX_PANE"):
            self.environment.pop(name, None)

    def processes(self) -> dict[int, str]:
        """pid and command line of those alive."""
        found = {}
        wanted = f"{MARK}={self.mark}".encode()
        for folder in Path("/proc").iterdir():
            with suppress(OSError):
                if folder.name.isdigit() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found[int(folder.name)] = command.strip()
        return found

    def pids(self, part: str) -> list[int]:
        """Of those whose command line holds `part`."""
        return [pid for pid, command in self.processes().items() if part in command]

    def assert_gone(self) -> None:
        """Waits a little: who was killed takes a moment."""
        until(lambda: not self.processes(), f"no process left, but {self.processes()}", 60.0)

    def kill_rest(self) -> None:
        """What a failed test left."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Run:
    """One `capexplorer` with its stdout and stderr in files, and its session."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, sessions: Path, marked: Marked) -> None:
        self.process, self.folder, self.sessions, self.marked = process, folder, sessions, marked

    @property
    def stdout(self) -> str:
        return (self.folder / "stdout").read_bytes().decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_bytes().decode("utf-8", "replace")

    def exit_code(self) -> int:
        """Wait for its end; nothing may be left of it."""
        code = self.process.wait(TIMEOUT_S)
        self.marked.assert_gone()
        return code

    def events(self) -> list[Event]:
        """Of its session, as far as it is written."""
        return events_in(self.sessions)

    def until(self, kind: type[E], condition: Callable[[E], object] = lambda event: True, count: int = 1) -> list[E]:
        """The events of a kind, once there are `count` that fulfil the condition."""

        def look() -> list[E]:
            assert self.process.poll() is None, f"it ended with {self.process.returncode}: {self.stderr}"
            found = [event for event in of(self.events(), kind) if condition(event)]
            return found if len(found) >= count else []

        return until(look, f"{count} x {kind.__name__} in the session")

    def target_pid(self) -> int:
        """Of the target, when it is ready."""
        ready = self.until(Target, lambda event: event.state == "ready")
        assert ready[-1].pid is not None
        return ready[-1].pid


@contextmanager
def start(
    folder: Path, *args: str, cwd: Path = HERE, before: Sequence[str] = (), program: str = PROGRAM, sessions: Path | None = None
) -> Iterator[Run]:
    """Start `capexplorer run ARGS`, after the words `before`, with its files in `folder`; killed at the end at the latest."""
    sessions, marked = sessions or folder / "sessions", Marked()
    command = [*before, program, "run", *args, "--sessions-dir", str(sessions)]
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
        marked.kill_rest()


def ended(folder: Path, *args: str, cwd: Path = HERE, before: Sequence[str] = ()) -> tuple[Run, int]:
    """A run from start to its own end, and its exit code."""
    with start(folder, *args, cwd=cwd, before=before) as run:
        return run, run.exit_code()


def capexplorer(*args: str, cwd: Path = HERE, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Any command that ends by itself soon."""
    return subprocess.run(
        [*before, PROGRAM, *args], cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL
    )


def answer(*args: str, cwd: Path = HERE) -> subprocess.CompletedProcess[str]:
    """The same in this process, which takes no start: of a command that neither loads the load generator nor needs a terminal."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))  # exports write bytes
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        code = cli.run(list(args))
    written = (stream.buffer.getvalue().decode() for stream in (out, err))
    return subprocess.CompletedProcess(args, code, *written)


def export(sessions: Path) -> dict[str, Any]:
    """The last session's JSON, in this process: a fresh one takes half a second of CPU to start."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "session.json"
        assert cli.run(["export", "last", "--format", "json", "-o", str(made), "--sessions-dir", str(sessions)]) == 0
        found: dict[str, Any] = json.loads(made.read_bytes())
    return found


def session_path(sessions: Path) -> Path | None:
    """The one log in a folder."""
    paths = sorted(sessions.glob("*.jsonl"))
    assert len(paths) <= 1, paths
    return paths[0] if paths else None


def events_in(sessions: Path) -> list[Event]:
    """All that the log in this folder holds so far."""
    path = session_path(sessions)
    if path is None:
        return []
    return list(_events_of(path, path.stat().st_size))


@lru_cache(maxsize=1)
def _events_of(path: Path, size_bytes: int) -> tuple[Event, ...]:
    """The log is parsed again only when it has grown, at most once a second; waiting tests ask 20 times a second."""
    try:
        with open_session(path) as log:
            return tuple(log)
    except SessionError:  # its header is not there yet
        return ()


def of(events: Sequence[Event], kind: type[E]) -> list[E]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


@contextmanager
def actor_service(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A service that already runs, and that capexplorer did not start."""
    program = HERE / "targets" / "actor" / "actor.py"
    process = subprocess.Popen([sys.executable, str(program), str(port), "serves"], stdout=subprocess.DEVNULL)
    try:
        from capexplorer.target.ready import get_status

        def answers() -> bool:
            with suppress(OSError):
                return get_status(port, "/health", timeout_s=2.0) == 200
            return False

        until(answers, "the service answers")
        yield process
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)
