"""Screens of endpoints: the table of all, to sort and filter, and the charts of one."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.binding import Binding, BindingType

from ... import wording
from ...model.endpoint_columns import EndpointKey
from ..panes.endpoint_charts import EndpointCurve, EndpointLatency, EndpointThroughput
from ..panes.endpoint_rows import first_to_degrade
from ..panes.endpoint_table import SORTS, EndpointTable
from ..panes.endpoints import DEGRADES
from ..render.text import safe
from ..typeahead import TypeAhead
from .overlay import ListOverlay, Overlay, OverlaySource
from .requests import RequestsScreen


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
