"""The keys that open screens with details: the table of endpoints, and the kept requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from ... import wording
from ...model.columns import EndpointKey
from ...model.kept_request import KeptRequests
from ...model.timeline import Timeline
from ..actions.protocols import ScreenAccess
from ..display_options import DisplayOptions
from ..keybar import KeyLine, clickable
from ..panes.endpoint_charts import EndpointCurve, EndpointLatency, EndpointThroughput
from ..panes.endpoints import DEGRADES, SORTS, EndpointTable, first_to_degrade
from ..panes.failures import FailuresPane
from ..panes.level_page import LevelPage
from ..render.text import safe
from ..typeahead import TypeAhead
from .inspecting import Inspecting
from .overlay import ListOverlay, Overlay, OverlaySource
from .requests import RequestsScreen

# -- endpoints -----------------------------------------------------------------------------------------------------------------
# Screens of endpoints: the table of all, to sort and filter, and the charts of one.


class EndpointsScreen(ListOverlay):
    """The endpoints of the current level."""

    KEYS = "↑↓ choose   Enter charts   R requests   1-6 sort"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"sort({name!r})", show=False) for number, name in enumerate(SORTS, 1)),
        Binding("R,r", "requests", show=False),
    ]

    def __init__(self, source: OverlaySource) -> None:
        self._endpoints = EndpointTable()
        super().__init__(source, self._endpoints)

    def update_data(self) -> None:
        """Apply the typed filter."""
        self._endpoints.filter_text = self.filter_text

    def action_sort(self, name: str) -> None:
        """Sort by this column; again: reverse the order."""
        self._endpoints.reverse = not self._endpoints.reverse if self._endpoints.sort == name else False
        self._endpoints.sort = name
        self.draw()

    @property
    def _chosen(self) -> EndpointKey | None:
        row = self._endpoints.row
        return None if row is None else row.endpoint

    def action_open(self) -> None:
        """Open the charts of the chosen endpoint."""
        if self._chosen is not None:
            self.app.push_screen(EndpointScreen(self.source, self._chosen))

    def action_requests(self) -> None:
        """Open the kept requests of the chosen endpoint."""
        if self._chosen is not None:
            self.app.push_screen(RequestsScreen(self.source, endpoint=self._chosen))


class EndpointScreen(Overlay):
    """One endpoint over time and over levels, with the inspection cursor, which the arrow keys move."""

    KEYS = "←→ 1 s   Shift+←→ 10 s   ↑↓ level   ( ) zoom   R requests   Esc close"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("R,r", "requests", show=False),
        Binding("enter", "close", show=False),
        Binding("left", "inspect('second', -1)", show=False),
        Binding("right", "inspect('second', 1)", show=False),
        Binding("shift+left", "inspect('leap', -1)", show=False),
        Binding("shift+right", "inspect('leap', 1)", show=False),
        Binding("up", "inspect('cursor_level', 1)", show=False),
        Binding("down", "inspect('cursor_level', -1)", show=False),
        Binding("left_parenthesis", "inspect('zoom', -1)", show=False),
        Binding("right_parenthesis", "inspect('zoom', 1)", show=False),
    ]

    def __init__(self, source: OverlaySource, endpoint: EndpointKey) -> None:
        self._curve = EndpointCurve(endpoint, id="over-levels")
        super().__init__(source, EndpointThroughput(endpoint), EndpointLatency(endpoint), self._curve)
        self._endpoint = endpoint

    def update_data(self) -> None:
        """Check whether this endpoint is the first that degrades."""
        first = first_to_degrade(self.source.timeline())
        is_first = first is not None and (first.method, first.name) == self._endpoint
        name = safe(" ".join(self._endpoint)).replace("[", "\\[")
        words = f"  {DEGRADES}{wording.degrades_first(first)}" if is_first and first is not None else ""
        title = f"{name}  over levels{words}"
        if self._curve.border_title != title:
            self._curve.border_title = title

    def action_inspect(self, action: Literal["second", "leap", "cursor_level", "zoom"], direction: int) -> None:
        """Move the inspection cursor, or change the time shown, as on the explorer screen."""
        inspecting = self.source.inspecting
        moves = {
            "second": inspecting.action_second,
            "leap": inspecting.action_leap,
            "cursor_level": inspecting.action_cursor_level,
            "zoom": inspecting.action_zoom,
        }
        moves[action](direction)
        if not (isinstance(self.app, TypeAhead) and self.app.is_repeating):  # of the keys of a held one only the last draws
            self.draw()

    def action_requests(self) -> None:
        """Open the kept requests of this endpoint."""
        self.app.push_screen(RequestsScreen(self.source, endpoint=self._endpoint))


# -- level screen --------------------------------------------------------------------------------------------------------------
# The screen of one level, over the explorer screen: the level at the inspection cursor, which keys can move.


KEYS = "←→ previous, next level   ↑↓ PgUp PgDn scroll   R requests   Esc close"


class LevelScreen(ModalScreen[None]):
    """Shows one level. `move` moves the cursor to the next (1) or the previous (-1) level, and the explorer screen then calls
    `show`. `requests` opens the level's kept requests.
    """

    CSS_PATH = "level_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,i", "dismiss(None)", show=False),
        Binding("R", "requests", show=False),
        Binding("left", "move(-1)", show=False),
        Binding("right", "move(1)", show=False),
        Binding("up", "scroll_line(-1)", show=False),
        Binding("down", "scroll_line(1)", show=False),
    ]

    def __init__(self, move: Callable[[int], None], requests: Callable[[], None]) -> None:
        super().__init__()
        self._move, self._requests = move, requests
        self._page = LevelPage()

    def compose(self) -> ComposeResult:
        """The page and its keys."""
        yield self._page
        yield KeyLine(clickable(KEYS), id="level-keys")

    def on_mount(self) -> None:
        """Focus the page, so that keys scroll it."""
        self._page.focus()

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw the level at the cursor in its present state."""
        self._page.show(timeline, cursor, options)

    def action_requests(self) -> None:
        """Open the kept requests of this level."""
        self._requests()

    def action_move(self, direction: int) -> None:
        """Show the next (1) or the previous (-1) level from its top."""
        self._page.scrolled = 0
        self._move(direction)

    def action_scroll_line(self, direction: int) -> None:
        """Scroll by one line, down (1) or up (-1)."""
        self._page.scroll_by(direction)


class DetailScreens:
    """Opens the screens.

    `failures` returns the failures pane if it is shown: the list of requests then begins with failed ones. If `inspecting`
    has a cursor, it begins with the requests of the level there.
    """

    def __init__(
        self,
        screen: ScreenAccess,
        options: Callable[[], DisplayOptions],
        requests: KeptRequests,
        failures: Callable[[], FailuresPane | None],
        inspecting: Inspecting,
    ) -> None:
        self._screen, self._failures, self._inspecting = screen, failures, inspecting
        self._source = OverlaySource(lambda: screen.timeline, options, requests, inspecting)

    def action_endpoints(self) -> None:
        """Open the table of endpoints."""
        if self._screen.timeline.level is None:
            return self._screen.show_message("no level yet: there are no endpoints")
        self._screen.ask(EndpointsScreen(self._source), lambda closed: None)

    def action_requests(self) -> None:
        """Open the list of kept requests. If the failures pane is shown, the list begins with the requests of the chosen cause,
        or with all failed ones; otherwise, with a cursor, with those of its level.
        """
        why_none = self._source.requests.why_none
        if why_none:
            return self._screen.show_message(why_none)
        failures = self._failures()
        subset = failures.subset(self._screen.timeline) if failures is not None else None
        level = self._inspecting.level if subset is None else None
        shown = RequestsScreen(self._source, failed=failures is not None, level=level, subset=subset)
        self._screen.ask(shown, lambda closed: None)
