"""The screen of a comparison: verdict and warnings, capacity and latency curves, table of levels, conditions that differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.events import DescendantFocus, Resize
from textual.geometry import Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from ...configuration import Markers
from ...report.compare.comparison import Comparison
from ...wording.quantities import latency_title
from ..base_app import SignalledApp
from ..display_options import Palette
from ..keybar import LIKE_LESS, KeyLine, clickable
from ..preferences import Preferences
from ..terminal import Terminal
from ..themes import palette_of
from . import compare_charts, compare_text

WIDE = (120, 40)
"""Least (columns, lines) of a screen on which all four views are shown at once."""
VIEWS = ("capacity", "latency", "levels", "conditions")
_MOST_TOP = {True: 8, False: 6}
"""The most lines of verdict and warnings, by whether the screen is wide, so that charts have enough lines."""

Draw = Callable[[Palette, Size], list[Strip]]


def _titles() -> dict[str, str]:
    return {
        "capacity": "Capacity  goodput/s by users",
        "latency": f"Latency  {latency_title('p95')} by users",
        "levels": "Levels",
        "conditions": "Conditions",
    }


class CurvesView(Widget, can_focus=True):
    """Shows a chart that `draw` makes for its size."""

    def __init__(self, draw: Draw, id: str) -> None:  # noqa: A002 - the name that Textual gives it
        super().__init__(id=id, classes="view")
        self._draw = draw
        self._strips: list[Strip] = []
        self._palette = Palette()

    def show(self, palette: Palette) -> None:
        """Draw in these colours."""
        self._palette = palette
        self._strips = self._draw(palette, self.size) if self.size.area else []
        self.refresh()

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.show(self._palette)

    def render_line(self, y: int) -> Strip:
        """The cells of one line."""
        strip = self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width)
        return strip.adjust_cell_length(self.size.width).apply_style(self.rich_style)


class CompareScreen(Screen[None]):
    """Shows one view, chosen by its number, on small screens, and all four on large ones."""

    CSS_PATH = "compare.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(index + 1), f"show({index})", show=False) for index in range(len(VIEWS))),
        Binding("tab,right", "next(1)", show=False),
        Binding("shift+tab,left", "next(-1)", show=False),
        Binding("l", "log", show=False),
        Binding("escape,q", "close", show=False),
        *LIKE_LESS,
    ]

    def __init__(self, comparison: Comparison, markers: Markers | None = None) -> None:
        super().__init__()
        self.comparison, self._markers = comparison, markers
        self.shown = 0
        self.wide = False
        self.logarithmic = False

    def compose(self) -> ComposeResult:
        """Verdict and warnings, tabs, views, keys."""
        yield Static(id="top")
        yield Static(id="tabs")
        with Container(id="charts"):
            yield CurvesView(lambda palette, size: compare_charts.capacity(self.comparison, palette, size), id="capacity")
            yield CurvesView(self._latency, id="latency")
        with Container(id="tables"):
            yield VerticalScroll(Static(), id="levels", classes="view")
            yield VerticalScroll(Static(), id="conditions", classes="view")
        yield KeyLine(clickable("1-4 Tab view  ↑↓ scroll  l latency log scale  q back"), id="keys")

    def _latency(self, palette: Palette, size: Size) -> list[Strip]:
        return compare_charts.latency(self.comparison, palette, size, log=self.logarithmic)

    def on_mount(self) -> None:
        """Set the titles, and follow the theme."""
        for view in self.query(".view"):
            view.border_title = Text(_titles()[view.id or ""])
        self.app.theme_changed_signal.subscribe(self, lambda theme: self.lay_out())

    def on_resize(self, event: Resize) -> None:
        """Show one view or all, for the new size."""
        self.wide = event.size.width >= WIDE[0] and event.size.height >= WIDE[1]
        self.lay_out()

    def lay_out(self) -> None:
        """Draw everything for this size, theme and view."""
        palette = palette_of(self.app.current_theme, self._markers, colours=not self.app.no_color)
        width = max(self.size.width - 2, 20)
        self.set_class(self.wide, "-wide")
        self.query_one("#top", Static).update(compare_text.top(self.comparison, palette, width, _MOST_TOP[self.wide]))
        self.query_one("#tabs", Static).update(self._tabs(palette))
        for index, name in enumerate(VIEWS):
            self.query_one(f"#{name}").display = self.wide or index == self.shown
        self.query_one("#charts").display = self.wide or self.shown < 2
        self.query_one("#tables").display = self.wide or self.shown >= 2
        self.query_one("#levels Static", Static).update(compare_text.levels(self.comparison, palette))
        side = self.size.width - compare_text.TABLE_CELLS - 11 if self.wide else width - 4
        self.query_one("#conditions Static", Static).update(compare_text.differing(self.comparison, palette, max(side, 20)))
        self.query_one(f"#{VIEWS[self.shown]}").focus()
        for view in self.query(CurvesView):
            view.show(palette)

    def _tabs(self, palette: Palette) -> Text:
        text = Text(" ")
        for index, name in enumerate(VIEWS):
            shown = index == self.shown
            text.append(f" {index + 1} {name} ", f"reverse bold {palette.accent}" if shown else palette.muted)
            text.append(" ")
        return text

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Follow the focus, which a click or Tab has moved to a view."""
        if event.widget.id in VIEWS:
            self.shown = VIEWS.index(event.widget.id)

    def action_show(self, index: int) -> None:
        """Show this view."""
        self.shown = index
        self.lay_out()

    def action_next(self, step: int) -> None:
        """Show the next (1) or the previous (-1) view."""
        self.action_show((self.shown + step) % len(VIEWS))

    def action_log(self) -> None:
        """Draw latency on a logarithmic scale, or on a linear one again."""
        self.logarithmic = not self.logarithmic
        self.lay_out()

    def action_close(self) -> None:
        """Close this screen, or the app if there is no screen below."""
        if len(self.app.screen_stack) > 1:
            self.dismiss(None)
        else:
            self.app.exit()


class CompareApp(SignalledApp[None]):
    """The application of `capexplorer compare` on a screen."""

    CSS_PATH = "compare.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, comparison: Comparison, *, terminal: Terminal | None = None, preferences: Preferences | None = None
    ) -> None:
        super().__init__(terminal=terminal, preferences=preferences)
        self._compare = CompareScreen(comparison, self.preferences.markers)

    def run_to_end(self) -> None:
        """Run until the user leaves."""
        self.run_until_left()

    def get_default_screen(self) -> Screen[None]:
        """The comparison from the start."""
        return self._compare
