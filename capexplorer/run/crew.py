"""The worker processes of a run: started beside the target, added and removed while it goes on, and marked when one is lost.

Every method is called in the pump's thread, but `on_process`. Which workers make load is decided in the load thread, where they
join and fall silent; here they are processes of this run, events and marks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from ..analysis.causes.episode import Episode, Occurrence
from ..load.engine import MakeEngine
from ..load.load_host import LoadHost
from ..load.worker_changes import WorkersChanged
from ..load.workers.master_engine import MasterEngine
from ..model.events import By, Command, Event, Mark
from ..model.limits import ProcessLimits
from ..model.stream import Param
from ..target.reports import Exited, Output, Report
from ..target.supervisor import Supervisor
from .drivers.adviser import Growth

TOKEN, SECRET = "CAPEXPLORER_WORKER_TOKEN", "CAPEXPLORER_SECRET"
"""Variables of a worker's environment."""

TAKING_OVER = 2
"""Workers that take over the users of this process: it was one, and one was asked for."""

LEAVES_S = 10.0
"""How long a worker may take to stop its users in order."""

JOINS_S = 60.0
"""How long the first workers may take to join: each imports Locust, on cores that all of them share."""


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """How workers of this machine are started."""

    join_host: str
    arguments: tuple[str, ...]
    """Of `capexplorer worker`, beside `--join`."""
    limits: ProcessLimits
    secret: str


class NoCrew:
    """Users run in this process, and no worker can be started."""

    host: LoadHost
    count = 0
    takes_over = False
    are_there = True
    is_leaving = False
    missing = ""

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

    def changed(self, report: WorkersChanged, users: int) -> None:
        """There are none."""

    def marks(self, epoch: int, users: int) -> list[Mark]:
        """None."""
        return []

    def tell_grid(self, boundary_s: float) -> None:
        """Nobody to tell."""

    def again(self) -> None:
        """Users of this process stood still with it."""

    def leaves(self) -> None:
        """Nobody leaves."""

    def end(self) -> None:
        """Nothing to end."""


class Crew:
    """`begin`, `add`, `remove`, `changed`; `marks` once a tick; `leaves`, then `end`."""

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
        """Workers that make load, or could."""
        self._supervisor, self._command, self._first, self._expected = supervisor, command, first, expected
        self._begun_s = 0.0
        self._post, self._emit, self._now_s, self._log = post, emit, now_s, log
        self._runs: dict[str, int] = {}
        """Of the supervisor, by the token of the worker."""
        self._leaving: set[str] = set()
        self._joined: set[str] = set()
        """Tokens of own workers that make load."""
        self._given_up: set[str] = set()
        """Tokens of own workers that were lost while their process may still live."""
        self._lost = Episode("cause:worker_lost", "worker_lost", 0, "error")
        self._grid_s: float | None = None
        self.is_leaving = False
        """The run ends, and with it every worker."""

    @property
    def engine(self) -> MasterEngine | None:
        """What the load thread has of workers; None while users run in this process alone."""
        engine = self.host.next_engine or self.host.engine
        return engine if isinstance(engine, MasterEngine) else None

    @property
    def takes_over(self) -> bool:
        """Users run in this process still, and workers are about to take them over."""
        return self.host.next_engine is not None

    @property
    def are_there(self) -> bool:
        """Whether load may begin."""
        return self.count >= self._expected

    @property
    def own(self) -> int:
        """Processes that this run has started and that live."""
        return len(self._runs) - len(self._leaving)

    @property
    def joined(self) -> int:
        """Of its own processes those that make load."""
        return len(self._joined - self._leaving)

    # -- coming and going

    def begin(self) -> None:
        """Start the first ones, if there are any."""
        self._begun_s = self._now_s()
        for _ in range(self._first):
            self._start()

    @property
    def missing(self) -> str:
        """What is missing for so long that the run cannot go on, in one line; empty: nothing."""
        if self.are_there or self._now_s() - self._begun_s < JOINS_S or self.count:
            return ""
        return f"{self.count} of {self._expected} workers have joined in {JOINS_S:g} s"

    def why_not(self, *, add: bool) -> str:
        """Why no worker can be added, or removed, now; empty: one can. From any thread."""
        if add:
            return f"guard: at most {self.most} workers (max_workers)" if self.own >= self.most else ""
        if self.engine is None:
            return "there is no worker: users run in this process"
        return "the last worker stays: without it there is no load" if min(self.own, self.count) <= 1 else ""

    def add(self, by: By) -> None:
        """Start one more; the first time as many as take over the users of this process."""
        if self.why_not(add=True):
            return
        if self.engine is None:
            self._first = min(self.most, TAKING_OVER)
            self.host.call(lambda: self.host.prepare(self.make_engine))
            if self._grid_s is not None:
                self.tell_grid(self._grid_s)
            self.begin()
        else:
            self._start()
        self._command_event(by, change="added", count=self.own)

    def growth(self) -> Growth:
        """Whether one more may be started, or is on its way."""
        if self.own > self.joined or self.takes_over:
            return "coming"
        return "none" if self.why_not(add=True) else "possible"

    def remove(self, by: By) -> None:
        """End the one that was started last, in order: its users go to the others first."""
        token, engine = next((token for token in reversed(self._runs) if token not in self._leaving), None), self.engine
        if self.why_not(add=False) or token is None or engine is None:
            return
        self._leaving.add(token)
        self._command_event(by, change="removed", count=self.own)
        self.host.thread.post(lambda: engine.desk.release(token))
        self._supervisor.stop_beside(self._runs[token], LEAVES_S)

    def _start(self) -> None:
        assert self.engine is not None  # there is something to join
        token = uuid4().hex
        join = f"{self._command.join_host}:{self.engine.port}"
        argv = (sys.executable, "-P", "-m", "capexplorer", "worker", "--join", join, *self._command.arguments)
        environment = {TOKEN: token, SECRET: self._command.secret, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        environment = {name: value for name, value in environment.items() if value}
        run = self._supervisor.start_beside(
            argv, environment, lambda report: self._on_process(token, report), self._command.limits
        )
        self._runs[token] = run

    def _on_process(self, token: str, report: Report) -> None:
        """A report of the supervisor, in the thread that reads them."""
        match report:
            case Output():
                self._post(lambda: self._printed(report))
            case Exited():
                self._post(lambda: self._ended(token, report))

    def _printed(self, report: Output) -> None:
        for line in report.lines:
            self._log("stdout", "info", f"worker: {line}")

    def _ended(self, token: str, report: Exited) -> None:
        self._runs.pop(token, None)
        self._leaving.discard(token)
        self._joined.discard(token)
        engine = self.engine
        if engine is not None:
            self.host.thread.post(lambda: engine.desk.lose_process(token, f"it ended: {report.how()}"))
        if not self.are_there and not self.is_leaving and not report.stopped:
            self._log("capexplorer", "error", f"a worker ended before it joined: {report.how()}")

    # -- what the load thread reports

    def changed(self, report: WorkersChanged, users: int) -> None:
        """The set of workers is another one."""
        self.count = report.count
        if report.change == "joined" and report.token:
            self._joined.add(report.token)
        if self.takes_over and report.count == self._first:
            self.host.thread.post(self.host.adopt)
        by: By = "guard" if report.change == "lost" else "user"
        self._command_event(by, change=report.change, name=report.name, count=report.count, why=report.why or None)
        if report.change == "lost":
            text = f"worker {report.name}: {report.why}"
            self._lost.occurred(Occurrence(t_s=self._now_s(), users=users, example=text))
            self._given_up.add(report.token)
            self._kill_given_up()

    def _kill_given_up(self) -> None:
        """A lost worker must not make load again. Repeated at each tick until its process has ended."""
        self._given_up.intersection_update(self._runs)
        for token in self._given_up:
            self._supervisor.stop_beside(self._runs[token], 0.0)

    def tell_grid(self, boundary_s: float) -> None:
        """Workers are to report at the end of a tick: at this moment (`time.monotonic`) and each second from there."""
        self._grid_s, engine = boundary_s, self.engine
        if engine is not None:
            self.host.thread.post(lambda: engine.desk.tell_grid(boundary_s))

    def again(self) -> None:
        """This process stood still, and workers have stopped their users meanwhile: send them again."""
        if self.engine is not None:
            self.host.thread.post(self.engine.again)

    def marks(self, epoch: int, users: int) -> list[Mark]:
        """Marks to emit now. Called once a tick."""
        self._kill_given_up()
        self._lost.epoch = epoch
        self._lost.look(self._now_s(), users)
        mark = self._lost.news(self._now_s(), exactly=True)
        return [mark] if mark is not None else []

    def leaves(self) -> None:
        """The run ends: that workers leave is no news from now on."""
        self.is_leaving = True

    def end(self) -> None:
        """Users have stopped: the processes end."""
        for run in tuple(self._runs.values()):
            self._supervisor.stop_beside(run, LEAVES_S)

    def _command_event(self, by: By, **args: Param | None) -> None:
        given: dict[str, Param | None] = {name: value for name, value in args.items() if value is not None}
        self._emit(Command(t_s=self._now_s(), name="workers", by=by, args=given))
