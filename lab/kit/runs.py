"""Starts the real program as a user does, reads its output and its session, and finds all of its processes.

Every process of a run inherits a mark in its environment, so that a process left behind is found whatever its parent is.
"""

from __future__ import annotations

import math
import os
import signal
import statistics
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

from capexplorer.errors import SessionError
from capexplorer.model.events import Event, LevelClosed, Mark, Sample, Target
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.timeline import Timeline
from capexplorer.report.summary import summarise
from capexplorer.session.reader import open_session

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "lab"
"""As the working folder of a run: the program finds lab/targets before its own targets."""
PROGRAM = str(Path(sys.executable).with_name("capexplorer"))
TIMEOUT_S = 120.0
MARK_VARIABLE = "CAPEXPLORER_E2E"

T = TypeVar("T")
E = TypeVar("E", bound=Event)


def wait_until(condition: Callable[[], T], expected: str, timeout_s: float = TIMEOUT_S, pause_s: float = 0.05) -> T:
    """The first truthy value of `condition`, called again after each pause. `expected`: a noun for the failure message. Raises
    AssertionError after `timeout_s`."""
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
        return [pid for pid, command in self.processes().items() if text in command]

    def assert_no_process_left(self) -> None:
        """Fails unless all processes end within 60 s: the kernel needs a moment to end a killed process."""
        deadline_s = monotonic() + 60.0
        while left := self.processes():
            assert monotonic() < deadline_s, f"processes left: {left}"
            sleep(0.05)

    def kill_remaining(self) -> None:
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
        return [line for line in self.stderr.splitlines() if line.startswith("capexplorer: ")]

    def exit_code(self) -> int:
        """Wait until the run has ended; fails if it leaves a process."""
        code = self.process.wait(TIMEOUT_S)
        self.marked.assert_no_process_left()
        return code

    def events(self) -> list[Event]:
        return events_in(self.sessions)

    def wait_for_events(self, kind: type[E], condition: Callable[[E], object] = lambda event: True, count: int = 1) -> list[E]:
        """The events of a kind that meet a condition, as soon as there are `count`; fails if the run ends before."""

        def enough_events() -> list[E]:
            assert self.process.poll() is None, f"the run ended with exit code {self.process.returncode}: {self.stderr}"
            found = [event for event in events_of(self.events(), kind) if condition(event)]
            return found if len(found) >= count else []

        return wait_until(enough_events, f"{count} x {kind.__name__} in the session")

    def target_pid(self) -> int:
        ready = self.wait_for_events(Target, lambda event: event.state == "ready")
        assert ready[-1].pid is not None
        return ready[-1].pid


@contextmanager
def started_run(
    folder: Path,
    *args: str,
    cwd: Path = ROOT,
    before: Sequence[str] = (),
    program: str = PROGRAM,
    subcommand: str = "run",
    sessions: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Run]:
    """A process `capexplorer run ARGS` with its output and its session in `folder`; it is killed at the end if it still runs.

    `subcommand`: another one than `run`. `before`: words of a command that runs it, such as `taskset -c 0`. `environment`:
    further variables.
    """
    sessions, marked = sessions or folder / "sessions", MarkedEnvironment(**(environment or {}))
    command = [*before, program, subcommand, "--sessions-dir", str(sessions), *args]
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


def run_command(*args: str, cwd: Path = ROOT, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run `capexplorer ARGS` in a new process; `before`: words of a command that runs it."""
    return subprocess.run(
        [*before, PROGRAM, *args], cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL
    )


@dataclass(frozen=True)
class Ran:
    """The session of a run that has ended."""

    events: tuple[Event, ...]
    exit_code: int | None = 0
    """None: it was ended because it took too long."""
    stderr: str = ""
    path: Path = Path()

    @classmethod
    def of(cls, sessions: Path, exit_code: int | None = 0, stderr: str = "") -> Ran:
        """The session in a folder, which must be the only one. Raises RuntimeError without one."""
        path = session_path(sessions)
        if path is None:
            raise RuntimeError(f"no session in {sessions}: {stderr}")
        with open_session(path) as log:
            return cls(tuple(log), exit_code, stderr, path)

    @cached_property
    def timeline(self) -> Timeline:
        return Timeline(self.events)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `export --format json` prints."""
        return summarise(self.timeline)

    @cached_property
    def samples(self) -> list[Sample]:
        return events_of(self.events, Sample)

    @property
    def marks(self) -> list[Mark]:
        """Every revision, in order; the timeline has only the current ones."""
        return events_of(self.events, Mark)

    @property
    def knee(self) -> dict[str, Any] | None:
        """The current knee at the end."""
        return next((each for each in reversed(self.summary["knees"]) if each["kind"] == "knee"), None)

    @property
    def stolen_cores(self) -> float:
        """The most CPU, in cores, that the hypervisor gave to other machines during a level."""
        read = (each.figures.readings.get("host.steal_ratio") for each in self.timeline.levels)
        return max((value for value in read if value is not None), default=0.0)

    def median(self, column: str) -> float | None:
        """Median of a column over the settled seconds that have a value; None: no second has one."""
        columns = self.timeline.columns
        values = [value for value, settled in zip(columns[column], columns["settled"], strict=True) if settled]
        known = [value for value in values if not math.isnan(value)]
        return statistics.median(known) if known else None

    @property
    def settled(self) -> list[Sample]:
        return [sample for sample in self.samples if sample.settled]

    def rate_rps(self) -> float:
        requests = sum(tick.requests for sample in self.settled for tick in sample.endpoints)
        return requests / sum(sample.duration_s for sample in self.settled)

    def latency(self) -> LatencyHistogram:
        """Latencies of all levels and endpoints."""
        merged = LatencyHistogram()
        for level in events_of(self.events, LevelClosed):
            for endpoint in level.endpoints:
                if endpoint.latency:
                    merged.add(LatencyHistogram.decode(endpoint.latency))
        return merged


def headless(
    folder: Path,
    *args: str,
    timeout_s: float,
    cwd: Path = ROOT,
    before: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Ran:
    """`capexplorer run ARGS --headless` to its end, with its files in `folder`; after `timeout_s` it gets SIGINT. Raises
    RuntimeError if there is no session."""
    folder.mkdir(parents=True, exist_ok=True)
    with started_run(folder, *args, "--headless", cwd=cwd, before=before, environment=environment) as run:
        code: int | None = None
        try:
            code = run.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            run.process.send_signal(signal.SIGINT)
            run.process.wait(60)
    return Ran.of(run.sessions, code, run.stderr)


def session_path(sessions: Path) -> Path | None:
    """The log in a folder, which must be the only one; None if there is none yet."""
    paths = sorted(sessions.glob("*.jsonl"))
    assert len(paths) <= 1, paths
    return paths[0] if paths else None


def events_in(sessions: Path) -> list[Event]:
    """All events that are written so far to the log in a folder."""
    path = session_path(sessions)
    return [] if path is None else list(_parsed_log(path, path.stat().st_size))


@lru_cache(maxsize=1)
def _parsed_log(path: Path, size_bytes: int) -> tuple[Event, ...]:
    """Cached until the log has grown, which it does once a second: tests that wait ask 20 times a second."""
    try:
        with open_session(path) as log:
            return tuple(log)
    except SessionError:  # its header is not written yet
        return ()


def events_of(events: Sequence[Event], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]
