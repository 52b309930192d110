"""A latency histogram: a chart with the share of values in each column on a logarithmic axis of latency, then the shares in
words.
"""

from __future__ import annotations

import math

import numpy as np
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from ...model.histogram import LatencyHistogram
from ...wording.quantities import latencies
from ..display_options import DisplayOptions
from ..render import text
from ..render.axis import Axis, compact, latency_tick, linear_axis, log_axis
from ..render.chart import Boundary, Chart, Series, layout, y_ticks
from ..render.draw import draw_chart
from ..render.raster import DOTS_X

ROWS = 10
"""Height of the chart in rows of cells."""
DOTS_PER_BAR = 4
"""Width of a bar in dots: two cells."""

ROUND = (1, 2, 5)
"""Multipliers of 10^k that are bounds of the ranges whose shares are given in words."""


def histogram_lines(histogram: LatencyHistogram, options: DisplayOptions, width: int) -> list[Strip]:
    """ROWS lines of chart, then the shares in words."""
    if not histogram.count:
        return [text.line([(" no latency was recorded", Style(color=options.palette.muted))], width)]
    low_ms, high_ms = max(histogram.min_ms or 0.001, 0.001), histogram.max_ms or 1.0
    size = Size(width, ROWS)
    axis = log_axis(low_ms, high_ms, max(width // 10, 2), latency_tick)
    chart = _chart(histogram, axis, options, size)
    plain = Style(color=options.palette.text)
    words = text.flow(shares(histogram, low_ms, high_ms), width - 2)
    return [*draw_chart(chart, options.palette, size), *(text.line([(f" {line}", plain)], width) for line in words)]


def _chart(histogram: LatencyHistogram, axis: Axis, options: DisplayOptions, size: Size) -> Chart:
    palette = options.palette
    dots = layout(Chart(axis, linear_axis(100.0, y_ticks(size.height))), size).columns * DOTS_X
    bars = max(dots // DOTS_PER_BAR, 1)
    edges_ms = [axis.low * (axis.high / axis.low) ** (bar / bars) for bar in range(bars + 1)]
    counts = histogram.counts_between([1000 * edge for edge in edges_ms])
    percent = 100 * np.append(counts[1:-2], counts[-2] + counts[-1]) / histogram.count
    steps = range(bars * DOTS_PER_BAR)
    xs = [axis.low * (axis.high / axis.low) ** ((step + 0.5) / len(steps)) for step in steps]
    p50, p95, p99 = histogram.percentiles_ms((0.5, 0.95, 0.99))
    colors = (palette.primary, palette.secondary, palette.accent)
    named = zip(("p50", "p95", "p99"), (p50, p95, p99), colors, strict=True)
    highest = float(percent.max())
    y = linear_axis(highest, y_ticks(size.height))
    return Chart(
        x=axis,
        y=Axis(y.low, y.high, tuple((tick, f"{label}%") for tick, label in y.ticks)),
        series=(Series(xs, [float(percent[step // DOTS_PER_BAR]) or math.nan for step in steps], palette.muted, bars=True),),
        boundaries=tuple(Boundary(value, name, color, solid=True) for name, value, color in named if value is not None),
    )


def shares(histogram: LatencyHistogram, low_ms: float, high_ms: float) -> list[str]:
    """`10–20 ms 12%` for each range between round bounds that contains values."""
    bounds = _bounds(low_ms, high_ms)
    counts = histogram.counts_between([1000 * bound for bound in bounds])
    ranges = zip(bounds, bounds[1:], counts[1:], strict=False)
    return [
        f"{latencies((low, high), '–', compact)} {text.percent(count / histogram.count)}" for low, high, count in ranges if count
    ]


def _bounds(low_ms: float, high_ms: float) -> list[float]:
    """Bounds of 1, 2 or 5 times 10^k from below the least value to above the greatest."""
    powers = range(math.floor(math.log10(low_ms)), math.ceil(math.log10(high_ms)) + 2)
    found = [digit * 10.0**power for power in powers for digit in ROUND]
    first = max(index for index, bound in enumerate(found) if bound <= low_ms * (1 + 1e-9))
    last = min(index for index, bound in enumerate(found) if bound > high_ms)
    return found[first : last + 1]
