"""The supervisor: a process of its own that starts the target, watches it, and ends it when the app is gone, however the app
ended.

The app has threads and is patched by gevent, so it must not fork. This process is started before that and has one thread; it uses
only the standard library, and those modules of capexplorer that keep to the same rule. It has a session of its own, so that the
terminal's signals do not reach it. Its parent is a watcher, which ends what is left if this process is killed (`watcher.py`).

Messages are JSON lines. Commands on descriptor 0:
    {"do": "start", "run", "argv", "env" (added to ours), "cwd", "limits", "grace_s", "least_grace_s"}
                                                  stops the target that runs, first; no later grace period is below least_grace_s
    {"do": "stop", "grace_s"}                     SIGTERM to the group, SIGKILL after the grace
    {"do": "start_auxiliary", "run", ...}         starts an auxiliary process (a load generator); there may be many
    {"do": "stop_auxiliary", "run", "grace_s"}    SIGTERM to its session, SIGKILL after the grace
    end of file                                   stops all, then exits
Reports on descriptor 1:
    {"type": "started", "run", "pid"}
    {"type": "output", "run", "lines", "dropped"}
    {"type": "exited", "run", "code", "signal", "stopped", "reason"}     when the last process of the run has ended
There is one target at a time. All processes below this one belong to it, except the sessions of auxiliary processes, each
of which is a run of its own.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar

from capexplorer.target.process_tree import adopt_orphans
from capexplorer.target.report_pipe import ReportPipe
from capexplorer.target.supervised_run import CHUNK_BYTES, AuxiliaryRun, SupervisedRun, why_not_started
from capexplorer.target.watcher import fork_supervisor

R = TypeVar("R", bound=SupervisedRun)

GRACE_WITHOUT_APP_S = 2.0
"""How long a target may take to end in order when the app is gone."""

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
    """The loop: commands in, reports out, one target at a time and the auxiliary processes."""

    def __init__(self, *, commands: int, reports: int, wake: int, watcher: int | None) -> None:
        os.set_blocking(commands, False)
        self._commands = commands
        self._partial_command = b""
        self._reports = ReportPipe(reports)
        self._wake = wake
        self._selector = selectors.DefaultSelector()
        self._selector.register(commands, selectors.EVENT_READ, self._read_commands)
        self._selector.register(wake, selectors.EVENT_READ, self._read_signals)
        if watcher is not None:
            self._selector.register(watcher, selectors.EVENT_READ, lambda: self._lost_watcher(watcher))
        self._run: SupervisedRun | None = None
        self._next: dict[str, Any] | None = None
        self._auxiliary: dict[int, AuxiliaryRun] = {}
        """By the number of the run."""
        self._shutting_down = False

    @property
    def _runs(self) -> list[SupervisedRun]:
        return [*([self._run] if self._run else []), *self._auxiliary.values()]

    def serve(self) -> None:
        while self._runs or not self._shutting_down:
            for key, _ in self._selector.select(self._wait_at_most_s()):
                key.data()
            self._reap()
            self._advance()
            self._reports.flush()
        self._reports.flush()

    def kill(self) -> None:
        for run in self._runs:
            run.signal_all(signal.SIGKILL)

    def _wait_at_most_s(self) -> float | None:
        if any(run.ending for run in self._runs):
            return _POLL_WHILE_ENDING_S
        if self._reports.unread or any(run.lines.has_lines for run in self._runs):
            return _POLL_OUTPUT_S
        return None

    def _read_commands(self) -> None:
        chunk = os.read(self._commands, CHUNK_BYTES)
        if not chunk:
            self._selector.unregister(self._commands)
            self._shut_down()
        *lines, self._partial_command = (self._partial_command + chunk).split(b"\n")
        for line in lines:
            self._execute(json.loads(line))

    def _read_signals(self) -> None:
        if signal.SIGTERM in os.read(self._wake, CHUNK_BYTES):
            self._shut_down()

    def _lost_watcher(self, watcher: int) -> None:
        self._selector.unregister(watcher)
        self._shut_down()

    def _execute(self, command: dict[str, Any]) -> None:
        match command["do"]:
            case "start":
                self._end_target(command["grace_s"])
                self._next = command
            case "stop":
                self._end_target(command["grace_s"])
            case "start_auxiliary":
                auxiliary = self._started(command, AuxiliaryRun)
                if auxiliary is not None:
                    self._auxiliary[auxiliary.number] = auxiliary
            case "stop_auxiliary" if command["run"] in self._auxiliary:
                self._auxiliary[command["run"]].stop(command["grace_s"])

    def _shut_down(self) -> None:
        self._shutting_down = True
        self._end_target(GRACE_WITHOUT_APP_S)
        for auxiliary in self._auxiliary.values():
            auxiliary.stop(GRACE_WITHOUT_APP_S)

    def _end_target(self, grace_s: float) -> None:
        if self._run:
            self._run.stop(grace_s)
        if self._next:  # it waits for the run before it to end
            number = self._next["run"]
            self._reports.send({"type": "exited", "run": number, "stopped": True, "reason": "stopped before it began"})
            self._next = None

    def _reap(self) -> None:
        """Reap all children, including adopted ones."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                for run in self._runs:
                    if ended[0] == run.pid:
                        run.root_ended(os.waitstatus_to_exitcode(ended[1]))

    def _advance(self) -> None:
        groups = [auxiliary.pid for auxiliary in self._auxiliary.values()]
        for run in self._runs:
            self._pass_on_output(run)
            if run.is_over(groups):
                self._close_run(run)
        if self._next and not self._run:
            command, self._next = self._next, None
            self._run = self._started(command, SupervisedRun)

    def _started(self, command: dict[str, Any], kind: type[R]) -> R | None:
        number = command["run"]
        try:
            run = kind(number, command["argv"], command["env"], command["cwd"], command["limits"])
            run.least_grace_s = command.get("least_grace_s", 0.0)
        except (OSError, subprocess.SubprocessError) as error:
            reason = f"cannot run {command['argv'][0]}: {why_not_started(error, command['limits'])}"
            self._reports.send({"type": "exited", "run": number, "reason": reason})
            return None
        self._selector.register(run.output, selectors.EVENT_READ, lambda: self._read_output(run))
        self._reports.send({"type": "started", "run": number, "pid": run.pid})
        return run

    def _read_output(self, run: SupervisedRun) -> None:
        if not run.read_output():
            self._selector.unregister(run.output)  # it closed its output, but has not ended

    def _pass_on_output(self, run: SupervisedRun) -> None:
        if not self._reports.full and (taken := run.lines.take(monotonic())):
            self._report_output(run, *taken)

    def _report_output(self, run: SupervisedRun, lines: list[str], dropped: int) -> None:
        if lines or dropped:
            self._reports.send({"type": "output", "run": run.number, "lines": lines, "dropped": dropped})

    def _close_run(self, run: SupervisedRun) -> None:
        with suppress(KeyError):
            self._selector.unregister(run.output)
        self._report_output(run, *run.close())
        self._reports.send({"type": "exited", "run": run.number, "stopped": run.stopped, **run.how_it_ended()})
        if run is self._run:
            self._run = None
        else:
            del self._auxiliary[run.number]


if __name__ == "__main__":
    main()
