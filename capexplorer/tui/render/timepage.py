"""The common parts of charts over time: the page of seconds up to the cursor, boundaries of levels, settled spans, signs of marks
and notes.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from ... import wording
from ...model.events import Command, Mark, Note, Target
from ...model.findings import MarkKind
from ...model.level import Level
from ...model.load import Users
from ...model.timeline import Timeline
from ...report.statements import marked_s
from ...wording.quantities import offered_rate
from ..display_options import DisplayOptions, Palette
from .axis import Axis, duration_axis, page
from .chart import Boundary, Chart, Heat, Legend, Series, Tag
from .raster import Pattern

Span = tuple[float, float]

NOTHING = "waiting for the first second"
"""Shown instead of a chart over time that has no second yet."""

GAP_TICKS = 2.5
"""Length of a pause between two ticks from which a chart shows a gap, in lengths of a tick."""

MARK_TAGS: dict[MarkKind, tuple[str, str]] = {
    "knee": ("◆", "knee"),
    "at_or_below": ("◆", "knee ≤"),
    "bend": ("◇", "bend"),
    "latency_knee": ("◆", "latency climbs"),
    "rate_capacity": ("◆", "capacity"),
    "rate_recovery": ("↺", "recovery"),
    "cause": ("×", "cause"),
    "bottleneck": ("■", "bottleneck"),
    "leak": ("↗", "leak"),
    "shift": ("↓", "shift"),
    "recovery": ("↺", "recovery"),
    "stop_rule": ("■", "stop"),
    "replies_changed": ("?", "replies"),
    "stall": ("○", "stall"),
}
"""(sign, word) on the axis line for each kind of mark."""

_NO_BOTTLENECK = {"think_time_limited": ("◇", "waits"), "not_saturated": ("◇", "not saturated")}
"""Sign and word of marks of the kind "bottleneck" by id, which state that the service is not the limit."""

_AT_USERS = ("knee", "at_or_below", "bend", "latency_knee")
"""Kinds of marks whose number of users is shown next to the word."""


class TimePage(msgspec.Struct, frozen=True):
    """The part of the timeline that a time chart shows at a cursor."""

    timeline: Timeline
    start_s: float
    end_s: float
    first: int
    stop: int
    """Column indices [first, stop), with one tick before the page, so that lines begin at its edge."""
    read: int
    """Column index of the second whose values the legend shows: at the inspection cursor, or without it the last of the page."""
    inspected_s: float | None = None
    """Time at the inspection cursor; None: there is no cursor."""

    @property
    def level(self) -> Level | None:
        """The level of the second whose values the legend shows."""
        return self.timeline.level_at(self.read)

    @property
    def now_s(self) -> float:
        """Time of the page's last second."""
        return self.timeline.columns["t_s"][self.stop - 1]

    @property
    def gap_s(self) -> float:
        """Seconds between two ticks from which a gap is drawn; from the longest of the last ten ticks."""
        longest = max(self.timeline.columns["duration_s"][max(self.stop - 10, 0) : self.stop])
        return GAP_TICKS * longest if longest > 0 else math.inf

    def column(self, name: str) -> array[float]:
        """The values of a column on this page."""
        return self.timeline.columns[name][self.first : self.stop]

    def line(
        self,
        name: str,
        color: str,
        pattern: Pattern = Pattern.SOLID,
        *,
        letter: str = "",
        bars: bool = False,
        right: bool = False,
    ) -> Series:
        """The line of a column, or its bars."""
        times = self.column("t_s")
        return Series(times, self.column(name), color, pattern, bars=bars, right=right, gap=self.gap_s, letter=letter)

    def latest(self, name: str) -> float:
        """The value of the second that the legend shows; NaN if it was not measured."""
        return self.timeline.columns[name][self.read]

    def highest(self, *names: str) -> float:
        """The greatest finite value of these columns on this page; 0 if there is none."""
        found = [_finite(self.column(name)) for name in names]
        return max((float(values.max()) for values in found if values.size), default=0.0)

    def lowest(self, *names: str) -> float | None:
        """The least finite value above 0 of these columns on this page; None if there is none."""
        found = [values[values > 0] for values in (_finite(self.column(name)) for name in names)]
        return min((float(values.min()) for values in found if values.size), default=None)


def page_of(timeline: Timeline, cursor: int, options: DisplayOptions) -> TimePage | None:
    """The page that begins at `options.start_s`, or without it the one that contains the cursor. None before the first tick, and
    for a page without seconds.
    """
    window_s, start_s, inspected = options.window_s, options.start_s, options.inspected
    if not 0 <= cursor < len(timeline):
        return None
    times = timeline.columns["t_s"]
    begin_s, end_s = page(times[cursor], window_s)
    if start_s is not None and window_s is not None:
        begin_s, end_s = start_s, start_s + window_s
    first, stop = bisect_left(times, begin_s, 0, cursor + 1), bisect_right(times, end_s, 0, cursor + 1)
    if not stop:
        return None
    read = min(inspected, cursor) if inspected is not None else stop - 1
    return TimePage(timeline, begin_s, end_s, max(first - 1, 0), stop, read, None if inspected is None else times[read])


def over_time(
    shown: TimePage,
    options: DisplayOptions,
    columns: int,
    y: Axis,
    legend: tuple[Legend, ...],
    series: tuple[Series, ...] = (),
    *,
    right: Axis | None = None,
    heat: Heat | None = None,
    tagged: bool = True,
) -> Chart:
    """A chart of this page in `columns` cells, with levels, settled spans and the inspection cursor. `tagged`: with the signs of
    marks and notes too.
    """
    unsettled, settled = phases(shown)
    return Chart(
        x=duration_axis(shown.start_s, shown.end_s, max(columns // 12, 2)),
        y=y,
        right=right,
        legend=legend,
        series=series,
        heat=heat,
        boundaries=boundaries(shown, options.palette),
        tags=tags(shown, options.palette, words=options.large) if tagged else (),
        unsettled=unsettled,
        settled=settled,
        cursor=shown.inspected_s,
        cursor_label="" if shown.inspected_s is None else wording.session_time(shown.inspected_s),
    )


def boundaries(shown: TimePage, palette: Palette) -> tuple[Boundary, ...]:
    """A boundary for each level that began on this page, with its users or rate. If the level began because the service changed,
    the line is solid and in the colour of a warning.
    """
    levels = [level for level in shown.timeline.levels if shown.start_s <= level.started_s <= shown.now_s]
    return tuple(
        Boundary(level.started_s, "", palette.warning, solid=True)
        if level.opened.by == "shift"
        else Boundary(level.started_s, str(level.users) if isinstance(level.load, Users) else offered_rate(level.load.per_s))
        for level in levels
    )


def staircase(shown: TimePage) -> tuple[array[float], array[float]]:
    """Requested users as a step function (times, users) up to the last second; NaN at levels of rates."""
    return _steps(shown, lambda level: level.users if isinstance(level.load, Users) else math.nan)


def offered_staircase(shown: TimePage) -> tuple[array[float], array[float]]:
    """Offered rates as a step function (times, rates per second); NaN at levels of users, and at ramps, whose rate is drawn for
    each second instead.
    """
    return _steps(shown, lambda level: math.nan if isinstance(level.load, Users) or level.opened.ramp else level.load.per_s)


def _steps(shown: TimePage, load: Callable[[Level], float]) -> tuple[array[float], array[float]]:
    times, counts = array("d"), array("d")
    for level in shown.timeline.levels:
        if level.started_s <= shown.now_s:
            times.append(max(level.started_s, shown.start_s))
            counts.append(load(level))
    before_page = max(bisect_right(times, shown.start_s) - 1, 0)
    times, counts = times[before_page:], counts[before_page:]
    if times:
        times.append(shown.now_s)
        counts.append(counts[-1])
    return times, counts


def phases(shown: TimePage) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """(spans of unsettled seconds, spans of settled seconds) on this page, each as (start, end) in seconds."""
    times, durations, settled = shown.column("t_s"), shown.column("duration_s"), shown.column("settled")
    unsettled_spans: list[Span] = []
    settled_spans: list[Span] = []
    for first, stop in _runs(settled):
        spans = settled_spans if settled[first] == 1.0 else unsettled_spans
        spans.append((times[first] - durations[first], times[stop - 1]))
    return tuple(unsettled_spans), tuple(settled_spans)


def tags(shown: TimePage, palette: Palette, *, words: bool) -> tuple[Tag, ...]:
    """The current marks, the notes and the states of the target on this page, in order of time. `words`: whether notes and states
    have words too.
    """
    found = [_mark_tag(mark, t_s, mark.users, palette) for mark, t_s in _marks(shown.timeline)]
    others = [tag for entry in shown.timeline.journal if (tag := _tag(entry, palette)) is not None]
    found += others if words else [Tag(tag.x, tag.glyph, tag.color) for tag in others]
    return tuple(sorted((tag for tag in found if shown.start_s <= tag.x <= shown.now_s), key=lambda tag: tag.x))


def _marks(timeline: Timeline) -> list[tuple[Mark, float]]:
    """The current marks, each with the time in seconds since which it has had its present kind."""
    since_s = marked_s(timeline)
    return [(mark, since_s.get(key, mark.t_s)) for key, mark in wording.current_marks(timeline).items()]


def _mark_tag(mark: Mark, t_s: float, users: float | None, palette: Palette) -> Tag:
    glyph, word = _NO_BOTTLENECK.get(mark.id) or MARK_TAGS.get(mark.kind, ("■", ""))
    if mark.kind == "shift" and mark.id.endswith("_rose"):
        glyph = "↑"
    if mark.kind in _AT_USERS and users is not None:
        word = f"{word} {users:.0f}"
    return Tag(t_s, glyph, _severity_color(mark, palette), word)


def _tag(entry: Mark | Note | Target | Command, palette: Palette) -> Tag | None:
    match entry:
        case Note():
            return Tag(entry.t_s, "▲", palette.text, "note")
        case Target(state="died" | "failed"):
            return Tag(entry.t_s, "†", palette.error, "target died")
        case Target(state="ready") if entry.epoch > 0:
            return Tag(entry.t_s, "↻", palette.warning, "restarted")
        case _:
            return None


def _severity_color(mark: Mark, palette: Palette) -> str:
    if mark.severity in ("critical", "error"):
        return palette.error
    return palette.warning if mark.severity == "warning" else palette.text


def _runs(values: array[float]) -> Iterator[tuple[int, int]]:
    """The ranges [first, stop) of consecutive seconds that are all settled, or all unsettled."""
    if values:
        turns = np.flatnonzero(np.diff(np.asarray(values) == 1.0)) + 1
        yield from pairwise([0, *turns.tolist(), len(values)])


def _finite(values: array[float]) -> NDArray[np.float64]:
    known: NDArray[np.float64] = np.asarray(values)
    return known[np.isfinite(known)]
