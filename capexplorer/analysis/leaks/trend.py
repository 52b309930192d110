"""How fast a value grows while the load stays the same: a robust slope with its interval, and whether the growth lasts.

The slope is that of Theil-Sen (Sen 1968) over medians of short stretches, so single spikes do not change it. Its interval allows
for correlated errors, since memory and queues drift. A warm-up grows too, but more and more slowly: growth lasts only if every
quarter has its share of it and the second half grows nearly as much as the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..statistics import Series, correlation_of

STRETCHES = 48
"""Number of stretches whose medians are compared (1,128 pairs, 0.1 ms); divisible by four."""

STRETCHES_LEAST = 12
"""With fewer stretches, of at least one value each, there is no trend."""

ERRORS = 3.0
"""Half-width of the interval in standard errors; as many as three because a growing window is tested many times."""

QUARTER_LEAST = 0.5
"""Least slope of each quarter, as a share of the slope of the whole. A single step is in one quarter only."""

SECOND_HALF_LEAST = 0.80
"""Least slope of the second half, as a share of that of the first. An exponential approach to a limit passes only if its time
constant is over 2.2 windows."""

SCATTER_MOST = 0.67
"""Greatest spread of single values around the line (5th to 95th percentile), as a share of the growth. Where stretches are nearly
as long as the period of a garbage collector, its saw-tooth looks like a slope; the spread shows that it is none."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A slope over a window of time, in the unit of the values."""

    per_s: float
    """The slope."""
    low_per_s: float
    high_per_s: float
    """Bounds of the slope, ERRORS standard errors away."""
    seconds: float
    """Length of the window."""
    start: float
    """Value of the line at the start of the window."""
    lasting: bool
    """Whether growth is spread over the window: neither a single step nor an approach to a limit."""
    scatter: float
    """Spread of single values around the line, from the 5th to the 95th percentile."""

    @property
    def growth(self) -> float:
        """Growth over the window by the slope."""
        return self.per_s * self.seconds

    @property
    def significant(self) -> bool:
        """Whether it grows by its lower bound, the growth lasts, and values do not scatter too much."""
        return self.low_per_s > 0 and self.lasting and self.scatter <= SCATTER_MOST * self.growth


def trend(times_s: Series, values: Series) -> Trend | None:
    """The trend of values, shape (n,), at ascending times; NaN: not measured. None if too few were measured."""
    known = ~np.isnan(values)
    times, levels = times_s[known], values[known]
    count = min(STRETCHES, len(times)) // 4 * 4
    if count < STRETCHES_LEAST:
        return None
    edges = np.linspace(0, len(times), count + 1).astype(int)
    at = np.array([times[start:end].mean() for start, end in zip(edges, edges[1:], strict=False)])
    middle = np.array([np.median(levels[start:end]) for start, end in zip(edges, edges[1:], strict=False)])
    per_s = float(np.median(_pair_slopes(at, middle)))
    left = middle - per_s * at
    error = ERRORS * _slope_error(at, left - left.mean())
    seconds = float(times[-1] - times[0])
    start = float(np.median(left) + per_s * times[0])
    edge_low, edge_high = np.percentile(levels - per_s * times, (5, 95))
    return Trend(per_s, per_s - error, per_s + error, seconds, start, _lasts(at, middle, per_s), float(edge_high - edge_low))


def _pair_slopes(at: Series, middle: Series) -> Series:
    first, second = np.triu_indices(len(at), 1)
    slopes: Series = (middle[second] - middle[first]) / (at[second] - at[first])
    return slopes


def _slope_error(at: Series, residual: Series) -> float:
    """Standard error of a slope whose residuals are an AR(1) (with Kendall's correction of the bias)."""
    squares = float(residual @ residual)
    if squares <= 0:
        return 0.0
    correlation = correlation_of(residual, squares)
    away = at - at.mean()
    return math.sqrt(squares / (len(residual) - 2) / float(away @ away) * (1 + correlation) / (1 - correlation))


def _lasts(at: Series, middle: Series, per_s: float) -> bool:
    """Whether growth is spread over the window, by the slope of each quarter and of each half."""
    if per_s <= 0:
        return False
    quarters = [float(np.median(_pair_slopes(*part))) for part in _parts(at, middle, 4)]
    first, second = (float(np.median(_pair_slopes(*part))) for part in _parts(at, middle, 2))
    return min(quarters) >= QUARTER_LEAST * per_s and second >= SECOND_HALF_LEAST * first


def _parts(at: Series, middle: Series, count: int) -> list[tuple[Series, Series]]:
    return list(zip(np.split(at, count), np.split(middle, count), strict=True))
