"""The capacity curve X(N): goodput of each level against its users, with the detector's verdict.

Nothing is fitted or judged here: lines, knee and interval are those of the verdict at the cursor (`curve_verdict`). For a log
without verdicts, only linear growth from the level with the fewest users is extrapolated, and labelled so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from textual.geometry import Size

from ... import wording
from ...model.events import Verdict
from ...model.level import Level
from ...model.timeline import Timeline
from ...report.rows import Kind
from ...wording import quantities
from ...wording.numbers import counted
from ..display_options import DisplayOptions, Palette
from ..render.axis import Axis, count_axis, linear_axis
from ..render.chart import Chart, Point, Series, note_rows, y_ticks
from ..render.legend import DOTTED, Legend
from ..render.raster import Pattern, Shape
from . import baseline_curve, curve_verdict
from .chart_pane import ChartPane
from .curve_points import LevelPoint, inspected_point, level_points
from .rate_curve import rate_chart

KNOWN_WELL_RATIO = 0.05
"""Largest ratio of half the interval to goodput with which a level may be extrapolated. Ten seconds of a single user give a
tenth, which is too uncertain.
"""

SYMBOLS = {Shape.FILLED: "●", Shape.HOLLOW: "○", Shape.CROSS: "+", Shape.SALTIRE: "×", Shape.RING: "◇", Shape.TRIANGLE: "△"}
OFF_CURVE: dict[Shape, dict[Kind, str]] = {
    Shape.SALTIRE: {"recovery": "recovery", "disturbed": "disturbed by other processes"},
    Shape.TRIANGLE: {"other_service": "another state of the service", "changed": "changed during the level"},
}
"""Kinds of levels that are not part of the curve, by their sign, in words."""


class CurvePane(ChartPane):
    """Goodput of each level against users; while a rate is offered, of each level of rates against the rate."""

    TITLE = "Capacity curve  goodput req/s by users"
    TITLES = (TITLE, "Capacity  goodput req/s by users")
    RATE_TITLES = ("Capacity curve  goodput by offered rate, iterations/s", "Capacity  goodput by offered rate")
    by_load = True

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw the chart, with a title that names its axes."""
        self.retitle(*(self.TITLES if timeline.offered_per_s is None else self.RATE_TITLES))
        super().show(timeline, cursor, options)

    def chart(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
        """The levels up to the cursor, with their present figures and the present verdict on them."""
        if timeline.offered_per_s is not None:
            return rate_chart(timeline, options, size) or "no settled level yet"
        levels = [level for level in timeline.levels if level.offered_per_s is None]
        points = level_points(timeline, levels, cursor)
        if not points:
            return _missing(levels)
        verdict = wording.reported(timeline).get(levels[-1].opened.epoch)
        highest = max(_highest(timeline, levels[-1], cursor), *(point.top_rps for point in points))
        return _chart(points, inspected_point(timeline, points, options.inspected), levels, verdict, highest, options, size)


def _highest(timeline: Timeline, level: Level, cursor: int) -> float:
    """The highest goodput of a second in the current level. It never falls, unlike the mean and its error, so that the scale does
    not move back and forth.
    """
    seconds = timeline.columns["goodput_rps"][level.first_index : cursor + 1]
    return max((value for value in seconds if math.isfinite(value)), default=0.0)


def _missing(levels: Sequence[Level]) -> str:
    return f"no settled level yet (settling at {counted(levels[-1].users)})" if levels else "waiting for the first level"


def _chart(
    points: Sequence[LevelPoint],
    inspected: LevelPoint | None,
    levels: Sequence[Level],
    verdict: Verdict | None,
    highest: float,
    options: DisplayOptions,
    size: Size,
) -> Chart:
    epoch, palette = levels[-1].opened.epoch, options.palette
    most_users = max(*(point.users for point in points), levels[-1].users, *baseline_curve.loads(options, by_offered_rate=False))
    users_axis = count_axis(most_users * 1.05, max(size.width // 8, 2))
    found = curve_verdict.parts_of(verdict, users_axis, options) if verdict is not None else None
    linear = _first_settled(points, epoch) if found is None or not found.lines else None
    notes = found.notes if found is not None else ()
    lines_of_notes = min(len(notes), note_rows(size.height))
    baseline_lines, baseline_points = baseline_curve.goodput(options, by_offered_rate=False)
    return Chart(
        x=users_axis,
        y=linear_axis(max(highest, *(point.y for point in baseline_points), 0.0), y_ticks(size.height - lines_of_notes)),
        legend=(*_legend(points, inspected, levels, linear, found, palette), *baseline_curve.legend(options)),
        notes=notes,
        series=(
            *baseline_lines,
            *_joined(points, palette),
            *(found.lines if found is not None else ()),
            *_linear(linear, users_axis, palette),
        ),
        points=(
            *baseline_points,
            *(
                _drawn(point, epoch, options, is_inspected=point is inspected)
                for point in sorted(points, key=lambda point: (point is inspected, point.current, point.epoch))
            ),
        ),
        bands=found.bands if found is not None else (),
        boundaries=found.boundaries if found is not None else (),
        tags=found.tags if found is not None else (),
        cursor=None if inspected is None else inspected.users,
        cursor_label="" if inspected is None else f"{inspected.users:g}",
    )


def _first_settled(points: Sequence[LevelPoint], epoch: int) -> LevelPoint | None:
    """The level from which linear scaling is extrapolated: of the settled levels of this epoch with a small error, the one with
    the fewest users, who delay each other least.
    """
    here = [point for point in points if point.fitted and point.epoch == epoch and point.users > 0]
    candidates = [point for point in here if point.imported or point.half_rps <= KNOWN_WELL_RATIO * point.goodput_rps]
    return min(candidates, key=lambda point: point.users, default=None)


def _linear(linear: LevelPoint | None, users: Axis, palette: Palette) -> tuple[Series, ...]:
    if linear is None:
        return ()
    slope = linear.goodput_rps / linear.users
    return (Series((0.0, users.high), (0.0, slope * users.high), palette.muted, Pattern.DOTTED),)


def _joined(points: Sequence[LevelPoint], palette: Palette) -> tuple[Series, ...]:
    """The line of each epoch's curve through its points by users; points with the same user count are averaged."""
    lines = []
    for epoch in sorted({point.epoch for point in points}):
        curve = sorted((point.users, point.goodput_rps) for point in points if point.epoch == epoch and point.fitted)
        counts = [(users, [y for _, y in same]) for users, same in groupby(curve, key=lambda pair: pair[0])]
        lines.append(Series([users for users, _ in counts], [sum(ys) / len(ys) for _, ys in counts], palette.faint))
    return tuple(lines)


def _drawn(point: LevelPoint, epoch: int, options: DisplayOptions, *, is_inspected: bool) -> Point:
    """One point: hollow and grey if it has few settled seconds. The current point, and the one at the inspection cursor, are
    highlighted and labelled with their goodput.
    """
    palette, shape = options.palette, _shape(point, epoch)
    low, high = max(point.goodput_rps - point.half_rps, 0.0), point.goodput_rps + point.half_rps
    counts = shape in (Shape.FILLED, Shape.RING)
    color = palette.accent if point.current else palette.secondary if counts else palette.muted
    labelled = point.current or is_inspected or (options.large and point.fitted and point.epoch == epoch and point.kind != "ramp")
    label = quantities.rate_cell(point.goodput_rps) if labelled else ""
    color = palette.text if is_inspected else color
    return Point(point.users, point.goodput_rps, shape, color, low, high, bold=point.current or is_inspected, label=label)


def _shape(point: LevelPoint, epoch: int) -> Shape:
    if point.epoch != epoch:
        return Shape.CROSS
    if not point.certain:
        return Shape.HOLLOW
    off_curve = next((shape for shape, kinds in OFF_CURVE.items() if point.kind in kinds), None)
    return off_curve or (Shape.RING if point.kind == "ramp" else Shape.FILLED)


def _legend(
    points: Sequence[LevelPoint],
    inspected: LevelPoint | None,
    levels: Sequence[Level],
    linear: LevelPoint | None,
    found: curve_verdict.VerdictParts | None,
    palette: Palette,
) -> tuple[Legend, ...]:
    """The figures of the level at the inspection cursor, or of the current one, and of the knee, then the other series."""
    if not any(point.settled for point in points):
        return (Legend(SYMBOLS[Shape.HOLLOW], _missing(levels), "", palette.accent),)
    entries = []
    epoch, shown = levels[-1].opened.epoch, inspected or points[-1]
    if shown.current or inspected is not None:
        key, so_far = SYMBOLS[_shape(shown, epoch)], shown.current and not shown.certain
        value = (
            f"{quantities.rate_cell(shown.goodput_rps)} so far"
            if so_far
            else f"{quantities.rate_cell(shown.goodput_rps)} ±{quantities.rate_cell(shown.half_rps)}"
        )
        color = palette.accent if shown.current else palette.text
        entries.append(Legend(key, counted(shown.users), value, color, width=12, quiet=not shown.certain))
    states = _off_curve(points, epoch, Shape.TRIANGLE, palette)
    entries += [replace(each, short="changed") for each in states]  # before the knee, which has a tag in the chart
    if found is not None:
        entries += found.legend
    if linear is not None:
        entries.append(
            Legend(DOTTED, f"linear scaling from {counted(linear.users)}, extrapolated", "", palette.muted, short="linear")
        )
    shapes = {_shape(point, epoch) for point in points}
    if Shape.RING in shapes:
        entries.append(Legend(SYMBOLS[Shape.RING], "ramp", "", palette.secondary))
    entries += _off_curve(points, epoch, Shape.SALTIRE, palette)
    if Shape.CROSS in shapes:
        entries.append(Legend(SYMBOLS[Shape.CROSS], "before restart", "", palette.muted))
    return tuple(entries)


def _off_curve(points: Sequence[LevelPoint], epoch: int, shape: Shape, palette: Palette) -> list[Legend]:
    """The entry of a sign of OFF_CURVE with the kinds that have points; empty without any."""
    kinds = dict.fromkeys(point.kind for point in points if _shape(point, epoch) is shape)
    words = ", ".join(OFF_CURVE[shape][kind] for kind in kinds)
    return [Legend(SYMBOLS[shape], words, "", palette.muted)] if kinds else []
