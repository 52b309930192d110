"""Screens of the kept requests: the list, and one request in full."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from ...model.kept_request import RequestBrief
from ...model.level import Level
from ..keybar import LIKE_LESS
from ..panes.kept_requests import RequestPane, RequestTable, Subset, searchable_text
from ..render.text import safe, shorten_end
from .overlay import ListOverlay, Overlay, OverlaySource

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
        belongs = subset.at(self.source.timeline()) if subset is not None else lambda brief: True
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
