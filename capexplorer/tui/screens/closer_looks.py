"""The keys that open screens with details: the table of endpoints, and the requests that are kept whole."""

from __future__ import annotations

from collections.abc import Callable

from ...model.kept_request import KeptRequests
from ...model.level import Level
from ..actions.protocols import ScreenAccess
from ..look import Look
from ..panes.failures import FailuresPane
from .endpoints import EndpointsScreen
from .overlay import Seen
from .requests import RequestsScreen


class CloserLooks:
    """`failures`: the pane of the failures where it is shown, so that their requests are meant. `inspected`: the level at the
    inspection cursor, so that its requests are meant; None: there is no cursor.
    """

    def __init__(
        self,
        screen: ScreenAccess,
        look: Callable[[], Look],
        requests: KeptRequests,
        failures: Callable[[], FailuresPane | None],
        inspected: Callable[[], Level | None],
    ) -> None:
        self._screen, self._failures, self._inspected = screen, failures, inspected
        self._seen = Seen(lambda: screen.timeline, look, requests)

    def action_endpoints(self) -> None:
        """The table of endpoints."""
        if self._screen.timeline.level is None:
            return self._screen.show_message("no level yet: there are no endpoints")
        self._screen.ask(EndpointsScreen(self._seen), lambda closed: None)

    def action_requests(self) -> None:
        """The requests that are kept; over the failures, those that failed by the chosen cause, or all that failed; with a
        cursor, those of its level.
        """
        why_none = self._seen.requests.why_none
        if why_none:
            return self._screen.show_message(why_none)
        failures = self._failures()
        subset = failures.subset(self._screen.timeline) if failures is not None else None
        level = self._inspected() if subset is None else None
        shown = RequestsScreen(self._seen, failed=failures is not None, level=level, subset=subset)
        self._screen.ask(shown, lambda closed: None)
