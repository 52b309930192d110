"""Latency as a heatmap: x is time, y is latency on a logarithmic scale, and the shade is the share of a column's requests. Pure.

While there is an inspection cursor, the right scale gives the share of each row in its second.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from textual.geometry import Size

from ...model.latency_seconds import BUCKETS, EDGES_MS
from ...model.timeline import Timeline
from ..display_options import DisplayOptions
from ..render import text
from ..render.axis import Axis, duration_axis, latency_tick, log_axis
from ..render.chart import Chart, Heat, plot_rows, y_ticks
from ..render.legend import Legend, latency_legend
from ..render.timepage import NOTHING, TimePage, boundaries, page_of, phases, tags

SECONDS_PER_CELL = 4
"""The most seconds that are drawn in one column; of a longer time one second of n is, which the legend then states."""


def heatmap(timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
    """The chart of one page, or a sentence if there is nothing to draw."""
    shown, seconds = page_of(timeline, cursor, options), timeline.latency_seconds
    if shown is None:
        return NOTHING
    if seconds is None:
        return "the latencies of each second are not kept here"
    first = min(shown.first + 1, shown.stop - 1) if shown.first else 0
    step = max(1, math.ceil((shown.stop - first) / (SECONDS_PER_CELL * max(size.width, 1))))
    ticks = range(first, shown.stop, step)
    counts = np.array([seconds.counts(tick) for tick in ticks])
    filled = np.flatnonzero(counts.sum(axis=0))
    if not filled.size:
        return "no request has succeeded in this time"
    axis = log_axis(EDGES_MS[filled[0]], EDGES_MS[filled[-1] + 1], y_ticks(size.height), latency_tick)
    unsettled, settled = phases(shown)
    times = np.array([timeline.columns["t_s"][tick] for tick in ticks])
    return Chart(
        x=duration_axis(shown.start_s, shown.end_s, max(size.width // 12, 2)),
        y=axis,
        right=None if shown.inspected_s is None else _shares(seconds.counts(shown.read), axis, size),
        legend=_legend(shown, options, step),
        heat=Heat(lambda columns, rows: _cells(counts, times, shown, axis, columns, rows)),
        boundaries=boundaries(shown, options.palette),
        tags=tags(shown, options.palette, words=options.large),
        unsettled=unsettled,
        settled=settled,
        cursor=shown.inspected_s,
        cursor_label=shown.inspected_label,
    )


def _cells(
    counts: NDArray[np.int64], times: NDArray[np.float64], shown: TimePage, axis: Axis, columns: int, rows: int
) -> NDArray[np.float64]:
    """Share of each column's requests in each row, [row, column]; row 0 is the top one."""
    placed = np.floor((times - shown.start_s) / (shown.end_s - shown.start_s) * columns).astype(np.int64)
    inside = (placed >= 0) & (placed <= columns)
    by_column = np.zeros((columns, rows), np.int64)
    in_rows = counts[inside] @ _rows_of(axis, rows)
    np.add.at(by_column, np.minimum(placed[inside], columns - 1), in_rows)
    totals = by_column.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = by_column / np.maximum(totals, 1)
    return shares.T


def _rows_of(axis: Axis, rows: int) -> NDArray[np.int64]:
    """Matrix [bucket, row] that is 1 if the bucket's middle is in the row, else 0."""
    middles = np.sqrt(EDGES_MS[:-1] * EDGES_MS[1:])
    fractions = np.log(middles / axis.low) / math.log(axis.high / axis.low)
    places = np.clip(np.floor((1 - fractions) * rows), 0, rows - 1).astype(np.int64)
    found = np.zeros((BUCKETS, rows), np.int64)
    found[np.arange(BUCKETS), places] = 1
    return found


def _shares(counts: NDArray[np.int64], axis: Axis, size: Size) -> Axis:
    """The right scale: the share of the second's requests in each row of the plot."""
    rows = plot_rows(size.height)
    in_rows, total = counts @ _rows_of(axis, rows), int(counts.sum())
    heights = [axis.low * (axis.high / axis.low) ** (1 - (row + 0.5) / rows) for row in range(rows)]
    found = [(height, text.percent(count / total)) for height, count in zip(heights, in_rows.tolist(), strict=True) if count]
    return Axis(axis.low, axis.high, tuple(found), log=True)


def _legend(shown: TimePage, options: DisplayOptions, step: int) -> tuple[Legend, ...]:
    """Percentiles of the second whose values are shown, then the meaning of the shades."""
    palette = options.palette
    percentiles = (("p50", palette.primary), ("p95", palette.secondary), ("p99", palette.accent))
    shades = "".join(Heat.shades(palette.markers))
    bounds = " ".join(f"{100 * share:g}" for share in Heat.SHARES)
    return (
        *(latency_legend("", name, shown.latest(f"{name}_ms"), color) for name, color in percentiles),
        Legend(shades, f"{bounds}% of requests or more", "", palette.primary, short=f"{bounds}%"),
        *((Legend("", f"one second of {step}", "", palette.muted),) if step > 1 else ()),
    )
