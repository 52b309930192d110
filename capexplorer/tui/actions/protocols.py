"""The protocols between the explorer screen and its actions, which do what keys do that are not of every explorer screen.

Actions know the screen only as `ScreenAccess`, and no panes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from textual.screen import ModalScreen
from textual.widget import Widget

from ...model.timeline import Timeline
from ..display_options import Palette
from ..keybar import Performs
from ..keys import ScreenName
from ..panes.status_view import View

Answer = TypeVar("Answer")


class ScreenAccess(Protocol):
    """The part of the screen that actions use."""

    @property
    def timeline(self) -> Timeline:
        """The feed's current timeline, also while the display is paused."""

    def show_message(self, message: str = "", *, alarm: bool = False) -> None:
        """Show a message in response to the last key, for a few seconds or until the next key. `alarm`: a refusal."""

    def forget_message(self) -> None:
        """Remove the message with the next drawing of the status area."""

    def ask(self, question: ModalScreen[Answer], answered: Callable[[Answer | None], None]) -> None:
        """Open a dialog over the screen."""

    def leave(self) -> None:
        """Quit, as the key q does."""

    def leave_run(self) -> None:
        """Close the screen of a run that goes on."""

    def act(self, name: str) -> None:
        """Perform what has this name in the table of keys."""

    def show_moment(self) -> None:
        """Show the time that a key moved to; left out while the same key waits again, which moves further."""


class Actions(Protocol):
    """One way to use the screen: steer, move through a recording, or watch."""

    @property
    def keys(self) -> ScreenName:
        """The screen name whose rows of the table of keys are bound."""

    @property
    def performs(self) -> Performs:
        """What the keys do that are not of every explorer screen."""

    @property
    def key_words(self) -> Mapping[str, str]:
        """Words that fill names such as `{play}` in the key bar."""

    @property
    def view(self) -> View:
        """The state of users and driver for the status area."""

    def attach(self, screen: ScreenAccess) -> None:
        """Set the screen to act on. Called once, first."""

    def widgets(self) -> Sequence[Widget]:
        """The widgets below the panes."""

    def draw(self, palette: Palette) -> None:
        """Draw those widgets in their present state."""

    @property
    def quit_question(self) -> str | None:
        """A sentence on what quitting would end, to be confirmed; None if it ends nothing."""

    def quit(self) -> None:
        """Note that the user quits."""
