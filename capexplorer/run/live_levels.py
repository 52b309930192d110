"""The levels of a live run: the open one with its phase, and the events that open, close, reopen and split levels.

Used in the pump's thread only; the timeline keeps the levels' figures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from ..analysis.epoch.levels import LevelClock, TickCounts
from ..analysis.epoch.measured_rates import backlog_above
from ..load.recorder import RecordedTick
from ..model.events import Arrivals, By, LevelClosed, LevelOpened, OfferedTick, Phase
from ..model.level import Void
from ..model.load import Load, Rate, Users
from ..model.timeline import Timeline
from .event_sink import EventSink
from .live_marks import LiveMarks

NO_ITERATIONS = OfferedTick()


class LevelTracker:
    """Makes the events that open and close levels; the caller emits them into `timeline`. Times are seconds of the session."""

    def __init__(self, timeline: Timeline) -> None:
        self.index = -1
        self.epoch = 0
        self.workers = 0
        """That run the users now."""
        self.phase: Phase = "spawning"
        self.opened: LevelOpened | None = None
        self._timeline = timeline
        self._clock = LevelClock(0)

    def open(
        self,
        t_s: float,
        load: Load,
        spawn_rate: float,
        by: By,
        *,
        ramp: bool = False,
        arrivals: Arrivals = "poisson",
    ) -> LevelOpened:
        """Open a new level. Close the previous one first."""
        self.index += 1
        self.phase = "spawning"
        self._clock = LevelClock(load.users) if isinstance(load, Users) else self._clock_of_rate(load.per_s)
        self.opened = LevelOpened(
            t_s=t_s,
            index=self.index,
            users=load.users,
            spawn_rate=spawn_rate,
            by=by,
            epoch=self.epoch,
            workers=self.workers,
            ramp=ramp,
            offered_per_s=load.per_s,
            arrivals=arrivals,
        )
        return self.opened

    def _clock_of_rate(self, per_s: float) -> LevelClock:
        before = self._timeline.last.offered if self._timeline.last is not None else None
        in_flight = before.in_flight if before is not None else 0
        levels = [level for level in self._timeline.levels if level.opened.epoch == self.epoch]
        return LevelClock(None, in_flight, backlog_above(levels, per_s, in_flight))

    def spawned(self, at_s: float) -> None:
        """All users of the open level have been running, or its schedule has had its rate, since `at_s`."""
        if self.opened is not None and not self.opened.ramp:
            self._clock.spawned(at_s)

    def tick(
        self,
        started_s: float,
        ended_s: float,
        tick: RecordedTick,
        requested: Load,
        *,
        is_void: bool = False,
    ) -> tuple[Phase, bool]:
        """(phase, settled) of the tick that ends now. A tick that began in an earlier level, or is void, never counts.

        `requested`: the load requested by now; a step may have reached the load before its level was opened.
        """
        if self.opened is None or self.opened.ramp or is_void:
            return self.phase, False
        offered = tick.offered or NO_ITERATIONS
        requests, latency_sum_ms = tick.all_requests, tick.all_latency_sum_ms
        if isinstance(self.opened.load, Rate) and offered.finished:
            requests, latency_sum_ms = offered.finished, offered.from_plan_sum_ms
        counts = TickCounts(
            requests=requests,
            latency_sum_s=latency_sum_ms / 1000,
            waits=tick.waits,
            wait_sum_s=tick.wait_sum_s,
            sleeps=tick.sleeps,
            sleep_sum_s=tick.sleep_sum_s or 0.0,
            warm_users=tick.warm_users,
            ended=offered.finished + offered.failed + offered.dropped.total,
            in_flight=offered.in_flight,
        )
        self.phase, settled = self._clock.tick(started_s, ended_s, tick.users, counts)
        has_more_users = isinstance(requested, Users) and tick.users > self.opened.users
        if settled and (has_more_users or requested != self.opened.load):
            self.phase, settled = "spawning", False  # the load has gone to another level already
        return self.phase, settled

    def close(self, t_s: float, void: Void | None = None) -> LevelClosed | None:
        """The event that closes the open level, with its figures; None if no level is open. `void`: why it has none."""
        if self.opened is None:
            return None
        opened, settles_s = self.opened, self._clock.settles_s
        self.opened, self.phase = None, "spawning"  # seconds between two levels belong to no level
        closed = self._timeline.levels[-1].ending(t_s, void=void)
        if closed.settled_s is None and void is None and settles_s is not None and not opened.ramp:
            closed = replace(closed, settling_s=round(settles_s - closed.started_s, 3))
        return closed

    def split(self, t_s: float, since_s: float, shifted: Literal["goodput", "latency"]) -> tuple[LevelClosed, LevelOpened] | None:
        """Close the open level where it changed permanently, and open a settled one from there; None: too long ago."""
        before, later = self.opened, self._timeline.since(since_s)
        if before is None or len(later) < len(self._timeline) - 1 - self._timeline.index_at(since_s):
            return None
        closed = self._timeline.levels[-1].ending(t_s, since_s, later)
        self.index += 1
        self.opened = replace(before, t_s=t_s, index=self.index, by="shift", ramp=False, since_s=since_s, shifted=shifted)
        return closed, self.opened


class LevelEvents:
    """`now_s` returns seconds of the session, `epoch` the target's epoch."""

    def __init__(self, sink: EventSink, now_s: Callable[[], float], epoch: Callable[[], int]) -> None:
        self._emit, self._now_s, self._epoch = sink.emit, now_s, epoch
        self.tracker = LevelTracker(sink.timeline)
        self.on_opened: Callable[[int], None] = lambda index: None
        """Gets the index of each level as it opens."""
        self.marks = LiveMarks(sink.timeline, sink.emit, now_s, self._split)

    def open(self, load: Load, by: By, spawn_rate: float, *, ramp: bool = False, arrivals: Arrivals = "poisson") -> None:
        """Open a level; close the one before it first. `spawn_rate`: users a second."""
        self.tracker.epoch, now_s = self._epoch(), self._now_s()
        self._emit_opened(self.tracker.open(now_s, load, spawn_rate, by, ramp=ramp, arrivals=arrivals))

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
                self._now_s(), opened.load, opened.spawn_rate, opened.by, ramp=opened.ramp, arrivals=opened.arrivals
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
