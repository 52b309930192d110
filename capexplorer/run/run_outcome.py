"""How a run ends: the reason, the exit code, and one line for users without a screen."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

What = Literal["target", "log", "defect", "stop_rule", "plan", "load", "locustfile", "load_thread"]


@dataclass(frozen=True, slots=True)
class Failure:
    """What failed, in one line; with it the exit code, and the target's last lines or a traceback."""

    error: str
    exit_code: int
    output: tuple[str, ...] = ()


class RunOutcome:
    """Set from any thread. A headless run ends as soon as there is a `reason`; a screen stays until someone quits it."""

    def __init__(self) -> None:
        self.signal: str | None = None
        self.wake: Callable[[], None] = lambda: None
        self._finished: str | None = None
        self.wanted_exit_code: int | None = None
        """What a locustfile set as `environment.process_exit_code`; used if nothing else is wrong."""
        self._failures: dict[What, Failure] = {}

    @property
    def reason(self) -> str | None:
        """Why the run is over; None while it goes on. Agrees with `exit_code`: a signal, else a failure, else its own end."""
        if self.signal is not None:
            return f"ended by {self.signal}"
        return self.failure.error if self.failure is not None else self._finished

    @property
    def is_finished(self) -> bool:
        """Whether a plan, a shape or the autopilot came to its end, and nobody went on by hand."""
        return self._finished is not None

    def finish(self, reason: str) -> None:
        """A plan, a shape or the autopilot has come to its end. The first reason stays."""
        self._finished = self._finished or reason
        self.wake()

    def quit(self) -> None:
        """Someone quits a screen, on which a plan's end and a stop rule were shown: neither is why the session ends."""
        self._finished = None
        self.recover("stop_rule")

    def fail(self, what: What, error: str, exit_code: int, output: tuple[str, ...] = ()) -> None:
        """The run is over, or on a screen goes on without load, until what failed recovers."""
        self._failures[what] = Failure(error, exit_code, output)
        self.wake()

    def recover(self, what: What) -> None:
        """The failure is over: the target was restarted, or the disk has space again."""
        self._failures.pop(what, None)

    def interrupt(self, name: str) -> None:
        """A signal asks for the end."""
        self.signal = name
        self.wake()

    @property
    def failure(self) -> Failure | None:
        """The first failure that is not over."""
        return next(iter(self._failures.values()), None)

    @property
    def exit_code(self) -> int:
        """Of the process: 128 + signal, else the failure's, else what the locustfile set, else 0."""
        if self.signal is not None:
            return 128 + signal.Signals[self.signal]
        own = self.failure.exit_code if self.failure is not None else 0
        return own or self.wanted_exit_code or 0
