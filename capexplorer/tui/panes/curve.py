"""The capacity curve X(N): goodput of each level against its users, with the detector's verdict.

Nothing is fitted or judged here: lines, knee and interval are those of the verdict at the cursor (`parts_of`). For a log
without verdicts, only linear growth from the level with the fewest users is extrapolated, and labelled so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import msgspec
from msgspec.structs import replace
from textual.geometry import Size

from ... import wording
from ...model.events import Verdict
from ...model.figures import LevelFigures
from ...model.intervals import Z95
from ...model.level import Level
from ...model.level_use import level_uses
from ...model.load import Rate, Users
from ...model.timeline import Timeline
from ...model.verdicts import CurveFit, KneeVerdict, RateCapacity, RateVerdict, UslFit
from ...report.rows import Kind, bin_kind
from ...wording import quantities
from ...wording.numbers import counted
from ..display_options import DisplayOptions, Palette
from ..render.axis import Axis, count_axis, linear_axis
from ..render.chart import DASHED, DOTTED, Band, Boundary, Chart, Legend, Point, Series, Tag, note_rows, y_ticks
from ..render.raster import Pattern, Shape
from . import baseline_curve
from .pane import ChartPane

# -- rate curve ----------------------------------------------------------------------------------------------------------------
# Goodput of each level against its offered rate, with the diagonal on which both are equal.
#
# Pure. States of levels, capacity and interval are those of the verdict at the cursor; nothing is computed from levels here.


SYMBOLS = {Shape.FILLED: "●", Shape.HOLLOW: "○", Shape.CROSS: "+", Shape.SALTIRE: "×", Shape.RING: "◇", Shape.TRIANGLE: "△"}
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
        legend=(*_rate_legend(points, capacity, palette), *baseline_curve.legend(options)),
        cursor=None if read is None else read.x,
        cursor_label="" if read is None else quantities.offered_rate(read.x),
        notes=notes,
        series=(*baseline_lines, *_rate_lines(capacity, x.high, palette)),
        points=(*baseline_points, *points),
        bands=_rate_bands(capacity, palette),
        boundaries=_rate_boundaries(capacity, palette),
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


def _rate_lines(capacity: RateCapacity | None, high: float, palette: Palette) -> tuple[Series, ...]:
    lines = [Series((0.0, high), (0.0, high), palette.muted, Pattern.DOTTED)]
    if capacity is not None and capacity.kind == "capacity":
        lines.append(Series((0.0, high), (capacity.per_s, capacity.per_s), palette.error, Pattern.DASHED))
    return tuple(lines)


def _rate_bands(capacity: RateCapacity | None, palette: Palette) -> tuple[Band, ...]:
    if capacity is None or capacity.kind != "capacity" or capacity.low_per_s is None or capacity.high_per_s is None:
        return ()
    return (Band(capacity.low_per_s, capacity.high_per_s, palette.error),)


def _rate_boundaries(capacity: RateCapacity | None, palette: Palette) -> tuple[Boundary, ...]:
    if capacity is None or capacity.kind == "keeps_up":
        return ()
    if capacity.kind == "at_or_below":
        return (Boundary(capacity.high_per_s or capacity.per_s, "capacity below", palette.error),)
    surely = capacity.kind == "capacity"
    color = palette.error if surely else palette.warning
    return (Boundary(capacity.per_s, "capacity" if surely else "less than offered", color, solid=surely),)


def _rate_legend(points: Sequence[Point], capacity: RateCapacity | None, palette: Palette) -> tuple[Legend, ...]:
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


# -- curve points --------------------------------------------------------------------------------------------------------------
# The measured points of the capacity curve: one for each level or bin of a ramp, and the current level so far.


SO_FAR_TICKS = 5
"""Number of latest ticks whose mean goodput is drawn for a level that has not settled. More would lag behind while users start.
"""


class LevelPoint(msgspec.Struct, frozen=True):
    """A level on the curve, or one bin of a ramp."""

    level: int
    """Index of the level."""
    epoch: int
    users: float
    goodput_rps: float
    half_rps: float
    """Half of the 95% interval; NaN when settled seconds are too few for one, or the imported table has none."""
    settled: bool
    current: bool
    kind: Kind = "step"
    imported: bool = False
    """Whether it was imported from a table of rates, which counts as measured."""

    @property
    def certain(self) -> bool:
        """Whether it has settled, for long enough for a standard error, or was imported from a table."""
        return self.settled and (self.imported or not math.isnan(self.half_rps))

    @property
    def fitted(self) -> bool:
        """Whether it is part of the curve: certain, and of no kind that is off the curve (`model.level_use`)."""
        return self.certain and self.kind in ("step", "ramp")

    @property
    def top_rps(self) -> float:
        """The highest value that the scale must include: the top of its error bar; for the current level, whose error bar still
        changes, the point itself.
        """
        bar = self.certain and not self.current and not math.isnan(self.half_rps)
        return self.goodput_rps + (self.half_rps if bar else 0.0)


def level_points(timeline: Timeline, levels: Sequence[Level], cursor: int) -> list[LevelPoint]:
    """The points in the order of the session. Levels that ended before they settled have none."""
    uses = level_uses(timeline)
    points = []
    for level in levels:
        current = level is levels[-1] and level.figures.counted
        kind = uses[level.opened.index].why
        points += [_point(level, part.users, part.figures, bin_kind(kind)) for part in level.bins]
        so_far_rps = _so_far_rps(timeline, level, cursor) if current and not level.figures.settled else None
        if not (level.opened.ramp and level.bins):
            points.append(_point(level, level.users, level.figures, kind or "step", current, so_far_rps))
    return [point for point in points if math.isfinite(point.goodput_rps)]


def inspected_point(timeline: Timeline, points: Sequence[LevelPoint], tick: int | None) -> LevelPoint | None:
    """The point of the level at this tick; for a ramp, the bin nearest to the tick's users. None if there is none."""
    level = None if tick is None else timeline.level_at(tick)
    if level is None or tick is None:
        return None
    users = timeline.columns["users"][tick] if level.opened.ramp else level.users
    own = [point for point in points if point.level == level.opened.index]
    return min(own, key=lambda point: abs(point.users - users), default=None)


def _point(
    level: Level,
    users: float,
    figures: LevelFigures,
    kind: Kind,
    current: bool = False,
    so_far_rps: float | None = None,
) -> LevelPoint:
    goodput_rps = figures.goodput_rps if figures.settled else so_far_rps
    return LevelPoint(
        level=level.opened.index,
        epoch=level.opened.epoch,
        users=users,
        goodput_rps=math.nan if goodput_rps is None else goodput_rps,
        half_rps=math.nan if figures.goodput_se_rps is None else Z95 * figures.goodput_se_rps,
        settled=figures.settled,
        current=current,
        kind=kind,
        imported=not figures.counted,
    )


def _so_far_rps(timeline: Timeline, level: Level, cursor: int) -> float | None:
    first = max(level.first_index, cursor + 1 - SO_FAR_TICKS)
    values = [value for value in timeline.columns["goodput_rps"][first : cursor + 1] if math.isfinite(value)]
    return sum(value / len(values) for value in values) if values else None


# -- curve verdict -------------------------------------------------------------------------------------------------------------
# The parts that a verdict adds to the capacity curve: lines, the knee with its interval, other findings, and missing levels.
#
# Pure. The verdict is that of the detector, and its sentences come from `wording`; nothing is computed from levels here.


USL_POINTS = 60
"""Number of segments of the USL curve."""

ADVICE_KEY, KNEE_KEY, LATENCY_KEY, PEAK_KEY = "→", "┃", "◆", "▵"

UNRELIABLE_WORDS = {"few_levels": "too few levels", "no_bend": "no saturation yet", "poor_fit": "fits poorly"}
"""The words for each reason why a USL fit is not reliable, and is drawn in grey."""


class VerdictParts(msgspec.Struct, frozen=True):
    """The parts of the chart that the verdict adds."""

    legend: tuple[Legend, ...] = ()
    notes: tuple[tuple[Legend, ...], ...] = ()
    lines: tuple[Series, ...] = ()
    bands: tuple[Band, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    tags: tuple[Tag, ...] = ()


def parts_of(verdict: Verdict, users: Axis, options: DisplayOptions) -> VerdictParts:
    """All parts of a verdict, for this axis of users."""
    palette, knee = options.palette, verdict.capacity.knee
    beyond = knee is not None and knee.kind == "at_or_below"
    curve = None if beyond else verdict.capacity.curve  # if all levels are beyond the knee, no line shows low load
    notes = (_advice(verdict, palette), _line_keys(verdict, curve, palette), *_usl_and_objectives(verdict, curve, palette))
    return VerdictParts(
        legend=_verdict_legend(knee, palette),
        notes=tuple(line for line in notes if line),
        lines=_lines(curve, users, palette) if curve is not None else (),
        bands=tuple(_bands(knee, palette)) if knee is not None else (),
        boundaries=_boundaries(verdict, palette),
        tags=tuple(sorted(_tags(verdict, palette), key=lambda tag: tag.x)),
    )


def _verdict_legend(knee: KneeVerdict | None, palette: Palette) -> tuple[Legend, ...]:
    if knee is None:
        return ()
    if knee.kind == "no_knee":
        return (Legend("", wording.knee(knee), "", palette.muted),)
    return (Legend(KNEE_KEY, wording.knee(knee), "", color_of(knee, palette), short=wording.short_knee(knee), strong=True),)


def color_of(knee: KneeVerdict, palette: Palette) -> str:
    """The colour of a knee; a bend has that of a warning."""
    return palette.warning if knee.kind == "bend" else palette.error


# -- on the plot


def _lines(curve: CurveFit, users: Axis, palette: Palette) -> tuple[Series, ...]:
    """The lines of low load, capacity and USL fit. A cell shows the colour of the last line in it: the USL fit, unless it is
    grey.
    """
    usl_line = [_usl_line(curve.usl, users, palette)] if curve.usl is not None else []
    top = curve.low_load_rps_per_user * users.high
    lines = [Series((0.0, users.high), (0.0, top), palette.muted, Pattern.DOTTED)]
    if curve.capacity_rps is not None:
        lines.append(Series((0.0, users.high), (curve.capacity_rps,) * 2, palette.error, Pattern.DASHED))
    return (*usl_line, *lines) if curve.usl is not None and curve.usl.unreliable_why is not None else (*lines, *usl_line)


def _usl_line(usl: UslFit, users: Axis, palette: Palette) -> Series:
    counts = [users.high * step / USL_POINTS for step in range(USL_POINTS + 1)]
    rates = [usl.lambda_rps * n / max(1 + usl.sigma * (n - 1) + usl.kappa * n * (n - 1), 1e-9) for n in counts]
    return Series(counts, rates, palette.primary if usl.unreliable_why is None else palette.faint, Pattern.DOTTED)


def _bands(knee: KneeVerdict, palette: Palette) -> list[Band]:
    """The band of the knee's 90% interval; for a knee at or below the lowest level, of all users below it."""
    if knee.kind == "knee" and knee.users_low is not None and knee.users_high is not None:
        return [Band(knee.users_low, knee.users_high, palette.error)]
    if knee.kind == "at_or_below" and knee.users is not None:
        return [Band(0.0, knee.users, palette.error)]
    return []


def _boundaries(verdict: Verdict, palette: Palette) -> tuple[Boundary, ...]:
    knee, latency_knee = verdict.capacity.knee, verdict.capacity.latency_knee
    found = []
    if knee is not None and knee.kind != "no_knee" and knee.users is not None:
        word = "knee at or below" if knee.kind == "at_or_below" else knee.kind
        found.append(Boundary(knee.users, word, color_of(knee, palette), solid=knee.kind == "knee"))
    if latency_knee is not None and latency_knee.users is not None:
        found.append(Boundary(latency_knee.users, "", palette.accent))
    return tuple(found)


def _tags(verdict: Verdict, palette: Palette) -> list[Tag]:
    """The tags on the axis line: the latency knee, and the peak if it is apart from the knee."""
    knee, latency_knee = verdict.capacity.knee, verdict.capacity.latency_knee
    found = []
    if latency_knee is not None and latency_knee.users is not None:
        found.append(Tag(latency_knee.users, LATENCY_KEY, palette.accent, "latency climbs"))
    if knee is not None and knee.peak is not None:
        found.append(Tag(knee.peak.users, PEAK_KEY, palette.text, "peak"))
    return found


# -- in words


def _advice(verdict: Verdict, palette: Palette) -> tuple[Legend, ...]:
    """Which further levels would make the verdict more certain, the most useful first, with the reasons if there is space."""
    wanted = verdict.capacity.missing
    return tuple(
        Legend(ADVICE_KEY if not index else "", wording.missing(each), "", palette.text, short=wording.short_missing(each))
        for index, each in enumerate(wanted)
    )


def _line_keys(verdict: Verdict, curve: CurveFit | None, palette: Palette) -> tuple[Legend, ...]:
    latency_knee = verdict.capacity.latency_knee
    keys = []
    if curve is not None:
        words = f"low load {quantities.rate_figure(curve.low_load_rps_per_user)} per user"
        keys.append(Legend(DOTTED, words, "", palette.muted, short="low load"))
    if curve is not None and curve.capacity_rps is not None:
        keys.append(Legend(DASHED, f"capacity {quantities.rate_figure(curve.capacity_rps)}", "", palette.error, short="capacity"))
    if latency_knee is not None and latency_knee.users is not None:
        keys.append(Legend(LATENCY_KEY, f"latency climbs from {latency_knee.users:.0f}", "", palette.accent))
    peak = verdict.capacity.knee.peak if verdict.capacity.knee is not None else None
    if peak is not None:
        words = f"peak {quantities.rate_figure(peak.goodput_rps)} at {peak.users:.0f}, then it {wording.FALLS[peak.shape]}"
        keys.append(Legend(PEAK_KEY, words, "", palette.text))
    return tuple(keys)


def _usl_and_objectives(verdict: Verdict, curve: CurveFit | None, palette: Palette) -> list[tuple[Legend, ...]]:
    """The USL fit's figures, then the objectives."""
    lines: list[tuple[Legend, ...]] = []
    usl = curve.usl if curve is not None else None
    if usl is not None:
        lines.append((_usl_legend(usl, palette),))
    if verdict.slo:
        lines.append(tuple(Legend("", wording.objective(each), "", palette.muted) for each in verdict.slo))
    return lines


def _usl_legend(usl: UslFit, palette: Palette) -> Legend:
    peak = "no peak" if usl.peak_users is None else f"peak {usl.peak_users:.0f} users"
    why = "" if usl.unreliable_why is None else f" (grey: {UNRELIABLE_WORDS[usl.unreliable_why]})"
    words = f"λ {quantities.rate(usl.lambda_rps)}  σ {usl.sigma:.3g}  κ {usl.kappa:.2g}  {peak}"
    color = palette.primary if usl.unreliable_why is None else palette.faint
    return Legend(DOTTED, f"USL fit  {words}{why}", "", color, short=f"USL {words}")


KNOWN_WELL_RATIO = 0.05
"""Largest ratio of half the interval to goodput with which a level may be extrapolated. Ten seconds of a single user give a
tenth, which is too uncertain.
"""

OFF_CURVE: dict[Shape, dict[Kind, str]] = {
    Shape.SALTIRE: {"recovery": "recovery", "disturbed": "disturbed by other processes", "unsteady": "goodput varied"},
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
        self.retitle(*(self.TITLES if isinstance(timeline.load, Users) else self.RATE_TITLES))
        super().show(timeline, cursor, options)

    def chart(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
        """The levels up to the cursor, with their present figures and the present verdict on them."""
        if isinstance(timeline.load, Rate):
            return rate_chart(timeline, options, size) or "no settled level yet"
        levels = [level for level in timeline.levels if isinstance(level.load, Users)]
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
    found = parts_of(verdict, users_axis, options) if verdict is not None else None
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
    found: VerdictParts | None,
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
