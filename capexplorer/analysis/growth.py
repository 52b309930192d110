"""Stretches of constant load: settled seconds at one user count, or one offered rate, in one target process.

`leaks` tests them for growth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby

import msgspec
import numpy as np

from ..model.events import Target
from ..model.level import Level
from ..model.timeline import Timeline
from .statistics import FULL, MOSTLY, Series, correlation_of


class ConstantLoad(msgspec.Struct, frozen=True):
    """Consecutive levels with the same user count, or the same offered rate."""

    levels: tuple[Level, ...]

    @property
    def seconds(self) -> float:
        """Settled seconds so far."""
        return math.fsum(level.figures.settled_seconds for level in self.levels)

    @property
    def throughput_rps(self) -> float | None:
        """Requests a second over settled seconds; None without one."""
        requests = sum(level.figures.requests for level in self.levels)
        return requests / self.seconds if self.seconds else None

    def ticks(self, timeline: Timeline) -> list[int]:
        """Column indices of its settled seconds."""
        return [tick for level in self.levels for tick in timeline.seconds_of(level)]


def constant_loads(timeline: Timeline, epoch: int) -> Iterator[ConstantLoad]:
    """Stretches of one epoch, in the order they ran. A restart of the target ends a stretch."""
    starts = restarts_s(timeline)
    own = [level for level in timeline.levels if level.opened.epoch == epoch and not level.opened.ramp]
    for _, group in groupby(own, key=lambda each: (each.load, sum(t <= each.started_s for t in starts))):
        load = ConstantLoad(tuple(group))
        if load.levels[0].has_load and load.seconds:
            yield load


def pieces(values: Series, limit: float | None) -> Iterator[tuple[int, int]]:
    """Index ranges [start, end) of `values` that may be tested as one: cut where the limit is near or the process changed."""
    start, peak = 0, -math.inf
    for index, value in enumerate(values.tolist()):
        if math.isnan(value):
            continue
        stopped = limit is not None and value >= FULL * limit
        if value < MOSTLY * peak or stopped:
            if index > start:
                yield start, index
            start, peak = index + (1 if stopped else 0), -math.inf
        peak = max(peak, value)
    if start < len(values):
        yield start, len(values)


def loaded_s(timeline: Timeline, level: Level) -> float:
    """When the target process of this level first had load, in seconds of the session."""
    since_s = max((t for t in restarts_s(timeline) if t <= level.started_s), default=0.0)
    loaded = (each.started_s for each in timeline.levels if each.has_load and each.started_s >= since_s)
    return min(loaded, default=level.started_s)


def restarts_s(timeline: Timeline) -> list[float]:
    """Each start of the target, the first one included, in seconds of the session."""
    return [entry.t_s for entry in timeline.journal if isinstance(entry, Target) and entry.state == "starting"]


# -- How fast a value grows while the load stays the same: a robust slope with its interval, and whether the growth lasts.
#
# The slope is that of Theil-Sen (Sen 1968) over medians of short stretches, so single spikes do not change it. Its interval
# allows for correlated errors, since memory and queues drift. A warm-up grows too, but more and more slowly: growth lasts only if
# every quarter has its share of it and the second half grows nearly as much as the first.

STRETCHES = 48
"""Number of stretches whose medians are compared (1,128 pairs, 0.1 ms); divisible by four."""

ERRORS = 3.0
"""Half-width of the interval in standard errors; as many as three because a growing window is tested many times."""

SECOND_HALF_LEAST = 0.80
"""Least slope of the second half, as a share of that of the first. An exponential approach to a limit passes only if its time
constant is over 2.2 windows."""

SCATTER_MOST = 0.67
"""Greatest spread of single values around the line (5th to 95th percentile), as a share of the growth. Where stretches are nearly
as long as the period of a garbage collector, its saw-tooth looks like a slope; the spread shows that it is none."""


class Trend(msgspec.Struct, frozen=True):
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
    if count < STRETCHES // 4:
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
    return min(quarters) >= MOSTLY * per_s and second >= SECOND_HALF_LEAST * first


def _parts(at: Series, middle: Series, count: int) -> list[tuple[Series, Series]]:
    return list(zip(np.split(at, count), np.split(middle, count), strict=True))
