"""The supervisor: a process of its own that starts the target, watches it, and ends it when the app is gone, however the app
ended.

The app is threaded and patched by gevent, so it must not fork; this process is single-threaded, started before all that, and
stays small: the standard library only, no threads, no modules of capexplorer except those of the same kind. It lives in its own
session, so that the terminal's signals never reach it, below a watcher that ends what is left when this process is killed
(`watcher.py`).

JSON lines. Commands on descriptor 0:
    {"do": "start", "run", "argv", "env" (added to ours), "cwd", "limits", "grace_s"}   ends what ran before it, first
    {"do": "stop", "grace_s"}                                                 SIGTERM to the group, SIGKILL after the grace
    {"do": "start_beside", "run", ...}, {"do": "stop_beside", "run", "grace_s"}         any number of them beside the target
    end of file                                                               stop, then exit
Reports on descriptor 1:
    {"type": "started", "run", "pid"}
    {"type": "output", "run", "lines", "dropped"}
    {"type": "exited", "run", "code", "signal", "stopped", "reason"}          when the last process below us is gone
There is one target at a time: whatever runs below this process is the target's, but for the sessions of processes beside it
(load generators), each of which is a run of its own.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar

from capexplorer.target import child
from capexplorer.target.output_lines import OutputLines
from capexplorer.target.process_tree import adopt_orphans, any_left, session_of, signal_all, signal_group
from capexplorer.target.watcher import fork_supervisor

GRACE_WITHOUT_APP_S = 2.0
"""How long a target may take to end in order when the app is gone."""

_CHUNK_BYTES = 65_536
"""A pipe's default capacity on Linux."""

_UNREAD_REPORTS_BYTES = 1_000_000
"""When the app has left this much unread, output waits (and, past its own bound, is dropped and counted)."""

_POLL_WHILE_ENDING_S = 0.02
_POLL_OUTPUT_S = 0.05


def main() -> None:
    """Serve until the command pipe ends, SIGTERM comes or the watcher is gone; leave nothing behind."""
    watcher = fork_supervisor()
    adopt_orphans()
    wake = _wake_on_signals()
    supervision = _Supervision(commands=0, reports=1, wake=wake, watcher=watcher)
    try:
        supervision.serve()
    finally:
        supervision.kill()


def _wake_on_signals() -> int:
    """A descriptor that becomes readable at each signal. Handlers, not SIG_IGN: that would be inherited by the target."""
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    return readable


class _Supervision:
    """The loop: commands in, reports out, one target at a time and what runs beside it."""

    def __init__(self, *, commands: int, reports: int, wake: int, watcher: int | None) -> None:
        os.set_blocking(commands, False)
        self._commands = commands
        self._partial_command = b""
        self._reports = _Reports(reports)
        self._wake = wake
        self._selector = selectors.DefaultSelector()
        self._selector.register(commands, selectors.EVENT_READ, self._read_commands)
        self._selector.register(wake, selectors.EVENT_READ, self._read_signals)
        if watcher is not None:
            self._selector.register(watcher, selectors.EVENT_READ, lambda: self._lost_watcher(watcher))
        self._run: _Run | None = None
        self._next: dict[str, Any] | None = None
        self._beside: dict[int, _BesideRun] = {}
        """By the number of the run."""
        self._leaving = False

    @property
    def _runs(self) -> list[_Run]:
        return [*([self._run] if self._run else []), *self._beside.values()]

    def serve(self) -> None:
        while self._runs or not self._leaving:
            for key, _ in self._selector.select(self._patience_s()):
                key.data()
            self._reap()
            self._advance()
            self._reports.flush()
        self._reports.flush()

    def kill(self) -> None:
        for run in self._runs:
            run.signal_all(signal.SIGKILL)

    def _patience_s(self) -> float | None:
        if any(run.ending for run in self._runs):
            return _POLL_WHILE_ENDING_S
        if self._reports.unread or any(run.lines.waiting for run in self._runs):
            return _POLL_OUTPUT_S
        return None

    def _read_commands(self) -> None:
        chunk = os.read(self._commands, _CHUNK_BYTES)
        if not chunk:
            self._selector.unregister(self._commands)
            self._leave()
        *lines, self._partial_command = (self._partial_command + chunk).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))

    def _read_signals(self) -> None:
        if signal.SIGTERM in os.read(self._wake, _CHUNK_BYTES):
            self._leave()

    def _lost_watcher(self, watcher: int) -> None:
        self._selector.unregister(watcher)
        self._leave()

    def _obey(self, command: dict[str, Any]) -> None:
        match command["do"]:
            case "start":
                self._end_target(command["grace_s"])
                self._next = command
            case "stop":
                self._end_target(command["grace_s"])
            case "start_beside":
                beside = self._started(command, _BesideRun)
                if beside is not None:
                    self._beside[beside.number] = beside
            case "stop_beside" if command["run"] in self._beside:
                self._beside[command["run"]].stop(command["grace_s"])

    def _leave(self) -> None:
        self._leaving = True
        self._end_target(GRACE_WITHOUT_APP_S)
        for beside in self._beside.values():
            beside.stop(GRACE_WITHOUT_APP_S)

    def _end_target(self, grace_s: float) -> None:
        if self._run:
            self._run.stop(grace_s)
        if self._next:  # it still waits for the run before it
            number = self._next["run"]
            self._reports.send({"type": "exited", "run": number, "stopped": True, "reason": "stopped before it began"})
            self._next = None

    def _reap(self) -> None:
        """Of all children: those that were adopted, too."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                for run in self._runs:
                    if ended[0] == run.pid:
                        run.root_ended(os.waitstatus_to_exitcode(ended[1]))

    def _advance(self) -> None:
        groups = [beside.pid for beside in self._beside.values()]
        for run in self._runs:
            self._pass_on_output(run)
            if run.is_over(groups):
                self._close_run(run)
        if self._next and not self._run:
            command, self._next = self._next, None
            self._run = self._started(command, _Run)

    def _started(self, command: dict[str, Any], kind: type[R]) -> R | None:
        number = command["run"]
        try:
            run = kind(number, command["argv"], command["env"], command["cwd"], command["limits"])
        except (OSError, subprocess.SubprocessError) as error:
            reason = f"cannot run {command['argv'][0]}: {_why(error, command['limits'])}"
            self._reports.send({"type": "exited", "run": number, "reason": reason})
            return None
        self._selector.register(run.output, selectors.EVENT_READ, lambda: self._read_output(run))
        self._reports.send({"type": "started", "run": number, "pid": run.pid})
        return run

    def _read_output(self, run: _Run) -> None:
        if not run.read_output():
            self._selector.unregister(run.output)  # it closed its output, and lives on

    def _pass_on_output(self, run: _Run) -> None:
        if not self._reports.full and (taken := run.lines.take(monotonic())):
            self._report_output(run, *taken)

    def _report_output(self, run: _Run, lines: list[str], dropped: int) -> None:
        if lines or dropped:
            self._reports.send({"type": "output", "run": run.number, "lines": lines, "dropped": dropped})

    def _close_run(self, run: _Run) -> None:
        with suppress(KeyError):
            self._selector.unregister(run.output)
        self._report_output(run, *run.close())
        self._reports.send({"type": "exited", "run": run.number, "stopped": run.stopped, **run.how_it_ended()})
        if run is self._run:
            self._run = None
        else:
            del self._beside[run.number]


class _Run:
    """One target, from its start to the end of its last descendant."""

    def __init__(self, number: int, argv: list[str], env: dict[str, str], cwd: str, limits: dict[str, Any]) -> None:
        self.number = number
        self.lines = OutputLines()
        self.stopped = False
        """We asked it to end."""
        self._process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=child.prepare(limits),  # safe: this process has one thread
        )
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self.output = self._process.stdout.fileno()
        os.set_blocking(self.output, False)
        self._code: int | None = None
        self._kill_at_s = float("inf")
        self._leftovers_asked = False

    @property
    def ending(self) -> bool:
        return self.stopped or self._code is not None

    def stop(self, grace_s: float) -> None:
        """Signal once; a later call may only shorten the grace period."""
        self._kill_at_s = min(self._kill_at_s, monotonic() + grace_s)
        if not self.ending:
            self.stopped = True
            signal_group(self.pid, signal.SIGTERM)

    def root_ended(self, code: int) -> None:
        self._code = self._process.returncode = code

    def is_over(self, groups: list[int]) -> bool:
        """Whether all its processes are gone. Kills them when their grace period has ended, and at once after a crash.

        `groups`: of what runs beside the target.
        """
        if self._code is not None and not self.any_left(groups):
            return True
        crashed = self._code is not None and not self.stopped
        if crashed or monotonic() >= self._kill_at_s:
            self.signal_all(signal.SIGKILL, groups)
        elif self._code is not None and not self._leftovers_asked:
            self._leftovers_asked = True
            self.signal_all(signal.SIGTERM, groups)
        return False

    def any_left(self, groups: list[int]) -> bool:
        return any_left(self.pid, groups)

    def signal_all(self, number: int, groups: Iterable[int] = ()) -> None:
        signal_all(self.pid, number, groups)

    def read_output(self) -> bool:
        """Take one chunk; False at its end."""
        try:
            chunk = os.read(self.output, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        self.lines.feed(chunk)
        return bool(chunk)

    def close(self) -> tuple[list[str], int]:
        """The last of its output. All writers are gone, so at most a pipe's worth waits."""
        assert self._process.stdout is not None
        with suppress(BlockingIOError):
            while chunk := os.read(self.output, _CHUNK_BYTES):
                self.lines.feed(chunk)
        self._process.stdout.close()
        return self.lines.finish()

    def how_it_ended(self) -> dict[str, Any]:
        code = self._code
        if code is not None and code < 0:
            return {"signal": signal.Signals(-code).name}
        return {"code": code}


class _BesideRun(_Run):
    """One process beside the target, with all of its session. What left that session is ended with the supervisor."""

    def any_left(self, groups: list[int]) -> bool:
        return bool(session_of(self.pid)) if sys.platform == "linux" else super().any_left(groups)

    def signal_all(self, number: int, groups: Iterable[int] = ()) -> None:
        signal_group(self.pid, number)
        for pid in session_of(self.pid) if sys.platform == "linux" else ():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


R = TypeVar("R", bound=_Run)


def _why(error: OSError | subprocess.SubprocessError, limits: dict[str, Any]) -> str:
    """A SubprocessError says only that `preexec_fn` failed: the kernel refused a limit."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"the kernel refuses its limits ({child.described(limits)})"


class _Reports:
    """The pipe to the app. Writing never blocks, and a reader that is gone is no error: the command pipe tells that."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._bytes = bytearray()

    @property
    def unread(self) -> bool:
        return bool(self._bytes)

    @property
    def full(self) -> bool:
        return len(self._bytes) > _UNREAD_REPORTS_BYTES

    def send(self, report: dict[str, Any]) -> None:
        self._bytes += json.dumps(report).encode() + b"\n"

    def flush(self) -> None:
        try:
            while self._bytes:
                del self._bytes[: os.write(self._descriptor, self._bytes)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._bytes.clear()


if __name__ == "__main__":
    main()
