"""A line through dots as one vertical span a dot column; neighbouring spans touch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Dots = NDArray[np.float64]
"""Whole numbers, as floats, since NaN lifts the pen."""

_BEYOND = 1 << 30
"""No dot is as far from the first one."""


def spans(xs: Dots, ys: Dots, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The line through the dots (xs, ys), in order of x, as (tops, bottoms) of the dot columns 0..width-1. Where the line does
    not cross a column, its top lies below its bottom.
    """
    tops, bottoms = np.full(width, _BEYOND), np.full(width, -_BEYOND)
    inside = ~np.isnan(ys) & (xs >= 0) & (xs < width)
    _cover(tops, bottoms, xs[inside], ys[inside], ys[inside])
    joined = np.flatnonzero(~np.isnan(ys[:-1]) & ~np.isnan(ys[1:]) & (xs[1:] > xs[:-1]))
    if joined.size:
        _cover(tops, bottoms, *_segments(xs[joined], ys[joined], xs[joined + 1], ys[joined + 1], width))
    return tops, bottoms


def _segments(x0: Dots, y0: Dots, x1: Dots, y1: Dots, width: int) -> tuple[Dots, Dots, Dots]:
    """(columns, from, to) of segments from (x0, y0) to (x1, y1): each column takes the part within half a dot of it."""
    first = np.maximum(x0, 0)
    counts = np.maximum(np.minimum(x1, width - 1) - first + 1, 0).astype(np.int64)
    each = np.repeat(np.arange(len(x0)), counts)
    x = first[each] + np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts)
    x0, y0, x1, slope = x0[each], y0[each], x1[each], ((y1 - y0) / (x1 - x0))[each]
    a = np.rint(y0 + slope * (np.maximum(x - 0.5, x0) - x0))
    b = np.rint(y0 + slope * (np.minimum(x + 0.5, x1) - x0))
    thinner = (a != b) & (x != x1)  # the dot where columns meet belongs to the later one
    return x, a, np.where(thinner, b - np.sign(b - a), b)


def _cover(tops: NDArray[np.int64], bottoms: NDArray[np.int64], xs: Dots, a: Dots, b: Dots) -> None:
    columns = xs.astype(np.int64)
    np.minimum.at(tops, columns, np.minimum(a, b).astype(np.int64))
    np.maximum.at(bottoms, columns, np.maximum(a, b).astype(np.int64))
