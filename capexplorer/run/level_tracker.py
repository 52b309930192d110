"""The open level and its phase. Used in the pump's thread only; the timeline keeps the levels' figures."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..analysis.epoch.levels import LevelClock, TickCounts
from ..analysis.epoch.measured_rates import backlog_above
from ..load.recorder import Tick
from ..model.events import Arrivals, By, LevelClosed, LevelOpened, OfferedTick, Phase
from ..model.level import Void
from ..model.timeline import Timeline

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
        users: int,
        spawn_rate: float,
        by: By,
        *,
        ramp: bool = False,
        offered_per_s: float | None = None,
        arrivals: Arrivals = "poisson",
    ) -> LevelOpened:
        """Open a new level. Close the previous one first."""
        self.index += 1
        self.phase = "spawning"
        self._clock = LevelClock(users) if offered_per_s is None else self._clock_of_rate(offered_per_s)
        self.opened = LevelOpened(
            t_s=t_s,
            index=self.index,
            users=users,
            spawn_rate=spawn_rate,
            by=by,
            epoch=self.epoch,
            workers=self.workers,
            ramp=ramp,
            offered_per_s=offered_per_s,
            arrivals=arrivals,
        )
        return self.opened

    def _clock_of_rate(self, offered_per_s: float) -> LevelClock:
        before = self._timeline.last.offered if self._timeline.last is not None else None
        in_flight = before.in_flight if before is not None else 0
        levels = [level for level in self._timeline.levels if level.opened.epoch == self.epoch]
        return LevelClock(None, in_flight, backlog_above(levels, offered_per_s, in_flight))

    def spawned(self, at_s: float) -> None:
        """All users of the open level have been running, or its schedule has had its rate, since `at_s`."""
        if self.opened is not None and not self.opened.ramp:
            self._clock.spawned(at_s)

    def tick(
        self,
        started_s: float,
        ended_s: float,
        users: int,
        tick: Tick,
        wanted: int | None = None,
        *,
        offered_per_s: float | None = None,
        is_void: bool = False,
    ) -> tuple[Phase, bool]:
        """(phase, settled) of the tick that ends now. A tick that began in an earlier level, or is void, never counts.

        `wanted`, `offered_per_s`: the users or the rate requested by now; a step may have reached the load before its level was
        opened.
        """
        if self.opened is None or self.opened.ramp or is_void:
            return self.phase, False
        did, offered = tick.activity, tick.offered or NO_ITERATIONS
        requests, latency_sum_ms = tick.all_requests, tick.all_latency_sum_ms
        if self.opened.offered_per_s is not None and offered.finished:
            requests, latency_sum_ms = offered.finished, offered.from_plan_sum_ms
        counts = TickCounts(
            requests=requests,
            latency_sum_s=latency_sum_ms / 1000,
            waits=did.waits,
            wait_sum_s=did.wait_sum_s,
            sleeps=did.sleeps,
            sleep_sum_s=did.sleep_sum_s,
            warm_users=tick.warm_users,
            ended=offered.finished + offered.failed + offered.dropped.total,
            in_flight=offered.in_flight,
        )
        self.phase, settled = self._clock.tick(started_s, ended_s, users, counts)
        if settled and self._is_overtaken(users, wanted, offered_per_s):
            self.phase, settled = "spawning", False
        return self.phase, settled

    def _is_overtaken(self, users: int, wanted: int | None, offered_per_s: float | None) -> bool:
        """Whether the load has gone to another level already."""
        assert self.opened is not None
        if self.opened.offered_per_s is not None or offered_per_s is not None:
            return offered_per_s != self.opened.offered_per_s
        return users > self.opened.users or wanted not in (None, self.opened.users)

    def close(self, t_s: float, void: Void | None = None) -> LevelClosed | None:
        """The event that closes the open level, with its figures; None if no level is open. `void`: why it has none."""
        if self.opened is None:
            return None
        opened, settles_s = self.opened, self._clock.settles_s
        self.opened, self.phase = None, "spawning"  # seconds between two levels belong to no level
        closed = self._timeline.levels[-1].ending(t_s, void=void)
        if closed.settled_s is None and void is None and settles_s is not None and not opened.ramp:
            closed = msgspec.structs.replace(closed, settling_s=round(settles_s - closed.started_s, 3))
        return closed

    def split(self, t_s: float, since_s: float, shifted: Literal["goodput", "latency"]) -> tuple[LevelClosed, LevelOpened] | None:
        """Close the open level where it changed permanently, and open a settled one from there; None: too long ago."""
        before, later = self.opened, self._timeline.since(since_s)
        if before is None or len(later) < len(self._timeline) - 1 - self._timeline.index_at(since_s):
            return None
        closed = self._timeline.levels[-1].ending(t_s, since_s, later)
        self.index += 1
        self.opened = LevelOpened(
            t_s=t_s,
            index=self.index,
            users=before.users,
            spawn_rate=before.spawn_rate,
            by="shift",
            epoch=before.epoch,
            workers=before.workers,
            since_s=since_s,
            shifted=shifted,
            offered_per_s=before.offered_per_s,
            arrivals=before.arrivals,
        )
        return closed, self.opened
