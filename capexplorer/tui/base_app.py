"""Base of capexplorer's applications: the user's terminal, two keys that work on every screen, and exit at a signal.

Must not know screens, events or what is explored.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable
from typing import ClassVar, TypeVar

from textual.app import App
from textual.binding import Binding, BindingType

from .terminal import Terminal
from .terminal_driver import driver_on
from .themes import dress

Result = TypeVar("Result")


class SignalledApp(App[Result]):
    """An app that a signal handler or another thread can end, even while it waits for keys."""

    TITLE = "capexplorer"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q,ctrl+c", "leave", "Quit", show=False, priority=True, system=True),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True, system=True),
    ]

    def __init__(self, *, terminal: Terminal | None = None) -> None:
        super().__init__(driver_class=driver_on(terminal) if terminal else None)
        dress(self)
        self._ending_signal: str | None = None
        self._events_loop: asyncio.AbstractEventLoop | None = None
        self._events_context = contextvars.copy_context()

    def run_until_left(self, *, mouse: bool = False) -> Result | None:
        """Run the app; raises an exception of the screen instead of only printing it. Without `mouse` the terminal's own
        selection works.
        """
        result = self.run(mouse=mouse)
        if self._exception is not None:
            raise self._exception
        return result

    def on_load(self) -> None:
        """Accept calls from other threads, before anything is started that makes them."""
        self._events_loop = asyncio.get_running_loop()
        self._events_context = contextvars.copy_context()

    def on_mount(self) -> None:
        """End at once if a signal came before the event loop existed."""
        self._exit_if_asked()

    def _soon(self, call: Callable[[], object]) -> None:
        """Run `call` in the screen's thread; ignored before the app runs or after it ended.

        Unlike `call_later` it wakes a loop that waits for keys.
        """
        if self._events_loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._events_loop.call_soon_threadsafe(call, context=self._events_context)

    def action_leave(self) -> None:
        """Leave without a result."""
        self.exit()

    def request_exit(self, reason: str) -> None:
        """From a signal handler or any thread: end; `reason` is the signal's name."""
        self._ending_signal = self._ending_signal or reason
        self._soon(self._exit_if_asked)

    def _exit_if_asked(self) -> None:
        if self._ending_signal is not None:
            self.exit(self.ended_by(self._ending_signal))

    def ended_by(self, signal: str) -> Result | None:
        """What `run` returns after this signal."""
        return None
