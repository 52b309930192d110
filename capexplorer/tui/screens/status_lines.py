"""The lines around the explorer screen's panes: status area, tabs and key bar. Drawn only if what they show has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from rich.style import Style
from textual.events import Click
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from ...model.timeline import Timeline
from ..display_options import Palette
from ..keybar import KeyLine, key_bar
from ..keys import Key, ScreenName
from ..panes.failures import tally
from ..panes.status import StatusArea
from ..panes.status_view import View
from ..render.text import Piece, cells, line
from .arrangement import FAILURES, PANES

# -- tab bar -------------------------------------------------------------------------------------------------------------------
# The line with the names of the panes, their keys, and the number of failures.


SHORT = {"throughput": "req/s", "latency": "p95", "resources": "usage", "journal": "marks"}
"""Shorter names of panes, for terminals that are too narrow for all names."""


class TabBar(Widget):
    """The line of tabs."""

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id)
        self._shown, self._palette, self._failed, self._alarmed = 0, Palette(), "", False

    def show(self, shown: int, palette: Palette, failed: str, *, alarmed: bool) -> None:
        """Draw the line with the pane of index `shown` highlighted. `failed`: count of failures; `alarmed`: whether it is red."""
        if (shown, palette, failed, alarmed) != (self._shown, self._palette, self._failed, self._alarmed):
            self._shown, self._palette, self._failed, self._alarmed = shown, palette, failed, alarmed
            self.refresh()

    def on_click(self, event: Click) -> None:
        """Show the pane whose name was clicked, by its key. Only with the mouse enabled."""
        found = event.style.meta.get("pane")
        if found is not None:
            self.app.simulate_key(str(found))

    def render_line(self, y: int) -> Strip:
        """The line; in narrow terminals with less space between names, and with shorter names."""
        for gap, short in ((" ", False), ("", False), ("", True)):
            pieces = list(self._pieces(gap, short))
            if cells(pieces) <= self.size.width:
                break
        return line(pieces, self.size.width).apply_style(self.rich_style)

    def _pieces(self, gap: str, short: bool) -> Iterator[Piece]:
        palette = self._palette
        muted, front = Style(color=palette.muted), Style(color=palette.text, bold=True, reverse=True)
        alarm = Style(color=palette.error, bold=True, reverse=self._shown == FAILURES)
        yield "" if gap else " ", muted
        for index, (name, _) in enumerate(PANES):
            shown = (front if index == self._shown else muted) + Style(meta={"pane": index + 1})
            yield f"{gap}{index + 1} {SHORT.get(name, name) if short else name}", shown
            if index == FAILURES and self._failed:
                yield f":{self._failed}", alarm if self._alarmed else shown
            yield gap or " ", shown if gap else muted


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
