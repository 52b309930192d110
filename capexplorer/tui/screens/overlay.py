"""The base of screens that cover the explorer screen: they draw the same timeline once a second, and Esc closes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Key
from textual.screen import ModalScreen

from ...model.kept_request import KeptRequests
from ...model.timeline import Timeline
from ..display_options import DisplayOptions
from ..keybar import LIKE_LESS, KeyLine
from ..panes.pane import ListPane, Pane
from ..render.text import safe
from .inspecting import Inspecting

DRAW_PERIOD_S = 1.0
"""Seconds between two drawings."""


@dataclass(frozen=True, slots=True)
class OverlaySource:
    """The source of the data that these screens draw; the functions return the present values."""

    timeline: Callable[[], Timeline]
    options: Callable[[], DisplayOptions]
    requests: KeptRequests
    inspecting: Inspecting
    """The inspection cursor of the explorer screen, which the charts of these screens show as well."""


class Overlay(ModalScreen[None]):
    """A full screen with `panes`, and a line of keys below them."""

    CSS_PATH = "overlay.tcss"
    KEYS: str = "Esc close"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", show=False)]

    def __init__(self, source: OverlaySource, *panes: Pane) -> None:
        super().__init__()
        self.source, self.panes = source, panes
        self._keys, self._shown_keys = KeyLine(classes="keys", markup=False), ""

    def compose(self) -> ComposeResult:
        """The panes, and the keys."""
        yield Container(*self.panes, classes="panes")
        yield self._keys

    def on_mount(self) -> None:
        """Draw now, and every DRAW_PERIOD_S."""
        self.panes[0].focus()
        self.set_interval(DRAW_PERIOD_S, self.draw)
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Draw all panes in their present state."""
        timeline, options = self.source.timeline(), self.source.options()
        self.update_data()
        for pane in self.panes:
            pane.show(timeline, len(timeline) - 1, options)
        if self.key_line != self._shown_keys:  # an update makes Textual lay out the whole screen again
            self._shown_keys = self.key_line
            self._keys.show_keys(self.key_line)

    def update_data(self) -> None:
        """Update data that is not in the timeline. Called before each drawing."""

    @property
    def own_keys(self) -> str:
        """The text on this screen's own keys, without those of all lists."""
        return self.KEYS

    @property
    def key_line(self) -> str:
        """The text on all keys of this screen."""
        return self.own_keys

    def action_close(self) -> None:
        """Close this screen."""
        self.dismiss(None)


class ListOverlay(Overlay):
    """A screen with one list: arrows choose a row, and `/` filters by a typed text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "end(0)", show=False),
        Binding("end", "end(1000000)", show=False),
        Binding("enter", "open", show=False),
        Binding("slash", "filter", show=False),
        *LIKE_LESS,
    ]

    def __init__(self, source: OverlaySource, table: ListPane) -> None:
        super().__init__(source, table)
        self.table = table
        self.filter_text = ""
        """Only rows that contain this text are shown."""
        self._is_typing = False

    @property
    def key_line(self) -> str:
        """The text on all keys; while a filter is typed, its text."""
        if self._is_typing:
            return f"/ {safe(self.filter_text)}▏  Enter: keep it   Esc: show all"
        return f"{self.own_keys}   / filter{f' ({safe(self.filter_text)})' if self.filter_text else ''}   Esc close"

    def on_key(self, event: Key) -> None:
        """Add typed letters to the filter."""
        if not self._is_typing:
            return
        event.stop()
        event.prevent_default()
        if event.key == "enter":
            self._is_typing = False
        elif event.key == "escape":
            self._is_typing, self.filter_text = False, ""
        elif event.key == "backspace":
            self.filter_text = self.filter_text[:-1]
        elif event.is_printable and event.character:
            self.filter_text += event.character
        self.draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys of the screen while a filter is typed."""
        return not self._is_typing

    def action_filter(self) -> None:
        """Begin to type a filter."""
        self._is_typing = True
        self.draw()

    def action_move(self, rows: int) -> None:
        """Choose the row this many rows below."""
        self.table.move(rows)

    def action_page(self, direction: int) -> None:
        """Move by a page, down (1) or up (-1)."""
        self.table.page(direction)

    def action_end(self, index: int) -> None:
        """Choose the row with this index; beyond the end, the last one."""
        self.table.choose(index)
