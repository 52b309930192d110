"""Goodput of each level against its offered rate, with the diagonal on which both are equal.

Pure. States of levels, capacity and interval are those of the verdict at the cursor; nothing is computed from levels here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from textual.geometry import Size

from ... import wording
from ...model.intervals import Z95
from ...model.level import Level
from ...model.load import Users
from ...model.rate_verdicts import RateCapacity, RateVerdict
from ...model.timeline import Timeline
from ...wording import quantities
from ..display_options import DisplayOptions, Palette
from ..render.axis import linear_axis
from ..render.chart import DASHED, DOTTED, Band, Boundary, Chart, Legend, Point, Series, note_rows, y_ticks
from ..render.raster import Pattern, Shape
from . import baseline_curve

SYMBOLS = {Shape.FILLED: "●", Shape.HOLLOW: "○", Shape.SALTIRE: "×", Shape.CROSS: "+", Shape.RING: "◇", Shape.TRIANGLE: "△"}
SHAPE_NAMES = {
    Shape.FILLED: "goodput",
    Shape.HOLLOW: "not clear yet",
    Shape.SALTIRE: "recovery, disturbed or the generator's",
    Shape.TRIANGLE: "another state of the service",
    Shape.CROSS: "before restart",
    Shape.RING: "ramp",
}

SHORT_NAMES = {Shape.SALTIRE: "not counted", Shape.HOLLOW: "unclear"}
"""For narrow charts."""


def rate_chart(timeline: Timeline, options: DisplayOptions, size: Size) -> Chart | None:
    """The chart of rate levels with the verdict on them; None if no level has a figure yet."""
    epoch = timeline.levels[-1].opened.epoch
    event = wording.reported(timeline).get(epoch)
    verdict = event.rates if event is not None else None
    inspected = timeline.level_at(options.inspected) if options.inspected is not None else None
    per_s = timeline.columns["offered_per_s"][options.inspected] if options.inspected is not None else math.nan
    points, read = [], None
    for level in timeline.levels:
        own = _points(level, level is timeline.levels[-1], verdict, epoch, options)
        points += own
        if level is inspected and own:
            read = min(own, key=lambda point: abs(point.x - per_s) if math.isfinite(per_s) else 0.0)
    if not points:
        return None
    if read is not None:
        points.remove(read)
        read = replace(read, color=options.palette.text, bold=True, label=quantities.rate_cell(read.y))
        points.append(read)
    capacity, palette = verdict.capacity if verdict is not None else None, options.palette
    notes = _notes(timeline.levels[-1], verdict, palette)
    baseline_lines, baseline_points = baseline_curve.goodput(options, by_offered_rate=True)
    most_x = max(*(point.x for point in (*points, *baseline_points)), timeline.levels[-1].load.per_s or 0.0)
    x = linear_axis(most_x * 1.05, max(size.width // 8, 2))
    most_y = max(point.y for point in (*points, *baseline_points))
    return Chart(
        x=x,
        y=linear_axis(most_y * 1.1, y_ticks(size.height - min(len(notes), note_rows(size.height)))),
        legend=(*_legend(points, capacity, palette), *baseline_curve.legend(options)),
        cursor=None if read is None else read.x,
        cursor_label="" if read is None else quantities.offered_rate(read.x),
        notes=notes,
        series=(*baseline_lines, *_lines(capacity, x.high, palette)),
        points=(*baseline_points, *points),
        bands=_bands(capacity, palette),
        boundaries=_boundaries(capacity, palette),
    )


def _points(level: Level, current: bool, verdict: RateVerdict | None, epoch: int, options: DisplayOptions) -> list[Point]:
    if isinstance(level.load, Users):
        return []
    parts = [part.figures for part in level.bins] if level.opened.ramp else [level.figures]
    known = {each.level: each for each in verdict.levels} if verdict is not None and level.opened.epoch == epoch else {}
    judged = None if level.opened.ramp else known.get(level.opened.index)  # the verdict on a ramp is about its latest bin only
    palette, found = options.palette, []
    for offered in (figures.offered for figures in parts if figures.settled):
        if offered is None:
            continue
        y, error = offered.finished_per_s, offered.finished_se_per_s
        if judged is not None and judged.is_part:
            y, error = judged.goodput_per_s, judged.goodput_se_per_s
        half = math.nan if error is None else Z95 * error
        shape = Shape.FILLED
        if level.opened.epoch != epoch:
            shape = Shape.CROSS
        elif level.opened.ramp:
            shape = Shape.RING
        elif judged is None or judged.state == "unsure":
            shape = Shape.HOLLOW
        elif judged.why == "other_service":
            shape = Shape.TRIANGLE
        elif judged.why is not None or judged.state == "generator":
            shape = Shape.SALTIRE
        color = palette.accent if current else palette.secondary if shape in (Shape.FILLED, Shape.RING) else palette.muted
        x = judged.offered_per_s if judged is not None else offered.offered_per_s
        label = quantities.rate_cell(y) if current or (options.large and shape is Shape.FILLED) else ""
        found.append(Point(x, y, shape, color, max(y - half, 0.0), y + half, bold=current, label=label))
    return found


def _lines(capacity: RateCapacity | None, high: float, palette: Palette) -> tuple[Series, ...]:
    lines = [Series((0.0, high), (0.0, high), palette.muted, Pattern.DOTTED)]
    if capacity is not None and capacity.kind == "capacity":
        lines.append(Series((0.0, high), (capacity.per_s, capacity.per_s), palette.error, Pattern.DASHED))
    return tuple(lines)


def _bands(capacity: RateCapacity | None, palette: Palette) -> tuple[Band, ...]:
    if capacity is None or capacity.kind != "capacity" or capacity.low_per_s is None or capacity.high_per_s is None:
        return ()
    return (Band(capacity.low_per_s, capacity.high_per_s, palette.error),)


def _boundaries(capacity: RateCapacity | None, palette: Palette) -> tuple[Boundary, ...]:
    if capacity is None or capacity.kind == "keeps_up":
        return ()
    if capacity.kind == "at_or_below":
        return (Boundary(capacity.high_per_s or capacity.per_s, "capacity below", palette.error),)
    surely = capacity.kind == "capacity"
    color = palette.error if surely else palette.warning
    return (Boundary(capacity.per_s, "capacity" if surely else "less than offered", color, solid=surely),)


def _legend(points: Sequence[Point], capacity: RateCapacity | None, palette: Palette) -> tuple[Legend, ...]:
    entries = []
    last = points[-1]
    if last.bold:
        entries.append(
            Legend(SYMBOLS[last.shape], quantities.offered_rate(last.x), quantities.rate_figure(last.y), last.color, width=8)
        )
    if capacity is not None:
        strong = capacity.kind in ("capacity", "at_or_below")
        color = palette.error if strong else palette.muted
        entries.append(
            Legend(
                "┃" if strong else "",
                wording.rate_capacity(capacity),
                "",
                color,
                short=wording.short_rate_capacity(capacity),
                strong=strong,
            )
        )
    shapes = dict.fromkeys(point.shape for point in points if point.shape is not Shape.FILLED)
    entries += [Legend(SYMBOLS[each], SHAPE_NAMES[each], "", palette.muted, short=SHORT_NAMES.get(each, "")) for each in shapes]
    entries.append(Legend(DOTTED, "all served", "", palette.muted))
    if capacity is not None and capacity.kind == "capacity":
        entries.append(Legend(DASHED, f"capacity {quantities.rate_figure(capacity.per_s)}", "", palette.error, short="capacity"))
    return tuple(entries)


def _notes(level: Level, verdict: RateVerdict | None, palette: Palette) -> tuple[tuple[Legend, ...], ...]:
    """A line on the state of this level, then one on the objectives."""
    if verdict is None:
        return ()
    found = next((each for each in verdict.levels if each.level == level.opened.index), None)
    lines: list[tuple[Legend, ...]] = []
    if found is not None:
        words = f"{quantities.offered_rate(found.offered_per_s)}: {wording.rate_level(found)}"
        lines.append((Legend("→", words, "", palette.text),))
    if verdict.objectives:
        lines.append(tuple(Legend("", wording.rate_objective(each), "", palette.muted) for each in verdict.objectives))
    return tuple(lines)
