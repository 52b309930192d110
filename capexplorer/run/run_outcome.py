"""How a run ends: the reason, the exit code, and one line for users without a screen."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

FailureSource = Literal["target", "log", "defect", "stop_rule", "plan", "load", "locustfile", "load_thread", "workers"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure in one line, with its exit code and the target's last lines or a traceback."""

    error: str
    exit_code: int
    output: tuple[str, ...] = ()


class RunOutcome:
    """May be set from any thread. A headless run ends as soon as `reason` is set; with a screen the run lasts until the user
    quits.
    """

    def __init__(self) -> None:
        self.signal: str | None = None
        self.wake: Callable[[], None] = lambda: None
        self._finished: str | None = None
        self._quit: str | None = None
        self.wanted_exit_code: int | None = None
        """The locustfile's `environment.process_exit_code`, used if nothing else failed."""
        self._failures: dict[FailureSource, Failure] = {}

    @property
    def reason(self) -> str | None:
        """Why the run ended; None while it runs. Consistent with `exit_code`: a signal, else a failure, else the normal end."""
        if self.signal is not None:
            return f"ended by {self.signal}"
        return self.failure.error if self.failure is not None else self._finished or self._quit

    @property
    def is_finished(self) -> bool:
        """Whether a plan, a shape or the autopilot has finished and no person has continued by hand."""
        return self._finished is not None

    def finish(self, reason: str) -> None:
        """A plan, a shape or the autopilot has finished. The first reason is kept."""
        self._finished = self._finished or reason
        self.wake()

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
        self.wake()

    def recover(self, what: FailureSource) -> None:
        """Remove a failure: the target was restarted, or the disk has space again."""
        self._failures.pop(what, None)

    def interrupt(self, name: str) -> None:
        """A signal requests the end of the run. The first one is kept."""
        self.signal = self.signal or name
        self.wake()

    @property
    def failure(self) -> Failure | None:
        """The earliest failure that has not recovered."""
        return next(iter(self._failures.values()), None)

    @property
    def exit_code(self) -> int:
        """The process's exit code: 128 + signal, else the failure's, else the locustfile's, else 0."""
        if self.signal is not None:
            return 128 + signal.Signals[self.signal]
        own = self.failure.exit_code if self.failure is not None else 0
        return own or self.wanted_exit_code or 0
