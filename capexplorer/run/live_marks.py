"""A live run's marks of levels: verdicts and marks as levels grow, and splits of levels that change permanently.

Marks of causes do not depend on levels: `EventSink` asks the `CauseDetector` for them at each event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from ..analysis import capacity_marks, reply_kinds
from ..analysis.bottleneck import bottlenecks
from ..analysis.epoch.epoch import Epoch, epoch_of, indices
from ..analysis.epoch.shifts import latest_shift, missed_shifts
from ..analysis.leaks import leaks
from ..analysis.mark_publisher import MarkPublisher
from ..model.events import Event
from ..model.level import Level
from ..model.timeline import Timeline
from ..model.verdicts import ChangePoint
from .current_epoch import CurrentEpoch

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
