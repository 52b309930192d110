"""Encoded histograms of seconds, added up: many are decoded at once, when the sum is asked for. A kept sum is 1 KB, not 190."""

from __future__ import annotations

from .histogram import LatencyHistogram, merged

MOST_WAITING = 512
"""Encoded histograms kept until the sum is asked for: about 80 KB, and 1 ms to merge."""


class HistogramSum:
    """`add` texts that `LatencyHistogram.encode` wrote."""

    def __init__(self) -> None:
        self._merged: LatencyHistogram | None = None
        self._waiting: list[str] = []

    def add(self, text: str) -> None:
        """Of one second."""
        self._waiting.append(text)
        if len(self._waiting) >= MOST_WAITING:
            _ = self.histogram

    @property
    def histogram(self) -> LatencyHistogram:
        """The sum so far: its own, which `add` changes."""
        if self._merged is None:
            self._merged = merged(self._waiting)
        elif self._waiting:
            self._merged.add(merged(self._waiting))
        self._waiting.clear()
        return self._merged

    def copy(self) -> HistogramSum:
        """An independent copy; it is small until its histogram is asked for."""
        twin = HistogramSum()
        if self._merged is None and len(self._waiting) <= 1:  # a copy itself, or empty: it stays small
            twin._waiting += self._waiting
        elif self.histogram.count:
            twin._waiting.append(self.histogram.encode())
        return twin
