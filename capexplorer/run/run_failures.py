"""What ends a run early, or its load: a log that cannot be written, a load thread that fails, a defect of this program.

Every method is called in the pump's thread.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from ..analysis.causes.classify import NAME_ERRORS, classify
from ..analysis.causes.episode import Episode, Occurrence
from ..errors import LogWriteError
from ..load.user_code import STOPPED, UserError
from ..model.catalogue import ENTRIES, RAISED, USER_CODE
from ..model.events import EndpointTick, FailureSignature, Log, Mark
from ..model.findings import Cause
from ..model.load import Load
from ..steer.requested_load import RequestedLoad
from .context import RunContext
from .load_control import LoadControl

if TYPE_CHECKING:
    from ..load.load_thread import LoadThread  # imports Locust, which patches the process

BLOCKED_S = 5
"""Consecutive ticks without a heartbeat of the load thread after which a mark is made. User code that computes without end, or
that blocks outside gevent, stops all users; a log alone cannot show it, because such seconds have no requests."""
GIVEN_UP_S = 15
"""Consecutive ticks without a heartbeat after which the run has failed, until the heartbeat returns."""


class RunFailures:
    """Each failure ends the load and is recorded; with a log that can be written again, the run continues."""

    def __init__(
        self,
        context: RunContext,
        load_thread: LoadThread,
        requested_load: RequestedLoad,
        load_control: LoadControl,
        let_users_run: Callable[[], None],
    ) -> None:
        """`let_users_run`: lets users run if nothing else prevents it."""
        self._context, self._load_thread, self._requested_load = context, load_thread, requested_load
        self._load_control, self._let_users_run = load_control, let_users_run
        self._log_failures = LogFailures()
        self._blocked = Episode("cause:load_thread_blocked", "load_thread_blocked", 0, "critical")
        self._ended = Episode("cause:load_thread_ended", "load_thread_ended", 0, "critical")
        self._beats, self._silent_s = -1, 0

    def check_load(self, t_s: float) -> None:
        """Fail the run if the load thread has failed; on a screen it continues when a person steps again.

        Called once a tick, and counts ticks, not seconds: a process that was stopped and continues has missed no heartbeat.
        """
        load_thread, load = self._load_thread, self._requested_load.load
        self._silent_s = 0 if load_thread.beats != self._beats else self._silent_s + 1
        self._beats = load_thread.beats
        if load_thread.has_ended:
            self._see_end(t_s, load)
        elif self._silent_s >= BLOCKED_S:
            self._see_block(t_s, load)
        for each in (self._blocked, self._ended):
            mark = each.news(t_s, self._context.epoch, load)
            if mark is not None:
                self._context.emit(mark)

    def _see_end(self, t_s: float, load: Load) -> None:
        ended_by = self._load_thread.ended_by
        why = f"{type(ended_by).__name__}: {ended_by}".splitlines()[0][:200]
        if not self._ended.is_open:
            self._ended.occurred(Occurrence(t_s=t_s, load=load, counted="deaths", example=why))
        of_locustfile = type(ended_by).__name__ in ("HubDestroyed", "LoopExit")
        error = f"the load thread has ended, and with it all users: {why}"
        self._context.outcome.fail("load_thread", error, 4 if of_locustfile else 1)

    def _see_block(self, t_s: float, load: Load) -> None:
        where = self._load_thread.where()
        count = self._silent_s if self._silent_s == BLOCKED_S else 1
        self._blocked.occurred(Occurrence(t_s=t_s, load=load, count=count, counted="seconds", example=where))
        if self._silent_s >= GIVEN_UP_S:
            error = f"the load thread has not run for {GIVEN_UP_S} s: user code computes or blocks without gevent in {where}"
            self._context.outcome.fail("load_thread", error, 4)

    def on_log_failure(self, error: LogWriteError) -> None:
        """Stop all users. Events are kept in memory from now on, and written when there is space again."""
        if self._requested_load.is_open:
            self._load_control.to_zero("guard")
        self._requested_load.shut()
        self.log_critical(str(error))
        self._context.emit(self._log_failures.began(self._context.now_s(), self._context.epoch, str(error)))
        self._context.outcome.fail("log", str(error), 4)

    def on_log_recovery(self) -> None:
        """All kept events have been written. As many users start again as a person has requested meanwhile, else none."""
        self._context.emit(self._log_failures.ended(self._context.now_s(), self._context.epoch))
        self._context.outcome.recover("log")
        self._let_users_run()

    def on_log_made_again(self) -> None:
        """The log was removed, moved or replaced by another program, and has been written again with everything recorded."""
        self._log("error", "the session log was removed while the run goes on: it has been written again, and nothing is lost")

    def on_defect(self, text: str) -> None:
        """First end the load and record the failure: later steps may fail from the same defect. `text`: the traceback."""
        self._requested_load.shut()
        lines = text.strip().splitlines()
        self._context.outcome.fail("defect", f"a defect in capexplorer: {lines[-1]}", 1, tuple(text.splitlines()))
        self._context.sink.judge_no_more()
        self.log_critical(text)

    def log_critical(self, text: str) -> None:
        """Log a failure of the run."""
        self._log("critical", text)

    def _log(self, level: Literal["error", "critical"], text: str) -> None:
        self._context.emit(Log(t_s=self._context.now_s(), source="capexplorer", level=level, text=text))


class LogFailures:
    """The mark for a log that cannot be written, which is kept in memory and written as soon as there is space again. One for all
    such failures of a session; each failure's start and end is a revision.
    """

    def __init__(self) -> None:
        self._revision = self._count = 0
        self._first_s = 0.0
        self._example = ""

    def began(self, t_s: float, epoch: int, error: str) -> Mark:
        """Writing fails because of `error`."""
        self._count, self._first_s, self._example = self._count + 1, t_s, error
        return self._mark("open", t_s, epoch)

    def ended(self, t_s: float, epoch: int) -> Mark:
        """Writing works again: all events kept in memory have been written."""
        return self._mark("closed", t_s, epoch)

    def _mark(self, state: Literal["open", "closed"], t_s: float, epoch: int) -> Mark:
        self._revision += 1
        finding = Cause(name="log_write_failed", count=self._count, first_s=self._first_s, last_s=t_s, example=self._example)
        return Mark(
            t_s=t_s,
            key="cause:log_write_failed",
            revision=self._revision,
            state=state,
            finding=finding,
            epoch=epoch,
            severity="critical",
            confidence="high",
        )


# -- marks of what samples lack: exceptions of user code outside of requests, and values from outside that cannot be recorded.
# Their revisions are paced like those of all causes; analysis of a log cannot find them.


METRICS = "custom_metrics"

_OF_USER_CODE = {STOPPED: "users_stopped"}
"""Causes of what user code does without an exception that it has failed to handle."""

_ERRNO = re.compile(r"\[Errno (-?\d+)\]")


UNUSABLE_VALUES = "unusable_values"

EXAMPLE_MOST = 200
"""Characters of a value's name in the mark."""


class ObservedMarks:
    """Call `marks` once a tick."""

    def __init__(self) -> None:
        self._of_users = {USER_CODE: Episode(f"cause:{USER_CODE}", USER_CODE, 0, ENTRIES[USER_CODE].severity)}
        self._unusable = Episode(f"cause:{UNUSABLE_VALUES}", UNUSABLE_VALUES, 0, ENTRIES[UNUSABLE_VALUES].severity)
        self._metrics = Episode(f"cause:{METRICS}", METRICS, 0, ENTRIES[METRICS].severity)

    def marks(
        self,
        load_thread: LoadThread,
        unusable: Iterable[str],
        t_s: float,
        epoch: int,
        load: Load,
        *,
        metrics: Iterable[EndpointTick] = (),
        all_changes: bool = False,
    ) -> Iterator[Mark]:
        """The marks to emit now. `unusable`: names of this tick's values that cannot be recorded. `metrics`: those of this tick.
        `all_changes`: at the end, without pacing.
        """
        for error in [load_thread.errors.waiting.popleft() for _ in range(len(load_thread.errors.waiting))]:
            text = ": ".join(filter(None, (error.type, error.text))) + (f" ({error.line})" if error.line else "")
            self._of_user(cause_of(error)).occurred(Occurrence(t_s=t_s, load=load, example=text))
        for name in unusable:
            self._unusable.occurred(Occurrence(t_s=t_s, load=load, example=name[:EXAMPLE_MOST]))
        for each in metrics:
            count, endpoint = each.requests + each.warmup_requests, f"{each.method} {each.name}".strip()
            self._metrics.occurred(Occurrence(t_s=t_s, load=load, count=count, endpoint=endpoint))
        self._of_users[USER_CODE].note({"users_replaced": load_thread.replaced})
        for episode in (*self._of_users.values(), self._unusable, self._metrics):
            revision = episode.news(t_s, epoch, load, all_changes=all_changes)
            if revision is not None:
                yield revision

    def _of_user(self, cause: str) -> Episode:
        found = self._of_users.get(cause)
        if found is None:
            key = f"cause:{cause}" if cause in _OF_USER_CODE.values() else f"cause:{cause}{RAISED}"
            found = self._of_users[cause] = Episode(key, cause, 0, ENTRIES[cause].severity)
        return found


def cause_of(error: UserError) -> str:
    """The cause that a failed request with this exception indicates, if the system, the resolver or the service by a code of its
    protocol raised it; else the code."""
    if error.type in _OF_USER_CODE:
        return _OF_USER_CODE[error.type]
    errno = _ERRNO.match(error.text)
    signature = FailureSignature(types=(error.type,), errno=int(errno[1]) if errno else None, text=error.text)
    if errno is None and error.type not in NAME_ERRORS and not signature.code:
        return USER_CODE
    found = classify(signature, platform.system())
    return found if found in ENTRIES and found != "unknown" else USER_CODE
