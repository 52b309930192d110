"""The sum of encoded histograms. Many are decoded at once, when the sum is needed; a sum that is kept takes 1 KB, not 190."""

from __future__ import annotations

from .histogram import LatencyHistogram, merged

MOST_WAITING = 512
"""Encoded histograms that are kept before they are merged: about 80 KB, and 1 ms to merge."""


class HistogramSum:
    """The sum of histograms, each as a text that `LatencyHistogram.encode` wrote."""

    def __init__(self) -> None:
        self._merged: LatencyHistogram | None = None
        self._waiting: list[str] = []

    def add(self, text: str) -> None:
        """Add one encoded histogram."""
        self._waiting.append(text)
        if len(self._waiting) >= MOST_WAITING:
            _ = self.histogram

    @property
    def histogram(self) -> LatencyHistogram:
        """The sum so far; not a copy: later calls of `add` change it."""
        if self._merged is None:
            self._merged = merged(self._waiting)
        elif self._waiting:
            self._merged.add(merged(self._waiting))
        self._waiting.clear()
        return self._merged

    def copy(self) -> HistogramSum:
        """An independent copy, which is small until its histogram is needed."""
        twin = HistogramSum()
        if self._merged is None and len(self._waiting) <= 1:  # a copy itself, or empty: it stays small
            twin._waiting += self._waiting
        elif self.histogram.count:
            twin._waiting.append(self.histogram.encode())
        return twin
