"""What the verdict line looks at: an epoch's marks, its curve, and levels that nothing spoiled. Must not word anything."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.events import Mark
from ...model.level import Level
from ...model.timeline import Timeline
from ...model.verdicts import CapacityVerdict, KneeVerdict
from .marks import NO_LIMITS
from .names import where

DEATHS = ("target_oom_killed", "target_killed_by_signal", "target_crashed")

_RANKS = {"critical": 0, "error": 1, "warning": 2, "info": 3}


class Seen:
    """Of an epoch; of all of them together where `epoch` is None: no detector has looked."""

    def __init__(self, timeline: Timeline, epoch: int | None) -> None:
        self.timeline, self.epoch = timeline, epoch
        self.marks = [mark for mark in timeline.marks.values() if mark.epoch == epoch and mark.state != "retracted"]
        verdict = None if epoch is None else timeline.verdicts.get(epoch)
        self.capacity: CapacityVerdict | None = verdict.capacity if verdict is not None else None

    @property
    def knee(self) -> KneeVerdict | None:
        """What the curve says, a knee or not."""
        return self.capacity.knee if self.capacity is not None else None

    def causes(self, *wheres: str) -> list[Mark]:
        """Causes that lie there, the gravest first: a death before what it leads to, then the earliest."""
        found = [mark for mark in self.marks if mark.kind == "cause" and where(mark.id) in wheres]
        return sorted(found, key=lambda mark: (_RANKS[mark.severity], mark.id not in DEATHS, since_s(mark)))

    def bottlenecks(self) -> list[Mark]:
        """Of the service and what it runs on, the surest first."""
        found = [mark for mark in self.marks if mark.kind == "bottleneck" and mark.id not in NO_LIMITS]
        sure = {"high": 0, "medium": 1, "low": 2, None: 3}
        return sorted(found, key=lambda mark: (sure[mark.confidence], since_s(mark)))

    def settled(self) -> list[Level]:
        """Levels with users whose figures count."""
        levels = [level for level in self.timeline.levels if self.epoch is None or level.opened.epoch == self.epoch]
        return [level for level in levels if level.users and level.figures.settled]

    def requests(self, begin_s: float, end_s: float) -> float:
        """On the wire in that time, warm-up and failures included."""
        columns, timeline = self.timeline.columns, self.timeline
        ticks = slice(max(timeline.index_at(begin_s), 0), timeline.index_at(end_s) + 1)
        counts = (rate * s for rate, s in zip(columns["throughput_rps"][ticks], columns["duration_s"][ticks], strict=True))
        return sum(count for count in counts if count == count)

    def clean(self, spoilers: Sequence[Mark]) -> list[Level]:
        """Settled levels in whose seconds no spoiler was seen."""
        spans = [span for mark in spoilers for span in self._spans(mark)]
        return [level for level in self.settled() if not any(self._overlaps(level, span) for span in spans)]

    def _spans(self, mark: Mark) -> list[tuple[float, float]]:
        """When it was seen, by all its revisions: it may have gone and come again."""
        marks = (each for each in self.timeline.journal if isinstance(each, Mark))
        told = [each for each in marks if each.key == mark.key and each.state != "retracted"]
        spans = [(since_s(each), last_s(each)) for each in told]
        return spans if mark.state == "closed" else [*spans, (since_s(mark), self.timeline.last_s)]

    def _overlaps(self, level: Level, span: tuple[float, float]) -> bool:
        begin_s = level.started_s if level.settled_s is None else level.settled_s
        end_s = self.timeline.last_s if level.ended_s is None else level.ended_s
        return span[0] <= end_s and begin_s <= span[1]


def outgrown(mark: Mark, clean: Sequence[Level]) -> bool:
    """It is over, and as many users or more went well afterwards: it limits nothing."""
    later = (level for level in clean if level.started_s >= last_s(mark))
    return mark.state == "closed" and any(level.users >= (mark.users or 0) for level in later)


def since_s(mark: Mark) -> float:
    """When its evidence began, seconds of the session; of one that came again, when it did so."""
    began_s = next((s for name in ("since_s", "first_s") if (s := number(mark, name)) is not None), None)
    return mark.t_s if began_s is None else began_s


def last_s(mark: Mark) -> float:
    """When it was seen last."""
    found_s = number(mark, "last_s")
    return mark.t_s if found_s is None else found_s


def number(mark: Mark, name: str) -> float | None:
    """Of its evidence; None where it is no number."""
    value = mark.evidence.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
