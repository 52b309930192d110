"""The reportable results of an epoch: its current marks and verdict, and the levels in which generator and network worked.

Every list of marks and every conclusion uses these (`current_marks`, `reported`), so that no two outputs contradict each other.
"""

from __future__ import annotations

from ..model import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
from collections.abc import Sequence

import numpy as np

from ..model.events import Mark, Verdict
from ..model.findings import Cause
from ..model.grades import CONFIDENCES, SEVERITIES
from ..model.level import Level
from ..model.level_use import LevelUse, level_use
from ..model.rate_verdicts import RateVerdict
from ..model.timeline import Timeline
from ..model.verdicts import CapacityVerdict, KneeVerdict
from . import superseding
from .causes.catalogue import DEATHS, OUTSIDE_THE_TARGET, invalidates_run, where
from .superseding import InvalidLevels


class EpochView:
    """One epoch of a timeline: `marks` that are not superseded, `verdict` and `invalid` levels.

    `epoch` is None where no detector ran: then the view is of all levels together.
    """

    def __init__(self, timeline: Timeline, epoch: int | None) -> None:
        self.timeline, self.epoch = timeline, epoch
        self.marks = [mark for mark in timeline.marks.values() if mark.epoch == epoch and mark.state != "retracted"]
        self.invalid = self._invalid()
        found = None if epoch is None else timeline.verdicts.get(epoch)
        self.verdict = None if found is None else superseding.reported(found, self.invalid)
        self.marks = superseding.not_superseded(self.marks, self.verdict, self.invalid)

    def _invalid(self) -> InvalidLevels | None:
        """The levels that critical causes of generator, host or network invalidate; None if no such cause lasts (`is_past`)."""
        invalidating = [mark for mark in self.causes(*OUTSIDE_THE_TARGET) if invalidates_run(mark.id, mark.severity)]
        if not invalidating:
            return None
        clean = self.clean(invalidating)
        lasting = [mark for mark in invalidating if not is_past(mark, clean)]
        most = max((level.users for level in clean if level.users), default=None)
        most_per_s = max((level.offered_per_s for level in clean if level.offered_per_s), default=None)
        return InvalidLevels(min(lasting, key=since_s), most, most_per_s) if lasting else None

    @property
    def capacity(self) -> CapacityVerdict | None:
        """The verdict on capacity; None if no detector ran."""
        return self.verdict.capacity if self.verdict is not None else None

    @property
    def rates(self) -> RateVerdict | None:
        """The verdict on levels of offered rates; None if there are none."""
        return self.verdict.rates if self.verdict is not None else None

    @property
    def knee(self) -> KneeVerdict | None:
        """The verdict on the knee, which may be `no_knee`."""
        return self.capacity.knee if self.capacity is not None else None

    def causes(self, *wheres: str) -> list[Mark]:
        """Causes at these locations, the most severe first: a death before its consequences, then the earliest."""
        found = [mark for mark in self.marks if mark.kind == "cause" and where(mark.id) in wheres]
        return sorted(found, key=lambda mark: (SEVERITIES.index(mark.severity), mark.id not in DEATHS, since_s(mark)))

    def bottlenecks(self) -> list[Mark]:
        """Bottlenecks that limit the service, those with the highest confidence first."""
        found = [mark for mark in self.marks if superseding.is_limit(mark)]
        order = (*CONFIDENCES, None)
        return sorted(found, key=lambda mark: (order.index(mark.confidence), since_s(mark)))

    def levels(self) -> list[Level]:
        """All of its levels, in the order they ran."""
        return [level for level in self.timeline.levels if self.epoch is None or level.opened.epoch == self.epoch]

    def settled(self) -> list[Level]:
        """Settled levels with users."""
        return [level for level in self.levels() if level.users and level.figures.settled]

    def loaded(self) -> list[Level]:
        """Settled levels, of users and of offered rates."""
        return [level for level in self.levels() if level.has_load and level.figures.settled]

    def disturbed(self) -> list[Level]:
        """Levels disturbed by other processes, which used CPU that the service or the generator needed."""
        judged = [level for level in self.levels() if level.has_load and (level.figures.settled or level.bins)]
        return [level for level in judged if self.use(level).is_disturbed]

    def left_out(self) -> list[Level]:
        """Those of the disturbed levels that do not describe the service."""
        return [level for level in self.disturbed() if "disturbed" in self.use(level).whys]

    def use(self, level: Level) -> LevelUse:
        """Whether the verdict counts one of its levels, and why not."""
        return level_use(level, self.verdict)

    def requests(self, begin_s: float, end_s: float) -> float:
        """Number of requests between two times of the session, warm-up and failures included.

        Computed by numpy: a day has 86,400 seconds, and a screen asks for each cause whenever it draws.
        """
        columns, timeline = self.timeline.columns, self.timeline
        ticks = slice(max(timeline.index_at(begin_s), 0), timeline.index_at(end_s) + 1)
        counts = np.asarray(columns["throughput_rps"][ticks]) * np.asarray(columns["duration_s"][ticks])
        return float(np.nansum(counts))

    def clean(self, invalidating: Sequence[Mark]) -> list[Level]:
        """Settled levels, of users and of offered rates, during which none of these causes occurred."""
        spans = [span for mark in invalidating for span in self._spans(mark)]
        return [level for level in self.loaded() if not any(self._overlaps(level, span) for span in spans)]

    def _spans(self, mark: Mark) -> list[tuple[float, float]]:
        """Every (first, last) occurrence, by all revisions of the mark: a cause may recur."""
        marks = (each for each in self.timeline.journal if isinstance(each, Mark))
        revisions = [each for each in marks if each.key == mark.key and each.state != "retracted"]
        spans = [(since_s(each), last_s(each)) for each in revisions]
        return spans if mark.state == "closed" else [*spans, (since_s(mark), self.timeline.last_s)]

    def _overlaps(self, level: Level, span: tuple[float, float]) -> bool:
        begin_s = level.started_s if level.settled_s is None else level.settled_s
        end_s = self.timeline.last_s if level.ended_s is None else level.ended_s
        return span[0] <= end_s and begin_s <= span[1]


def epochs(timeline: Timeline) -> list[int]:
    """Indices of all epochs with levels, marks or verdicts, ascending."""
    levels = (level.opened.epoch for level in timeline.levels)
    marked = (mark.epoch for mark in timeline.marks.values() if mark.state != "retracted")
    return sorted({*levels, *marked, *timeline.verdicts})


def current_marks(timeline: Timeline) -> dict[str, Mark]:
    """Marks by key that are neither retracted nor superseded, with the figures of the latest verdict."""
    current = {mark.key: mark for epoch in epochs(timeline) for mark in EpochView(timeline, epoch).marks}
    return {key: current[key] for key in timeline.marks if key in current}


def reported(timeline: Timeline) -> dict[int, Verdict]:
    """Verdicts by epoch, without what was concluded from invalid levels."""
    verdicts = {epoch: EpochView(timeline, epoch).verdict for epoch in sorted(timeline.verdicts)}
    return {epoch: verdict for epoch, verdict in verdicts.items() if verdict is not None}


def is_past(mark: Mark, clean: Sequence[Level]) -> bool:
    """Whether the cause has ended and a later level with at least as much load did not have it."""
    later = (level for level in clean if level.started_s >= last_s(mark))
    if mark.offered_per_s is not None:
        return mark.state == "closed" and any((level.offered_per_s or 0.0) >= mark.offered_per_s for level in later)
    return mark.state == "closed" and any(level.users >= (mark.users or 0) for level in later if level.users)


def since_s(mark: Mark) -> float:
    """Start of the mark's latest episode, in seconds of the session."""
    began_s = mark.finding.began_s if isinstance(mark.finding, Cause) else None
    return mark.t_s if began_s is None else began_s


def last_s(mark: Mark) -> float:
    """Last occurrence of what the mark is about, in seconds of the session."""
    found_s = mark.finding.last_s if isinstance(mark.finding, Cause) else None
    return mark.t_s if found_s is None else found_s
