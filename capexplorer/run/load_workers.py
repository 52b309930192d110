"""The workers of a run: starts the first ones, adds and removes others while it continues, and marks the loss of one.

Every method but `why_not` is called in the pump's thread. Which workers make load is decided in the load thread, which receives
their messages (`load.workers.worker_registry`). Processes on this machine are started here; workers of other machines join by
themselves.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from uuid import uuid4

import msgspec

from ..analysis.causes.episode import Episode, Occurrence
from ..errors import InputError
from ..load.engine import MakeEngine, WorkersChanged
from ..load.load_thread import LoadThread
from ..load.workers.master_engine import MasterEngine
from ..model.controls import Param
from ..model.events import By
from ..model.limits import ProcessLimits
from ..model.load import Load
from ..target.supervisor import Exited, Output, Report, Supervisor
from .autopilot import Growth
from .context import RunContext
from .options import SECRET, TOKEN, WorkersWanted

FIRST_ADDED = 2
"""Workers that take over the users of this process when the first worker is added: one in place of this process, and the added
one."""

JOINS_S = 60.0
"""Seconds that the first workers have to join: each imports Locust, on cores that all of them share."""


class LoadWorkers:
    """`begin`, `add`, `remove`, `changed`; `emit_mark` once a tick; `expect_end`, then `end`."""

    def __init__(
        self,
        context: RunContext,
        load_thread: LoadThread,
        supervisor: Supervisor,
        wanted: WorkersWanted,
        command: WorkerCommand,
        make_engine: MakeEngine,
    ) -> None:
        """`make_engine` makes the engine that workers join."""
        self._context, self._load_thread, self._make_engine = context, load_thread, make_engine
        self._most, self._first, self._expected = command.most, wanted.own, wanted.count
        self.count = 0
        """Workers that have joined, on any machine."""
        self.local = LocalWorkers(context, supervisor, command, self._on_end)
        self._began_s = 0.0
        self._lost = Episode("cause:worker_lost", "worker_lost", epoch=0, severity="error")
        self._boundary_s: float | None = None
        """See `align_seconds`."""
        self.is_ending = False
        """Whether the run is ending, and with it every worker."""

    @property
    def engine(self) -> MasterEngine | None:
        """The engine that workers join, which may still be waiting to take over; None while users run in this process alone."""
        engine = self._load_thread.next_engine or self._load_thread.engine
        return engine if isinstance(engine, MasterEngine) else None

    @property
    def is_taking_over(self) -> bool:
        """Whether users still run in this process and workers are about to take them over."""
        return self._load_thread.next_engine is not None

    @property
    def have_joined(self) -> bool:
        """Whether as many workers have joined as load needs to begin."""
        return self.count >= self._expected

    @property
    def join_failure(self) -> str:
        """One line that says how many workers did not join in time, for which the run must fail; empty if it need not."""
        if self.have_joined or self._context.now_s() - self._began_s < JOINS_S or self.count:
            return ""
        return f"{self.count} of {self._expected} workers have joined in {JOINS_S:g} s"

    # -- adding and removing

    def begin(self) -> None:
        """Start the first workers, if there are any."""
        self._began_s = self._context.now_s()
        for _ in range(self._first):
            self._start()

    def why_not(self, *, add: bool) -> str:
        """Why no worker can be added or removed now; empty if one can. From any thread."""
        if add:
            return f"guard: at most {self._most} workers (max_workers)" if self.local.count >= self._most else ""
        if self.engine is None:
            return "there is no worker: users run in this process"
        return "the last worker stays: without it there is no load" if min(self.local.count, self.count) <= 1 else ""

    def add(self, by: By) -> None:
        """Start one more worker; the first time, as many as take over the users of this process (FIRST_ADDED)."""
        if self.why_not(add=True):
            return
        if self.engine is None:
            try:
                self._load_thread.call(lambda: self._load_thread.prepare(self._make_engine))
            except InputError as error:
                self._context.log.add("capexplorer", "error", str(error))
                return
            self._first = min(self._most, FIRST_ADDED)
            if self._boundary_s is not None:
                self.align_seconds(self._boundary_s)
            self.begin()
        else:
            self._start()
        self._emit_command(by, change="added", count=self.local.count)

    def growth(self) -> Growth:
        """Whether one more worker may be started, or one that was started has not joined yet."""
        if self.local.count > self.local.joined_count or self.is_taking_over:
            return "coming"
        return "none" if self.why_not(add=True) else "possible"

    def remove(self, by: By) -> None:
        """End the worker that was started last, after its users were moved to the other workers."""
        token, engine = self.local.latest, self.engine
        if self.why_not(add=False) or token is None or engine is None:
            return
        self._load_thread.post(lambda: engine.registry.release(token))
        self.local.stop(token)
        self._emit_command(by, change="removed", count=self.local.count)

    def _start(self) -> None:
        assert self.engine is not None  # there is something to join
        self.local.start(self.engine.port)

    def _on_end(self, token: str, report: Exited) -> None:
        engine = self.engine
        if engine is not None:
            self._load_thread.post(lambda: engine.registry.lose_process(token, f"it ended: {report.how_it_ended()}"))
        if not self.have_joined and not self.is_ending and not report.stopped:
            self._context.log.add("capexplorer", "error", f"a worker ended before it joined: {report.how_it_ended()}")

    # -- what the load thread reports

    def changed(self, report: WorkersChanged, load: Load) -> None:
        """A worker joined, left or was lost."""
        self.count = report.count
        if report.change == "joined" and report.token:
            self.local.joined(report.token)
        if self.is_taking_over and report.count == self._first:
            self._load_thread.post(self._load_thread.adopt)
        by: By = "guard" if report.change == "lost" else "user"
        self._emit_command(by, change=report.change, name=report.name, count=report.count, why=report.why or None)
        if report.change == "lost":
            text = f"worker {report.name}: {report.why}"
            self._lost.occurred(Occurrence(t_s=self._context.now_s(), load=load, example=text))
            self.local.kill(report.token)

    def align_seconds(self, boundary_s: float) -> None:
        """Let workers report at the end of each tick: at this moment (`time.monotonic`) and each second from there."""
        self._boundary_s, engine = boundary_s, self.engine
        if engine is not None:
            self._load_thread.post(lambda: engine.registry.align_seconds(boundary_s))

    def resend_users(self) -> bool:
        """Start the workers' users again, which stopped while this process was suspended. False: users run in this process."""
        if self.engine is None:
            return False
        self._load_thread.post(self.engine.repeat_step)
        return True

    def emit_mark(self, load: Load) -> None:
        """Emit what is new of the mark of lost workers. Called once a tick."""
        self.local.repeat_kills()
        mark = self._lost.news(self._context.now_s(), self._context.epoch, load, all_changes=True)
        if mark is not None:
            self._context.emit(mark)

    # -- the end of the run

    def expect_end(self) -> None:
        """Note that the run ends: workers that leave from now on are not reported."""
        self.is_ending = True

    def end(self) -> None:
        """End the worker processes, after their users have stopped."""
        self.local.end()

    def _emit_command(self, by: By, **args: Param | None) -> None:
        self._context.command("workers", by, {name: value for name, value in args.items() if value is not None})


# -- worker processes of this machine: started by the supervisor, stopped gracefully or killed, and identified by their tokens


STOPS_S = 10.0
"""Seconds that a worker has to stop its users before it is killed."""


class WorkerCommand(msgspec.Struct, frozen=True):
    """How workers of this machine are started."""

    join_host: str
    arguments: tuple[str, ...]
    """Arguments of `capexplorer worker` besides `--join`."""
    limits: ProcessLimits
    most: int
    """Workers that may run on this machine at a time."""
    secret: str
    variables: Mapping[str, str]
    """The variables that the tasks name. Those of the command line alone are inherited from nobody."""


class LocalWorkers:
    """`start` a worker; call `joined` when it makes load; end it by `stop` or `kill`, and all of them by `end`."""

    def __init__(
        self, context: RunContext, supervisor: Supervisor, command: WorkerCommand, on_end: Callable[[str, Exited], None]
    ) -> None:
        """`on_end`: gets the token and the report of a process that has ended."""
        self._context, self._supervisor, self._command, self._on_end = context, supervisor, command, on_end
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

        def on_report(report: Report) -> None:
            self._context.pump.post(self._on_report, token, report)

        self._runs[token] = self._supervisor.start_auxiliary(argv, environment, on_report, self._command.limits)

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
        match report:
            case Output(lines=lines):
                for line in lines:
                    self._context.log.add("stdout", "info", f"worker: {line}")
            case Exited():
                self._runs.pop(token, None)
                self._stopping.discard(token)
                self._joined.discard(token)
                self._on_end(token, report)
