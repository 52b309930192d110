"""The capacity curve: goodput of each level against its users or its offered rate, with the detector's verdict.

Nothing is fitted or judged here: states of levels, lines, knee, capacity and interval are those of the verdict at the cursor. For
a log without verdicts, only linear growth from the level with the fewest users is extrapolated, and labelled so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import msgspec
from msgspec.structs import asdict, replace
from textual.geometry import Size

from ... import wording
from ...model.events import Verdict
from ...model.intervals import Z95
from ...model.level import Level
from ...model.level_use import level_use, level_uses
from ...model.load import Rate
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
from .level_parts import LevelPart, at_tick, levels_of_load, parts_of
from .pane import ChartPane

SYMBOLS = {Shape.FILLED: "●", Shape.HOLLOW: "○", Shape.CROSS: "+", Shape.SALTIRE: "×", Shape.RING: "◇", Shape.TRIANGLE: "△"}


class CurvePane(ChartPane):
    """Goodput of each level against users; while a rate is offered, of each level of rates against the rate."""

    TITLE = "Capacity curve  goodput req/s by users"
    TITLES = (TITLE, "Capacity  goodput req/s by users")
    RATE_TITLES = ("Capacity curve  goodput by offered rate, iterations/s", "Capacity  goodput by offered rate")
    LIMITED_TITLES = ("Capacity curve  req/s within limits by users", "Capacity  within limits by users")
    LIMITED_RATE_TITLES = (
        "Capacity curve  within limits by offered rate, iterations/s",
        "Capacity  within limits by offered rate",
    )
    by_load = True

    def show(self, timeline: Timeline, cursor: int, options: DisplayOptions) -> None:
        """Draw the chart, with a title that names its axes."""
        of_users, of_rates = (
            (self.TITLES, self.RATE_TITLES) if timeline.limits is None else (self.LIMITED_TITLES, self.LIMITED_RATE_TITLES)
        )
        self.retitle(*(of_rates if isinstance(timeline.load, Rate) else of_users))
        super().show(timeline, cursor, options)

    def chart(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> Chart | str:
        """The levels up to the cursor, with their present figures and the present verdict on them."""
        by_rate, levels, palette = isinstance(timeline.load, Rate), levels_of_load(timeline), options.palette
        verdict = wording.reported(timeline).get(levels[-1].opened.epoch) if levels else None
        rates = verdict.rates if verdict is not None else None
        points = rate_points(levels, rates) if by_rate else level_points(timeline, levels, cursor)
        if not points:
            return "no settled level yet" if by_rate else _missing(levels)
        inspected = at_tick(timeline, options.inspected, points)
        loads = (*(point.load for point in points), *baseline_curve.loads(options, by_offered_rate=by_rate))
        load_axis = linear_axis if by_rate else count_axis
        x = load_axis(1.05 * max(*loads, levels[-1].load.amount), max(size.width // 8, 2))
        if by_rate:
            found = _rate_parts(levels[-1], rates, x, palette)
            joined: tuple[Series, ...] = ()
            highest = 1.1 * max(point.goodput_rps for point in points)
            legend = _rate_legend(points, inspected, rates.capacity if rates is not None else None, palette)
        else:
            found = parts_of_verdict(verdict, x, options) if verdict is not None else VerdictParts()
            linear = None if found.lines else _first_settled(points)
            found = replace(found, lines=(*found.lines, *_linear(linear, x, palette)))
            joined = _joined(points, palette)
            highest = max(_highest(timeline, levels[-1], cursor), *(point.top_rps for point in points))
            legend = _legend(points, inspected, levels, linear, found, palette)
        lines_of_notes = min(len(found.notes), note_rows(size.height))
        baseline_lines, baseline_points = baseline_curve.goodput(options, by_offered_rate=by_rate)
        drawn = sorted(points, key=lambda point: (point is inspected, point.current, point.epoch))
        named = quantities.offered_rate if by_rate else "{:g}".format
        return Chart(
            x=x,
            y=linear_axis(max(highest, *(point.y for point in baseline_points), 0.0), y_ticks(size.height - lines_of_notes)),
            legend=(*legend, *baseline_curve.legend(options)),
            notes=found.notes,
            series=(*baseline_lines, *joined, *found.lines),
            points=(*baseline_points, *(_drawn(point, options, is_inspected=point is inspected) for point in drawn)),
            bands=found.bands,
            boundaries=found.boundaries,
            tags=found.tags,
            cursor=None if inspected is None else inspected.load,
            cursor_label="" if inspected is None else named(inspected.load),
        )


def _highest(timeline: Timeline, level: Level, cursor: int) -> float:
    """The highest goodput of a second in the current level. It never falls, unlike the mean and its error, so that the scale does
    not move back and forth.
    """
    seconds = timeline.columns["goodput_rps"][level.first_index : cursor + 1]
    return max((value for value in seconds if math.isfinite(value)), default=0.0)


def _missing(levels: Sequence[Level]) -> str:
    return f"no settled level yet (settling at {counted(levels[-1].users)})" if levels else "waiting for the first level"


# -- points --------------------------------------------------------------------------------------------------------------------


SO_FAR_TICKS = 5
"""Number of latest ticks whose mean goodput is drawn for a level that has not settled. More would lag behind while users start.
"""

OFF_CURVE: dict[Shape, dict[Kind, str]] = {
    Shape.SALTIRE: {
        "recovery": "recovery",
        "disturbed": "disturbed by other processes",
        "unsteady": "goodput varied",
        "stacks": "stacks sampled",
        "experiment": "experiment",
    },
    Shape.TRIANGLE: {"other_service": "another state of the service", "changed": "changed during the level"},
}
"""Kinds of levels that are not part of the curve, by their sign, in words."""


class LevelPoint(LevelPart, frozen=True):
    """The point of a level, or of one bin of a ramp."""

    goodput_rps: float = math.nan
    half_rps: float = math.nan
    """Half of the 95% interval; NaN when settled seconds are too few for one, or the imported table has none."""
    shape: Shape = Shape.FILLED
    current: bool = False
    kind: Kind = "step"

    @property
    def certain(self) -> bool:
        """Whether it has settled, for long enough for a standard error, or was imported from a table of rates."""
        return self.figures.settled and (not self.figures.counted or not math.isnan(self.half_rps))

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
    """The points of levels of users, in the order of the session. Levels that ended before they settled have none."""
    uses, epoch = level_uses(timeline), levels[-1].opened.epoch if levels else 0
    points = []
    for part in (part for level in levels for part in parts_of(level)):
        figures, why = part.figures, uses[part.index].why
        current = part.level is levels[-1] and figures.counted and not part.is_bin
        so_far_rps = _so_far_rps(timeline, part.level, cursor) if current else None
        goodput_rps = figures.goodput_rps if figures.settled else so_far_rps
        kind: Kind = bin_kind(why) if part.is_bin else why or "step"
        point = LevelPoint(
            **asdict(part),
            goodput_rps=_or_nan(goodput_rps),
            half_rps=_half(figures.goodput_se_rps),
            current=current,
            kind=kind,
        )
        points.append(replace(point, shape=_shape(point, epoch)))
    return [point for point in points if math.isfinite(point.goodput_rps)]


def _shape(point: LevelPoint, epoch: int) -> Shape:
    if point.epoch != epoch:
        return Shape.CROSS
    if not point.certain:
        return Shape.HOLLOW
    off_curve = next((shape for shape, kinds in OFF_CURVE.items() if point.kind in kinds), None)
    return off_curve or (Shape.RING if point.kind == "ramp" else Shape.FILLED)


def _so_far_rps(timeline: Timeline, level: Level, cursor: int) -> float | None:
    first = max(level.first_index, cursor + 1 - SO_FAR_TICKS)
    values = [value for value in timeline.columns["goodput_rps"][first : cursor + 1] if math.isfinite(value)]
    return sum(value / len(values) for value in values) if values else None


def _half(error_rps: float | None) -> float:
    return math.nan if error_rps is None else Z95 * error_rps


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def rate_points(levels: Sequence[Level], verdict: RateVerdict | None) -> list[LevelPoint]:
    """The points of settled levels of rates, in the order of the session, with the states that the verdict gives them."""
    points = []
    for part in (part for level in levels for part in parts_of(level)):
        offered, opened, epoch = part.figures.offered, part.level.opened, levels[-1].opened.epoch
        if offered is None or not part.figures.settled:
            continue
        states = verdict.levels if verdict is not None and opened.epoch == epoch and not opened.ramp else ()
        judged = next((each for each in reversed(states) if each.level == opened.index), None)  # of a ramp its last bin only is
        load, y, error = offered.offered_per_s, offered.finished_per_s, offered.finished_se_per_s
        if judged is not None:
            load = judged.offered_per_s
            if judged.is_part:
                y, error = judged.goodput_per_s, judged.goodput_se_per_s
        shape = Shape.FILLED
        if opened.epoch != epoch:
            shape = Shape.CROSS
        elif opened.ramp:
            shape = Shape.RING
        elif level_use(part.level, None).why is not None:  # in no verdict
            shape = Shape.SALTIRE
        elif judged is None or judged.state == "unsure":
            shape = Shape.HOLLOW
        elif judged.why == "other_service":
            shape = Shape.TRIANGLE
        elif judged.why is not None or judged.state == "generator":
            shape = Shape.SALTIRE
        current = part.level is levels[-1]
        point = LevelPoint(
            **asdict(replace(part, load=load)), goodput_rps=_or_nan(y), half_rps=_half(error), shape=shape, current=current
        )
        points.append(point)
    return points


def _drawn(point: LevelPoint, options: DisplayOptions, *, is_inspected: bool) -> Point:
    """One point. The current one, and the one at the inspection cursor, are highlighted and labelled with their goodput."""
    palette, y, half = options.palette, point.goodput_rps, point.half_rps
    counts = point.shape in (Shape.FILLED, Shape.RING)
    color = palette.accent if point.current else palette.secondary if counts else palette.muted
    bold = point.current or is_inspected
    label = quantities.rate_cell(y) if bold or (options.large and point.shape is Shape.FILLED) else ""
    color = palette.text if is_inspected else color
    return Point(point.load, y, point.shape, color, max(y - half, 0.0), y + half, bold=bold, label=label)


def _first_settled(points: Sequence[LevelPoint]) -> LevelPoint | None:
    """The level from which linear scaling is extrapolated: of the settled levels of this epoch with a small error, the one with
    the fewest users, who delay each other least.
    """
    here = [point for point in points if point.shape in (Shape.FILLED, Shape.RING) and point.load > 0]
    candidates = [each for each in here if not each.figures.counted or each.half_rps <= KNOWN_WELL_RATIO * each.goodput_rps]
    return min(candidates, key=lambda point: point.load, default=None)


KNOWN_WELL_RATIO = 0.05
"""Largest ratio of half the interval to goodput with which a level may be extrapolated. Ten seconds of a single user give a
tenth, which is too uncertain.
"""


def _linear(linear: LevelPoint | None, users: Axis, palette: Palette) -> tuple[Series, ...]:
    if linear is None:
        return ()
    slope = linear.goodput_rps / linear.load
    return (Series((0.0, users.high), (0.0, slope * users.high), palette.muted, Pattern.DOTTED),)


def _joined(points: Sequence[LevelPoint], palette: Palette) -> tuple[Series, ...]:
    """The line of each epoch's curve through its points by users; points with the same user count are averaged."""
    lines = []
    for epoch in sorted({point.epoch for point in points}):
        curve = sorted((point.load, point.goodput_rps) for point in points if point.epoch == epoch and point.fitted)
        counts = [(users, [y for _, y in same]) for users, same in groupby(curve, key=lambda pair: pair[0])]
        lines.append(Series([users for users, _ in counts], [sum(ys) / len(ys) for _, ys in counts], palette.faint))
    return tuple(lines)


# -- legends -------------------------------------------------------------------------------------------------------------------


def _legend(
    points: Sequence[LevelPoint],
    inspected: LevelPoint | None,
    levels: Sequence[Level],
    linear: LevelPoint | None,
    found: VerdictParts,
    palette: Palette,
) -> tuple[Legend, ...]:
    """The figures of the level at the inspection cursor, or of the current one, and of the knee, then the other series."""
    if not any(point.figures.settled for point in points):
        return (Legend(SYMBOLS[Shape.HOLLOW], _missing(levels), "", palette.accent),)
    entries, shown = [], inspected or points[-1]
    if shown.current or inspected is not None:
        so_far = shown.current and not shown.certain
        value = quantities.rate_cell(shown.goodput_rps) + (" so far" if so_far else f" ±{quantities.rate_cell(shown.half_rps)}")
        color = palette.accent if shown.current else palette.text
        key = SYMBOLS[shown.shape]
        entries.append(Legend(key, counted(shown.load), value, color, width=12, quiet=not shown.certain))
    states = _off_curve(points, Shape.TRIANGLE, palette)
    entries += [replace(each, short="changed") for each in states]  # before the knee, which has a tag in the chart
    entries += found.legend
    if linear is not None:
        name = f"linear scaling from {counted(linear.load)}, extrapolated"
        entries.append(Legend(DOTTED, name, "", palette.muted, short="linear"))
    shapes = {point.shape for point in points}
    if Shape.RING in shapes:
        entries.append(Legend(SYMBOLS[Shape.RING], "ramp", "", palette.secondary))
    entries += _off_curve(points, Shape.SALTIRE, palette)
    if Shape.CROSS in shapes:
        entries.append(Legend(SYMBOLS[Shape.CROSS], "before restart", "", palette.muted))
    return tuple(entries)


def _off_curve(points: Sequence[LevelPoint], shape: Shape, palette: Palette) -> list[Legend]:
    """The entry of a sign of OFF_CURVE with the kinds that have points; empty without any."""
    kinds = dict.fromkeys(point.kind for point in points if point.shape is shape)
    words = ", ".join(OFF_CURVE[shape][kind] for kind in kinds)
    return [Legend(SYMBOLS[shape], words, "", palette.muted)] if kinds else []


RATE_SHAPES = {
    Shape.HOLLOW: ("not clear yet", "unclear"),
    Shape.SALTIRE: ("recovery, disturbed or the generator's", "not counted"),
    Shape.TRIANGLE: ("another state of the service", ""),
    Shape.CROSS: ("before restart", ""),
    Shape.RING: ("ramp", ""),
}
"""The meanings of signs at offered rates, and those for narrow charts."""


def _rate_legend(
    points: Sequence[LevelPoint], inspected: LevelPoint | None, capacity: RateCapacity | None, palette: Palette
) -> tuple[Legend, ...]:
    entries, shown = [], inspected or points[-1]
    if shown.current or inspected is not None:
        key, color = SYMBOLS[shown.shape], palette.text if inspected is not None else palette.accent
        value = quantities.rate_figure(shown.goodput_rps)
        entries.append(Legend(key, quantities.offered_rate(shown.load), value, color, width=8))
    if capacity is not None:
        strong = capacity.kind in ("capacity", "at_or_below")
        color, short = palette.error if strong else palette.muted, wording.short_rate_capacity(capacity)
        entries.append(Legend("┃" * strong, wording.rate_capacity(capacity), "", color, short=short, strong=strong))
    shapes = dict.fromkeys(point.shape for point in points if point.shape is not Shape.FILLED)
    entries += [Legend(SYMBOLS[each], RATE_SHAPES[each][0], "", palette.muted, short=RATE_SHAPES[each][1]) for each in shapes]
    entries.append(Legend(DOTTED, "all served", "", palette.muted))
    if capacity is not None and capacity.kind == "capacity":
        entries.append(_capacity_legend(capacity.per_s, palette))
    return tuple(entries)


def _capacity_legend(per_s: float, palette: Palette) -> Legend:
    return Legend(DASHED, f"capacity {quantities.rate_figure(per_s)}", "", palette.error, short="capacity")


# -- verdicts ------------------------------------------------------------------------------------------------------------------
# The parts that a verdict adds: lines, the knee or the capacity with its interval, other findings, and missing levels.


class VerdictParts(msgspec.Struct, frozen=True):
    """The parts of the chart that the verdict adds."""

    legend: tuple[Legend, ...] = ()
    notes: tuple[tuple[Legend, ...], ...] = ()
    lines: tuple[Series, ...] = ()
    bands: tuple[Band, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    tags: tuple[Tag, ...] = ()


def _rate_parts(level: Level, verdict: RateVerdict | None, rates: Axis, palette: Palette) -> VerdictParts:
    """Those at offered rates, with the diagonal on which all is served. Notes: the state of this level, then the objectives."""
    capacity = verdict.capacity if verdict is not None else None
    lines = [Series((0.0, rates.high), (0.0, rates.high), palette.muted, Pattern.DOTTED)]
    bands, boundaries = [], []
    notes: list[tuple[Legend, ...]] = []
    if capacity is not None and capacity.kind == "capacity":
        lines.append(Series((0.0, rates.high), (capacity.per_s, capacity.per_s), palette.error, Pattern.DASHED))
        boundaries.append(Boundary(capacity.per_s, "capacity", palette.error, solid=True))
        if capacity.low_per_s is not None and capacity.high_per_s is not None:
            bands.append(Band(capacity.low_per_s, capacity.high_per_s, palette.error))
    elif capacity is not None and capacity.kind == "at_or_below":
        boundaries.append(Boundary(capacity.high_per_s or capacity.per_s, "capacity below", palette.error))
    elif capacity is not None and capacity.kind != "keeps_up":
        boundaries.append(Boundary(capacity.per_s, "less than offered", palette.warning))
    found = next((each for each in verdict.levels if each.level == level.opened.index), None) if verdict is not None else None
    if found is not None:
        words = f"{quantities.offered_rate(found.offered_per_s)}: {wording.rate_level(found)}"
        notes.append((Legend(ADVICE_KEY, words, "", palette.text),))
    if verdict is not None and verdict.objectives:
        notes.append(tuple(Legend("", wording.rate_objective(each), "", palette.muted) for each in verdict.objectives))
    return VerdictParts((), tuple(notes), tuple(lines), tuple(bands), tuple(boundaries))


USL_POINTS = 60
"""Number of segments of the USL curve."""

ADVICE_KEY, KNEE_KEY, LATENCY_KEY, PEAK_KEY = "→", "┃", "◆", "▵"

UNRELIABLE_WORDS = {"few_levels": "too few levels", "no_bend": "no saturation yet", "poor_fit": "fits poorly"}
"""The words for each reason why a USL fit is not reliable, and is drawn in grey."""


def parts_of_verdict(verdict: Verdict, users: Axis, options: DisplayOptions) -> VerdictParts:
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
        keys.append(_capacity_legend(curve.capacity_rps, palette))
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
