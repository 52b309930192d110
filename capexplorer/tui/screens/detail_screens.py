"""Screens with details over the explorer screen: kept requests, endpoints, one endpoint, stacks, one level; and the keys that
open them."""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Key
from textual.screen import ModalScreen

from ... import wording
from ...model.columns import EndpointKey
from ...model.kept_request import KeptRequests, RequestBrief
from ...model.level import Level
from ...model.timeline import Timeline
from ..display_options import DisplayOptions
from ..keybar import LIKE_LESS, KeyLine, clickable
from ..panes.endpoint_charts import EndpointCurve, EndpointLatency, EndpointThroughput
from ..panes.endpoints import DEGRADES, SORTS, EndpointTable, first_to_degrade
from ..panes.failures import FailuresPane
from ..panes.kept_requests import RequestPane, RequestTable, Subset, searchable_text
from ..panes.level_page import LevelPage
from ..panes.pane import ListPane, Pane
from ..panes.settings import SettingsPane
from ..panes.stacks import AroundPane, StacksTable
from ..protocols import Actions, ScreenAccess
from ..render.text import safe, shorten_end
from ..typeahead import TypeAhead
from .inspecting import Inspecting

# -- overlay -------------------------------------------------------------------------------------------------------------------
# The base of screens that cover the explorer screen: they draw the same timeline once a second, and Esc closes them.


DRAW_PERIOD_S = 1.0
"""Seconds between two drawings."""


class OverlaySource(ScreenAccess, Protocol):
    """What these screens use of the explorer screen."""

    requests: KeptRequests
    inspecting: Inspecting
    """The inspection cursor, which the charts of these screens show as well."""

    actions: Actions

    def perform(self, name: str) -> None:
        """Perform what has this name in the table of keys, at once."""

    @property
    def options_of_detail(self) -> DisplayOptions:
        """The view options for a pane that fills the screen."""

    @property
    def failures_shown(self) -> FailuresPane | None:
        """The failures pane if it is the one in focus."""


class Overlay(ModalScreen[None]):
    """A full screen with `panes`, and a line of keys below them."""

    CSS_PATH = "overlay.tcss"
    KEYS: str = "Esc close"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", show=False),
        Binding("T", "latency_kind", show=False),
    ]

    def __init__(self, source: OverlaySource, *panes: Pane) -> None:
        super().__init__()
        self.source, self.panes = source, panes
        self._keys, self._shown_keys = KeyLine(classes="keys", markup=False), ""

    def compose(self) -> ComposeResult:
        """The panes, and the keys."""
        yield Container(*self.panes, classes="panes")
        yield self._keys

    def on_mount(self) -> None:
        """Draw now, and every DRAW_PERIOD_S."""
        self.panes[0].focus()
        self.set_interval(DRAW_PERIOD_S, self.draw)
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Draw all panes in their present state."""
        timeline, options = self.source.timeline, self.source.options_of_detail
        self.update_data()
        for pane in self.panes:
            pane.show(timeline, len(timeline) - 1, options)
        if self.key_line != self._shown_keys:  # an update makes Textual lay out the whole screen again
            self._shown_keys = self.key_line
            self._keys.show_keys(self.key_line)

    def update_data(self) -> None:
        """Update data that is not in the timeline. Called before each drawing."""

    @property
    def own_keys(self) -> str:
        """The text on this screen's own keys, without those of all lists."""
        return self.KEYS

    @property
    def key_line(self) -> str:
        """The text on all keys of this screen."""
        return self.own_keys

    def action_close(self) -> None:
        """Close this screen."""
        self.dismiss(None)

    def action_latency_kind(self) -> None:
        """Show the next latency of streams, as on the explorer screen."""
        self.source.perform("latency_kind")
        self.draw()


class ListOverlay(Overlay):
    """A screen with one list: arrows choose a row, and `/` filters by a typed text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "end(0)", show=False),
        Binding("end", "end(1000000)", show=False),
        Binding("enter", "open", show=False),
        Binding("slash", "filter", show=False),
        *LIKE_LESS,
    ]

    def __init__(self, source: OverlaySource, table: ListPane) -> None:
        super().__init__(source, table)
        self.table = table
        self.filter_text = ""
        """Only rows that contain this text are shown."""
        self._is_typing = False

    @property
    def key_line(self) -> str:
        """The text on all keys; while a filter is typed, its text."""
        if self._is_typing:
            return f"/ {safe(self.filter_text)}▏  Enter: keep it   Esc: show all"
        return f"{self.own_keys}   / filter{f' ({safe(self.filter_text)})' if self.filter_text else ''}   Esc close"

    def on_key(self, event: Key) -> None:
        """Add typed letters to the filter."""
        if not self._is_typing:
            return
        event.stop()
        event.prevent_default()
        if event.key == "enter":
            self._is_typing = False
        elif event.key == "escape":
            self._is_typing, self.filter_text = False, ""
        elif event.key == "backspace":
            self.filter_text = self.filter_text[:-1]
        elif event.is_printable and event.character:
            self.filter_text += event.character
        self.draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys of the screen while a filter is typed."""
        return not self._is_typing

    def action_filter(self) -> None:
        """Begin to type a filter."""
        self._is_typing = True
        self.draw()

    def action_move(self, rows: int) -> None:
        """Choose the row this many rows below."""
        self.table.move(rows)

    def action_page(self, direction: int) -> None:
        """Move by a page, down (1) or up (-1)."""
        self.table.page(direction)

    def action_end(self, index: int) -> None:
        """Choose the row with this index; beyond the end, the last one."""
        self.table.choose(index)


# -- requests ------------------------------------------------------------------------------------------------------------------
# Screens of the kept requests: the list, and one request in full.


TITLE_CELLS = 46
"""The most cells of a cause's name in the title, so that title and counts fit a terminal of 80 columns."""


class RequestsScreen(ListOverlay):
    """`endpoint`: (method, name) of the only one to show. Filters at the start: `failed`: only failed requests; `level`: only
    those of this level; `subset`: only those of this cause or error.
    """

    KEYS = "↑↓ choose   Enter open   f failed/all   K kind"
    KEYS_OF_LEVEL = "↑↓ choose   Enter open   f failed   K kind   l level/all"
    KEYS_OF_SUBSET = "↑↓ choose   Enter open   f failed   K kind   c cause/all"
    """Each text fits 80 columns together with the keys of all lists."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "failed", show=False),
        Binding("K", "kind", show=False),
        Binding("l", "level", show=False),
        Binding("c", "subset", show=False),
    ]

    def __init__(
        self,
        source: OverlaySource,
        *,
        failed: bool = False,
        endpoint: tuple[str, str] | None = None,
        level: Level | None = None,
        subset: Subset | None = None,
    ) -> None:
        self._subset, self._is_of_subset = subset, subset is not None
        self._level, self._is_of_level = level, level is not None
        self._requests = RequestTable()
        super().__init__(source, self._requests)
        self._failed, self._endpoint, self._kind = failed, endpoint, ""

    @property
    def own_keys(self) -> str:
        """The text on keys, with `c` or `l` only if the list was opened from a cause or a level."""
        if self._subset is not None:
            return self.KEYS_OF_SUBSET
        return self.KEYS if self._level is None else self.KEYS_OF_LEVEL

    def update_data(self) -> None:
        """Take the requests that are kept now. The chosen one stays chosen."""
        before = self._requests.brief
        briefs = self.source.requests.briefs()
        subset = self._subset if self._is_of_subset else None
        belongs = subset.at(self.source.timeline) if subset is not None else lambda brief: True
        shown = [brief for brief in briefs if self._is_shown(brief) and belongs(brief)]
        self._requests.briefs = shown
        if before is not None:
            places = (at for at, brief in enumerate(shown) if brief.number == before.number)
            self._requests.chosen = next(places, self._requests.chosen)
        which = " that failed" if self._failed else ""
        if self._kind and shown:
            which += f": {safe(shown[0].error)[:60]}"
        if subset is not None:
            which = f": {shorten_end(safe(subset.title), TITLE_CELLS)}"
        whose = f" of {safe(' '.join(self._endpoint))}" if self._endpoint else ""
        when = f" of level {self._level.opened.index}" if self._level is not None and self._is_of_level else ""
        title = f"Requests{which}{whose}{when}  {len(shown)} of {len(briefs)} kept".replace("[", "\\[")
        if self._requests.border_title != title:
            self._requests.border_title = title
        back = "c" if subset is not None else "l" if when else "f"
        none_kept = f"none of the kept requests is among these: {back} shows all"
        self._requests.NOTHING = self.source.requests.why_none or (none_kept if briefs else "no request is kept yet")

    def _is_shown(self, brief: RequestBrief) -> bool:
        if self._kind and brief.kind != self._kind:
            return False
        if self._failed and not brief.error:
            return False
        if self._endpoint is not None and (brief.method, brief.name) != self._endpoint:
            return False
        if self._level is not None and self._is_of_level and brief.level != self._level.opened.index:
            return False
        return self.filter_text.lower() in searchable_text(brief)

    def action_level(self) -> None:
        """Show the requests of the level from which the list was opened, or of all levels."""
        if self._level is not None:
            self._is_of_level = not self._is_of_level
            self.table.chosen = 0
            self.draw()

    def action_subset(self) -> None:
        """Show the requests of the cause from which the list was opened, or all that failed."""
        if self._subset is not None:
            self._is_of_subset, self._failed, self._kind = not self._is_of_subset, True, ""
            self.table.chosen = 0
            self.draw()

    def action_failed(self) -> None:
        """Show the failed requests, or all."""
        self._failed, self._kind = self._is_of_subset or not self._failed, ""
        self._is_of_subset = False
        self.table.chosen = 0
        self.draw()

    def action_kind(self) -> None:
        """Show only failures of the next kind, in the order of first occurrence; after the last kind, all failures."""
        kinds = list(dict.fromkeys(brief.kind for brief in self.source.requests.briefs() if brief.kind))
        after = kinds.index(self._kind) + 1 if self._kind in kinds else 0
        self._failed, self._kind = True, kinds[after] if after < len(kinds) else ""
        self._is_of_subset = False
        self.table.chosen = 0
        self.draw()

    def action_open(self) -> None:
        """Open the chosen request in full."""
        brief = self._requests.brief
        request = None if brief is None else self.source.requests.request(brief.number)
        if request is not None:
            self.app.push_screen(RequestScreen(self.source, RequestPane(request)))


class RequestScreen(Overlay):
    """One request."""

    KEYS = "PgUp PgDn scroll   Esc close"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,left", "close", show=False),
        Binding("up", "line(-1)", show=False),
        Binding("down", "line(1)", show=False),
        *LIKE_LESS,
    ]

    def action_line(self, direction: int) -> None:
        """Scroll by one line, down (1) or up (-1)."""
        pane = self.panes[0]
        if isinstance(pane, RequestPane):
            pane.scrolled = max(0, pane.scrolled + direction)
            self.draw()


# -- settings ------------------------------------------------------------------------------------------------------------------


class SettingsScreen(Overlay):
    """The load to operate at, and settings that follow from it."""

    KEYS = "PgUp PgDn scroll   Esc close"

    def __init__(self, source: OverlaySource) -> None:
        super().__init__(source, SettingsPane())


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
        self._curve = EndpointCurve(endpoint)
        self._curve.id = "over-levels"
        super().__init__(source, EndpointThroughput(endpoint), EndpointLatency(endpoint), self._curve)
        self._endpoint = endpoint

    def update_data(self) -> None:
        """Check whether this endpoint is the first that degrades."""
        first = first_to_degrade(self.source.timeline)
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


# -- stacks --------------------------------------------------------------------------------------------------------------------
# Screens of sampled stacks: the functions by growth, and what is around one of them.


class StacksScreen(ListOverlay):
    """The functions of the service, by how much a request's time in them grew."""

    KEYS = "↑↓ choose   F Enter callers and callees   c clock"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("F", "open", show=False), Binding("c", "clock", show=False)]

    def __init__(self, source: OverlaySource) -> None:
        self._functions = StacksTable()
        super().__init__(source, self._functions)

    def update_data(self) -> None:
        """Apply the typed filter."""
        self._functions.filter_text = self.filter_text

    def action_clock(self) -> None:
        """Show what the next clock measured: all time, CPU time, or waits."""
        self._functions.clock += 1
        self._functions.chosen = 0
        self.draw()

    def action_open(self) -> None:
        """Open the callers and callees of the chosen function."""
        chosen = self._functions.function(self.source.timeline)
        if chosen is not None:
            self.app.push_screen(AroundScreen(self.source, AroundPane(chosen)))


class AroundScreen(Overlay):
    """Callers and callees of one function."""

    KEYS = "PgUp PgDn scroll   Esc close"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,left,F", "close", show=False), *LIKE_LESS]


# -- level screen --------------------------------------------------------------------------------------------------------------
# The screen of one level, over the explorer screen: the level at the inspection cursor, which keys can move.


KEYS = "←→ previous, next level   ↑↓ PgUp PgDn scroll   R requests   Esc close"


class LevelScreen(ModalScreen[None]):
    """Shows the level at the inspection cursor: whenever that moves, the explorer screen calls `show`."""

    CSS_PATH = "level_screen.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,i", "dismiss(None)", show=False),
        Binding("R", "requests", show=False),
        Binding("T", "latency_kind", show=False),
        Binding("left", "move(-1)", show=False),
        Binding("right", "move(1)", show=False),
        Binding("up", "scroll_line(-1)", show=False),
        Binding("down", "scroll_line(1)", show=False),
    ]

    def __init__(self, inspecting: Inspecting, details: DetailScreens) -> None:
        super().__init__()
        self._inspecting, self._details = inspecting, details
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
        self._details.action_requests()

    def action_latency_kind(self) -> None:
        """Show the next latency of streams, as on the explorer screen."""
        self._details.action_latency_kind()

    def action_move(self, direction: int) -> None:
        """Show the next (1) or the previous (-1) level from its top."""
        self._page.scrolled = 0
        self._inspecting.action_cursor_level(direction)

    def action_scroll_line(self, direction: int) -> None:
        """Scroll by one line, down (1) or up (-1)."""
        self._page.scroll_by(direction)


class DetailScreens:
    """Opens the screens."""

    def __init__(self, screen: OverlaySource) -> None:
        self._screen = screen

    def action_endpoints(self) -> None:
        """Open the table of endpoints."""
        if self._screen.timeline.level is None:
            return self._screen.show_message("no level yet: there are no endpoints")
        self._screen.ask(EndpointsScreen(self._screen), lambda closed: None)

    def action_stacks(self) -> None:
        """Open the functions of the sampled stacks; live, sample them if none are."""
        if not self._screen.timeline.stacks:
            if self._screen.actions.keys == "live":
                return self._screen.act("sample_stacks")
            return self._screen.show_message("no stacks of the service were sampled")
        self._screen.ask(StacksScreen(self._screen), lambda closed: None)

    def action_latency_kind(self) -> None:
        """Show the next latency of streams."""
        self._screen.act("latency_kind")

    def action_settings(self) -> None:
        """Open what follows for operation."""
        self._screen.ask(SettingsScreen(self._screen), lambda closed: None)

    def action_requests(self) -> None:
        """Open the list of kept requests. If the failures pane is shown, the list begins with the requests of the chosen cause,
        or with all failed ones; otherwise, with a cursor, with those of its level.
        """
        why_none = self._screen.requests.why_none
        if why_none:
            return self._screen.show_message(why_none)
        failures = self._screen.failures_shown
        subset = failures.subset(self._screen.timeline) if failures is not None else None
        level = self._screen.inspecting.level if subset is None else None
        shown = RequestsScreen(self._screen, failed=failures is not None, level=level, subset=subset)
        self._screen.ask(shown, lambda closed: None)
