"""The application: it takes events from a source, folds them into a timeline, and has the live screen draw it.

Must not know load, run, session or probe: it is handed an EventSource and, where there is something to steer, Controls. Runs in a
process that gevent has patched: no threads, no subprocesses.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from textual.app import SystemCommand
from textual.screen import ModalScreen, Screen

from ..model.events import Sample
from ..model.stream import Controls, EventSource
from ..model.timeline import Timeline
from .base_app import SignalledApp
from .keybar import palette_keys
from .messages import Arrived, Folded
from .screens.ask import Quit
from .screens.live import LiveScreen
from .terminal import Terminal
from .typeahead import TypeAhead


@dataclass(frozen=True, slots=True)
class Ending:
    """Why the screen was left."""

    by: Literal["user", "signal"]
    signal: str | None = None
    """Its name, e.g. SIGTERM."""


class ExplorerApp(SignalledApp[Ending], TypeAhead[Ending]):
    """`explore` (or `run`) returns an Ending. The caller closes the source, once the terminal is the user's again."""

    CSS_PATH = "screens/live.tcss"  # the default screen's own would not be loaded
    ENABLE_COMMAND_PALETTE = True

    def __init__(
        self,
        source: EventSource,
        controls: Controls | None = None,
        *,
        terminal: Terminal | None = None,
        screen: LiveScreen | None = None,
        mouse: bool = False,
    ) -> None:
        super().__init__(terminal=terminal)
        self.source, self.controls, self._mouse = source, controls, mouse
        self.timeline = Timeline()
        self.live = screen or LiveScreen(self.timeline, controls)
        self._waking = False

    def explore(self) -> Ending:
        """Run until the user or a signal ends it."""
        return self.run_until_left(mouse=self._mouse) or Ending("user")

    def get_default_screen(self) -> Screen[None]:
        """The live screen from the start, so that keys pressed meanwhile reach it."""
        return self.live

    # -- events

    def on_mount(self) -> None:
        """Begin to take events."""
        self.source.start(self.wake)

    def wake(self) -> None:
        """From any thread: there are events. At most one message waits."""
        if self._waking:
            return
        self._waking = True
        self._soon(lambda: self.post_message(Arrived()))

    def on_arrived(self) -> None:
        """Fold what has come."""
        self._waking = False  # first: what comes from here on wakes again
        events = self.source.take()
        for event in events:
            self.timeline.apply(event)
        if events:
            self.live.post_message(Folded(ticked=any(isinstance(event, Sample) for event in events)))

    # -- ending

    def action_leave(self) -> None:
        """Quit; asks once while load runs, in place of any other box."""
        if isinstance(self.screen, Quit) or not self.load_runs:
            return self.leave()
        if isinstance(self.screen, ModalScreen):
            self.pop_screen()
        users = self.controls.wanted if self.controls else 0
        question = f"The load of {users:,} users ends. The session is saved."
        self.push_screen(Quit("Quit?", question, "quit"), lambda sure: self.leave() if sure else None)

    def action_command_palette(self) -> None:
        """The palette is a box too: none opens over another."""
        if not isinstance(self.screen, ModalScreen):
            super().action_command_palette()

    async def action_quit(self) -> None:
        """Textual's own way out is ours."""
        self.action_leave()

    @property
    def load_runs(self) -> bool:
        """Whether quitting would end something."""
        if self.controls is None or self.timeline.ended is not None:
            return False
        return self.controls.wanted > 0 or (self.timeline.last is not None and self.timeline.last.users > 0)

    def leave(self) -> None:
        """End at the user's word."""
        if self.controls is not None:
            self.controls.quit()
        self.exit(Ending("user"))

    def ended_by(self, signal: str) -> Ending:
        """The signal is told, and the exit code is made of it."""
        return Ending("signal", signal)

    # -- the rest

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: what every key does, and the themes."""
        for key in palette_keys(self.live.NAME):
            yield SystemCommand(key.help, f"key {key.shown}", partial(self.live.run_action, key.action))
        yield SystemCommand("choose the colours", "a theme for this session", self.action_change_theme)

    def _print(self, text: str, stderr: bool = False) -> None:
        """User code that prints: Textual would drop it; let it go where descriptors 1 and 2 were routed."""
        stream = sys.__stderr__ if stderr else sys.__stdout__
        if stream is not None and not self.is_headless:
            with contextlib.suppress(OSError, ValueError):  # routed to a pipe that is gone
                stream.write(text)
                stream.flush()
            return
        super()._print(text, stderr)
