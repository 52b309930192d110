"""How a run ends: the reason, the exit code, and one line for users without a screen."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Literal

import msgspec

from .. import wording
from ..errors import ExitCode
from ..model.catalogue import RAISED, USER_CODE
from ..model.events import FailureSignature
from ..model.findings import Cause
from ..model.level import Level
from ..model.requirements import State
from ..model.timeline import Timeline

FailureSource = Literal["target", "log", "defect", "stop_rule", "plan", "load", "locustfile", "load_thread", "workers"]


class Failure(msgspec.Struct, frozen=True):
    """A failure in one line, with its exit code and the target's last lines or a traceback."""

    error: str
    exit_code: int
    output: tuple[str, ...] = ()


class RunOutcome:
    """May be set from any thread. A headless run ends as soon as `reason` is set; with a screen the run lasts until the user
    quits.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        """`wake`: called when there may be a reason to end."""
        self.signal: str | None = None
        self._wake = wake
        self._finished: str | None = None
        self._quit: str | None = None
        self._wanted_exit_code: int | None = None
        self._states: frozenset[State] = frozenset()
        self._failures: dict[FailureSource, Failure] = {}

    @property
    def reason(self) -> str | None:
        """Why the run ended; None while it runs. Consistent with `exit_code`: a signal, else a failure, else the normal end."""
        if self.signal is not None:
            return f"ended by {self.signal}"
        return self.failure.error if self.failure is not None else self._finished or self._quit

    def finish(self, reason: str) -> None:
        """A plan, a shape or the autopilot has finished. The first reason is kept."""
        self._finished = self._finished or reason
        self._wake()

    def quit(self, why: str | None = None) -> None:
        """The user quits, or no screen has the controls. This reason replaces the end of a plan or a stop rule as the reason of
        the session's end.
        """
        self._finished, self._quit = None, why
        self.recover("stop_rule")

    def leave(self, why: str) -> None:
        """No screen has the controls, and no driver steps the users. `why` becomes the reason unless there is another one."""
        self._quit = why

    def fail(self, what: FailureSource, error: str, exit_code: int, output: tuple[str, ...] = ()) -> None:
        """Record a failure: a headless run ends; on a screen the run continues without load until `recover`."""
        self._failures[what] = Failure(error, exit_code, output)
        self._wake()

    def recover(self, what: FailureSource) -> None:
        """Remove a failure: the target was restarted, or the disk has space again."""
        self._failures.pop(what, None)

    def interrupt(self, name: str) -> None:
        """A signal requests the end of the run. The first one is kept."""
        self.signal = self.signal or name
        self._wake()

    def want_exit_code(self, code: int | None) -> None:
        """The locustfile's `environment.process_exit_code`, used if nothing else failed."""
        self._wanted_exit_code = code

    def answer(self, states: Iterable[State]) -> None:
        """The states of all that is required of the service, which decide the exit code if nothing else does."""
        self._states = frozenset(states)

    def fail_without_measurement(self, timeline: Timeline, requests: int, failures: int) -> None:
        """Fail a run that measured nothing, unless it has failed already or its locustfile set an exit code itself."""
        why = shortfall(timeline, requests, failures, finished=self._finished is not None)
        if why is not None and self.failure is None and self._wanted_exit_code is None:
            self.fail("load", why, 4)

    def has_failed(self, what: FailureSource) -> bool:
        """Whether this has failed and not recovered."""
        return what in self._failures

    def failed_beside(self, sources: Collection[FailureSource]) -> bool:
        """Whether something else than these has failed and not recovered."""
        return any(what not in sources for what in self._failures)

    @property
    def failure(self) -> Failure | None:
        """The earliest failure that has not recovered."""
        return next(iter(self._failures.values()), None)

    @property
    def exit_code(self) -> int:
        """The process's exit code: 128 + signal, else the failure's, else the locustfile's, else that of the answers."""
        if self.signal is not None:
            return 128 + signal.Signals[self.signal]
        own = self.failure.exit_code if self.failure is not None else 0
        return own or self._wanted_exit_code or self._answers_exit_code

    @property
    def _answers_exit_code(self) -> ExitCode:
        if "not_met" in self._states:
            return ExitCode.NOT_MET
        return ExitCode.UNDECIDED if "undecided" in self._states else ExitCode.DONE


def shortfall(timeline: Timeline, requests: int, failures: int, *, finished: bool) -> str | None:
    """Why a run measured nothing, in one line; None for one of which a level settled with a success, and for one without load.

    `requests`, `failures`: of the session, warm-up included. `finished`: a plan, a shape or the autopilot came to its end; a
    person who quits before any level has settled, without a failure, gets no error.
    """
    loaded = [level for level in timeline.levels if level.has_load]
    if not loaded or any(map(_succeeded, loaded)):
        return None
    if requests and failures >= requests:
        return f"no request succeeded: {failures} failed, {_how(timeline, failures)}"
    raised = [mark.finding for key, mark in timeline.marks.items() if key == f"cause:{USER_CODE}" or key.endswith(RAISED)]
    died = max((each for each in raised if isinstance(each, Cause)), key=lambda each: each.count, default=None)
    if died is not None and (finished or not requests):
        done = "no level settled with a success" if requests else "users made no request"
        what = "exceptions in user code" if died.name == USER_CODE else "system errors"
        return f"{done}: {died.count} {what}, such as {died.example}"
    if not finished and not any(level.figures.settled for level in loaded):
        return None
    return "no level settled with a success" if requests else "users made no request that came to an end"


def _succeeded(level: Level) -> bool:
    figures = (level.figures, *(each.figures for each in level.bins))
    return any(each.settled and each.requests > each.failures for each in figures)


def _how(timeline: Timeline, failures: int) -> str:
    """The most frequent failure, with its full text if known."""
    counts: Counter[FailureSignature] = Counter()
    for (_, _, signature), failure in timeline.failures.items():
        counts[signature] += failure.count
    signature, count = counts.most_common(1)[0]
    share = "all with" if count >= failures else "most often with"
    return f"{share} {timeline.examples.get(signature) or wording.failure(signature)}"
