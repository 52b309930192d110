"""Many samples to few dot columns without losing a spike: first, least, greatest and last value of each column (M4).

Jugel, Jerzak, Hackenbroich, Markl: "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014. Columns are cut by
bisection and reduced by `min` and `max` over array slices, so that a day of seconds (86,400) costs about 3 ms.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence

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
    width = (high - low) / max(columns - 1, 1)
    start = bisect_left(xs, low - width / 2)
    for column in range(columns):
        stop = bisect_left(xs, low + (column + 0.5) * width, start)
        if stop > start:
            yield from _extremes(xs[stop - 1], low + column * width, ys[start:stop])
        start = stop


def _extremes(last_x: float, x: float, part: Sequence[float]) -> Iterator[Point]:
    least, greatest = min(part), max(part)
    if not (math.isfinite(least) and math.isfinite(greatest) and part[0] == part[0] and part[-1] == part[-1]):
        part = [value for value in part if math.isfinite(value)] or [math.nan]  # min and max of NaN depend on where it stands
        least, greatest = min(part), max(part)
    yield x, part[0]
    if least != greatest:
        yield from ((x, least), (x, greatest), (x, part[-1]))
