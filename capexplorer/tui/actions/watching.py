"""Actions of a screen that only watches load steered elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from textual.widget import Widget

from ...model.stream import Holding, OnlyScreen
from ..key import ScreenName
from ..look import Palette
from ..panes.status_view import View, watched
from . import holding
from .protocols import ScreenAccess


class Watch:
    """The keys are those of the live screen; to those that steer, the screen answers that there is no load to steer."""

    keys: ScreenName = "live"
    key_words: Mapping[str, str] = {}
    quit_question = None

    def __init__(self, held: Holding | None = None) -> None:
        self._held = held or OnlyScreen()

    def attach(self, screen: ScreenAccess) -> None:
        """Watch this screen's timeline."""
        self._screen = screen

    @property
    def view(self) -> View:
        """As the session tells."""
        timeline = self._screen.timeline
        return replace(watched(timeline), controls=holding.watched(self._held) if timeline.ended is None else "")

    def widgets(self) -> Sequence[Widget]:
        """None."""
        return ()

    def draw(self, palette: Palette) -> None:
        """Nothing to draw."""

    def quit(self) -> None:
        """Nothing ends."""
