"""The app's side of the supervisor process: commands out, reports in.

Must be imported, and `Supervisor.launch` called, before gevent patches anything: `close`, `sleep` and `waitpid` are kept here
as they were (gevent's `os.close` leaves a pipe open until its hub next turns, which in the main thread is never).
Creates no threads and takes no locks: the caller starts the reader's thread. Readiness is the task of `ready.py`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from os import close, waitpid
from time import monotonic, sleep
from typing import Any

import msgspec

from ..errors import TargetError
from ..model.controls import Param
from ..model.limits import AS_IT_IS, ProcessLimits
from ..procs import isolated
from ..procs.lines import lines_of, write_all
from ..procs.processes import RUN_VARIABLE
from .spec import TargetSpec


class Started(msgspec.Struct, frozen=True, tag_field="type", tag="started"):
    """The target's process runs; it may not be ready yet."""

    run: int
    """Number of the run, as `Supervisor.start` returned it."""
    pid: int
    """Process id of the target's first process, which leads its own session and process group."""


class Output(msgspec.Struct, frozen=True, tag_field="type", tag="output"):
    """The target printed, on stdout or stderr."""

    run: int
    lines: tuple[str, ...]
    dropped: int = 0
    """Number of lines dropped before these, since the target printed more than is recorded."""


class Exited(msgspec.Struct, frozen=True, tag_field="type", tag="exited"):
    """The target and all its descendants have ended, or it could not be started."""

    run: int
    code: int | None = None
    signal: str | None = None
    """Name of the signal that ended it, e.g. SIGKILL."""
    stopped: bool = False
    """Whether the app asked it to end; otherwise it ended by itself."""
    reason: str | None = None
    """Why it never ran, or why its end is unknown."""
    output: tuple[str, ...] = ()
    """Its last lines of output."""

    @property
    def last_line(self) -> str:
        """The last line that is not empty."""
        return next((line.strip() for line in reversed(self.output) if line.strip()), "")

    def how_it_ended(self) -> str:
        """`exit code 1`, `SIGKILL`, or the reason."""
        return self.reason or self.signal or f"exit code {self.code}"


Report = Started | Output | Exited


KEPT_LINES = 50
"""Last lines of output that are kept for error messages."""

GRACE_S = 5.0
_LAST_RESORT_S = 3.0
"""How long the supervisor may take beyond the target's grace period before it is killed itself."""

_LAST_RESORT = signal.SIGTERM if sys.platform == "linux" else signal.SIGKILL
"""The signal to the watcher, which then kills the supervisor and its descendants; on other systems to the supervisor itself."""


class Supervisor:
    """One supervisor process. It runs one target at a time, and ends it when this process ends, however that happens.

    Reports are added in one thread, and the state is read in any: each value that is published is replaced as a whole.
    """

    def __init__(self, process: subprocess.Popen[bytes], commands: int, reports: int) -> None:
        self._process = process
        self._commands: int | None = commands
        self._reports: int | None = reports
        self._listening = False
        self._run_numbers = count(1)
        """`next` is atomic: the target and the auxiliary processes are started by different threads."""
        self._target_run = 0
        self._least_grace_s = 0.0
        """The greatest `least_grace_s` of the targets so far."""
        self._started: Started | None = None
        """The running target's first process."""
        self.output: tuple[str, ...] = ()
        """The last lines of the target's current or last run."""
        self._exits: dict[int, Exited] = {}
        self._auxiliary: dict[int, Callable[[Report], None]] = {}
        """Callbacks for reports on auxiliary processes that have not exited, by run."""
        self._stderr_line = ""
        """What the supervisor process printed when it failed."""

    @classmethod
    def launch(cls) -> Supervisor:
        """Start the process; must be called before gevent is imported. Raises TargetError where it cannot run."""
        if sys.platform == "win32":
            raise TargetError("targets cannot be started on Windows: start the service yourself and use --host URL")
        command_reader, commands = os.pipe()
        reports, report_writer = os.pipe()
        try:
            process = subprocess.Popen(
                isolated.command("capexplorer.target.supervisor_process"),
                stdin=command_reader,
                stdout=report_writer,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            close(commands)
            close(reports)
            raise TargetError(f"the supervisor process could not be started: {error.strerror}") from None
        finally:
            close(command_reader)
            close(report_writer)
        return cls(process, commands, reports)

    def listen(self, start_thread: Callable[[Callable[[], None]], None], on_report: Callable[[Report], None]) -> None:
        """Start reading reports. `on_report` is called in the thread that `start_thread` starts (a native one); it must not
        raise."""
        assert self._reports is not None, "listen comes once, before close"
        self._listening, reports = True, self._reports
        start_thread(lambda: self._read(reports, on_report))

    @property
    def pid(self) -> int | None:
        """Process id of the running target's first process; None if no target runs."""
        return started.pid if (started := self._started) is not None else None

    def runs(self, run: int) -> bool:
        """Whether this run has started and not ended."""
        return (started := self._started) is not None and started.run == run

    def exited(self, run: int) -> Exited | None:
        """How a run of the target ended; None while it has not."""
        return self._exits.get(run)

    def start(
        self,
        spec: TargetSpec,
        params: Mapping[str, Param],
        port: int,
        limits: ProcessLimits = AS_IT_IS,
        *,
        grace_s: float = GRACE_S,
    ) -> int:
        """Start a target under its limits; one that runs is stopped first, so this restarts it.

        Returns at once, with the number of the run, which its reports have. Raises TargetError if the supervisor process is gone.
        """
        run = self._target_run = next(self._run_numbers)
        self._least_grace_s = max(self._least_grace_s, spec.least_grace_s)
        environment = {RUN_VARIABLE: f"{os.getpid()}.{run}", **spec.environment_for(params, port)}
        command = _command(spec.command_line(params, port), environment, str(spec.folder), limits)
        self._send_start("start", run, command | {"grace_s": grace_s, "least_grace_s": spec.least_grace_s})
        return run

    def start_auxiliary(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        on_report: Callable[[Report], None],
        limits: ProcessLimits = AS_IT_IS,
    ) -> int:
        """Start an auxiliary process, such as a load generator, in the working folder.

        Like the target it is ended when this process ends.

        Returns at once, with the number of the run. Its reports go to `on_report` alone, in the thread of `listen`. Raises
        TargetError if the supervisor process is gone.
        """
        run = next(self._run_numbers)
        self._auxiliary[run] = on_report
        self._send_start("start_auxiliary", run, _command(argv, environment, os.getcwd(), limits))
        return run

    def _send_start(self, do: str, run: int, command: Mapping[str, Any]) -> None:
        if not self._send({"do": do, "run": run, **command}):
            raise TargetError(f"the supervisor process is gone{self._stderr_line}; restart capexplorer", self.output)

    def stop_auxiliary(self, run: int, grace_s: float = GRACE_S) -> None:
        """SIGTERM to an auxiliary process, SIGKILL to its session after the grace. Returns at once; `Exited` follows."""
        self._send({"do": "stop_auxiliary", "run": run, "grace_s": grace_s})

    def stop(self, grace_s: float = GRACE_S) -> None:
        """SIGTERM to the target's group, SIGKILL to all of it after the grace. Returns at once; `Exited` follows."""
        self._send({"do": "stop", "grace_s": grace_s})

    def close(self, grace_s: float = GRACE_S) -> None:
        """Stop the target and end the supervisor. Returns when both have ended and all is reported; may be called twice."""
        if self._commands is None:
            return
        self.stop(grace_s)
        commands, self._commands = self._commands, None
        close(commands)
        if not self._ends_within(max(grace_s, self._least_grace_s) + _LAST_RESORT_S):
            self._kill()
            self._ends_within(_LAST_RESORT_S)
        if self._reports is not None and not self._listening:
            close(self._reports)
            self._reports = None

    def _send(self, command: dict[str, Any]) -> bool:
        if self._commands is None:
            return False
        try:
            write_all(self._commands, json.dumps(command).encode() + b"\n")
        except BrokenPipeError:
            return False
        return True

    def _read(self, reports: int, on_report: Callable[[Report], None]) -> None:
        decode = msgspec.json.Decoder[Report](Report).decode
        for line in lines_of(reports):
            try:
                report = decode(line)
            except msgspec.DecodeError:  # no report but its stderr: it has failed
                self._stderr_line = ": " + line.decode("utf-8", errors="replace")
            else:
                self._dispatch(report, on_report)
        ended = f"the supervisor process ended{self._stderr_line}"
        for run in tuple(self._auxiliary):
            self._dispatch(Exited(run, reason=ended), on_report)
        if self._target_run and not self.exited(self._target_run):
            self._kill_target()
            self._dispatch(Exited(self._target_run, reason=ended), on_report)
        close(reports)
        self._reports, self._listening = None, False

    def _dispatch(self, report: Report, on_report: Callable[[Report], None]) -> None:
        """Add a report on a run of any process; `on_report` gets those on the target, with the last output if it exited."""
        on_auxiliary_report = self._auxiliary.get(report.run)
        match report:
            case _ if on_auxiliary_report is not None:
                if isinstance(report, Exited):
                    del self._auxiliary[report.run]
            case Started():
                self._started, self.output = report, ()
            case Output():
                self.output = (*self.output, *report.lines)[-KEPT_LINES:]
            case Exited():
                if self.runs(report.run):
                    report = msgspec.structs.replace(report, output=self.output)
                    self._started = None
                self._exits[report.run] = report
        (on_auxiliary_report or on_report)(report)

    def _ends_within(self, seconds: float) -> bool:
        deadline = monotonic() + seconds
        while not (self._reaped() and not self._listening):
            if monotonic() > deadline:
                return False
            sleep(0.01)
        return True

    def _reaped(self) -> bool:
        if self._process.returncode is None:
            try:
                pid, status = waitpid(self._process.pid, os.WNOHANG)
            except ChildProcessError:  # gevent's loop has reaped it
                self._process.returncode = 0
            else:
                if pid:
                    self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode is not None

    def _kill(self) -> None:
        if not self._reaped():
            os.kill(self._process.pid, _LAST_RESORT)
        self._kill_target()

    def _kill_target(self) -> None:
        """Done here if the supervisor cannot do it any more."""
        if (pid := self.pid) is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)


def _command(argv: Sequence[str], environment: Mapping[str, str], folder: str, limits: ProcessLimits) -> dict[str, Any]:
    """What starts a process, with the limits that are set."""
    set_limits = {name: value for name, value in msgspec.structs.asdict(limits).items() if value is not None}
    return {"argv": argv, "env": {"PYTHONUNBUFFERED": "1", **environment}, "cwd": folder, "limits": set_limits}
