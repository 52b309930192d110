"""The lines around the explorer screen's panes: status area, tabs and key bar. Drawn only if what they show has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from textual.screen import Screen

from ...model.timeline import Timeline
from ..display_options import Palette
from ..key import Key, ScreenName
from ..keybar import KeyLine, key_bar
from ..panes.failures import tally
from ..panes.status import StatusArea
from ..panes.status_view import View
from .tab_bar import TabBar

MESSAGE_S = 5.0
"""Seconds for which a message stays in the status line."""


class StatusLines:
    """The widgets of a screen, and the message in its status line. `redraw` calls `draw` with the present state."""

    def __init__(self, screen: Screen[None], keys: Sequence[Key], redraw: Callable[[], None]) -> None:
        self._screen, self._table, self._redraw = screen, keys, redraw
        self.status, self.tabs, self.keys = StatusArea(id="status"), TabBar(id="tabs"), KeyLine(id="keys", markup=False)
        self.message, self._alarm, self._message_count = "", False, 0
        self._drawn: tuple[object, ...] = ()
        """What the lines show."""
        self._key_bar = ""

    def show_message(self, message: str, *, alarm: bool) -> None:
        """Show a message for a few seconds or until the next one. `alarm`: a refusal."""
        self.message, self._alarm = message, alarm
        self._message_count += 1
        if message:
            count = self._message_count
            self._screen.set_timer(
                MESSAGE_S, lambda: self.show_message("", alarm=False) if self._message_count == count else None
            )
        self._redraw()

    def forget_message(self) -> None:
        """Remove the message with the next drawing."""
        self.message, self._alarm = "", False

    def draw(
        self, timeline: Timeline, view: View, palette: Palette, pane: int, bound: ScreenName, key_words: Mapping[str, str]
    ) -> None:
        """Draw all lines. `pane`: index of the pane in focus. `bound`: the screen name whose keys are bound."""
        view, size = replace(view, message=self.message, alarm=self._alarm), self._screen.size
        drawn = (timeline, timeline.applied, view, bound, key_words, palette, size)
        if drawn == self._drawn:
            return
        self._drawn = drawn
        self.status.show(timeline, view, palette)
        self.draw_tabs(timeline, palette, pane)
        keys = key_bar(bound, size.width - 1, self._table, **key_words)
        if keys != self._key_bar:  # an update makes Textual lay out the whole screen again
            self._key_bar = keys
            self.keys.show_keys(keys)

    def draw_tabs(self, timeline: Timeline, palette: Palette, pane: int) -> None:
        """Draw the line of tabs, with the count of failures."""
        failed = tally(timeline)
        self.tabs.show(pane, palette, failed.words, alarmed=failed.severe)
