"""The latency histograms of every second of a session, from which those of parts of a level are merged.

A timeline keeps only the merged histogram of a level. The variation of a percentile in time is seen only in its seconds, so a
comparison keeps them: about 150 bytes per endpoint and second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...model.events import Event, Sample
from ...model.histogram import LatencyHistogram, merged


class SecondLatencies:
    """Encoded histograms of successes by tick, in the order of the timeline's columns."""

    def __init__(self) -> None:
        self._ticks: list[tuple[str, ...]] = []
        self._from_plan: list[str | None] = []

    def collecting(self, events: Iterable[Event]) -> Iterator[Event]:
        """Pass the events through unchanged, and keep the histograms of each sample."""
        for event in events:
            if isinstance(event, Sample):
                self._ticks.append(tuple(tick.latency for tick in event.endpoints if tick.latency))
                self._from_plan.append(event.offered.from_plan if event.offered is not None else None)
            yield event

    def histogram(self, ticks: Sequence[int]) -> LatencyHistogram:
        """All latencies of these ticks (column indices), merged."""
        return merged([text for tick in ticks if tick < len(self._ticks) for text in self._ticks[tick]])

    def from_plan(self, ticks: Sequence[int]) -> LatencyHistogram:
        """Times from plan of all iterations at offered rates in these ticks, merged."""
        return merged([text for tick in ticks if tick < len(self._from_plan) and (text := self._from_plan[tick])])
