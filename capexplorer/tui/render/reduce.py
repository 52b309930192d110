"""Many samples to few dot columns without losing a spike: first, least, greatest and last value of each column (M4).

Jugel, Jerzak, Hackenbroich, Markl: "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014. Columns are cut by
bisection and reduced by numpy, which array.array hands its values to without a copy: a day of seconds (86,400) costs 0.5 ms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]


def pieces(xs: Sequence[float], ys: Sequence[float], low: float, high: float, columns: int, gap: float) -> Iterator[Point | None]:
    """Points to draw in order of x, at most four a column; None where the line breaks: a NaN, or no sample for more than `gap`.

    xs ascend; both have equal length. Few samples come as they are.
    """
    sparse = len(xs) <= 2 * columns
    before = math.inf
    for point in zip(xs, ys, strict=True) if sparse else _m4(xs, ys, low, high, columns):
        if point[0] - before > gap:
            yield None
        before = point[0]
        yield point if math.isfinite(point[1]) else None


def _m4(xs: Sequence[float], ys: Sequence[float], low: float, high: float, columns: int) -> Iterator[Point]:
    """Each column's part lies half a column to either side of its dot."""
    times, values = np.asarray(xs), np.asarray(ys)
    width = (high - low) / max(columns - 1, 1)
    cuts = np.searchsorted(times, low + (np.arange(columns + 1) - 0.5) * width)
    filled = np.flatnonzero(np.diff(cuts))
    if not filled.size:
        return
    starts, stops = cuts[filled], cuts[filled + 1]
    part = values[: stops[-1]]
    least, greatest = np.minimum.reduceat(part, starts), np.maximum.reduceat(part, starts)  # NaN where any is
    columns_of = (filled, starts, stops, part[starts], least, greatest, part[stops - 1])
    for column, start, stop, *found in zip(*(each.tolist() for each in columns_of), strict=True):
        if not (math.isfinite(found[1]) and math.isfinite(found[2])):
            found = _finite(values[start:stop])
        x = low + column * width
        yield x, found[0]
        if found[1] != found[2]:
            yield from ((x, value) for value in found[1:])


def _finite(values: NDArray[np.float64]) -> list[float]:
    """First, least, greatest and last of those that were measured."""
    known = values[np.isfinite(values)]
    if not known.size:
        return [math.nan] * 4
    return [float(known[0]), float(known.min()), float(known.max()), float(known[-1])]
