"""What ends a run early, or its load: a log that cannot be written, a load thread that fails, a defect of this program.

Every method is called in the pump's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..analysis.causes.episode import Episode
from ..analysis.causes.occurrence import Occurrence
from ..errors import LogWriteError
from ..load.load_thread import LoadThread
from ..model.events import Log, Mark
from ..model.load import Load
from ..steer.requested_load import RequestedLoad
from .event_sink import EventSink
from .load_control import LoadControl
from .log_failures import LogFailures
from .pump import Pump
from .run_outcome import RunOutcome

# -- load health ---------------------------------------------------------------------------------------------------------------
# Whether the load thread still runs: user code that computes without end, or that blocks outside gevent, stops all users.
#
# Detected in the pump's thread by the heartbeat of the load thread's hub. A log alone cannot show it, because such seconds have
# no requests.


BLOCKED_S = 5
"""Consecutive ticks without a heartbeat after which a mark is made."""
GIVEN_UP_S = 15
"""Consecutive ticks without a heartbeat after which the run has failed, until the heartbeat returns."""


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """Why the run cannot continue, with the exit code: 4 if the locustfile is the cause, 1 if capexplorer is."""

    error: str
    exit_code: int


class LoadHealth:
    """Call `look` once a tick; `failure` then says whether the load thread has failed."""

    def __init__(self) -> None:
        self.failure: LoadFailure | None = None
        self._blocked = Episode("cause:load_thread_blocked", "load_thread_blocked", 0, "critical")
        self._ended = Episode("cause:load_thread_ended", "load_thread_ended", 0, "critical")
        self._beats = -1
        self._silent_s = 0

    def look(self, load_thread: LoadThread, t_s: float, epoch: int, load: Load) -> list[Mark]:
        """Marks to emit now. Counts ticks, not seconds: a process that was stopped and continues has missed no heartbeat."""
        self._silent_s = 0 if load_thread.beats != self._beats else self._silent_s + 1
        self._beats = load_thread.beats
        self.failure = None
        if load_thread.has_ended:
            self._see_end(load_thread, t_s, load)
        elif self._silent_s >= BLOCKED_S:
            self._see_block(load_thread, t_s, load)
        return [mark for episode in (self._blocked, self._ended) if (mark := _news(episode, t_s, epoch, load)) is not None]

    def _see_end(self, load_thread: LoadThread, t_s: float, load: Load) -> None:
        why = f"{type(load_thread.ended_by).__name__}: {load_thread.ended_by}".splitlines()[0][:200]
        if not self._ended.is_open:
            self._ended.occurred(Occurrence(t_s=t_s, load=load, counted="deaths", example=why))
        destroyed = type(load_thread.ended_by).__name__ in ("HubDestroyed", "LoopExit")
        self.failure = LoadFailure(f"the load thread has ended, and with it all users: {why}", 4 if destroyed else 1)

    def _see_block(self, load_thread: LoadThread, t_s: float, load: Load) -> None:
        where = load_thread.where()
        count = self._silent_s if self._silent_s == BLOCKED_S else 1
        self._blocked.occurred(Occurrence(t_s=t_s, load=load, count=count, counted="seconds", example=where))
        if self._silent_s >= GIVEN_UP_S:
            error = f"the load thread has not run for {GIVEN_UP_S} s: user code computes or blocks without gevent in {where}"
            self.failure = LoadFailure(error, 4)


def _news(episode: Episode, t_s: float, epoch: int, load: Load) -> Mark | None:
    episode.epoch = epoch
    episode.close_if_over(t_s, load)
    return episode.revision_to_publish(t_s)


class RunFailures:
    """Each failure ends the load and is recorded; with a log that can be written again, the run continues."""

    def __init__(
        self,
        sink: EventSink,
        pump: Pump,
        load_control: LoadControl,
        requested_load: RequestedLoad,
        outcome: RunOutcome,
        *,
        epoch: Callable[[], int],
        let_users_run: Callable[[], None],
    ) -> None:
        """`epoch`: returns the target's epoch now. `let_users_run`: lets users run if nothing else prevents it."""
        self._sink, self._pump, self._outcome = sink, pump, outcome
        self._load_control, self._requested_load = load_control, requested_load
        self._epoch, self._let_users_run = epoch, let_users_run
        self._load_health, self._log_failures = LoadHealth(), LogFailures()

    def check_load(self, load_thread: LoadThread, t_s: float) -> None:
        """Fail the run if the load thread has failed; on a screen it continues when a person steps again."""
        for mark in self._load_health.look(load_thread, t_s, self._epoch(), self._requested_load.load):
            self._sink.emit(mark)
        failure = self._load_health.failure
        if failure is not None:
            self._outcome.fail("load_thread", failure.error, failure.exit_code)

    def on_log_failure(self, error: LogWriteError) -> None:
        """Stop all users. Events are kept in memory from now on, and written when there is space again."""
        if self._requested_load.is_open:
            self._load_control.to_zero("guard")
        self._requested_load.shut()
        self.log_critical(str(error))
        self._sink.emit(self._log_failures.began(self._pump.now_s(), self._epoch(), str(error)))
        self._outcome.fail("log", str(error), 4)

    def on_log_recovery(self) -> None:
        """All kept events have been written. As many users start again as a person has requested meanwhile, else none."""
        self._sink.emit(self._log_failures.ended(self._pump.now_s(), self._epoch()))
        self._outcome.recover("log")
        self._let_users_run()

    def on_log_made_again(self) -> None:
        """The log was removed, moved or replaced by another program, and has been written again with everything recorded."""
        text = "the session log was removed while the run goes on: it has been written again, and nothing is lost"
        self._sink.emit(Log(t_s=self._pump.now_s(), source="capexplorer", level="error", text=text))

    def on_defect(self, text: str) -> None:
        """First end the load and record the failure: later steps may fail from the same defect. `text`: the traceback."""
        self._requested_load.shut()
        lines = text.strip().splitlines()
        self._outcome.fail("defect", f"a defect in capexplorer: {lines[-1]}", 1, tuple(text.splitlines()))
        self._sink.marks_of_causes = lambda event: ()
        self.log_critical(text)

    def log_critical(self, text: str) -> None:
        """Log a failure of the run."""
        self._sink.emit(Log(t_s=self._pump.now_s(), source="capexplorer", level="critical", text=text))
