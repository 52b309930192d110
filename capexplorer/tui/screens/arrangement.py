"""Which panes are visible: six in a grid from 120x40 on; otherwise, or if one is maximised, one pane with tabs. With the keys
for it.
"""

from __future__ import annotations

from collections.abc import Callable

from textual.geometry import Size

from ..panes.curve import CurvePane
from ..panes.endpoints import EndpointsPane
from ..panes.failures import FailuresPane
from ..panes.journal import JournalPane
from ..panes.latency import LatencyPane
from ..panes.log import LogPane
from ..panes.pane import Pane
from ..panes.parts import PartsPane
from ..panes.resources import ResourcesPane
from ..panes.throughput import ThroughputPane

WIDE = (120, 40)
"""Columns and lines from which on all panes are visible at once."""

PANES: tuple[tuple[str, type[Pane]], ...] = (
    ("throughput", ThroughputPane),
    ("latency", LatencyPane),
    ("curve", CurvePane),
    ("resources", ResourcesPane),
    ("endpoints", EndpointsPane),
    ("journal", JournalPane),
    ("failures", FailuresPane),
    ("log", LogPane),
    ("parts", PartsPane),
)
GRID = 6
"""Number of panes in the grid; failures, log and parts are shown alone."""
JOURNAL, FAILURES, LOG = GRID - 1, GRID, GRID + 1


class Arrangement:
    """The panes, and which of them are seen. `shown` is the pane that stands alone, or the one in focus.

    `show_message` answers to a key, `arranged` is called when other panes are to be seen than before.
    """

    def __init__(self, show_message: Callable[[str], None], arranged: Callable[[], None]) -> None:
        self.panes = [kind(id=name) for name, kind in PANES]
        self.shown = 0
        self._show_message, self._arranged = show_message, arranged
        self._wide = self._maximised = False
        self._before = 0
        """The pane of the grid that was shown before failures or log."""

    def fit(self, size: Size) -> None:
        """Grid or tabs, for a terminal of this size."""
        self._wide = size.width >= WIDE[0] and size.height >= WIDE[1]
        self._arranged()

    @property
    def single(self) -> bool:
        """Whether one pane is shown alone."""
        return self._maximised or not self._wide or self.shown >= GRID

    def is_seen(self, index: int) -> bool:
        """Whether the pane with this number is."""
        return index == self.shown if self.single else index < GRID

    # -- actions

    def action_pane(self, index: int) -> None:
        """The pane with this number."""
        self.shown = index
        self._arranged()

    def action_next_pane(self, direction: int) -> None:
        """The next (1) or previous (-1) pane; failures and log are among them where panes stand alone."""
        count = len(PANES) if self.single else GRID
        self.action_pane((self.shown + direction) % count)

    def action_maximise(self) -> None:
        """The pane in focus alone, and back."""
        if not self._wide:
            return self._show_message(f"terminals below {WIDE[0]}x{WIDE[1]} show one pane at a time: Tab, 1-9")
        if self.shown >= GRID:
            return self.action_pane(self._before)
        self._maximised = not self._maximised
        self._arranged()

    def action_failures(self) -> None:
        """The failures by cause, and back."""
        if self.shown != FAILURES:
            self._failures.toggle_raw(False)
        self._there_and_back(FAILURES)

    def action_raw(self) -> None:
        """The raw errors, and back to their causes."""
        self._failures.toggle_raw(None if self.shown == FAILURES else True)
        if self.shown != FAILURES:
            self._there_and_back(FAILURES)

    def action_log(self) -> None:
        """The log, and back."""
        self._there_and_back(LOG)

    @property
    def _failures(self) -> FailuresPane:
        pane = self.panes[FAILURES]
        assert isinstance(pane, FailuresPane)
        return pane

    def _there_and_back(self, index: int) -> None:
        if self.shown == index:
            return self.action_pane(self._before)
        if self.shown < GRID:
            self._before = self.shown
        self.action_pane(index)
