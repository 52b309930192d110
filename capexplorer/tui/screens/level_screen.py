"""The screen of one level, over the explorer screen: the level at the inspection cursor, which keys can move."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from ...model.timeline import Timeline
from ..display_options import DisplayOptions
from ..keybar import KeyLine, clickable
from ..panes.level_page import LevelPage

KEYS = "←→ previous, next level   ↑↓ PgUp PgDn scroll   R requests   Esc close"


class LevelScreen(ModalScreen[None]):
    """Shows one level. `move` moves the cursor to the next (1) or the previous (-1) level, and the explorer screen then calls
    `show`. `requests` opens the level's kept requests.
    """

    CSS_PATH = "level_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,i", "dismiss(None)", show=False),
        Binding("R", "requests", show=False),
        Binding("left", "move(-1)", show=False),
        Binding("right", "move(1)", show=False),
        Binding("up", "scroll_line(-1)", show=False),
        Binding("down", "scroll_line(1)", show=False),
    ]

    def __init__(self, move: Callable[[int], None], requests: Callable[[], None]) -> None:
        super().__init__()
        self._move, self._requests = move, requests
        self._page = LevelPage()

    def compose(self) -> ComposeResult:
        """The page and its keys."""
        yield self._page
        yield KeyLine(clickable(KEYS), id="level-keys")

    def on_mount(self) -> None:
        """Focus the page, so that keys scroll it."""
        self._page.focus()

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw the level at the cursor in its present state."""
        self._page.show(timeline, cursor, options)

    def action_requests(self) -> None:
        """Open the kept requests of this level."""
        self._requests()

    def action_move(self, direction: int) -> None:
        """Show the next (1) or the previous (-1) level from its top."""
        self._page.scrolled = 0
        self._move(direction)

    def action_scroll_line(self, direction: int) -> None:
        """Scroll by one line, down (1) or up (-1)."""
        self._page.scroll_by(direction)
