"""The base of all panes: it draws lines of cells by a pure function, and repaints only the cells that changed.

Textual repaints a widget's whole region on `refresh()`. Over SSH that would be most of the traffic (29 KB/s for six panes at 1
Hz). A pane therefore keeps its last strips, and refreshes only the spans that differ from the new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile, zip_longest
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from ...errors import SessionError
from ...model.timeline import Timeline
from ..display_options import DisplayOptions
from ..messages import ChartClicked, FeedFailed
from ..render.chart import Chart, x_at
from ..render.draw import draw_chart, message
from ..render.plot import Plotter

BORDER_CELLS = 4
"""Cells of the border that a title cannot use."""


class Pane(Widget, can_focus=True):
    """Base of panes. Subclasses set TITLE and define `draw`."""

    TITLE: ClassVar[str] = ""
    AT_CURSOR: ClassVar[bool] = False
    """Whether it depends on the inspection cursor or on the time shown."""

    DEFAULT_CSS = """
    Pane { border: round $foreground 30%; border-title-color: $foreground; padding: 0; }
    Pane:focus { border: round $accent; }
    """

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id)
        self._title = self.border_title = self.full_title
        self.timeline: Timeline | None = None
        self.cursor = -1
        self.options = DisplayOptions()
        self._strips: list[Strip] = []
        self._ground = Style()

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
            self._replace(self._drawn())

    def _drawn(self) -> list[Strip]:
        if self.timeline is None:
            return []
        try:
            strips = self.draw(self.timeline, self.cursor, self.options, self.size)
        except SessionError as error:  # drawing a replay may read lines of the log
            self.app.post_message(FeedFailed(error))
            return self._strips
        return [strip.adjust_cell_length(self.size.width) for strip in strips[: self.size.height]]

    def _replace(self, strips: list[Strip]) -> None:
        old, self._strips = self._strips, strips
        regions = changed_regions(old, strips, self.size.width)
        if regions:
            self.refresh(*regions)

    def on_resize(self) -> None:
        """Redraw for the new size."""
        self._strips = self._drawn()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The cells of several lines."""
        self._ground = self.rich_style  # once for all lines: it is computed from all widgets around
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """The cells of one line."""
        strip = self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width)
        return strip.apply_style(self._ground)


def changed_regions(old: Sequence[Strip], new: Sequence[Strip], width: int) -> list[Region]:
    """The cells that differ: at most one region per line. Lines that only one of both has are compared with an empty line."""
    pairs = zip_longest(old, new, fillvalue=Strip.blank(width))
    spans = [(y, changed_span(before, after)) for y, (before, after) in enumerate(pairs)]
    return [Region(span[0], y, span[1] - span[0], 1) for y, span in spans if span is not None]


def changed_span(old: Strip, new: Strip) -> tuple[int, int] | None:
    """The range of cells that differ as (first, end), the end excluded; None if the lines are equal."""
    if old == new:
        return None
    if old.cell_length != new.cell_length:
        return 0, max(old.cell_length, new.cell_length)
    alike = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))))
    before, after = _cells(list(old)[alike:]), _cells(list(new)[alike:])
    differing = [index for index, (a, b) in enumerate(zip(before, after, strict=True), new.cell_length - len(after)) if a != b]
    return (differing[0], differing[-1] + 1) if differing else None


def _cells(segments: Iterable[Segment]) -> list[tuple[str, object]]:
    """(character, style) of each cell. A wide character has two equal entries, so that no span begins or ends inside of it."""
    cells: list[tuple[str, object]] = []
    for text, style, _ in segments:
        if cell_len(text) == len(text):  # rich caches this length; of the thousands of cells of a screen few are wide
            cells += [(character, style) for character in text]
        else:
            for character in text:
                cells += [(character, style)] * cell_len(character)
    return cells


# -- chart pane ----------------------------------------------------------------------------------------------------------------
# The base of panes that show one chart: subclasses define the chart, and the base draws it and reports clicks.


class ChartPane(Pane):
    """Draws the chart of a subclass."""

    AT_CURSOR = True
    by_load = False
    """Whether x is the load of levels, not time."""

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id)
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
