"""The levels of a live run: the open one with its phase, and the events that open, close, reopen and split levels.

Used in the pump's thread only; the timeline keeps the levels' figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Literal

from msgspec.structs import replace

from ..analysis import capacity_marks, leaks, reply_kinds
from ..analysis.bottleneck import bottlenecks
from ..analysis.capacity_marks import MarkPublisher
from ..analysis.epoch.epoch import Epoch, epoch_of, indices
from ..analysis.epoch.level_clock import LevelClock, TickCounts
from ..analysis.epoch.measured_rates import backlog_above
from ..analysis.epoch.shifts import latest_shift, missed_shifts
from ..load.recorder import RecordedTick
from ..model.events import By, Event, LevelClosed, LevelOpened, Phase
from ..model.level import Level, Void
from ..model.load import Arrivals, Load, OfferedTick, Rate, Users
from ..model.timeline import Timeline
from ..model.verdicts import ChangePoint
from .context import EventSink

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


# -- live marks ----------------------------------------------------------------------------------------------------------------
# A live run's marks of levels: verdicts and marks as levels grow, and splits of levels that change permanently.
#
# Marks of causes do not depend on levels: `EventSink` asks the `CauseDetector` for them at each event.


JUDGED_AT = (6, 10, 15, 20, 30, 45, 60)
"""Settled seconds at which a level is judged; after the last one it is judged at each doubling, and when it closes."""

LEAKS_EVERY = ((120, 10), (1_800, 60))
LEAKS_EVERY_LATER = 600
"""Settled seconds between checks for leaks, first up to a limit, then beyond it: a leak of two descriptors a second is marked
before it has taken a hundred. A check costs 3-10 ms (measured)."""

Split = Callable[[float, Literal["goodput", "latency"]], bool]
"""Splits the open level at a time; False if the seconds since then are no longer kept."""


class LiveMarks:
    """`emit` takes events, `split` splits the open level."""

    def __init__(self, timeline: Timeline, emit: Callable[[Event], None], now_s: Callable[[], float], split: Split) -> None:
        self._timeline, self._emit, self._now_s, self._split = timeline, emit, now_s, split
        self._publisher = MarkPublisher()
        self._known_growth: leaks.KnownGrowth = {}

    def split_at_shifts(self) -> None:
        """Split the open level where it changed permanently."""
        if self._measures():
            self._split_at_shifts(self._timeline.levels[-1])

    def ticked(self, current: CurrentEpoch) -> None:
        """Called after each sample: judges the open level and checks for leaks when they are due."""
        if not self._measures():
            return
        seconds = self._settled_seconds()
        if is_due(seconds):
            self._judge(current.epoch, all_changes=False)
        if leaks_are_due(seconds):
            self.emit_leaks(current.epoch.index)

    def judge(self) -> None:
        """Emit the verdict and the marks of the latest epoch."""
        if self._timeline.levels:
            self._judge(CurrentEpoch(self._timeline).epoch, all_changes=False)

    def end(self) -> None:
        """Emit the final verdict and marks of every epoch, as `--reanalyse` would find them."""
        for index in indices(self._timeline):
            self._judge(epoch_of(self._timeline, index), all_changes=True)
            self.emit_leaks(index, all_changes=True)

    def _judge(self, epoch: Epoch, *, all_changes: bool) -> None:
        verdict, index = epoch.verdict, epoch.index
        marks = [*bottlenecks.marks(epoch), *reply_kinds.marks(self._timeline, index)]
        keys = {*bottlenecks.keys(epoch), *reply_kinds.keys(index)}
        if verdict is not None:
            marks = [*capacity_marks.of_verdict(verdict), *capacity_marks.recoveries(epoch), *marks]
            keys |= capacity_marks.keys(epoch)
            changed = self._publisher.verdict(verdict)
            if changed is not None:
                self._emit(changed)
        self._emit_all(self._publisher.update(marks, self._now_s(), complete_for=keys, all_changes=all_changes))

    def emit_leaks(self, epoch: int, *, all_changes: bool = False) -> None:
        """Emit marks of leaks, which are found in an epoch's seconds at one constant user count.

        `all_changes`: publish every change, however small.
        """
        marks = leaks.marks(self._timeline, epoch, self._known_growth)
        self._emit_all(self._publisher.update(marks, self._now_s(), complete_for=leaks.keys(epoch), all_changes=all_changes))

    def _split_at_shifts(self, level: Level) -> None:
        found: tuple[float, ChangePoint] | None = latest_shift(self._timeline, level)
        while found is not None and self._split(found[0], found[1].column):
            shifts = capacity_marks.shifts_that_open_levels(self._timeline)
            self._emit_all(self._publisher.update(shifts, self._now_s(), complete_for=()))
            self.judge()
            found = next(missed_shifts(self._timeline, self._timeline.levels[-1]), None)

    def _measures(self) -> bool:
        """Whether the latest second counts in the open level's figures."""
        level = self._timeline.level
        return level is not None and level.closed is None and bool(self._timeline.columns["settled"][-1])

    def _settled_seconds(self) -> int:
        level = self._timeline.levels[-1]
        return len(level.fold.ticks) if level.fold is not None else 0

    def _emit_all(self, events: Iterable[Event]) -> None:
        for event in events:
            self._emit(event)


def is_due(seconds: int) -> bool:
    """Whether a level is judged at this many settled seconds."""
    last = JUDGED_AT[-1]
    return seconds in JUDGED_AT or (seconds > last and seconds % last == 0 and (seconds // last).bit_count() == 1)


def leaks_are_due(seconds: int) -> bool:
    """Whether a check for leaks is due at this many settled seconds of a level."""
    every = next((every for until, every in LEAKS_EVERY if seconds <= until), LEAKS_EVERY_LATER)
    return seconds > 0 and seconds % every == 0


# -- current epoch -------------------------------------------------------------------------------------------------------------
# The epoch that marks, stop rules and the autopilot judge once a second; it is built at most once a second for all of them.


class CurrentEpoch:
    """Make a new one each second; valid until the next sample or level."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    @cached_property
    def epoch(self) -> Epoch:
        """The epoch of the latest level; the first one while there is none. Built on first use."""
        levels = self._timeline.levels
        return epoch_of(self._timeline, levels[-1].opened.epoch if levels else 0)
