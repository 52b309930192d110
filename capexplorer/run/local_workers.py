"""Worker processes of this machine: started by the supervisor, stopped gracefully or killed, and identified by their tokens.

Every method is called in the pump's thread. Whether a worker makes load is known in the load thread, where workers join.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from uuid import uuid4

import msgspec

from ..model.limits import ProcessLimits
from ..target.supervisor import Exited, Output, Report, Supervisor

TOKEN, SECRET = "CAPEXPLORER_WORKER_TOKEN", "CAPEXPLORER_SECRET"
"""Variables of a worker's environment."""

STOPS_S = 10.0
"""Seconds that a worker has to stop its users before it is killed."""


class WorkerCommand(msgspec.Struct, frozen=True):
    """How workers of this machine are started."""

    join_host: str
    arguments: tuple[str, ...]
    """Arguments of `capexplorer worker` besides `--join`."""
    limits: ProcessLimits
    secret: str
    variables: Mapping[str, str]
    """The variables that the tasks name. Those of the command line alone are inherited from nobody."""


class LocalWorkers:
    """`start` a worker; call `joined` when it makes load; end it by `stop` or `kill`, and all of them by `end`."""

    def __init__(
        self,
        supervisor: Supervisor,
        command: WorkerCommand,
        *,
        post: Callable[[Callable[[], None]], None],
        log: Callable[[str, str, str], None],
        on_end: Callable[[str, Exited], None],
    ) -> None:
        """`post`: runs a call in the pump's thread. `log`: takes source, level and text. `on_end`: token and report."""
        self._supervisor, self._command = supervisor, command
        self._post, self._log, self._on_end = post, log, on_end
        self._runs: dict[str, int] = {}
        """The supervisor's run numbers, by the worker's token."""
        self._stopping: set[str] = set()
        self._joined: set[str] = set()
        self._killed: set[str] = set()
        """Tokens of lost workers, which must not make load again, as long as their process may exist."""

    @property
    def count(self) -> int:
        """Running processes that were not asked to stop."""
        return len(self._runs) - len(self._stopping)

    @property
    def joined_count(self) -> int:
        """Those of `count` that make load."""
        return len(self._joined - self._stopping)

    def start(self, port: int) -> None:
        """Start a worker that joins at this port."""
        token = uuid4().hex
        join = f"{self._command.join_host}:{port}"
        argv = (sys.executable, "-P", "-m", "capexplorer", "worker", "--join", join, *self._command.arguments)
        environment = {
            **self._command.variables,
            TOKEN: token,
            SECRET: self._command.secret,
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        }
        environment = {name: value for name, value in environment.items() if value}
        self._runs[token] = self._supervisor.start_auxiliary(
            argv, environment, lambda report: self._on_report(token, report), self._command.limits
        )

    def joined(self, token: str) -> None:
        """The worker with this token makes load."""
        self._joined.add(token)

    @property
    def latest(self) -> str | None:
        """Token of the worker that was started last and not asked to stop; None if there is none."""
        return next((token for token in reversed(self._runs) if token not in self._stopping), None)

    def stop(self, token: str) -> None:
        """Ask the worker to stop its users and end; it is killed after STOPS_S."""
        self._stopping.add(token)
        self._supervisor.stop_auxiliary(self._runs[token], STOPS_S)

    def kill(self, token: str) -> None:
        """Kill a lost worker, which must not make load again."""
        self._killed.add(token)
        self.repeat_kills()

    def repeat_kills(self) -> None:
        """Kill lost workers whose processes still exist. Called at each tick."""
        self._killed.intersection_update(self._runs)
        for token in self._killed:
            self._supervisor.stop_auxiliary(self._runs[token], 0.0)

    def end(self) -> None:
        """Ask all workers to stop their users and end; they are killed after STOPS_S."""
        for run in tuple(self._runs.values()):
            self._supervisor.stop_auxiliary(run, STOPS_S)

    def _on_report(self, token: str, report: Report) -> None:
        """A report of the supervisor, in the thread that reads them."""
        match report:
            case Output():
                self._post(lambda: self._on_output(report))
            case Exited():
                self._post(lambda: self._on_exit(token, report))

    def _on_output(self, report: Output) -> None:
        for line in report.lines:
            self._log("stdout", "info", f"worker: {line}")

    def _on_exit(self, token: str, report: Exited) -> None:
        self._runs.pop(token, None)
        self._stopping.discard(token)
        self._joined.discard(token)
        self._on_end(token, report)
