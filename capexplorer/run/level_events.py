"""Opens, closes, reopens and splits the levels of a live run, as events with their marks. In the pump's thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ..model.events import Arrivals, By, LevelOpened
from ..model.level import Void
from .event_sink import EventSink
from .level_tracker import LevelTracker
from .live_marks import LiveMarks


class LevelEvents:
    """`now_s` returns seconds of the session, `epoch` the target's epoch."""

    def __init__(self, sink: EventSink, now_s: Callable[[], float], epoch: Callable[[], int]) -> None:
        self._emit, self._now_s, self._epoch = sink.emit, now_s, epoch
        self.tracker = LevelTracker(sink.timeline)
        self.on_opened: Callable[[int], None] = lambda index: None
        """Gets the index of each level as it opens."""
        self.marks = LiveMarks(sink.timeline, sink.emit, now_s, self._split)

    def open(
        self,
        users: int,
        by: By,
        spawn_rate: float,
        *,
        ramp: bool = False,
        offered_per_s: float | None = None,
        arrivals: Arrivals = "poisson",
    ) -> None:
        """Open a level; close the one before it first. `spawn_rate`: users a second."""
        self.tracker.epoch, now_s = self._epoch(), self._now_s()
        opened = self.tracker.open(now_s, users, spawn_rate, by, ramp=ramp, offered_per_s=offered_per_s, arrivals=arrivals)
        self._emit_opened(opened)

    def close(self, void: Void | None = None) -> None:
        """Close the open level, if any, and judge it. `void`: why it has no figures."""
        closed = self.tracker.close(self._now_s(), void)
        if closed is not None:
            self._emit(closed)
            self.marks.judge()

    def reopen(self, void: Void | None = None, *, load_continues: bool = False) -> None:
        """Close the open level, if any, and open a new one with the same users or rate. `void`: why the closed one has no
        figures. `load_continues`: users that run, or a rate that is offered, do so already; no report will say so.
        """
        opened, has_spawned = self.tracker.opened, self.tracker.phase != "spawning"
        if opened is not None:
            self.close(void)
            again = self.tracker.open(
                self._now_s(),
                opened.users,
                opened.spawn_rate,
                opened.by,
                ramp=opened.ramp,
                offered_per_s=opened.offered_per_s,
                arrivals=opened.arrivals,
            )
            self._emit_opened(again)
            if load_continues and has_spawned:
                self.tracker.spawned(again.t_s)

    def _emit_opened(self, opened: LevelOpened) -> None:
        self.on_opened(opened.index)
        self._emit(opened)

    def _split(self, since_s: float, shifted: Literal["goodput", "latency"]) -> bool:
        parts = self.tracker.split(self._now_s(), since_s, shifted)
        if parts is None:
            return False
        closed, opened = parts
        self._emit(closed)
        self._emit_opened(opened)
        return True
