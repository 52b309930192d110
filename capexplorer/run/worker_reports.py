"""What reports on worker processes do to levels, log and outcome: figures of a level never mix two sets of workers."""

from __future__ import annotations

from collections.abc import Callable

from ..load.load_reports import WorkerRefused, WorkersChanged
from ..load.load_thread import LoadThread
from ..model.events import By, Mark
from ..model.load import Load
from .drivers.adviser import Growth
from .event_sink import EventSink
from .live_levels import LevelEvents
from .load_workers import LoadWorkers
from .run_log import RunLog
from .run_outcome import RunOutcome

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
