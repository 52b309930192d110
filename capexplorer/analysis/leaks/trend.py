"""How fast something grows while the load stays the same: a robust slope with an honest interval, and whether the growth lasts.

Theil-Sen (Sen 1968) over medians of short stretches: single spikes and stragglers do not move it. Its interval is that of a line
whose errors are correlated, since memory and queues wander. A warm-up grows too, but less and less: growth counts
as lasting only where each quarter brought its share and the second half as much as the first. No clock, no I/O.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STRETCHES = 48
"""Stretches whose medians are compared: 1,128 pairs, 0.1 ms. They must come in quarters."""

STRETCHES_LEAST = 12

ERRORS = 3.0
"""Standard errors to either side: a growing window is looked at many times."""

CORRELATION_MOST = 0.9

QUARTER_LEAST = 0.5
"""Of an even share: what each quarter must bring. A single step brings all of it in one."""

SECOND_HALF_LEAST = 0.80
"""Of what the first half brought. An exponential approach passes only if its time constant is over 2.2 windows."""

SCATTER_MOST = 0.67
"""Of the growth: what single values scatter around the line, the outer tenth left out. Stretches can fall in step with a
collector's period and show its beat as a slope; its garbage scatters all the same."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trend:
    """A slope over a window."""

    per_s: float
    low_per_s: float
    high_per_s: float
    """Three standard errors away."""
    seconds: float
    start: float
    """Level of the line at the window's begin."""
    lasting: bool
    """Neither a step nor an approach to a level."""
    scatter: float
    """Of single values around the line, from the 5th to the 95th percentile."""

    @property
    def growth(self) -> float:
        """Over the window."""
        return self.per_s * self.seconds

    @property
    def sure(self) -> bool:
        """Whether it surely grows, and goes on."""
        return self.low_per_s > 0 and self.lasting and self.scatter <= SCATTER_MOST * self.growth


def trend(times_s: Floats, values: Floats) -> Trend | None:
    """Of one value a second or so, in ascending order of time, NaN where it was not measured; None when too few were."""
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


def _pair_slopes(at: Floats, middle: Floats) -> Floats:
    first, second = np.triu_indices(len(at), 1)
    slopes: Floats = (middle[second] - middle[first]) / (at[second] - at[first])
    return slopes


def _slope_error(at: Floats, residual: Floats) -> float:
    """Standard error of a slope whose residuals are an AR(1) (with Kendall's bias put right)."""
    squares = float(residual @ residual)
    if squares <= 0:
        return 0.0
    correlation = max(0.0, float(residual[1:] @ residual[:-1]) / squares)
    correlation = min(CORRELATION_MOST, correlation + (1 + 3 * correlation) / len(residual))
    away = at - at.mean()
    return math.sqrt(squares / (len(residual) - 2) / float(away @ away) * (1 + correlation) / (1 - correlation))


def _lasts(at: Floats, middle: Floats, per_s: float) -> bool:
    """Whether growth is spread over the window: by a line through each quarter, and through each half."""
    if per_s <= 0:
        return False
    quarters = [float(np.median(_pair_slopes(*part))) for part in _parts(at, middle, 4)]
    first, second = (float(np.median(_pair_slopes(*part))) for part in _parts(at, middle, 2))
    return min(quarters) >= QUARTER_LEAST * per_s and second >= SECOND_HALF_LEAST * first


def _parts(at: Floats, middle: Floats, count: int) -> list[tuple[Floats, Floats]]:
    return list(zip(np.split(at, count), np.split(middle, count), strict=True))
