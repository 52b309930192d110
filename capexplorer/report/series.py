"""The timeline's columns for an HTML page, rounded, and reduced in length without losing peaks.

A bucket of ticks becomes two points: the bucket's least and greatest value of each column, in their order of time (min-max
aggregation, which keeps what a plot with that many pixels would show).
"""

from __future__ import annotations

from ..model import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
import numpy as np
from numpy.typing import NDArray

from ..model.timeline import Timeline

MOST_POINTS = 7_200
"""Most points of a column. Two hours of seconds are not reduced; a page of 20 columns has 0.9 MB at most."""


Values = list[float | None]


def points(timeline: Timeline, columns: dict[str, int], most: int = MOST_POINTS) -> tuple[list[float], dict[str, Values]]:
    """(times in s, values by column name), all of equal length; None: not measured. `columns`: decimals by column name."""
    times = np.asarray(timeline.columns["t_s"][: len(timeline)])
    size = -(-2 * len(times) // most) if len(times) > most else 1
    series = {
        name: _plain(_reduced(np.asarray(timeline.columns[name][: len(times)]), size), digits) for name, digits in columns.items()
    }
    return np.round(_times(times, size), 1).tolist(), series


def _times(times: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The times of each bucket's two points: its first tick and its middle tick."""
    if size == 1:
        return times
    firsts = np.arange(0, len(times), size)
    middles = np.minimum(firsts + size // 2, len(times) - 1)
    return np.ravel(np.column_stack((times[firsts], times[middles])))


def _reduced(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    if size == 1:
        return values
    padded = np.full(-(-len(values) // size) * size, np.nan)
    padded[: len(values)] = values
    buckets = padded.reshape(-1, size)
    known = ~np.isnan(buckets)
    least = np.where(known, buckets, np.inf).argmin(axis=1)
    greatest = np.where(known, buckets, -np.inf).argmax(axis=1)
    rows = np.arange(len(buckets))
    return np.ravel(np.column_stack((buckets[rows, np.minimum(least, greatest)], buckets[rows, np.maximum(least, greatest)])))


def _plain(values: NDArray[np.float64], digits: int) -> Values:
    with np.errstate(over="ignore"):  # a damaged figure near the greatest float has no digits to round
        rounded = np.round(values, digits)
    rounded = np.where(np.isinf(rounded), values, rounded)
    listed = (rounded.astype(object) if np.isnan(rounded).any() else rounded).tolist()
    whole = digits <= 0
    return [None if value != value else int(value) if whole or value == int(value) else value for value in listed]
