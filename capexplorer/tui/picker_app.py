"""The application of `capexplorer` without a command: the picker, which returns what was picked."""

from __future__ import annotations

from collections.abc import Sequence

from textual.screen import Screen

from ..model.sources import SessionEntry
from .base_app import SignalledApp
from .preferences import Preferences, keymap
from .screens.picker import Picker
from .screens.sessions import ProfileEntry, SavedSessions
from .terminal import Terminal
from .typeahead import TypeAhead

Picked = ProfileEntry | SessionEntry
"""A profile to run, or a session to replay."""


class PickerApp(SignalledApp[Picked], TypeAhead[Picked]):
    """`pick` returns the profile to run or the session to replay, or None."""

    CSS_PATH = "screens/picker.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        profiles: Sequence[ProfileEntry],
        saved_sessions: SavedSessions,
        *,
        default: str = "",
        terminal: Terminal | None = None,
        mouse: bool = False,
        preferences: Preferences | None = None,
    ) -> None:
        super().__init__(terminal=terminal, preferences=preferences)
        self._mouse = mouse
        self.set_keymap(keymap(self.preferences.keys, "picker"))
        self._picker = Picker(tuple(profiles), saved_sessions, default, self.preferences)

    def pick(self) -> Picked | None:
        """Run until something is picked. Returns None if the picker was left otherwise, also by a signal."""
        return self.run_until_left(mouse=self._mouse)

    def get_default_screen(self) -> Screen[None]:
        """The picker from the start, so that keys pressed meanwhile reach it."""
        return self._picker
