"""Latency of the successes of each second, with the generator's lag and the client overhead for comparison."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray
from textual.geometry import Size

from ...model.columns import percentile_column
from ...model.figures import latency_of_kind
from ...model.intervals import Latency
from ...model.level_use import level_uses
from ...model.load import Rate
from ...model.stages import LatencyKind
from ...model.timeline import BUCKETS, EDGES_MS, Timeline
from ...wording.quantities import LATENCY_NAMES, latency_title, offered_rate
from ..display_options import DisplayOptions, LatencyForm, Palette, next_kind
from ..render import text
from ..render.axis import Axis, count_axis, latency_tick, linear_axis, log_axis
from ..render.chart import DASHED, DOTTED, SOLID, Chart, Heat, Legend, Point, Series, latency_legend, plot_rows, y_ticks
from ..render.raster import Pattern, Shape
from ..render.timepage import NOTHING, TimePage, over_time, page_of
from . import baseline_curve
from .level_parts import LevelPart, at_tick, levels_of_load, parts_of
from .pane import ChartPane

# -- latency heatmap -----------------------------------------------------------------------------------------------------------
# Latency as a heatmap: x is time, y is latency on a logarithmic scale, and the shade is the share of a column's requests. Pure.
#
# While there is an inspection cursor, the right scale gives the share of each row in its second.


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
    kind = options.latency_kind
    counts = np.array([seconds.counts(tick, kind) for tick in ticks])
    filled = np.flatnonzero(counts.sum(axis=0))
    if not filled.size:
        return "no request has succeeded in this time"
    axis = log_axis(EDGES_MS[filled[0]], EDGES_MS[filled[-1] + 1], y_ticks(size.height), latency_tick)
    times = np.array([timeline.columns["t_s"][tick] for tick in ticks])
    right = None if shown.inspected_s is None else _shares(seconds.counts(shown.read, kind), axis, size)
    heat = Heat(lambda columns, rows: _cells(counts, times, shown, axis, columns, rows))
    return over_time(shown, options, size.width, axis, _heatmap_legend(shown, options, step), right=right, heat=heat)


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


def _heatmap_legend(shown: TimePage, options: DisplayOptions, step: int) -> tuple[Legend, ...]:
    """Percentiles of the second whose values are shown, then the meaning of the shades."""
    palette = options.palette
    percentiles = (("p50", palette.primary), ("p95", palette.secondary), ("p99", palette.accent))
    shades = "".join(Heat.shades(palette.markers))
    bounds = " ".join(f"{100 * share:g}" for share in Heat.SHARES)
    values = "gaps" if options.latency_kind == "itl" else "requests"
    return (
        *(
            latency_legend("", name, shown.latest(percentile_column(options.latency_kind, name)), color)
            for name, color in percentiles
        ),
        Legend(shades, f"{bounds}% of {values} or more", "", palette.primary, short=f"{bounds}%"),
        *((Legend("", f"one second of {step}", "", palette.muted),) if step > 1 else ()),
    )


# -- latency levels ------------------------------------------------------------------------------------------------------------
# Latency of each settled level against its load: p50, p95, p99, with those of the baseline behind. Pure.


LETTERS = {"p50": "a", "p95": "b", "p99": "c"}
"""The letter of each line on a screen without colours."""
LINES = (("p50", SOLID, Pattern.SOLID), ("p95", DASHED, Pattern.DASHED), ("p99", DOTTED, Pattern.DOTTED))


class LevelLatency(LevelPart, frozen=True):
    """The point of a settled level, or of the bin of a ramp."""

    kind: LatencyKind = "total"
    off_curve: bool = False
    """Whether it is off the curve (`model.level_use`), or of an earlier epoch."""
    of_other_state: bool = False
    """Whether it is off the curve because the service was in another state, or changed during the level."""

    @property
    def latency(self) -> Latency:
        """That of requests; at an offered rate in total the time from plan."""
        offered = self.figures.offered
        return latency_of_kind(self.figures, self.kind) if offered is None or self.kind != "total" else offered.from_plan_ms

    def ms(self, name: str) -> float:
        """A percentile; NaN if it was not measured."""
        value: float | None = getattr(self.latency, name)
        return math.nan if value is None else value


def latency_by_level(timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
    """The chart of levels of users or, while a rate is offered, of rates, with the time from plan."""
    points = list(level_latencies(timeline, options.latency_kind))
    values = [value for point in points for name, _, _ in LINES if (value := point.ms(name)) > 0]
    if not values:
        return "no settled level yet"
    palette, by_offered_rate = options.palette, isinstance(timeline.load, Rate)
    inspected = at_tick(timeline, options.inspected, points)
    baseline = baseline_curve.latencies(options, by_offered_rate=by_offered_rate)
    values += [value for _, latency in baseline for value in latency.values()]
    loads = [*(point.load for point in points), *(load for load, _ in baseline)]
    most, high = y_ticks(size.height), 1.05 * max(loads)
    ticks = max(size.width // 8, 2)
    curve = sorted((point for point in points if not point.off_curve), key=lambda point: (point.load, point.index))
    colors = dict(zip(("p50", "p95", "p99"), (palette.primary, palette.secondary, palette.accent), strict=True))
    return Chart(
        x=linear_axis(high, ticks) if by_offered_rate else count_axis(high, ticks),
        y=_axis(min(values), max(values), most, log=options.log_latency),
        legend=_levels_legend(inspected, points[-1], by_offered_rate, options, colors),
        series=(*baseline_curve.latency_series(baseline, palette), *_series(curve, colors)),
        points=tuple(_points(points, inspected, colors, palette)),
        cursor=None if inspected is None else inspected.load,
        cursor_label="" if inspected is None else f"{inspected.load:g}",
    )


def _axis(lowest_ms: float | None, highest_ms: float, most_ticks: int, *, log: bool) -> Axis:
    if log and lowest_ms is not None:
        return log_axis(lowest_ms, highest_ms, most_ticks, latency_tick)
    return linear_axis(highest_ms, most_ticks, latency_tick)


def level_latencies(timeline: Timeline, chosen: LatencyKind = "total") -> Iterator[LevelLatency]:
    """The points in the order of the session."""
    uses, epoch = level_uses(timeline), timeline.levels[-1].opened.epoch if timeline.levels else 0
    for level in levels_of_load(timeline):
        kind = uses[level.opened.index].why
        is_off_curve, of_other_state = kind is not None or level.opened.epoch != epoch, kind in ("other_service", "changed")
        for part in parts_of(level):
            point = LevelLatency(**asdict(part), kind=chosen, off_curve=is_off_curve, of_other_state=of_other_state)
            if part.figures.settled and point.latency.p50 is not None:
                yield point


def _series(curve: Sequence[LevelLatency], colors: dict[str, str]) -> Iterator[Series]:
    loads = [point.load for point in curve]
    for name, _, pattern in LINES:
        yield Series(loads, [point.ms(name) for point in curve], colors[name], pattern, letter=LETTERS[name])


def _points(
    points: Sequence[LevelLatency], inspected: LevelLatency | None, colors: dict[str, str], palette: Palette
) -> Iterator[Point]:
    for point in points:
        for name, _, _ in LINES:
            color = palette.text if point is inspected else palette.muted if point.off_curve else colors[name]
            shape = Shape.TRIANGLE if point.of_other_state else Shape.SALTIRE if point.off_curve else Shape.FILLED
            yield Point(point.load, point.ms(name), shape, color, bold=point is inspected)


def _levels_legend(
    inspected: LevelLatency | None, last: LevelLatency, by_offered_rate: bool, options: DisplayOptions, colors: dict[str, str]
) -> tuple[Legend, ...]:
    shown = inspected or last
    load = offered_rate(shown.load) if by_offered_rate else f"{shown.load:g} users"
    values = (latency_legend(key, name, shown.ms(name), colors[name], letter=LETTERS[name]) for name, key, _ in LINES)
    return (Legend("", load, "", options.palette.text, strong=True), *values, *baseline_curve.legend(options))


ENOUGH = {"p50": 1, "p95": 200, "p99": 1_000}
"""Number of successes in a level from which its percentiles are shown plainly; with fewer they are grey."""

TITLES: Mapping[LatencyForm, tuple[str, Sequence[str]]] = {
    "lines": ("Latency", ("",)),
    "heatmap": ("Latency heatmap", ("",)),
    "levels": ("Latency by users", ("",)),
}
RATE_TITLES: Mapping[LatencyForm, tuple[str, Sequence[str]]] = {
    "lines": ("Latency", (", time from plan (grey: service time)", ", time from plan", " from plan")),
    "heatmap": ("Latency heatmap", (", service time",)),
    "levels": ("Latency by rate", (", time from plan", " from plan", "")),
}
"""While a rate is offered. What stands before the unit, and behind it: from the longest to the shortest."""


class LatencyPane(ChartPane):
    """p50, p95 and p99, linear or logarithmic. While a rate is offered, those of the time from plan and of requests."""

    TITLE = "Latency"

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw this moment; the title names the form and the scale."""
        by_offered_rate = isinstance(timeline.load, Rate)
        before, behind = (RATE_TITLES if by_offered_rate else TITLES)[options.latency_form]
        is_log = options.log_latency and options.latency_form != "heatmap"
        titles = kind_titles(before, behind, timeline, options)
        self.retitle(*(f"{title}, log scale" for title in titles) if is_log else titles)
        self.by_load = options.latency_form == "levels"
        super().show(timeline, cursor, options)

    def chart(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
        """One page of seconds up to the cursor, or one point a level."""
        if options.latency_form == "heatmap":
            return heatmap(timeline, cursor, options, size)
        if options.latency_form == "levels":
            return latency_by_level(timeline, cursor, options, size)
        shown = page_of(timeline, cursor, options)
        if shown is None:
            return NOTHING
        palette, kind = options.palette, options.latency_kind
        names = [_column(shown, name, kind) for name in ENOUGH]
        y = _axis(shown.lowest(*names), shown.highest(*names), y_ticks(size.height), log=options.log_latency)
        series = (
            *((shown.line("p99_ms", palette.muted, letter="s"),) if has_from_plan(shown, kind) else ()),
            # a cell shows the colour of the last line in it: p95, the least important one, is first
            shown.line(_column(shown, "p95", kind), palette.secondary, Pattern.DASHED, letter=LETTERS["p95"]),
            shown.line(_column(shown, "p50", kind), palette.primary, letter=LETTERS["p50"]),
            shown.line(_column(shown, "p99", kind), palette.accent, Pattern.DOTTED, letter=LETTERS["p99"]),
        )
        return over_time(shown, options, size.width, y, _legend(shown, palette, kind), series)


def kind_titles(before: str, behind: Sequence[str], timeline: Timeline, options: DisplayOptions) -> list[str]:
    """Titles of a chart or table of latencies, from the longest to the shortest. `behind`: what may stand behind the unit of that
    of whole requests. With streams they name the chosen latency, and the key that shows the next one.
    """
    stages, kind = timeline.stages, options.latency_kind
    if not stages and kind == "total":
        return [latency_title(before, "  ") + each for each in behind]
    titles = [latency_title(f"{before}, {kind}", "  ") + each for each in (behind if kind == "total" else ("",))]
    key, is_plain = f"  T: {next_kind(kind, stages)}", kind != "total" or not any(behind)  # else it is the time from plan
    named = [latency_title(f"{before}, {kind}: {LATENCY_NAMES[kind]}", "  ")] if is_plain else []
    return [*(f"{title}{key}" for title in (*named, *titles)), *titles]


def has_from_plan(shown: TimePage, kind: LatencyKind) -> bool:
    """Whether a rate is offered in the second whose values are shown: then the chart has both time from plan and service time."""
    return kind == "total" and shown.latest("offered_per_s") == shown.latest("offered_per_s")


def _column(shown: TimePage, name: str, kind: LatencyKind) -> str:
    """The column of a percentile; in total that of the time from plan while a rate is offered."""
    return f"from_plan_{name}_ms" if has_from_plan(shown, kind) else percentile_column(kind, name)


def _legend(shown: TimePage, palette: Palette, kind: LatencyKind) -> tuple[Legend, ...]:
    successes, by_offered_rate = _successes(shown), has_from_plan(shown, kind)

    def percentile(name: str, key: str, color: str, aspect: str = "") -> Legend:
        value, few = shown.latest(_column(shown, name, kind)), successes < ENOUGH[name]
        return latency_legend(key, f"{aspect}{name}", value, color, short=name, letter=LETTERS[name], quiet=few)

    return (
        percentile("p50", SOLID, palette.primary, "from plan " if by_offered_rate else ""),
        percentile("p95", DASHED, palette.secondary),
        percentile("p99", DOTTED, palette.accent),
        *(
            (latency_legend(SOLID, "service p99", shown.latest("p99_ms"), palette.muted, short="svc", letter="s"),)
            if by_offered_rate
            else ()
        ),
        latency_legend("", "loop lag p99", shown.latest("loop_lag_p99_ms"), palette.muted, short="loop lag", aside=True),
        *_client_overhead(shown.timeline, palette),
    )


def _successes(shown: TimePage) -> int:
    """Successes in the settled seconds of the level whose values are shown."""
    level = shown.level
    return level.figures.requests - level.figures.failures if level is not None else 0


def _client_overhead(timeline: Timeline, palette: Palette) -> tuple[Legend, ...]:
    """The median of the client overhead, ms; of the slowest client if several are in use."""
    overheads = timeline.header.client_overhead_ms.values() if timeline.header else ()
    slowest = max((floor.p50_ms for floor in overheads), default=None)
    if slowest is None:
        return ()
    return (latency_legend("", "client overhead", slowest, palette.muted, short="client", aside=True),)
