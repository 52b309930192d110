"""Worker processes of this machine: started below the supervisor, ended in order or killed, and identified by their tokens.

Every method is called in the pump's thread. Whether a worker makes load is known in the load thread, where workers join.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from ..model.limits import ProcessLimits
from ..target.reports import Exited, Output, Report
from ..target.supervisor import Supervisor

TOKEN, SECRET = "CAPEXPLORER_WORKER_TOKEN", "CAPEXPLORER_SECRET"
"""Variables of a worker's environment."""

STOPS_S = 10.0
"""How long a worker may take to stop its users in order."""


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """How workers of this machine are started."""

    join_host: str
    arguments: tuple[str, ...]
    """Of `capexplorer worker`, beside `--join`."""
    limits: ProcessLimits
    secret: str


class LocalWorkers:
    """`start`, then `joined` when it has; `stop`, `kill` or `end`."""

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
        """Runs of the supervisor, by the worker's token."""
        self._stopping: set[str] = set()
        self._joined: set[str] = set()
        self._killed: set[str] = set()
        """Those that must not make load again, while their process may still live."""

    @property
    def count(self) -> int:
        """Processes that live and are not asked to stop."""
        return len(self._runs) - len(self._stopping)

    @property
    def joined_count(self) -> int:
        """Of these, the ones that make load."""
        return len(self._joined - self._stopping)

    def start(self, port: int) -> None:
        """Start one that joins at this port."""
        token = uuid4().hex
        join = f"{self._command.join_host}:{port}"
        argv = (sys.executable, "-P", "-m", "capexplorer", "worker", "--join", join, *self._command.arguments)
        environment = {TOKEN: token, SECRET: self._command.secret, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        environment = {name: value for name, value in environment.items() if value}
        self._runs[token] = self._supervisor.start_beside(
            argv, environment, lambda report: self._on_report(token, report), self._command.limits
        )

    def joined(self, token: str) -> None:
        """The worker with this token makes load."""
        self._joined.add(token)

    @property
    def latest(self) -> str | None:
        """Token of the one that was started last and is not asked to stop; None without one."""
        return next((token for token in reversed(self._runs) if token not in self._stopping), None)

    def stop(self, token: str) -> None:
        """Stop it in order."""
        self._stopping.add(token)
        self._supervisor.stop_beside(self._runs[token], STOPS_S)

    def kill(self, token: str) -> None:
        """It was lost, and must not make load again."""
        self._killed.add(token)
        self.repeat_kills()

    def repeat_kills(self) -> None:
        """Kill lost workers that still live. Called at each tick, until their processes have ended."""
        self._killed.intersection_update(self._runs)
        for token in self._killed:
            self._supervisor.stop_beside(self._runs[token], 0.0)

    def end(self) -> None:
        """Stop all processes in order."""
        for run in tuple(self._runs.values()):
            self._supervisor.stop_beside(run, STOPS_S)

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
