"""The supervisor: a process of its own that starts the target, watches it, and ends it when the app is gone, however the app
ended.

The app has threads and is patched by gevent, so it must not fork. This process is started before that and has one thread; it uses
only the standard library, and those modules of capexplorer that keep to the same rule. It has a session of its own, so that the
terminal's signals do not reach it. Its parent is a watcher, which ends what is left if this process is killed.

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
import resource
import selectors
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar

from capexplorer.procs.lines import PIECE_BYTES, LineSplitter, Unsent
from capexplorer.procs.signals import wake_on

from ..procs.processes import adopt_orphans, any_left, die_with_parent, members, session_of, signal_all, signal_group

# -- child ---------------------------------------------------------------------------------------------------------------------
# Setup of a target's first process between fork and exec: binds it to the supervisor, resets signals, applies its limits.
#
# For the supervisor process alone: standard library only, one thread. The target's descendants inherit all of this.


def prepare(limits: Mapping[str, Any]) -> Callable[[], None]:
    """`preexec_fn` of a target. `limits`: `host_checks` (soft and hard), `cpus`, each if set."""
    bind = die_with_parent()
    open_files, cpus = limits.get("open_files"), limits.get("cpus")

    def between_fork_and_exec() -> None:
        if bind:
            bind()
        _restore_signals()
        if open_files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
        if cpus is not None:
            os.sched_setaffinity(0, cpus)

    return between_fork_and_exec


def _restore_signals() -> None:
    """A shell may have started the app with signals ignored or blocked (`nohup`, a background job); the target gets the
    defaults."""
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def described(limits: Mapping[str, Any]) -> str:
    """The limits as text, for the error message of a start that they prevented."""
    return ", ".join(f"{name} = {value}" for name, value in limits.items())


# -- output lines --------------------------------------------------------------------------------------------------------------
# A target's raw output as lines, bounded in rate and in memory for any output.
#
# Pure: no descriptors, no clock. Lines are data from the target and are escaped where they are shown, not here.


LINES_PER_S = 200
"""More than a person reads; a traceback of 200 lines still comes through whole."""

LINE_BYTES = 2000
"""Longer lines are cut here."""


class OutputLines:
    """Turns chunks of output into at most `LINES_PER_S` lines per second. If there are more, the last ones are kept and the
    others counted.
    """

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=LINES_PER_S)
        self._splitter = LineSplitter(LINE_BYTES + 1)  # one more byte remembers that a line was too long
        self._dropped = 0
        self._window_started_s = float("-inf")
        self._taken_in_window = 0

    def feed(self, chunk: bytes) -> None:
        """Add output as it was read, in chunks of any length."""
        lines = self._splitter.add(chunk)
        self._dropped += max(0, len(self._lines) + len(lines) - LINES_PER_S)
        self._lines.extend(lines[-LINES_PER_S:])

    @property
    def has_lines(self) -> bool:
        """Whether there are lines to take, now or within a second."""
        return bool(self._lines)

    def take(self, now_s: float) -> tuple[list[str], int] | None:
        """(all waiting lines, number of lines dropped before them); None if there are none, or this second's lines are used
        up."""
        if now_s - self._window_started_s >= 1.0:
            self._window_started_s, self._taken_in_window = now_s, 0
        if not self._lines or self._taken_in_window + len(self._lines) > LINES_PER_S:
            return None
        self._taken_in_window += len(self._lines)
        return self._hand_over()

    def finish(self) -> tuple[list[str], int]:
        """The remaining lines at the end of output, including a last line without its newline."""
        if self._splitter.rest:
            self.feed(b"\n")
        return self._hand_over()

    def _hand_over(self) -> tuple[list[str], int]:
        lines, dropped = [_text(line) for line in self._lines], self._dropped
        self._lines.clear()
        self._dropped = 0
        return lines, dropped


def _text(line: bytes) -> str:
    text = line[:LINE_BYTES].decode("utf-8", errors="replace").rstrip("\r")
    return text + " [cut]" if len(line) > LINE_BYTES else text


# -- supervised run ------------------------------------------------------------------------------------------------------------
# One run under the supervisor: a program from its start to the end of its last descendant.
#
# For the supervisor process alone: standard library only, one thread.


class SupervisedRun:
    """The target."""

    def __init__(self, command: Mapping[str, Any]) -> None:
        """`command`: `start` or `start_auxiliary`."""
        self.number: int = command["run"]
        self.lines = OutputLines()
        self.stopped = False
        """Whether the supervisor asked it to end."""
        self._least_grace_s: float = command.get("least_grace_s", 0.0)
        """Lower bound of each grace period."""
        self._process = subprocess.Popen(
            command["argv"],
            cwd=command["cwd"],
            env={**os.environ, **command["env"]},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=prepare(command["limits"]),  # safe: this process has one thread
        )
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self.output = self._process.stdout.fileno()
        os.set_blocking(self.output, False)
        self._code: int | None = None
        self._kill_at_s = float("inf")
        self._descendants_signalled = False

    @property
    def ending(self) -> bool:
        """Whether its first process has ended, or was asked to end."""
        return self.stopped or self._code is not None

    def stop(self, grace_s: float) -> None:
        """Send SIGTERM, once; SIGKILL follows after the grace period. A later call can only shorten that period."""
        self._kill_at_s = min(self._kill_at_s, monotonic() + max(grace_s, self._least_grace_s))
        if not self.ending:
            self.stopped = True
            signal_group(self.pid, signal.SIGTERM)

    def root_ended(self, code: int) -> None:
        """Its first process was reaped, with this exit code; negative: by a signal."""
        self._code = self._process.returncode = code

    def is_over(self, groups: list[int]) -> bool:
        """Whether all its processes are gone. Kills them when their grace period has ended, and at once after a crash.

        `groups`: process groups of the auxiliary processes.
        """
        if self._code is not None and not self.any_left(groups):
            return True
        crashed = self._code is not None and not self.stopped
        if crashed or monotonic() >= self._kill_at_s:
            self.signal_all(signal.SIGKILL, groups)
        elif self._code is not None and not self._descendants_signalled:
            self._descendants_signalled = True
            self.signal_all(signal.SIGTERM, groups)
        return False

    def any_left(self, groups: list[int]) -> bool:
        """Whether processes below the supervisor live, other than those of `groups`."""
        return any_left(self.pid, groups)

    def signal_all(self, number: int, groups: Iterable[int] = ()) -> None:
        """Send a signal to those processes."""
        signal_all(self.pid, number, groups)

    def read_output(self) -> bool:
        """Read one chunk of output; False at the end of the output."""
        try:
            chunk = os.read(self.output, PIECE_BYTES)
        except BlockingIOError:
            return True
        self.lines.feed(chunk)
        return bool(chunk)

    def close(self) -> tuple[list[str], int]:
        """Close its output; returns (last lines, number of dropped lines). No writer is left, so at most a full pipe is
        unread."""
        assert self._process.stdout is not None
        with suppress(BlockingIOError):
            while chunk := os.read(self.output, PIECE_BYTES):
                self.lines.feed(chunk)
        self._process.stdout.close()
        return self.lines.finish()

    def how_it_ended(self) -> dict[str, Any]:
        """The fields `signal` or `code` of its report."""
        code = self._code
        if code is not None and code < 0:
            return {"signal": signal.Signals(-code).name}
        return {"code": code}


class AuxiliaryRun(SupervisedRun):
    """An auxiliary process, with all of its session. Processes that left the session end with the supervisor."""

    def any_left(self, groups: list[int]) -> bool:
        """Whether its session has processes."""
        return bool(session_of(self.pid)) if sys.platform == "linux" else super().any_left(groups)

    def signal_all(self, number: int, groups: Iterable[int] = ()) -> None:
        """Send a signal to every process of its session."""
        signal_group(self.pid, number)
        for pid in session_of(self.pid) if sys.platform == "linux" else ():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def why_not_started(error: OSError | subprocess.SubprocessError, limits: dict[str, Any]) -> str:
    """The reason in words. A SubprocessError means only that `preexec_fn` failed: the kernel refused a limit."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"the kernel refuses its limits ({described(limits)})"


# -- watcher -------------------------------------------------------------------------------------------------------------------
# The watcher: the supervisor's parent. It ends what a killed supervisor leaves behind, then itself.
#
#     app ── watcher ── supervisor ── target's first process ── its workers, its daemons
#
# If the supervisor is killed, the kernel ends only the target's first process with it. Its workers, and daemons that forked twice
# and called setsid, get the nearest subreaper as their parent: the watcher (Linux). So the supervisor ends the target if the app
# or the watcher has ended, and the watcher ends it if the supervisor has ended. App, watcher and supervisor have sessions of
# their own, so that no signal to a process group reaches two of them. The standard library only, no threads.


def fork_supervisor() -> int | None:
    """This process becomes the watcher and ends with the supervisor; the call returns in the child, which is the supervisor.

    Returns a descriptor that reaches its end when the watcher ends. None on systems other than Linux, where no process can adopt
    orphans: there is no watcher.
    """
    if sys.platform != "linux":
        return None
    adopt_orphans()
    reader, writer = os.pipe()
    supervisor = os.fork()
    if supervisor:
        os.close(reader)
        _watch(supervisor)
    os.close(writer)
    os.setsid()
    return reader


def _watch(supervisor: int) -> None:
    """Never returns. On SIGTERM it kills the supervisor: the app's last resort if the supervisor does not end."""
    _close_standard_streams()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _kill(supervisor))
    status = os.waitpid(supervisor, 0)[1]
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _end_descendants()
    os._exit(0 if status == 0 else 1)


def _close_standard_streams() -> None:
    """The app must see the supervisor's pipes end with the supervisor."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _end_descendants() -> None:
    """Kill all, reap one, and repeat: a process that was forked meanwhile becomes our child when its parent has ended."""
    with suppress(ChildProcessError):
        while True:
            for pid in members():
                _kill(pid)
            os.waitpid(-1, 0)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


R = TypeVar("R", bound=SupervisedRun)

GRACE_WITHOUT_APP_S = 2.0
"""How long a target may take to end in order when the app is gone."""

UNREAD_MOST_BYTES = 1_000_000
"""If the app has left this much unread, output is held back; beyond its own bound it is dropped and counted."""

_POLL_WHILE_ENDING_S = 0.02
_POLL_OUTPUT_S = 0.05


def main() -> None:
    """Serve until the command pipe ends, SIGTERM comes or the watcher is gone; leave nothing behind."""
    watcher = fork_supervisor()
    adopt_orphans()
    wake = wake_on(signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
    supervision = _Supervision(commands=0, reports=1, wake=wake, watcher=watcher)
    try:
        supervision.serve()
    finally:
        supervision.kill()


class _Supervision:
    """The loop: commands in, reports out, one target at a time and the auxiliary processes."""

    def __init__(self, *, commands: int, reports: int, wake: int, watcher: int | None) -> None:
        for descriptor in (commands, reports):
            os.set_blocking(descriptor, False)
        self._commands, self._command_lines = commands, LineSplitter()
        self._reports = Unsent(reports)
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
        if self._reports or any(run.lines.has_lines for run in self._runs):
            return _POLL_OUTPUT_S
        return None

    def _read_commands(self) -> None:
        chunk = os.read(self._commands, PIECE_BYTES)
        if not chunk:
            self._selector.unregister(self._commands)
            self._shut_down()
        for line in self._command_lines.add(chunk):
            self._execute(json.loads(line))

    def _report(self, report: dict[str, Any]) -> None:
        self._reports.add(json.dumps(report).encode() + b"\n")

    def _read_signals(self) -> None:
        if signal.SIGTERM in os.read(self._wake, PIECE_BYTES):
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
            self._report({"type": "exited", "run": number, "stopped": True, "reason": "stopped before it began"})
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
        try:
            run = kind(command)
        except (OSError, subprocess.SubprocessError) as error:
            reason = f"cannot run {command['argv'][0]}: {why_not_started(error, command['limits'])}"
            self._report({"type": "exited", "run": command["run"], "reason": reason})
            return None
        self._selector.register(run.output, selectors.EVENT_READ, lambda: self._read_output(run))
        self._report({"type": "started", "run": run.number, "pid": run.pid})
        return run

    def _read_output(self, run: SupervisedRun) -> None:
        if not run.read_output():
            self._selector.unregister(run.output)  # it closed its output, but has not ended

    def _pass_on_output(self, run: SupervisedRun) -> None:
        if len(self._reports) <= UNREAD_MOST_BYTES and (taken := run.lines.take(monotonic())):
            self._report_output(run, *taken)

    def _report_output(self, run: SupervisedRun, lines: list[str], dropped: int) -> None:
        if lines or dropped:
            self._report({"type": "output", "run": run.number, "lines": lines, "dropped": dropped})

    def _close_run(self, run: SupervisedRun) -> None:
        with suppress(KeyError):
            self._selector.unregister(run.output)
        self._report_output(run, *run.close())
        self._report({"type": "exited", "run": run.number, "stopped": run.stopped, **run.how_it_ended()})
        if run is self._run:
            self._run = None
        else:
            del self._auxiliary[run.number]


if __name__ == "__main__":
    main()
