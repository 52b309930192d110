"""Latency of each settled level against its load: p50, p95, p99, with those of the baseline behind. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from textual.geometry import Size

from ...model.events import LevelOpened
from ...model.figures import LevelFigures
from ...model.percentiles import Latency
from ...model.timeline import Timeline
from ...report.rows import level_kinds
from ...wording.quantities import offered_rate
from ..display_options import DisplayOptions, Palette
from ..render.axis import Axis, count_axis, latency_tick, linear_axis, log_axis
from ..render.chart import Chart, Point, Series, y_ticks
from ..render.legend import DASHED, DOTTED, SOLID, Legend, latency_legend
from ..render.raster import Pattern, Shape
from . import baseline_curve

LETTERS = {"p50": "a", "p95": "b", "p99": "c"}
"""The letter of each line on a screen without colours."""
LINES = (("p50", SOLID, Pattern.SOLID), ("p95", DASHED, Pattern.DASHED), ("p99", DOTTED, Pattern.DOTTED))


@dataclass(frozen=True, slots=True)
class LevelLatency:
    """A settled level, or the bin of a ramp."""

    level: int
    epoch: int
    load: float
    latency: Latency
    off_curve: bool
    """Whether it is off the curve (`report.rows.OffCurve`), or of an earlier epoch."""
    of_other_state: bool = False
    """Whether it is off the curve because the service was in another state, or changed during the level."""


def latency_by_level(timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
    """The chart of levels of users or, while a rate is offered, of rates, with the time from plan."""
    points = list(level_latencies(timeline))
    values = [value for point in points for value in _values(point.latency)]
    if not values:
        return "no settled level yet"
    palette, by_offered_rate = options.palette, timeline.offered_per_s is not None
    inspected = _inspected_point(timeline, points, options.inspected)
    baseline = baseline_curve.latencies(options.baseline, by_offered_rate=by_offered_rate)
    values += [value for _, latency in baseline for value in latency.values()]
    loads = [*(point.load for point in points), *(load for load, _ in baseline)]
    most, high = y_ticks(size.height), 1.05 * max(loads)
    ticks = max(size.width // 8, 2)
    curve = sorted((point for point in points if not point.off_curve), key=lambda point: (point.load, point.level))
    colors = dict(zip(("p50", "p95", "p99"), (palette.primary, palette.secondary, palette.accent), strict=True))
    return Chart(
        x=linear_axis(high, ticks) if by_offered_rate else count_axis(high, ticks),
        y=_axis(values, most, log=options.log_latency),
        legend=_legend(inspected, points[-1], by_offered_rate, options, colors),
        series=(*baseline_curve.latency_series(baseline, palette), *_series(curve, colors)),
        points=tuple(_points(points, inspected, colors, palette)),
        cursor=None if inspected is None else inspected.load,
        cursor_label="" if inspected is None else f"{inspected.load:g}",
    )


def _axis(values_ms: Sequence[float], most_ticks: int, *, log: bool) -> Axis:
    if log:
        return log_axis(min(values_ms), max(values_ms), most_ticks, latency_tick)
    return linear_axis(max(values_ms), most_ticks, latency_tick)


def level_latencies(timeline: Timeline) -> Iterator[LevelLatency]:
    """The points in the order of the session."""
    by_offered_rate, kinds = timeline.offered_per_s is not None, level_kinds(timeline)
    epoch = timeline.levels[-1].opened.epoch if timeline.levels else 0
    for level in timeline.levels:
        if (level.offered_per_s is not None) is not by_offered_rate:
            continue
        parts = [(part.users, part.figures) for part in level.bins] if level.opened.ramp else [(level.users, level.figures)]
        kind = kinds.get(level.opened.index)
        off_curve, of_other_state = kind is not None or level.opened.epoch != epoch, kind in ("other_service", "changed")
        for users, figures in parts:
            if figures.settled and _latency(figures).p50 is not None:
                load = _load(level.opened, users, figures)
                yield LevelLatency(level.opened.index, level.opened.epoch, load, _latency(figures), off_curve, of_other_state)


def _load(opened: LevelOpened, users: float, figures: LevelFigures) -> float:
    if opened.offered_per_s is None or figures.offered is None:
        return users
    return figures.offered.offered_per_s


def _latency(figures: LevelFigures) -> Latency:
    return figures.latency_ms if figures.offered is None else figures.offered.from_plan_ms


def _values(latency: Latency) -> list[float]:
    return [value for value in (latency.p50, latency.p95, latency.p99) if value is not None and value > 0]


def _inspected_point(timeline: Timeline, points: Sequence[LevelLatency], tick: int | None) -> LevelLatency | None:
    """The point of the level at the inspection cursor; for a ramp, that of the nearest bin."""
    level = None if tick is None else timeline.level_at(tick)
    if level is None or tick is None:
        return None
    column = timeline.columns["users" if level.offered_per_s is None else "offered_per_s"]
    own = [point for point in points if point.level == level.opened.index]
    return min(own, key=lambda point: abs(point.load - column[tick]) if column[tick] == column[tick] else 0.0, default=None)


def _series(curve: Sequence[LevelLatency], colors: dict[str, str]) -> Iterator[Series]:
    loads = [point.load for point in curve]
    for name, _, pattern in LINES:
        yield Series(loads, [_percentile_ms(point, name) for point in curve], colors[name], pattern, letter=LETTERS[name])


def _points(
    points: Sequence[LevelLatency], inspected: LevelLatency | None, colors: dict[str, str], palette: Palette
) -> Iterator[Point]:
    for point in points:
        for name, _, _ in LINES:
            color = palette.text if point is inspected else palette.muted if point.off_curve else colors[name]
            shape = Shape.TRIANGLE if point.of_other_state else Shape.SALTIRE if point.off_curve else Shape.FILLED
            yield Point(point.load, _percentile_ms(point, name), shape, color, bold=point is inspected)


def _percentile_ms(point: LevelLatency, name: str) -> float:
    value: float | None = getattr(point.latency, name)
    return float("nan") if value is None else value


def _legend(
    inspected: LevelLatency | None, last: LevelLatency, by_offered_rate: bool, options: DisplayOptions, colors: dict[str, str]
) -> tuple[Legend, ...]:
    shown = inspected or last
    load = offered_rate(shown.load) if by_offered_rate else f"{shown.load:g} users"
    values = (
        latency_legend(key, name, _percentile_ms(shown, name), colors[name], letter=LETTERS[name]) for name, key, _ in LINES
    )
    return (Legend("", load, "", options.palette.text, strong=True), *values, *baseline_curve.legend(options))
