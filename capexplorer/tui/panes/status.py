"""The status area: the session, the target and its state, the load, and the accuracy of the figures.

`status` is pure: (timeline, view) to lines of cells. It shows requested changes at once; the panes follow at the next tick.
"""

from __future__ import annotations

from textual.strip import Strip
from textual.widget import Widget

from ...model.timeline import Timeline
from ..display_options import Palette
from . import banners, status_groups
from .groups import group_line
from .pane import changed_regions
from .status_view import View


class StatusArea(Widget):
    """Two lines of groups, and the lines of `banners`."""

    DEFAULT_CSS = "StatusArea { height: 2; dock: top; background: $panel; color: $foreground; padding: 0 1; }"

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id)
        self.timeline, self.view, self.palette = Timeline(), View(wanted=0), Palette()
        self._strips: list[Strip] = []

    def show(self, timeline: Timeline, view: View, palette: Palette) -> None:
        """Draw this moment; writes only what changed."""
        self.timeline, self.view, self.palette = timeline, view, palette
        old, self._strips = self._strips, status(timeline, view, palette, self.size.width)
        if len(old) != len(self._strips):
            self.styles.height = len(self._strips)
            return
        regions = changed_regions(old, self._strips, self.size.width)
        if regions:
            self.refresh(*regions)

    def on_resize(self) -> None:
        """Redraw for the new width."""
        self._strips = status(self.timeline, self.view, self.palette, self.size.width)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The cells of one line."""
        strip = self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width)
        return strip.apply_style(self.rich_style)


def status(timeline: Timeline, view: View, palette: Palette, width: int) -> list[Strip]:
    """All lines, each `width` cells."""
    words = status_groups.messages(view, palette, width) or status_groups.accuracy(timeline, palette)
    first = [*status_groups.session(timeline, palette), *status_groups.load(timeline, view, palette)]
    second = [
        *status_groups.level(timeline, view, palette),
        *status_groups.growth(timeline, palette),
        *status_groups.knee(timeline, palette),
        *status_groups.problems(timeline, palette),
    ]
    return [
        group_line(first, width),
        group_line([*second, *words], width),
        *([] if view.brief else banners.verdict(timeline, palette, width, view.verdict_lines)),
        *banners.baseline(view, palette, width),
        *banners.controls(view, palette, width),
        *banners.autopilot(timeline, view, palette, width),
        *banners.next_step(timeline, view, palette, width),
        *banners.plan_ended(timeline, view, palette, width),
        *banners.alarms(timeline, view, palette, width),
    ]
