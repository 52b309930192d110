"""The line with the names of the panes, their keys, and the number of failures."""

from __future__ import annotations

from collections.abc import Iterator

from rich.style import Style
from textual.events import Click
from textual.strip import Strip
from textual.widget import Widget

from ..display_options import Palette
from ..render.text import Piece, cells, line
from .arrangement import FAILURES, PANES

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
