"""How a run ends: the reason, the exit code, and one line for whoever sees no screen."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

What = Literal["target", "log", "defect", "stop_rule", "plan"]


@dataclass(frozen=True, slots=True)
class Failure:
    """What failed, in one line; with it the exit code, and the target's last lines or a traceback."""

    error: str
    exit_code: int
    output: tuple[str, ...] = ()


class Outcome:
    """Set from any thread; `reason` is None while the run goes on. A headless run ends with a reason; a screen stays."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.signal: str | None = None
        self.wake: Callable[[], None] = lambda: None
        self._failures: dict[What, Failure] = {}

    def finish(self, reason: str) -> None:
        """The run is over. The first reason stays."""
        self.reason = self.reason or reason
        self.wake()

    def fail(self, what: What, error: str, exit_code: int, output: tuple[str, ...] = ()) -> None:
        """The run is over, or on a screen goes on without load, until what failed recovers."""
        self._failures[what] = Failure(error, exit_code, output)
        self.finish(error)

    def recover(self, what: What) -> None:
        """A target that was restarted, a disk that has space again."""
        failure = self._failures.pop(what, None)
        if failure is not None and self.reason == failure.error:
            self.reason = None

    def interrupt(self, name: str) -> None:
        """A signal asks for the end."""
        self.signal = name
        self.finish(f"ended by {name}")

    @property
    def failure(self) -> Failure | None:
        """The first that has not recovered."""
        return next(iter(self._failures.values()), None)

    @property
    def exit_code(self) -> int:
        """Of DESIGN section 6."""
        if self.signal is not None:
            return 128 + signal.Signals[self.signal]
        return self.failure.exit_code if self.failure is not None else 0
