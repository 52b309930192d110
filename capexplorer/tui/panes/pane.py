"""The base of all panes: it draws lines of cells by a pure function, and repaints only the cells that changed.

Textual repaints a widget's whole region on `refresh()`. Over SSH that would be most of the traffic (29 KB/s for six panes at 1
Hz). A pane therefore keeps its last strips, and refreshes only the spans that differ from the new ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile, zip_longest
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from ...errors import SessionError
from ...model.timeline import Timeline
from ..display_options import DisplayOptions
from ..protocols import ChartClicked, FeedFailed
from ..render import text
from ..render.chart import Chart, x_at
from ..render.draw import Plotter, draw_chart, message
from ..render.text import styled

BORDER_CELLS = 4
"""Cells of the border that a title cannot use."""


class StripsWidget(Widget):
    """Shows lines of cells. Subclasses define `drawn`, and call `replace` when it changes."""

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id, classes=classes)
        self._strips: list[Strip] = []
        self._ground, self._width = styled(), 0

    def drawn(self) -> list[Strip]:
        """The lines for the present size."""
        raise NotImplementedError

    def replace(self, strips: list[Strip]) -> None:
        """Show these lines; writes only what changed."""
        old, self._strips = self._strips, strips
        regions = changed_regions(old, strips, self.size.width)
        if regions:
            self.refresh(*regions)

    def on_resize(self) -> None:
        """Redraw for the new size."""
        self._strips = self.drawn()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The cells of several lines."""
        self._ground, self._width = self.rich_style, self.size.width  # once for all lines: computed from all widgets around
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """The cells of one line."""
        strip = self._strips[y] if y < len(self._strips) else Strip.blank(self._width)
        return strip.adjust_cell_length(self._width).apply_style(self._ground)


class Pane(StripsWidget, can_focus=True):
    """Base of panes. Subclasses set TITLE and define `draw`."""

    TITLE: ClassVar[str] = ""
    AT_CURSOR: ClassVar[bool] = False
    """Whether it depends on the inspection cursor or on the time shown."""

    DEFAULT_CSS = """
    Pane { border: round $foreground 30%; border-title-color: $foreground; padding: 0; }
    Pane:focus { border: round $accent; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._title = self.border_title = self.full_title
        self.timeline: Timeline | None = None
        self.cursor = -1
        self.options = DisplayOptions()

    @property
    def full_title(self) -> str:
        """TITLE, in some panes with the chosen unit of their figures."""
        return self.TITLE

    def retitle(self, *titles: str) -> None:
        """Set the first title that fits the border, else the last one; only if it changes, since that repaints the pane."""
        fitting = (title for title in titles if cell_len(title) <= self.size.width - BORDER_CELLS)
        title = next(fitting, titles[-1])
        if title != self._title:
            self._title = self.border_title = title

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """At most `size.height` strips of `size.width` cells. Pure: the same arguments give the same strips."""
        raise NotImplementedError

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw this moment; writes only what changed."""
        self.timeline, self.cursor, self.options = timeline, cursor, options
        if self.is_mounted and self.size.area and self.display:
            self.replace(self.drawn())

    def redraw(self) -> None:
        """Draw again."""
        if self.timeline is not None:
            self.show(self.timeline, self.cursor, self.options)

    def drawn(self) -> list[Strip]:
        """The lines of this moment."""
        if self.timeline is None:
            return []
        size = self.size
        try:
            strips = self.draw(self.timeline, self.cursor, self.options, size)
        except SessionError as error:  # drawing a replay may read lines of the log
            self.app.post_message(FeedFailed(error))
            return self._strips
        return [strip.adjust_cell_length(size.width) for strip in strips[: size.height]]


def changed_regions(old: Sequence[Strip], new: Sequence[Strip], width: int) -> list[Region]:
    """The cells that differ: at most one region per line. Lines that only one of both has are compared with an empty line."""
    pairs = zip_longest(old, new, fillvalue=Strip.blank(width))
    spans = [(y, changed_span(before, after)) for y, (before, after) in enumerate(pairs)]
    return [Region(span[0], y, span[1] - span[0], 1) for y, span in spans if span is not None]


def changed_span(old: Strip, new: Strip) -> tuple[int, int] | None:
    """The range of cells that differ as (first, end), the end excluded; None if the lines are equal."""
    if old.cell_length != new.cell_length:
        return 0, max(old.cell_length, new.cell_length)
    before, after = list(old), list(new)
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    alike = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))))
    start = sum(segment.cell_length for segment in after[:alike])
    pairs = zip(_cells(before[alike:]), _cells(after[alike:]), strict=True)
    differing = [index for index, (a, b) in enumerate(pairs, start) if a != b]
    return (differing[0], differing[-1] + 1) if differing else None


def _cells(segments: Iterable[Segment]) -> list[tuple[str, object]]:
    """(character, style) of each cell. A wide character has two equal entries, so that no span begins or ends inside of it."""
    cells: list[tuple[str, object]] = []
    for piece, style, _ in segments:
        if cell_len(piece) == len(piece):  # rich caches this length; of the thousands of cells of a screen few are wide
            cells += [(character, style) for character in piece]
        else:
            for character in piece:
                cells += [(character, style)] * cell_len(character)
    return cells


# -- chart pane ----------------------------------------------------------------------------------------------------------------


class ChartPane(Pane):
    """Draws the chart of a subclass."""

    AT_CURSOR = True
    by_load = False
    """Whether x is the load of levels, not time."""

    def __init__(self) -> None:
        super().__init__()
        self._plotter = Plotter()

    def chart(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
        """The chart, or a sentence if there is nothing to draw yet. Pure."""
        raise NotImplementedError

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """The lines of the chart at this cursor."""
        chart = self.chart(timeline, cursor, options, size)
        if isinstance(chart, str):
            return message(chart, options.palette, size)
        return draw_chart(chart, options.palette, size, self._plotter)

    def on_click(self, event: events.Click) -> None:
        """Report a click by its x, to which the inspection cursor then moves. Only with the mouse enabled."""
        offset = event.get_content_offset(self)
        if offset is None or self.timeline is None:
            return
        chart = self.chart(self.timeline, self.cursor, self.options, self.size)
        x = None if isinstance(chart, str) else x_at(chart, self.size, offset.x)
        if x is not None:
            self.post_message(ChartClicked(x, by_load=self.by_load))


# -- scrolling -----------------------------------------------------------------------------------------------------------------
# The base of panes that scroll, with the keys pageup, pagedown, home and end, and those of less.
#
# A scrollbar would have to be redrawn; the border shows the number of hidden lines instead.


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

    def __init__(self) -> None:
        super().__init__()
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
        self.redraw()


def hidden_lines(above: int, below: int, *, at_end: bool) -> str:
    """The border's text about lines above and below that are not visible: `▲ 3 ▼ 12`, or for a pane `at_end`: `12 newer, end`."""
    if at_end:
        return f"{below} newer, end" if below else ""
    parts = ([f"▲ {above}"] if above else []) + ([f"▼ {below}"] if below else [])
    return " ".join(parts)


# -- list pane -----------------------------------------------------------------------------------------------------------------


Lines = tuple[Sequence[Strip], Sequence[Strip]]
"""(lines with titles, lines with one row each)."""


class ListPane(Pane):
    """Subclasses define `lines`; `chosen` is the index of the chosen row."""

    NOTHING = "nothing to show"
    """Shown instead of an empty list."""

    def __init__(self) -> None:
        super().__init__()
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
            muted = styled(color=options.palette.muted)
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


def _as_chosen(row: Strip, options: DisplayOptions, width: int) -> Strip:
    """A line in reverse video, which is visible without colours."""
    return text.line([(row.text, styled(color=options.palette.accent, reverse=True, bold=True))], width)
