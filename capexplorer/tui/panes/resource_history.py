"""The recent past of a resource, binned for a spark line. Pure."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...model.timeline import Timeline
from ..render import text


class ResourceHistory:
    """Columns binned to one value per cell, over the window or, in a younger session, over all of it. Bins have fixed times, so a
    spark line changes once per bin, not every second.
    """

    def __init__(self, timeline: Timeline, cursor: int, window_s: float | None, cells: int) -> None:
        self._columns, self._end, self._cells = timeline.columns, cursor + 1, cells
        times = timeline.columns["t_s"]
        self._now_s = times[cursor] if 0 <= cursor < len(times) else 0.0
        shown_s = self._now_s if window_s is None else min(window_s, self._now_s)
        self._bin_s = max(1.0, math.ceil(shown_s / cells))
        self._first_bin = math.floor(self._now_s / self._bin_s) - cells + 1
        self._start = timeline.index_at(self._first_bin * self._bin_s) + 1
        self._filled, self._starts = self._bins()

    def _bins(self) -> tuple[list[int], list[int]]:
        """(cells that have ticks, index of the first tick of each in the past)."""
        cells = np.floor(self._past("t_s") / self._bin_s).astype(np.int64) - self._first_bin
        cuts = np.searchsorted(cells, np.arange(self._cells + 1))
        filled = np.flatnonzero(np.diff(cuts))
        return filled.tolist(), cuts[filled].tolist()

    def _past(self, name: str) -> NDArray[np.float64]:
        return np.asarray(self._columns[name][max(self._start, 0) : self._end])

    def spark(self, name: str, top: float | None = None) -> str:
        """The greatest value of each bin, on a scale from 0 to `top`, or to the greatest value of all."""
        bins = [math.nan] * self._cells
        greatest = np.fmax.reduceat(self._past(name), self._starts).tolist() if self._starts else ()
        for cell, value in zip(self._filled, greatest, strict=True):
            bins[cell] = value
        known = [value for value in bins if not math.isnan(value)]
        return text.spark(bins, top if top else max(known, default=0.0))

    def cell_at(self, tick: int) -> int | None:
        """The cell of this tick; None if the spark line does not include it."""
        cell = math.floor(self._columns["t_s"][tick] / self._bin_s) - self._first_bin
        return cell if 0 <= cell < self._cells else None

    @property
    def cells(self) -> int:
        """Width of a spark line in cells."""
        return self._cells
