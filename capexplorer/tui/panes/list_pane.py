"""The base of lists with a chosen row: titles at the top, and below them as many rows as fit around the chosen one."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from textual.events import Click
from textual.geometry import Size
from textual.strip import Strip

from ...model.timeline import Timeline
from ..display_options import DisplayOptions
from ..render import text
from .pane import Pane

Lines = tuple[Sequence[Strip], Sequence[Strip]]
"""(lines with titles, lines with one row each)."""


class ListPane(Pane):
    """Subclasses define `lines`; `chosen` is the index of the chosen row."""

    NOTHING = "nothing to show"
    """Shown instead of an empty list."""

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id)
        self.chosen = 0
        self._rows_seen = 1
        self._titles, self._first, self._count = 0, 0, 0
        """Number of lines with titles, index of the first row that is shown, and number of rows, at the last drawing."""

    def lines(self, timeline: Timeline, options: DisplayOptions, width: int) -> Lines:
        """Titles and rows, each of `width` cells."""
        raise NotImplementedError

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """Titles and rows, scrolled so that the chosen row is visible."""
        titles, rows = self.lines(timeline, options, size.width)
        if not rows:
            muted = Style(color=options.palette.muted)
            self._count = 0
            words = text.wrap(self.NOTHING, size.width - 3)
            return [text.line([(f"  {part}", muted)], size.width) for part in words][: size.height]
        self._rows_seen = max(1, size.height - len(titles))
        self.chosen = min(max(self.chosen, 0), len(rows) - 1)
        first = max(0, min(self.chosen - self._rows_seen // 2, len(rows) - self._rows_seen))
        self._titles, self._first, self._count = len(titles), first, len(rows)
        shown = [
            _as_chosen(row, options, size.width) if index == self.chosen else row
            for index, row in enumerate(rows[first : first + self._rows_seen], first)
        ]
        return [*titles, *shown][: size.height]

    async def on_click(self, event: Click) -> None:
        """Choose the clicked row, or open it if it is chosen already. Only with the mouse enabled."""
        offset = event.get_content_offset(self)
        row = -1 if offset is None or offset.y < self._titles else self._first + offset.y - self._titles
        if row == self.chosen and row < self._count:
            await self.run_action("screen.open")
        elif 0 <= row < self._count:
            self.choose(row)

    def on_mouse_scroll_up(self) -> None:
        """Choose the row above. Only with the mouse enabled."""
        self.move(-1)

    def on_mouse_scroll_down(self) -> None:
        """Choose the row below."""
        self.move(1)

    def move(self, rows: int) -> None:
        """Choose the row this many rows below, or above if the number is negative."""
        self.choose(self.chosen + rows)

    def page(self, direction: int) -> None:
        """Move by a page down (1) or up (-1)."""
        self.move(direction * max(1, self._rows_seen - 1))

    def choose(self, index: int) -> None:
        """Choose this row, or the first or last one if the index is beyond the ends."""
        self.chosen = max(0, index)
        self.redraw()

    def redraw(self) -> None:
        """Draw again."""
        if self.timeline is not None:
            self.show(self.timeline, self.cursor, self.options)


def _as_chosen(row: Strip, options: DisplayOptions, width: int) -> Strip:
    """A line in reverse video, which is visible without colours."""
    return text.line([(row.text, Style(color=options.palette.accent, reverse=True, bold=True))], width)
