"""The feed of a live run: folds its events into a timeline as they arrive."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model.event_source import EventSource
from ..model.events import Sample
from ..model.latency_seconds import KeptLatencies
from ..model.timeline import Timeline
from .feed import Change


class LiveFeed:
    """Folds the events of `source`. The caller closes the source."""

    pause_s = None
    """The next `take` follows a call of `wake`."""

    def __init__(self, source: EventSource, timeline: Timeline | None = None) -> None:
        """`timeline`: an empty one; None: with columns of its own."""
        self.timeline = Timeline() if timeline is None else timeline
        self.timeline.latency_seconds = self._latencies = KeptLatencies()
        self._source = source

    def start(self, wake: Callable[[], None]) -> None:
        """Start the source, which calls `wake`."""
        self._source.start(wake)

    def take(self) -> Change:
        """Fold the new events. Charts change once a second, with a sample; commands, notes and output are shown at once."""
        events = self._source.take()
        for event in events:
            self.timeline.apply(event)
            if isinstance(event, Sample):
                self._latencies.add(event)
        if any(isinstance(event, Sample) for event in events):
            return Change.PANES
        return Change.ENTRIES if events else Change.NOTHING

    def notices(self) -> Sequence[str]:
        """Empty: problems of a run are among its events."""
        return ()
