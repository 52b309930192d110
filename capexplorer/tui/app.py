"""The application: takes events from a feed when there are new ones, and lets the explorer screen draw them.

Must not know load, run, session or probe: it gets a feed and actions. Runs in a process that gevent has patched, so it starts no
threads and no subprocesses.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from functools import partial
from typing import Literal

import msgspec
from textual.app import SystemCommand
from textual.screen import ModalScreen, Screen

from ..errors import SessionError
from ..model.kept_request import KeptRequests
from .base_app import SignalledApp
from .dialogs import Quit
from .feed import Feed
from .keybar import palette_keys
from .preferences import Preferences, keymap
from .protocols import Actions, EventsArrived, FeedFailed
from .screens.explorer import ExplorerScreen
from .screens.view_options import Baselines
from .terminal import Terminal
from .typeahead import TypeAhead


class Ending(msgspec.Struct, frozen=True):
    """Why the screen was closed."""

    by: Literal["user", "detach", "signal"]
    """`detach`: the user has left a run that goes on."""
    signal: str | None = None
    """Its name, e.g. SIGTERM."""


class ExplorerApp(SignalledApp[Ending], TypeAhead[Ending]):
    """`explore` returns an Ending. After that the caller closes what the feed reads from."""

    CSS_PATH = "screens/explorer.tcss"  # the default screen's own would not be loaded
    ENABLE_COMMAND_PALETTE = True

    def __init__(
        self,
        feed: Feed,
        actions: Actions,
        *,
        terminal: Terminal | None = None,
        mouse: bool = False,
        preferences: Preferences | None = None,
        whole: bool = False,
        requests: KeptRequests | None = None,
        baselines: Baselines | None = None,
    ) -> None:
        """`whole`: charts show the session's whole time at the start. `requests`: the session's kept requests."""
        super().__init__(terminal=terminal, preferences=preferences)
        self.set_keymap(keymap(self.preferences.keys, "inspect") | keymap(self.preferences.keys, actions.keys))
        self.feed, self.actions, self._mouse = feed, actions, mouse
        self.explorer = ExplorerScreen(feed, actions, self.preferences, whole=whole, requests=requests, baselines=baselines)
        self._waking = False
        self._failure: SessionError | None = None

    def explore(self) -> Ending:
        """Run until the user or a signal ends it. Raises SessionError when the session cannot be read any more."""
        ending = self.run_until_left(mouse=self._mouse) or Ending("user")
        if self._failure is not None:
            raise self._failure
        return ending

    def get_default_screen(self) -> Screen[None]:
        """The explorer screen from the start, so that keys pressed meanwhile reach it."""
        return self.explorer

    # -- the feed

    def on_mount(self) -> None:
        """Start the feed."""
        self.feed.start(self.wake)

    def wake(self) -> None:
        """From any thread: new events are available. At most one message is queued."""
        if self._waking:
            return
        self._waking = True
        self._soon(lambda: self.post_message(EventsArrived()))

    def on_events_arrived(self) -> None:
        """Let the screen show the new events, and repeat this after the feed's pause."""
        self._waking = False  # first, so that events from here on wake the app again
        self.explorer.catch_up()
        pause_s = self.feed.pause_s
        if pause_s:
            self.set_timer(pause_s, self.wake)
        elif pause_s is not None:
            self.wake()

    def on_feed_failed(self, message: FeedFailed) -> None:
        """End, because the session cannot be read any more."""
        self._failure = message.error
        self.exit(Ending("user"))

    # -- ending

    def action_leave(self) -> None:
        """Quit; while load runs, ask first, replacing any other dialog."""
        question = self.actions.quit_question
        if isinstance(self.screen, Quit) or question is None:
            return self.leave()
        if isinstance(self.screen, ModalScreen):
            self.pop_screen()
        self.push_screen(Quit("Quit?", question, "quit"), lambda sure: self.leave() if sure else None)

    def action_command_palette(self) -> None:
        """Open the command palette, unless another dialog is open."""
        if not isinstance(self.screen, ModalScreen):
            super().action_command_palette()

    async def action_quit(self) -> None:
        """Textual's quit action: same as leaving."""
        self.action_leave()

    def leave(self) -> None:
        """The user has decided to quit."""
        self.actions.quit()
        self.exit(Ending("user"))

    def on_run_left(self) -> None:
        """Leave a run that goes on."""
        self.exit(Ending("detach"))

    def end(self) -> None:
        """End as if the user had quit, without a question. From any thread."""
        self._soon(self.leave)

    def ended_by(self, signal: str) -> Ending:
        """The result after a signal; the exit code is derived from it."""
        return Ending("signal", signal)

    # -- commands and output

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The command palette's entries: all keys, and the themes."""
        for key in palette_keys(self.actions.keys, self.preferences.keys):
            yield SystemCommand(key.help, f"key {key.shown}", partial(self.explorer.perform, key.name))
        yield SystemCommand("choose the colours", "a theme, also for later sessions", self.action_change_theme)

    def _print(self, text: str, stderr: bool = False) -> None:
        """Output of user code, which Textual would drop: write it to the descriptors 1 or 2, which are captured."""
        stream = sys.__stderr__ if stderr else sys.__stdout__
        if stream is not None and not self.is_headless:
            with contextlib.suppress(OSError, ValueError):  # routed to a pipe that is gone
                stream.write(text)
                stream.flush()
            return
        super()._print(text, stderr)
