"""The inspection cursor with its keys: it begins at the newest second, moves along the pane in focus, and ends with Esc."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from ...model.level import Level
from ...model.timeline import Timeline
from ..panes.level_parts import levels_of_load, parts_of
from ..protocols import ScreenAccess
from ..render.axis import page

# -- inspection ----------------------------------------------------------------------------------------------------------------
# The inspection cursor: a second of the session, the same in all charts, and how keys move it. Pure; it knows no keys or panes.
#
# The cursor is a column index of the timeline, as the cursors of panes are, which does not change when seconds are added.


class CurveStop(msgspec.Struct, frozen=True):
    """A point of the capacity curve: its load, and a second that belongs to it."""

    x: float
    tick: int


def moved(timeline: Timeline, tick: int, seconds: float) -> int:
    """The tick this many seconds later (or earlier, if negative), at least one tick away but not beyond the ends."""
    times = timeline.columns["t_s"]
    step = 1 if seconds > 0 else -1
    found = tick + step if abs(seconds) <= 1 else nearest(timeline, times[tick] + seconds)
    return min(max(found, 0), len(timeline) - 1)


def nearest(timeline: Timeline, t_s: float) -> int:
    """The tick nearest to this time; -1 without ticks."""
    times, last = timeline.columns["t_s"], len(timeline) - 1
    after = min(bisect_left(times, t_s, 0, len(timeline)), last)
    return after - 1 if after > 0 and t_s - times[after - 1] < times[after] - t_s else after


def adjacent_level(timeline: Timeline, tick: int, direction: int) -> int | None:
    """A tick of the next (1) or the previous (-1) level that has ticks; None at the ends."""
    here = timeline.level_at(tick)
    levels = list(timeline.levels)
    place = levels.index(here) if here in levels else -1
    others = levels[place + 1 :] if direction > 0 else levels[:place][::-1] if place > 0 else []
    return next((found for level in others if (found := tick_of(timeline, level)) is not None), None)


def tick_of(timeline: Timeline, level: Level, load: float | None = None) -> int | None:
    """The level's first settled second, else its first; for a ramp with `load`, the second with the nearest load. None without
    seconds.
    """
    ticks = timeline.seconds_of(level, settled=False)
    if not ticks:
        return None
    if load is None or not level.opened.ramp:
        return next((tick for tick in ticks if timeline.columns["settled"][tick]), ticks[0])
    loads = timeline.columns[level.load.column]
    return min(ticks, key=lambda tick: abs(loads[tick] - load) if loads[tick] == loads[tick] else float("inf"))


def stops(timeline: Timeline) -> list[CurveStop]:
    """The points of the capacity curve that the pane draws, by load: those of users or, while a rate is offered, those of
    rates.
    """
    parts = (part for level in levels_of_load(timeline) for part in parts_of(level))
    ticks = ((part.load, tick_of(timeline, part.level, part.load)) for part in parts)
    return sorted((CurveStop(load, tick) for load, tick in ticks if tick is not None), key=lambda stop: (stop.x, stop.tick))


def adjacent_stop(timeline: Timeline, tick: int, direction: int) -> int | None:
    """A second of the point to the right (1) or the left (-1) on the capacity curve; None at its ends."""
    along = stops(timeline)
    here = timeline.level_at(tick)
    own = [index for index, stop in enumerate(along) if timeline.level_at(stop.tick) is here]
    if not own:
        return along[0 if direction > 0 else -1].tick if along else None
    place = min(own, key=lambda index: abs(along[index].tick - tick)) + direction
    return along[place].tick if 0 <= place < len(along) else None


def stop_at(timeline: Timeline, load: float) -> int | None:
    """A second of the point nearest to this load."""
    stop = min(stops(timeline), key=lambda stop: abs(stop.x - load), default=None)
    return None if stop is None else stop.tick


# -- time window ---------------------------------------------------------------------------------------------------------------
# The part of the session's time that charts show: its length and its start. Zoom and pan are pure arithmetic.
#
# A window with the newest second has no start of its own: its page follows the session (`render.axis.page`).


WINDOWS_S = (60.0, 300.0, 900.0, None)
"""Lengths in seconds that the key w steps through; None: all."""

ZOOMS_S = (10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 28_800.0, 43_200.0)
"""Lengths in seconds that zooming steps through; the next longer one is all."""


class TimeWindow(msgspec.Struct, frozen=True):
    """One window. `length_s`: None is the whole session."""

    length_s: float | None = 300.0
    start_s: float | None = None
    """None: the page with the newest second."""

    def cycled(self) -> TimeWindow:
        """The window with the next length of WINDOWS_S."""
        longer = (each for each in WINDOWS_S if self.length_s is not None and (each is None or each > self.length_s))
        return TimeWindow(next(longer, WINDOWS_S[0]))

    def span(self, now_s: float) -> tuple[float, float]:
        """(start, end) in seconds of the session."""
        if self.start_s is None or self.length_s is None:
            return page(now_s, self.length_s)
        return self.start_s, self.start_s + self.length_s

    def zoomed(self, direction: int, now_s: float, around_s: float | None) -> TimeWindow | None:
        """The window with the next shorter (1) or longer (-1) length; None if there is none. `around_s`, the time at the
        inspection cursor, keeps its relative position.
        """
        low_s, high_s = self.span(now_s)
        length_s = self.length_s if self.length_s is not None else max(now_s, ZOOMS_S[0])
        if direction > 0:
            shorter = [each for each in ZOOMS_S if each < length_s]
            found = shorter[-1] if shorter else None
            if found is None:
                return None
        elif self.length_s is None:
            return None
        else:
            found = next((each for each in ZOOMS_S if length_s < each < now_s), None)
        if around_s is None or found is None:
            return TimeWindow(found)
        share = min(max((around_s - low_s) / (high_s - low_s), 0.0), 1.0)
        return TimeWindow(found, max(0.0, float(round(around_s - share * found))))._following(now_s, around_s)

    def showing(self, t_s: float, now_s: float) -> TimeWindow:
        """The window panned by halves of its length so that it includes `t_s`."""
        low_s, high_s = self.span(now_s)
        if self.length_s is None or low_s <= t_s <= high_s:
            return self._following(now_s, t_s)
        if page(now_s, self.length_s)[0] <= t_s:
            return TimeWindow(self.length_s)
        half_s = self.length_s / 2
        start_s = t_s // half_s * half_s - (half_s if t_s > high_s else 0.0)
        return replace(self, start_s=max(start_s, 0.0))

    def _following(self, now_s: float, t_s: float) -> TimeWindow:
        """The window without a start of its own if it includes the newest second and the newest page includes `t_s`; else
        unchanged.
        """
        if self.start_s is None or self.length_s is None or self.start_s + self.length_s < now_s:
            return self
        return replace(self, start_s=None) if page(now_s, self.length_s)[0] <= t_s else self


LEAP_S = 10.0
"""Least time in seconds by which Shift with an arrow key moves the cursor."""
LEAPS_PER_PAGE = 30
"""Number of such moves across the time shown, if that is longer than 30 x LEAP_S."""


class Inspecting:
    """The cursor, and the part of the time that the charts show."""

    def __init__(self, screen: ScreenAccess, window_s: float | None) -> None:
        self.time = TimeWindow(window_s)
        self.tick: int | None = None
        """Column index of the inspected second; None: nothing is inspected."""
        self._screen = screen

    @property
    def is_on(self) -> bool:
        """Whether there is a cursor."""
        return self.tick is not None

    @property
    def seen_tick(self) -> int | None:
        """The inspected second, or the last second of the timeline if that is earlier, as after a replay has gone back."""
        if self.tick is None or not len(self._screen.shown):
            return None
        return min(self.tick, len(self._screen.shown) - 1)

    @property
    def level(self) -> Level | None:
        """The level at the cursor; None: nothing is inspected."""
        tick = self.seen_tick
        return None if tick is None else self._screen.shown.level_at(tick)

    # -- actions

    def action_inspect(self) -> None:
        """Show a cursor at the newest second."""
        timeline = self._screen.shown
        if not len(timeline):
            return self._screen.show_message("there is no second to inspect yet")
        self._go(len(timeline) - 1)

    def action_leave_inspection(self) -> None:
        """Remove the cursor; the charts follow the newest second again."""
        self.tick = None
        self.time = TimeWindow(self.time.length_s)
        self._screen.show_message()
        self._screen.draw_at_cursor()

    def action_cursor(self, direction: int) -> None:
        """Move to the next (1) or previous (-1) second or, if the pane in focus is a chart by load, to the next or previous
        point.
        """
        if self._screen.along_load:
            self._to(adjacent_stop, direction, "the last point" if direction > 0 else "the first point")
        else:
            self.action_second(direction)

    def action_second(self, direction: int) -> None:
        """Move to the next (1) or previous (-1) second, whatever pane is in focus; without a cursor, show it."""
        self._move(float(direction))

    def action_leap(self, direction: int) -> None:
        """Move by 10 s, or by more if the charts show more than 5 min."""
        low_s, high_s = self.time.span(self._now_s)
        self._move(direction * max(LEAP_S, (high_s - low_s) // LEAPS_PER_PAGE))

    def action_cursor_level(self, direction: int) -> None:
        """Move to the next (1) or the previous (-1) level."""
        self._to(adjacent_level, direction, "the last level" if direction > 0 else "the first level")

    def action_open_level(self) -> None:
        """Open the screen of the level at the cursor."""
        tick = self.seen_tick
        if tick is None or self._screen.shown.level_at(tick) is None:
            return self._screen.show_message("there is no level at the cursor")
        self._screen.open_level()

    def action_zoom(self, direction: int) -> None:
        """Show less (1) or more (-1) time, around the cursor if there is one."""
        tick = self.seen_tick
        around_s = None if tick is None else self._screen.shown.columns["t_s"][tick]
        zoomed = self.time.zoomed(direction, self._now_s, around_s)
        if zoomed is None:
            self._screen.show_message("the shortest time" if direction > 0 else "all of the session")
        else:
            self.time = zoomed
            self._screen.show_message(window_in_words(zoomed))
        self._screen.draw_at_cursor()  # also at an end: if the key is held, the steps before were not drawn

    def action_window(self) -> None:
        """Change to the next time window."""
        self.time = self.time.cycled()
        if self.tick is not None:
            self._reveal(self.tick)
        self._screen.show_message(window_in_words(self.time))
        self._screen.draw_at_cursor()

    # -- the mouse

    def point(self, x: float, *, by_load: bool) -> None:
        """Move to the second (x in seconds) or, in a chart by load, to the level (x is its load) that was clicked."""
        timeline = self._screen.shown
        if len(timeline):
            found = stop_at(timeline, x) if by_load else nearest(timeline, x)
            if found is not None:
                self._go(found)

    # -- moving

    @property
    def _now_s(self) -> float:
        timeline = self._screen.shown
        return timeline.columns["t_s"][len(timeline) - 1] if len(timeline) else 0.0

    def _move(self, seconds: float) -> None:
        timeline, tick = self._screen.shown, self.seen_tick
        if tick is None:
            return self.action_inspect()
        self._go(moved(timeline, tick, seconds))

    def _to(self, find: Callable[[Timeline, int, int], int | None], direction: int, end: str) -> None:
        tick = self.seen_tick
        if tick is None:
            return self.action_inspect()
        found = find(self._screen.shown, tick, direction)
        if found is None:
            self._screen.show_message(end)
            return self._screen.draw_at_cursor()  # if the key is held, the moves before were not drawn
        self._go(found)

    def _go(self, tick: int) -> None:
        self.tick = tick
        self._reveal(tick)
        self._screen.show_message()
        self._screen.draw_at_cursor()

    def _reveal(self, tick: int) -> None:
        self.time = self.time.showing(self._screen.shown.columns["t_s"][tick], self._now_s)


def window_in_words(time: TimeWindow) -> str:
    """`time window: 5 min`."""
    length_s = time.length_s
    if length_s is None:
        return "time window: all"
    return f"time window: {length_s:g} s" if length_s < 60 else f"time window: {length_s / 60:g} min"
