"""How a run ends: the reason, the exit code, and one line for whoever sees no screen."""

from __future__ import annotations

import signal
from collections.abc import Callable


class Outcome:
    """Set from any thread; `reason` is None while the run goes on."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.signal: str | None = None
        self.exit_code = 0
        self.error = ""
        self.output: tuple[str, ...] = ()
        """The target's last lines, or a traceback, beside `error`."""
        self.wake: Callable[[], None] = lambda: None

    def finish(self, reason: str) -> None:
        """The run is over, in order. The first reason stays."""
        self.reason = self.reason or reason
        self.wake()

    def fail(self, error: str, exit_code: int, output: tuple[str, ...] = ()) -> None:
        """The run is over, or on a screen goes on without load, since something failed."""
        self.error, self.exit_code, self.output = error, exit_code, output
        self.finish(error)

    def recover(self) -> None:
        """What failed works again (a target that was restarted)."""
        self.error, self.exit_code, self.output, self.reason = "", 0, (), None

    def interrupt(self, name: str) -> None:
        """A signal asks for the end."""
        self.signal = name
        self.exit_code = 128 + signal.Signals[name]
        self.finish(f"ended by {name}")
