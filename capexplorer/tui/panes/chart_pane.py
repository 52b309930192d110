"""The base of panes that show one chart: subclasses define the chart, and the base draws it and reports clicks."""

from __future__ import annotations

from textual import events
from textual.geometry import Size
from textual.strip import Strip

from ...model.timeline import Timeline
from ..display_options import DisplayOptions
from ..messages import ChartClicked
from ..render.chart import Chart, x_at
from ..render.draw import draw_chart, message
from ..render.plot import Plotter
from .pane import Pane


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
