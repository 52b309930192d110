"""The workers of a run: starts the first ones, adds and removes others while it continues, and marks the loss of one.

Every method but `why_not` is called in the pump's thread. Which workers make load is decided in the load thread, which receives
their messages (`load.workers.worker_registry`). Processes on this machine are in `local_workers`; workers of other machines
join by themselves.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis.causes.episode import Episode, Occurrence
from ..errors import InputError
from ..load.engine import MakeEngine, WorkerRefused, WorkersChanged
from ..load.load_thread import LoadThread
from ..load.workers.master_engine import MasterEngine
from ..model.controls import Param
from ..model.events import By, Command, Event, Mark
from ..model.load import Load
from ..target.supervisor import Exited, Supervisor
from .autopilot import Growth
from .context import EventSink, RunLog
from .live_levels import LevelEvents
from .local_workers import LocalWorkers, WorkerCommand
from .run_outcome import RunOutcome

FIRST_ADDED = 2
"""Workers that take over the users of this process when the first worker is added: one in place of this process, and the added
one."""

JOINS_S = 60.0
"""Seconds that the first workers have to join: each imports Locust, on cores that all of them share."""


class LoadWorkers:
    """`begin`, `add`, `remove`, `changed`; `marks` once a tick; `expect_end`, then `end`."""

    def __init__(
        self,
        supervisor: Supervisor,
        command: WorkerCommand,
        make_engine: MakeEngine,
        *,
        first: int,
        expected: int,
        most: int,
        post: Callable[[Callable[[], None]], None],
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        log: Callable[[str, str, str], None],
    ) -> None:
        """`make_engine` makes the engine that workers join. `first`: number of workers to start on this machine. `expected`:
        number of workers that must have joined before load begins. `most`: limit of workers on this machine.

        `log` takes source, level and text.
        """
        self.make_engine = make_engine
        self.load_thread: LoadThread
        """What runs the load in the load thread. `LiveRun.drive` sets it before the run starts."""
        self.most = most
        self.count = 0
        """Workers that have joined, on any machine."""
        self.local = LocalWorkers(supervisor, command, post=post, log=log, on_end=self._on_end)
        self._first, self._expected = first, expected
        self._began_s = 0.0
        self._emit, self._now_s, self._log = emit, now_s, log
        self._lost = Episode("cause:worker_lost", "worker_lost", epoch=0, severity="error")
        self._boundary_s: float | None = None
        """See `align_seconds`."""
        self.is_ending = False
        """Whether the run is ending, and with it every worker."""

    @property
    def engine(self) -> MasterEngine | None:
        """The engine that workers join, which may still be waiting to take over; None while users run in this process alone."""
        engine = self.load_thread.next_engine or self.load_thread.engine
        return engine if isinstance(engine, MasterEngine) else None

    @property
    def is_taking_over(self) -> bool:
        """Whether users still run in this process and workers are about to take them over."""
        return self.load_thread.next_engine is not None

    @property
    def have_joined(self) -> bool:
        """Whether as many workers have joined as load needs to begin."""
        return self.count >= self._expected

    @property
    def join_failure(self) -> str:
        """One line that says how many workers did not join in time, for which the run must fail; empty if it need not."""
        if self.have_joined or self._now_s() - self._began_s < JOINS_S or self.count:
            return ""
        return f"{self.count} of {self._expected} workers have joined in {JOINS_S:g} s"

    # -- adding and removing

    def begin(self) -> None:
        """Start the first workers, if there are any."""
        self._began_s = self._now_s()
        for _ in range(self._first):
            self._start()

    def why_not(self, *, add: bool) -> str:
        """Why no worker can be added or removed now; empty if one can. From any thread."""
        if add:
            return f"guard: at most {self.most} workers (max_workers)" if self.local.count >= self.most else ""
        if self.engine is None:
            return "there is no worker: users run in this process"
        return "the last worker stays: without it there is no load" if min(self.local.count, self.count) <= 1 else ""

    def add(self, by: By) -> None:
        """Start one more worker; the first time, as many as take over the users of this process (FIRST_ADDED)."""
        if self.why_not(add=True):
            return
        if self.engine is None:
            try:
                self.load_thread.call(lambda: self.load_thread.prepare(self.make_engine))
            except InputError as error:
                self._log("capexplorer", "error", str(error))
                return
            self._first = min(self.most, FIRST_ADDED)
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
        self.load_thread.post(lambda: engine.registry.release(token))
        self.local.stop(token)
        self._emit_command(by, change="removed", count=self.local.count)

    def _start(self) -> None:
        assert self.engine is not None  # there is something to join
        self.local.start(self.engine.port)

    def _on_end(self, token: str, report: Exited) -> None:
        engine = self.engine
        if engine is not None:
            self.load_thread.post(lambda: engine.registry.lose_process(token, f"it ended: {report.how_it_ended()}"))
        if not self.have_joined and not self.is_ending and not report.stopped:
            self._log("capexplorer", "error", f"a worker ended before it joined: {report.how_it_ended()}")

    # -- what the load thread reports

    def changed(self, report: WorkersChanged, load: Load) -> None:
        """A worker joined, left or was lost."""
        self.count = report.count
        if report.change == "joined" and report.token:
            self.local.joined(report.token)
        if self.is_taking_over and report.count == self._first:
            self.load_thread.post(self.load_thread.adopt)
        by: By = "guard" if report.change == "lost" else "user"
        self._emit_command(by, change=report.change, name=report.name, count=report.count, why=report.why or None)
        if report.change == "lost":
            text = f"worker {report.name}: {report.why}"
            self._lost.occurred(Occurrence(t_s=self._now_s(), load=load, example=text))
            self.local.kill(report.token)

    def align_seconds(self, boundary_s: float) -> None:
        """Let workers report at the end of each tick: at this moment (`time.monotonic`) and each second from there."""
        self._boundary_s, engine = boundary_s, self.engine
        if engine is not None:
            self.load_thread.post(lambda: engine.registry.align_seconds(boundary_s))

    def resend_users(self) -> bool:
        """Start the workers' users again, which stopped while this process was suspended. False: users run in this process."""
        if self.engine is None:
            return False
        self.load_thread.post(self.engine.repeat_step)
        return True

    def marks(self, epoch: int, load: Load) -> list[Mark]:
        """Marks to emit now. Called once a tick."""
        self.local.repeat_kills()
        self._lost.epoch = epoch
        self._lost.close_if_over(self._now_s(), load)
        mark = self._lost.revision_to_publish(self._now_s(), all_changes=True)
        return [mark] if mark is not None else []

    # -- the end of the run

    def expect_end(self) -> None:
        """Note that the run ends: workers that leave from now on are not reported."""
        self.is_ending = True

    def end(self) -> None:
        """End the worker processes, after their users have stopped."""
        self.local.end()

    def _emit_command(self, by: By, **args: Param | None) -> None:
        known: dict[str, Param | None] = {name: value for name, value in args.items() if value is not None}
        self._emit(Command(t_s=self._now_s(), name="workers", by=by, args=known))


# -- worker reports ------------------------------------------------------------------------------------------------------------
# What reports on worker processes do to levels, log and outcome: figures of a level never mix two sets of workers.


# -- no workers ----------------------------------------------------------------------------------------------------------------
# The workers of a run that has none and can start none: its users run in this process.


class NoWorkers:
    """Has the interface of `LoadWorkers`."""

    load_thread: LoadThread
    count = 0
    is_taking_over = False
    have_joined = True
    is_ending = False
    join_failure = ""

    def begin(self) -> None:
        """Nothing to start."""

    def why_not(self, *, add: bool) -> str:
        """None can be started."""
        return "workers cannot be started here"

    def add(self, by: By) -> None:
        """None can be started."""

    remove = add

    def growth(self) -> Growth:
        """None can be started."""
        return "none"

    def changed(self, report: WorkersChanged, load: Load) -> None:
        """There are none."""

    def marks(self, epoch: int, load: Load) -> list[Mark]:
        """None."""
        return []

    def align_seconds(self, boundary_s: float) -> None:
        """Do nothing: without workers no reports arrive."""

    def resend_users(self) -> bool:
        """False: users of this process were suspended with it and continue with it."""
        return False

    def expect_end(self) -> None:
        """There are none."""

    def end(self) -> None:
        """Nothing to end."""


Workers = LoadWorkers | NoWorkers


class WorkerReports:
    """Every method is called in the pump's thread, with the workers of the run."""

    def __init__(
        self,
        sink: EventSink,
        levels: LevelEvents,
        log: RunLog,
        outcome: RunOutcome,
        *,
        epoch: Callable[[], int],
        load: Callable[[], Load],
        let_users_run: Callable[[], None],
    ) -> None:
        """`epoch`, `load`: the target's epoch and the load now. `let_users_run` is called when workers have joined."""
        self._emit, self._levels, self._log, self._outcome = sink.emit, levels, log, outcome
        self._epoch, self._load, self._let_users_run = epoch, load, let_users_run

    def took_over(self, workers: Workers) -> None:
        """The users have moved from this process to workers: a new level begins."""
        self._levels.tracker.workers = workers.count
        self._levels.reopen()

    def refused(self, report: WorkerRefused) -> None:
        """A worker was not let in."""
        self._log.add("capexplorer", "error", f"a worker on {report.host} was refused: {report.why}")

    def changed(self, workers: Workers, report: WorkersChanged) -> None:
        """A worker has joined, left or was lost. The level ends here, void if a worker was lost in it, and a new one begins."""
        if workers.is_ending:
            return
        workers.changed(report, self._load())
        if workers.is_taking_over:
            return  # users still run in this process
        self._levels.tracker.workers = report.count
        self.emit_marks(workers)
        self._levels.reopen("worker_lost" if report.change == "lost" else None)
        if report.count:
            self._outcome.recover("workers")
            self._let_users_run()
        else:
            self._outcome.fail("workers", "no worker is left" + (f": {report.why}" if report.why else ""), 4)

    def ticked(self, workers: Workers) -> None:
        """Called each second: emit the workers' marks, and fail the run if they cannot join."""
        self.emit_marks(workers)
        if workers.join_failure:
            self._outcome.fail("workers", workers.join_failure, 4)

    def emit_marks(self, workers: Workers) -> None:
        """Emit the marks on workers that are due."""
        for mark in workers.marks(self._epoch(), self._load()):
            self._emit(mark)
