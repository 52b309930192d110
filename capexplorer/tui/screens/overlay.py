"""What screens over the explorer screen share: they draw its timeline as it goes on, and Esc closes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Static

from ...model.kept_request import KeptRequests
from ...model.timeline import Timeline
from ..look import Look
from ..panes.list_pane import ListPane
from ..panes.pane import Pane
from ..render.text import safe

LOOK_S = 1.0
"""Between two drawings."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What these screens show."""

    timeline: Callable[[], Timeline]
    look: Callable[[], Look]
    requests: KeptRequests


class Overlay(ModalScreen[None]):
    """Full screen: `panes`, and a line of keys below."""

    CSS_PATH = "overlay.tcss"
    KEYS: str = "Esc close"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", show=False)]

    def __init__(self, seen: Seen, *panes: Pane) -> None:
        super().__init__()
        self.seen, self.panes = seen, panes
        self._keys, self._shown_keys = Static(classes="keys", markup=False), ""

    def compose(self) -> ComposeResult:
        """The panes, and the keys."""
        yield Container(*self.panes, classes="panes")
        yield self._keys

    def on_mount(self) -> None:
        """Draw now and then."""
        self.panes[0].focus()
        self.set_interval(LOOK_S, self.draw)
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """All panes, as of now."""
        timeline, look = self.seen.timeline(), self.seen.look()
        self.look_again()
        for pane in self.panes:
            pane.show(timeline, len(timeline) - 1, look)
        if self.key_line != self._shown_keys:  # an update lays the whole screen out anew
            self._shown_keys = self.key_line
            self._keys.update(Text(self.key_line, no_wrap=True))

    def look_again(self) -> None:
        """Before a drawing: what is not in the timeline."""

    @property
    def own_keys(self) -> str:
        """The keys of this screen, those of every list left out."""
        return self.KEYS

    @property
    def key_line(self) -> str:
        """The keys of this screen."""
        return self.own_keys

    def action_close(self) -> None:
        """Back to the screen below."""
        self.dismiss(None)


class ListOverlay(Overlay):
    """One list: arrows choose a row, `/` filters by a text that is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "end(0)", show=False),
        Binding("end", "end(1000000)", show=False),
        Binding("enter", "open", show=False),
        Binding("slash", "filter", show=False),
    ]

    def __init__(self, seen: Seen, table: ListPane) -> None:
        super().__init__(seen, table)
        self.table = table
        self.wanted = ""
        """Only rows that contain this text."""
        self._is_typing = False

    @property
    def key_line(self) -> str:
        """While a text is typed, that text."""
        if self._is_typing:
            return f"/ {safe(self.wanted)}▏  Enter: keep it   Esc: show all"
        return f"{self.own_keys}   / filter{f' ({safe(self.wanted)})' if self.wanted else ''}   Esc close"

    def on_key(self, event: Key) -> None:
        """Letters of a filter."""
        if not self._is_typing:
            return
        event.stop()
        event.prevent_default()
        if event.key == "enter":
            self._is_typing = False
        elif event.key == "escape":
            self._is_typing, self.wanted = False, ""
        elif event.key == "backspace":
            self.wanted = self.wanted[:-1]
        elif event.is_printable and event.character:
            self.wanted += event.character
        self.draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a text is typed, keys are letters."""
        return not self._is_typing

    def action_filter(self) -> None:
        """Type a text."""
        self._is_typing = True
        self.draw()

    def action_move(self, rows: int) -> None:
        """The row so many below."""
        self.table.move(rows)

    def action_page(self, direction: int) -> None:
        """A page."""
        self.table.page(direction)

    def action_end(self, index: int) -> None:
        """The first or the last row."""
        self.table.choose(index)
