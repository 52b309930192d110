"""The inspection cursor: a second of the session, the same in all charts, and how keys move it. Pure; it knows no keys or panes.

The cursor is a column index of the timeline, as the cursors of panes are, which does not change when seconds are added.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from ..model.level import Level
from ..model.timeline import Timeline


@dataclass(frozen=True, slots=True)
class CurveStop:
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
    loads = timeline.columns["users" if level.offered_per_s is None else "offered_per_s"]
    return min(ticks, key=lambda tick: abs(loads[tick] - load) if loads[tick] == loads[tick] else float("inf"))


def stops(timeline: Timeline) -> list[CurveStop]:
    """The points of the capacity curve that the pane draws, by load: those of users or, while a rate is offered, those of
    rates.
    """
    by_offered_rate = timeline.offered_per_s is not None
    found = []
    for level in timeline.levels:
        if (level.offered_per_s is not None) is not by_offered_rate:
            continue
        for load in _loads(level):
            tick = tick_of(timeline, level, load)
            if tick is not None:
                found.append(CurveStop(load, tick))
    return sorted(found, key=lambda stop: (stop.x, stop.tick))


def _loads(level: Level) -> Sequence[float]:
    """The load of a level, or those of a ramp's bins."""
    if not (level.opened.ramp and level.bins):
        return (float(level.users) if level.offered_per_s is None else level.offered_per_s,)
    if level.offered_per_s is None:
        return [part.users for part in level.bins]
    return [part.figures.offered.offered_per_s for part in level.bins if part.figures.offered is not None]


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
