"""The workers of a run: the first ones, those that are added and removed while it goes on, and marks where one is lost.

Every method but `why_not` is called in the pump's thread. Which workers make load is decided in the load thread, where they join
and fall silent. Their processes on this machine are in `local_workers`; workers of other machines only join.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis.causes.episode import Episode, Occurrence
from ..load.engine import MakeEngine
from ..load.load_host import LoadHost
from ..load.worker_changes import WorkersChanged
from ..load.workers.master_engine import MasterEngine
from ..model.events import By, Command, Event, Mark
from ..model.load import Load
from ..model.stream import Param
from ..target.reports import Exited
from ..target.supervisor import Supervisor
from .drivers.adviser import Growth
from .local_workers import LocalWorkers, WorkerCommand

FIRST_ADDED = 2
"""Workers that take over the users of this process when a worker is added: one for this process, and the one asked for."""

JOINS_S = 60.0
"""How long the first workers may take to join: each imports Locust, on cores that all of them share."""


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
        """`make_engine`: makes what workers join. `first`: workers to start. `expected`: workers without which no load begins.

        `log` takes source, level and text.
        """
        self.make_engine = make_engine
        self.host: LoadHost
        self.most = most
        self.count = 0
        """Workers that make load, or could, on any machine."""
        self.local = LocalWorkers(supervisor, command, post=post, log=log, on_end=self._on_end)
        self._first, self._expected = first, expected
        self._began_s = 0.0
        self._emit, self._now_s, self._log = emit, now_s, log
        self._lost = Episode("cause:worker_lost", "worker_lost", 0, "error")
        self._boundary_s: float | None = None
        """See `align_seconds`."""
        self.is_ending = False
        """The run ends, and with it every worker."""

    @property
    def engine(self) -> MasterEngine | None:
        """What the load thread has of workers; None while users run in this process alone."""
        engine = self.host.next_engine or self.host.engine
        return engine if isinstance(engine, MasterEngine) else None

    @property
    def is_taking_over(self) -> bool:
        """Users still run in this process, and workers are about to take them over."""
        return self.host.next_engine is not None

    @property
    def have_joined(self) -> bool:
        """Whether load may begin."""
        return self.count >= self._expected

    @property
    def join_failure(self) -> str:
        """In one line, which workers did not join in time, so that the run cannot go on; empty: it can."""
        if self.have_joined or self._now_s() - self._began_s < JOINS_S or self.count:
            return ""
        return f"{self.count} of {self._expected} workers have joined in {JOINS_S:g} s"

    # -- adding and removing

    def begin(self) -> None:
        """Start the first ones, if there are any."""
        self._began_s = self._now_s()
        for _ in range(self._first):
            self._start()

    def why_not(self, *, add: bool) -> str:
        """Why no worker can be added, or removed, now; empty: one can. From any thread."""
        if add:
            return f"guard: at most {self.most} workers (max_workers)" if self.local.count >= self.most else ""
        if self.engine is None:
            return "there is no worker: users run in this process"
        return "the last worker stays: without it there is no load" if min(self.local.count, self.count) <= 1 else ""

    def add(self, by: By) -> None:
        """Start one more; the first time as many as take over the users of this process."""
        if self.why_not(add=True):
            return
        if self.engine is None:
            self._first = min(self.most, FIRST_ADDED)
            self.host.call(lambda: self.host.prepare(self.make_engine))
            if self._boundary_s is not None:
                self.align_seconds(self._boundary_s)
            self.begin()
        else:
            self._start()
        self._emit_command(by, change="added", count=self.local.count)

    def growth(self) -> Growth:
        """Whether one more may be started, or is on its way."""
        if self.local.count > self.local.joined_count or self.is_taking_over:
            return "coming"
        return "none" if self.why_not(add=True) else "possible"

    def remove(self, by: By) -> None:
        """End the one that was started last, in order: its users go to the others first."""
        token, engine = self.local.latest, self.engine
        if self.why_not(add=False) or token is None or engine is None:
            return
        self.host.thread.post(lambda: engine.desk.release(token))
        self.local.stop(token)
        self._emit_command(by, change="removed", count=self.local.count)

    def _start(self) -> None:
        assert self.engine is not None  # there is something to join
        self.local.start(self.engine.port)

    def _on_end(self, token: str, report: Exited) -> None:
        engine = self.engine
        if engine is not None:
            self.host.thread.post(lambda: engine.desk.lose_process(token, f"it ended: {report.how_it_ended()}"))
        if not self.have_joined and not self.is_ending and not report.stopped:
            self._log("capexplorer", "error", f"a worker ended before it joined: {report.how_it_ended()}")

    # -- what the load thread reports

    def changed(self, report: WorkersChanged, load: Load) -> None:
        """A worker joined, left or was lost."""
        self.count = report.count
        if report.change == "joined" and report.token:
            self.local.joined(report.token)
        if self.is_taking_over and report.count == self._first:
            self.host.thread.post(self.host.adopt)
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
            self.host.thread.post(lambda: engine.desk.align_seconds(boundary_s))

    def resend_users(self) -> None:
        """This process was suspended, and workers have stopped their users meanwhile: start those again."""
        if self.engine is not None:
            self.host.thread.post(self.engine.repeat_step)

    def marks(self, epoch: int, load: Load) -> list[Mark]:
        """Marks to emit now. Called once a tick."""
        self.local.repeat_kills()
        self._lost.epoch = epoch
        self._lost.close_if_over(self._now_s(), load)
        mark = self._lost.revision_to_publish(self._now_s(), exactly=True)
        return [mark] if mark is not None else []

    # -- the end of the run

    def expect_end(self) -> None:
        """The run ends: from now on, workers that leave are not reported."""
        self.is_ending = True

    def end(self) -> None:
        """Users have stopped: the processes end."""
        self.local.end()

    def _emit_command(self, by: By, **args: Param | None) -> None:
        known: dict[str, Param | None] = {name: value for name, value in args.items() if value is not None}
        self._emit(Command(t_s=self._now_s(), name="workers", by=by, args=known))
