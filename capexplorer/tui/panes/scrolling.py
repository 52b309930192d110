"""The base of panes that scroll, with the keys pageup, pagedown, home and end, and those of less.

A scrollbar would have to be redrawn; the border shows the number of hidden lines instead.
"""

from __future__ import annotations

import sys
from typing import ClassVar

from textual.binding import Binding, BindingType

from .pane import Pane

WHEEL_LINES = 3
"""Lines by which a turn of the mouse wheel scrolls."""


class ScrollingPane(Pane):
    """`scrolled` is the number of lines from the default position: the top, or the end if the newest line is last (`AT_END`)."""

    AT_END: ClassVar[bool] = False
    """Whether the newest line is last and the pane shows the end by default."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "page(-1)", "Scroll up", show=False),
        Binding("pagedown", "page(1)", "Scroll down", show=False),
        Binding("home", "edge(-1)", "To the first line", show=False),
        Binding("end,G", "edge(1)", "To the last line", show=False),
        Binding("j", "line(1)", "Scroll down by a line", show=False),
        Binding("k", "line(-1)", "Scroll up by a line", show=False),
    ]

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id)
        self.scrolled = 0
        self._height = 0
        """Height of the scrolling part at the last drawing, in lines."""

    def window(self, lines: int, height: int) -> tuple[int, int]:
        """The range (first, end) of the lines to show, of `lines` lines in `height` rows. Call it in `draw`: it limits
        `scrolled`.
        """
        longest = max(0, lines - height)
        self._height, self.scrolled = height, min(self.scrolled, longest)
        first = longest - self.scrolled if self.AT_END else self.scrolled
        last = min(first + height, lines)
        hidden = hidden_lines(first, lines - last, at_end=self.AT_END)
        if hidden != (self.border_subtitle or ""):  # setting it repaints the whole pane
            self.border_subtitle = hidden
        return first, last

    def action_page(self, direction: int) -> None:
        """Scroll by a page up (-1) or down (1), with an overlap of two lines."""
        self._set_scrolled(self.scrolled + (-direction if self.AT_END else direction) * max(1, self._height - 2))

    def action_line(self, direction: int) -> None:
        """Scroll by a line up (-1) or down (1)."""
        self.scroll_by(direction)

    def on_mouse_scroll_up(self) -> None:
        """Scroll up. Only with the mouse enabled."""
        self.scroll_by(-WHEEL_LINES)

    def on_mouse_scroll_down(self) -> None:
        """Scroll down."""
        self.scroll_by(WHEEL_LINES)

    def scroll_by(self, lines: int) -> None:
        """Scroll by this many lines down, or up if negative."""
        self._set_scrolled(self.scrolled + (-lines if self.AT_END else lines))

    def action_edge(self, direction: int) -> None:
        """Scroll to the first (-1) or the last (1) line."""
        self._set_scrolled(0 if (direction > 0) is self.AT_END else sys.maxsize)

    def _set_scrolled(self, lines: int) -> None:
        self.scrolled = max(0, lines)  # `window` limits it to the number of lines
        if self.timeline is not None:
            self.show(self.timeline, self.cursor, self.options)


def hidden_lines(above: int, below: int, *, at_end: bool) -> str:
    """The border's text about lines above and below that are not visible: `▲ 3 ▼ 12`, or for a pane `at_end`: `12 newer, end`."""
    if at_end:
        return f"{below} newer, end" if below else ""
    parts = ([f"▲ {above}"] if above else []) + ([f"▼ {below}"] if below else [])
    return " ".join(parts)
