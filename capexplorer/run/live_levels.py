"""The levels of a live run: the open one with its phase, and the events that open, close, reopen and split levels.

Used in the pump's thread only; the timeline keeps the levels' figures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
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
from ..analysis.experiments import explain
from ..load.recorder import RecordedTick
from ..model.events import By, Explained, LevelOpened, Mark, Phase
from ..model.experiments import Experiment
from ..model.figures import least_response_s
from ..model.findings import MarkKind
from ..model.level import Void
from ..model.load import Load, OfferedTick, Rate, Users
from ..model.timeline import Timeline
from ..model.verdicts import ChangePoint
from ..steer.requested_load import RequestedLoad
from .context import RunContext

NO_ITERATIONS = OfferedTick()


class LiveLevels:
    """The levels of a run, of which at most one is open."""

    def __init__(self, context: RunContext, requested_load: RequestedLoad) -> None:
        self._context, self._requested_load, self._timeline = context, requested_load, context.timeline
        self.marks = LiveMarks(context)
        self.index = -1
        """Of the latest level."""
        self.opened: LevelOpened | None = None
        """The open level."""
        self.phase: Phase = "spawning"
        self._workers = 0
        """That run the users now."""
        self._clock = LevelClock(0)

    # -- beginning and end

    def step(self, load: Load, by: By, spawn_rate: float, *, ramp: bool = False, experiment: Experiment | None = None) -> None:
        """Close the open level, and open that of a load which has been requested. `spawn_rate`: users a second.

        While users may not run yet, the load is only wanted. `ramp`: the load changes evenly in this level. `experiment`: what is
        changed beside the load.
        """
        if load != self._requested_load.load and not ramp:
            return  # another thread has made a later step meanwhile, which opens its own level
        if self._requested_load.is_open:
            self.close()
        if (
            self._requested_load.is_open
        ):  # else the log failed as the level closed, and users went to zero in a level of their own
            self.open(load, by, spawn_rate, ramp=ramp, experiment=experiment)

    def open(
        self,
        load: Load,
        by: By,
        spawn_rate: float,
        *,
        ramp: bool = False,
        stacks: bool = False,
        experiment: Experiment | None = None,
        clock: LevelClock | None = None,
    ) -> LevelOpened:
        """Open a level, once the one before it is closed. `clock`: of that, if its load goes on; None: the load is new."""
        self.index, self.phase = self.index + 1, "spawning"
        self._clock = clock or self._clock_of(load)
        opened = LevelOpened(
            t_s=self._context.now_s(),
            index=self.index,
            users=load.users,
            spawn_rate=spawn_rate,
            by=by,
            epoch=self._context.epoch,
            workers=self._workers,
            ramp=ramp,
            offered_per_s=load.per_s,
            arrivals=self._requested_load.arrivals,
            stacks=stacks,
            experiment=experiment,
        )
        self.opened = opened
        self._emit_opened(opened)
        return opened

    def go_on(self, by: By, *, stacks: bool = False) -> None:
        """Close the open level and open another one, in which the same load goes on. `stacks`: they are sampled in it."""
        before, clock, phase = self.opened, self._clock, self.phase
        self.close()
        if before is not None and self.opened is None and self._requested_load.is_open:  # as in `step`
            again = self.open(before.load, by, before.spawn_rate, stacks=stacks, experiment=before.experiment, clock=clock)
            clock.goes_on(again.t_s)
            self.phase = phase

    def _emit_opened(self, opened: LevelOpened) -> None:
        self._requested_load.thread.begin_level(opened.index, opened.experiment)
        self._context.emit(opened)

    def _clock_of(self, load: Load) -> LevelClock:
        if isinstance(load, Users):
            return LevelClock(load.users)
        before = self._timeline.last.offered if self._timeline.last is not None else None
        in_flight, epoch = before.in_flight if before is not None else 0, self._context.epoch
        levels = [level for level in self._timeline.levels if level.opened.epoch == epoch]
        response_s = least_response_s(level.figures for level in levels)
        return LevelClock(None, in_flight, backlog_above(levels, load.per_s, in_flight), response_s)

    def close(self, void: Void | None = None) -> None:
        """Close the open level, if any, and judge it. `void`: why it has no figures."""
        opened, settles_s = self.opened, self._clock.settles_s
        if opened is None:
            return
        self.opened, self.phase = None, "spawning"  # seconds between two levels belong to no level
        closed = self._timeline.levels[-1].ending(self._context.now_s(), void=void)
        if closed.settled_s is None and void is None and settles_s is not None and not opened.ramp:
            closed = replace(closed, settling_s=round(max(settles_s - closed.started_s, 0.0), 3))
        self._context.emit(closed)
        self.marks.judge()

    def reopen(self, void: Void | None = None, *, load_continues: bool = False) -> None:
        """Close the open level, if any, and open a new one with the same users or rate. `void`: why the closed one has no
        figures. `load_continues`: users that run, or a rate that is offered, do so already; no report will say so.
        """
        opened, has_spawned = self.opened, self.phase != "spawning"
        if opened is not None:
            self.close(void)
            again = self.open(opened.load, opened.by, opened.spawn_rate, ramp=opened.ramp, experiment=opened.experiment)
            if load_continues and has_spawned:
                self.spawned(again.t_s)

    def run_by(self, workers: int, void: Void | None = None) -> None:
        """Another set of workers runs the users from now on, in a new level. `void`: why the closed one has no figures."""
        self._workers = workers
        self.reopen(void)

    def split_at_shifts(self) -> None:
        """Split the open level where it changed permanently, and emit the marks of that."""
        if not self.marks.measures:
            return
        found: tuple[float, ChangePoint] | None = latest_shift(self._timeline, self._timeline.levels[-1])
        while found is not None and self._split(found[0], found[1].column):
            self.marks.shifted()
            found = next(missed_shifts(self._timeline, self._timeline.levels[-1]), None)

    def _split(self, since_s: float, shifted: Literal["goodput", "latency"]) -> bool:
        """Close the open level, and open a settled one from `since_s`; False: these seconds are no longer kept."""
        before, later, t_s = self.opened, self._timeline.since(since_s), self._context.now_s()
        if before is None or len(later) < len(self._timeline) - 1 - self._timeline.index_at(since_s):
            return False
        self.index += 1
        self.opened = replace(before, t_s=t_s, index=self.index, by="shift", ramp=False, since_s=since_s, shifted=shifted)
        self._context.emit(self._timeline.levels[-1].ending(t_s, since_s, later))
        self._emit_opened(self.opened)
        return True

    # -- every second

    def spawned(self, at_s: float) -> None:
        """All users of the open level have been running, or its schedule has had its rate, since `at_s`."""
        if self.opened is not None and not self.opened.ramp:
            self._clock.spawned(at_s)

    def tick(self, started_s: float, ended_s: float, tick: RecordedTick, *, is_void: bool = False) -> tuple[Phase, bool]:
        """(phase, settled) of the tick that ends now. A tick that began in an earlier level, or is void, never counts."""
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
        requested = self._requested_load.load  # a step may have reached the load before its level was opened
        has_more_users = isinstance(requested, Users) and tick.users > self.opened.users
        if settled and (has_more_users or requested != self.opened.load):
            self.phase, settled = "spawning", False  # the load has gone to another level already
        return self.phase, settled


# -- marks ---------------------------------------------------------------------------------------------------------------------
# Marks of causes do not depend on levels: `EventSink` asks the `CauseDetector` for them at each event.


JUDGED_AT = (6, 10, 15, 20, 30, 45, 60)
"""Settled seconds at which a level is judged; after the last one it is judged at each doubling, and when it closes."""

LEAKS_EVERY = ((120, 10), (1_800, 60))
LEAKS_EVERY_LATER = 600
"""Settled seconds between checks for leaks, first up to a limit, then beyond it: a leak of two descriptors a second is marked
before it has taken a hundred. A check costs 3-10 ms (measured)."""


class LiveMarks:
    """Verdicts and marks of levels, as they grow and close."""

    def __init__(self, context: RunContext) -> None:
        self._context, self._timeline = context, context.timeline
        self._publisher = MarkPublisher()
        self._known_growth: leaks.KnownGrowth = {}

    def ticked(self, current: CurrentEpoch) -> None:
        """Called after each sample: judges the open level and checks for leaks when they are due."""
        if not self.measures:
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
        marks += capacity_marks.stalls(self._timeline, index)
        complete: tuple[MarkKind, ...] = ("bottleneck", "replies_changed")
        if verdict is not None:
            marks = [*capacity_marks.of_verdict(verdict), *capacity_marks.recoveries(epoch), *marks]
            complete += capacity_marks.KINDS
            changed = self._publisher.verdict(verdict)
            if changed is not None:
                self._context.emit(changed)
        self._publish(marks, index, complete, all_changes=all_changes)
        self._explain(index)

    def _explain(self, epoch: int) -> None:
        """Emit what experiments have shown, if it is news."""
        known, found = self._timeline.explained.get(epoch), explain(self._timeline, epoch)
        if found is not None and (known is None or known.explanation != found):
            self._context.emit(Explained(t_s=self._context.now_s(), epoch=epoch, explanation=found))

    def emit_leaks(self, epoch: int, *, all_changes: bool = False) -> None:
        """Emit marks of leaks, which are found in an epoch's seconds at one constant user count.

        `all_changes`: publish every change, however small.
        """
        complete: tuple[MarkKind, ...] = ("leak",)
        self._publish(leaks.marks(self._timeline, epoch, self._known_growth), epoch, complete, all_changes=all_changes)

    def shifted(self) -> None:
        """The open level was split where it changed."""
        self._publish(capacity_marks.shifts_that_open_levels(self._timeline), self._context.epoch, ())
        self.judge()

    @property
    def measures(self) -> bool:
        """Whether the latest second counts in the open level's figures."""
        level = self._timeline.level
        return level is not None and level.closed is None and bool(self._timeline.columns["settled"][-1])

    def _settled_seconds(self) -> int:
        level = self._timeline.levels[-1]
        return len(level.fold.ticks) if level.fold is not None else 0

    def _publish(self, marks: Iterable[Mark], epoch: int, complete: Collection[MarkKind], *, all_changes: bool = False) -> None:
        """Emit what has changed since these marks were published last. `complete`: as for `MarkPublisher.update`."""
        now_s = self._context.now_s()
        for each in self._publisher.update(marks, now_s, epoch=epoch, complete=complete, all_changes=all_changes):
            self._context.emit(each)


def is_due(seconds: int) -> bool:
    """Whether a level is judged at this many settled seconds."""
    last = JUDGED_AT[-1]
    return seconds in JUDGED_AT or (seconds > last and seconds % last == 0 and (seconds // last).bit_count() == 1)


def leaks_are_due(seconds: int) -> bool:
    """Whether a check for leaks is due at this many settled seconds of a level."""
    every = next((every for until, every in LEAKS_EVERY if seconds <= until), LEAKS_EVERY_LATER)
    return seconds > 0 and seconds % every == 0


class CurrentEpoch:
    """The epoch that marks, stop rules and the autopilot judge: a new one each second, valid until the next sample or level."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    @cached_property
    def epoch(self) -> Epoch:
        """The epoch of the latest level; the first one while there is none. Built on first use."""
        levels = self._timeline.levels
        return epoch_of(self._timeline, levels[-1].opened.epoch if levels else 0)
