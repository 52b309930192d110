"""The curve of another session, drawn dim behind that of this one, and the difference at the same load in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ...model.intervals import Z95
from ...model.load import Rate
from ...model.stages import qualified
from ...model.timeline import Timeline
from ...wording.quantities import offered_rate
from ..display_options import DisplayOptions, Palette
from ..render.chart import Legend, Point, Series
from ..render.raster import Pattern, Shape

if TYPE_CHECKING:
    from ...report.compare.comparison import Curve
    from ...report.compare.estimates import Estimate

FiguresAtLoad = tuple[float, Mapping[str, float]]
"""(load: users or rate per second, values in ms by name of percentile)."""

KEY = "┄┄"
"""The key of the baseline in legends."""


def goodput(options: DisplayOptions, *, by_offered_rate: bool) -> tuple[tuple[Series, ...], tuple[Point, ...]]:
    """The baseline's line, and its points with 95% intervals, for the capacity curve.

    `by_offered_rate`: those of its levels of offered rates instead of those of users.
    """
    found = [
        (load, each["goodput"])
        for load, each in _figures(options.baseline, by_offered_rate=by_offered_rate)
        if each["goodput"].value is not None
    ]
    if not found:
        return (), ()
    color = options.palette.muted
    line = Series([load for load, _ in found], [one.value or 0.0 for _, one in found], color, Pattern.DASHED)
    return (line,), tuple(_point(load, one, color) for load, one in found)


def latencies(options: DisplayOptions, *, by_offered_rate: bool) -> list[FiguresAtLoad]:
    """The baseline's p50, p95 and p99 of the chosen latency at each load; those that were not measured are left out."""
    found: list[FiguresAtLoad] = []
    for load, each in _figures(options.baseline, by_offered_rate=by_offered_rate):
        named = {name: each.get(qualified(options.latency_kind, name)) for name in ("p50", "p95", "p99")}
        known = {name: one.value for name, one in named.items() if one is not None}
        found.append((load, {name: value for name, value in known.items() if value is not None}))
    return found


def latency_series(behind: Sequence[FiguresAtLoad], palette: Palette) -> Iterator[Series]:
    """One dim line for each percentile."""
    loads = [load for load, _ in behind]
    for name in ("p50", "p95", "p99"):
        if behind:
            yield Series(loads, [values.get(name, float("nan")) for _, values in behind], palette.muted, Pattern.DASHED)


def legend(options: DisplayOptions) -> tuple[Legend, ...]:
    """The legend's entry with the baseline's name; empty without a baseline."""
    if options.baseline is None:
        return ()
    return (Legend(KEY, f"baseline {options.baseline.name}", "", options.palette.muted, short="baseline"),)


def loads(options: DisplayOptions, *, by_offered_rate: bool) -> list[float]:
    """The baseline's loads, which the scale must include."""
    return [load for load, _ in _figures(options.baseline, by_offered_rate=by_offered_rate)]


def _figures(baseline: Curve | None, *, by_offered_rate: bool) -> list[tuple[float, Mapping[str, Estimate]]]:
    if baseline is None:
        return []
    return [(point.load.amount, point.figures) for point in (baseline.rate_points if by_offered_rate else baseline.points)]


def _point(load: float, one: Estimate, color: str) -> Point:
    value = one.value or 0.0
    half = float("nan") if one.se is None else Z95 * one.se
    return Point(load, value, Shape.HOLLOW, color, max(value - half, 0.0) if half == half else half, value + half)


# -- in words


def difference_at(timeline: Timeline, tick: int | None, baseline: Curve) -> str:
    """`20 users: goodput 61.2 → 59.0/s (−4%, within noise), p95 210 → 235 ms (about +12%)`: from the baseline to the level of
    this tick; None: to the latest level.
    """
    from ...report.compare.difference import differences

    level = timeline.level if tick is None else timeline.level_at(tick)
    if level is None:
        return "no level yet"
    by_offered_rate = isinstance(level.load, Rate)
    load = level.load.amount
    baseline_figures = dict(_figures(baseline, by_offered_rate=by_offered_rate)).get(load)
    named = offered_rate(load) if by_offered_rate else f"{level.users:,} users"
    if baseline_figures is None:
        return f"no settled level of {named}"
    if not level.figures.settled:
        return f"{named}: this level has not settled"
    return f"{named}: {differences(baseline_figures, level.figures)}"
