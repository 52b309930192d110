"""What the explorer screen is handed: an object of actions. Its methods `action_NAME` are what the table of keys names.

Actions know the screen as `ScreenAccess`, and nothing of panes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from textual.screen import ModalScreen
from textual.widget import Widget

from ...model.timeline import Timeline
from ..keys import ScreenName
from ..look import Palette
from ..panes.status_view import View

Answer = TypeVar("Answer")


class ScreenAccess(Protocol):
    """What actions may ask of the screen that they are performed on."""

    @property
    def timeline(self) -> Timeline:
        """Of the feed, now; also while the panes are held."""

    def say(self, said: str = "", *, alarm: bool = False) -> None:
        """Answer to the key just pressed, for a few seconds or until the next one; draws the status. `alarm`: a refusal."""

    def ask(self, question: ModalScreen[Answer], answered: Callable[[Answer | None], None]) -> None:
        """Put a question over the screen."""

    def catch_up(self) -> None:
        """Take what is new from the feed, and draw it."""


class Actions(Protocol):
    """One way to use the screen: steer, move through a recording, or watch."""

    @property
    def keys(self) -> ScreenName:
        """Whose rows of the table of keys are bound."""

    @property
    def key_words(self) -> Mapping[str, str]:
        """Words that fill names such as `{play}` in the key bar."""

    @property
    def view(self) -> View:
        """What the status says about users, and about who steps them."""

    def attach(self, screen: ScreenAccess) -> None:
        """From here on they act on this screen. Called once, before anything else."""

    def widgets(self) -> Sequence[Widget]:
        """What stands below the panes."""

    def draw(self, palette: Palette) -> None:
        """Draw those widgets as of now."""

    @property
    def quit_question(self) -> str | None:
        """What quitting would end, as a sentence that is put to the user; None: nothing."""

    def quit(self) -> None:
        """The user quits."""
