"""The keys that open screens with details: the table of endpoints, and the kept requests."""

from __future__ import annotations

from collections.abc import Callable

from ...model.kept_request import KeptRequests
from ..actions.protocols import ScreenAccess
from ..display_options import DisplayOptions
from ..panes.failures import FailuresPane
from .endpoints import EndpointsScreen
from .inspecting import Inspecting
from .overlay import OverlaySource
from .requests import RequestsScreen


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
