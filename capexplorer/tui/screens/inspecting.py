"""The inspection cursor with its keys: it begins at the newest second, moves along the pane in focus, and ends with Esc."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...model.level import Level
from ...model.timeline import Timeline
from .. import inspection
from ..inspection import TimeWindow

LEAP_S = 10.0
"""Least time in seconds by which Shift with an arrow key moves the cursor."""
LEAPS_PER_PAGE = 30
"""Number of such moves across the time shown, if that is longer than 30 x LEAP_S."""


class InspectedScreen(Protocol):
    """The methods of the explorer screen that the cursor uses."""

    @property
    def shown(self) -> Timeline:
        """The timeline that the panes show."""

    @property
    def along_load(self) -> bool:
        """Whether the pane in focus has loads on its x axis."""

    def show_message(self, message: str = "", *, alarm: bool = False) -> None:
        """Show a message in response to the last key."""

    def open_level(self) -> None:
        """Open the screen of the level at the cursor."""


class Inspecting:
    """The cursor, and the part of the time that the charts show. `draw` draws the panes; a message draws the status."""

    def __init__(self, screen: InspectedScreen, draw: Callable[[], None], window_s: float | None) -> None:
        self.time = TimeWindow(window_s)
        self.tick: int | None = None
        """Column index of the inspected second; None: nothing is inspected."""
        self._screen, self._draw = screen, draw

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
        self._draw()

    def action_cursor(self, direction: int) -> None:
        """Move to the next (1) or previous (-1) second or, if the pane in focus is a chart by load, to the next or previous
        point.
        """
        if self._screen.along_load:
            self._to(inspection.adjacent_stop, direction, "the last point" if direction > 0 else "the first point")
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
        self._to(inspection.adjacent_level, direction, "the last level" if direction > 0 else "the first level")

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
        self._draw()  # also at an end: if the key is held, the steps before were not drawn

    def action_window(self) -> None:
        """Change to the next time window."""
        self.time = self.time.cycled()
        if self.tick is not None:
            self._reveal(self.tick)
        self._screen.show_message(window_in_words(self.time))
        self._draw()

    # -- the mouse

    def point(self, x: float, *, by_load: bool) -> None:
        """Move to the second (x in seconds) or, in a chart by load, to the level (x is its load) that was clicked."""
        timeline = self._screen.shown
        if len(timeline):
            found = inspection.stop_at(timeline, x) if by_load else inspection.nearest(timeline, x)
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
        self._go(inspection.moved(timeline, tick, seconds))

    def _to(self, find: Callable[[Timeline, int, int], int | None], direction: int, end: str) -> None:
        tick = self.seen_tick
        if tick is None:
            return self.action_inspect()
        found = find(self._screen.shown, tick, direction)
        if found is None:
            self._screen.show_message(end)
            return self._draw()  # if the key is held, the moves before were not drawn
        self._go(found)

    def _go(self, tick: int) -> None:
        self.tick = tick
        self._reveal(tick)
        self._screen.show_message()
        self._draw()

    def _reveal(self, tick: int) -> None:
        self.time = self.time.showing(self._screen.shown.columns["t_s"][tick], self._now_s)


def window_in_words(time: TimeWindow) -> str:
    """`time window: 5 min`."""
    length_s = time.length_s
    if length_s is None:
        return "time window: all"
    return f"time window: {length_s:g} s" if length_s < 60 else f"time window: {length_s / 60:g} min"
