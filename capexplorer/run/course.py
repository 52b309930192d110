"""The course of levels: what is open, in which phase, with which figures. Owned by the pump's thread."""

from __future__ import annotations

from ..analysis.levels import LevelClock, TickCounts
from ..load.recorder import Tick
from ..model.events import By, LevelClosed, LevelOpened, Phase, Sample
from ..model.levels import LevelFold, RampFold

RAMP_OVER_S = 10.0
"""A shape that holds its users this long is on a step again."""


class Course:
    """Opens and closes levels. Times are seconds of the session."""

    def __init__(self) -> None:
        self.index = -1
        self.epoch = 0
        self.phase: Phase = "spawning"
        self.opened: LevelOpened | None = None
        self._clock = LevelClock(0)
        self._fold = LevelFold()
        self._ramp: RampFold | None = None

    def open(self, t_s: float, users: int, spawn_rate: float, by: By, *, ramp: bool = False) -> LevelOpened:
        """A new level; close the one before it first."""
        self.index += 1
        self.phase = "spawning"
        self.opened = LevelOpened(
            t_s=t_s, index=self.index, users=users, spawn_rate=spawn_rate, by=by, epoch=self.epoch, ramp=ramp
        )
        self._clock, self._fold, self._ramp = LevelClock(users), LevelFold(), RampFold() if ramp else None
        return self.opened

    def spawned(self, at_s: float) -> None:
        """All users asked for are there."""
        if self._ramp is None:
            self._clock.spawned(at_s)

    def tick(self, started_s: float, ended_s: float, users: int, tick: Tick) -> tuple[Phase, bool]:
        """(phase, settled) of the tick that ends now. A tick that began in an earlier level never counts."""
        if self.opened is None or self._ramp is not None:
            return self.phase, False
        counts = TickCounts(tick.all_requests, tick.all_latency_sum_ms / 1000, tick.waits, tick.wait_sum_s)
        self.phase, settled = self._clock.tick(started_s, ended_s, users, counts)
        return self.phase, settled

    def add(self, sample: Sample) -> None:
        """Fold the finished tick into the open level."""
        self._fold.add(sample)
        if self._ramp is not None:
            self._ramp.add(sample)

    def close(self, t_s: float) -> LevelClosed | None:
        """The open level's end and figures; None when none is open."""
        if self.opened is None:
            return None
        opened, self.opened = self.opened, None
        return LevelClosed(
            t_s=t_s,
            index=opened.index,
            users=opened.users,
            started_s=opened.t_s,
            settled_s=self._fold.settled_s,
            figures=self._fold.figures(),
            endpoints=self._fold.endpoint_figures(with_histogram=True),
            bins=self._ramp.bins(with_histogram=True) if self._ramp is not None else (),
        )
