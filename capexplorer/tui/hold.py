"""A moment of a timeline, kept while events go on folding into the original: what `hold` shows."""

from __future__ import annotations

import copy

from ..model.figures import LevelBin
from ..model.level import Level
from ..model.timeline import Timeline


def moment(timeline: Timeline) -> Timeline:
    """An independent copy but for the columns, which only grow: `ticks` is where this moment ends."""
    held = copy.copy(timeline)
    held.levels = [level if level.closed else _HeldLevel(level) for level in timeline.levels]
    held.marks, held.journal, held.log = dict(timeline.marks), list(timeline.journal), list(timeline.log)
    held.verdicts = dict(timeline.verdicts)
    held.failures = {key: copy.copy(count) for key, count in timeline.failures.items()}
    return held


class _HeldLevel(Level):
    """An open level as it stood: its fold would grow, its figures do not."""

    def __init__(self, level: Level) -> None:
        super().__init__(level.opened, level.first_index, level.opened_index)
        self._figures, self._endpoints, self._settled_s = level.figures, level.endpoints, level.settled_s
        self._bins = level.bins

    @property
    def settled_s(self) -> float | None:
        return self._settled_s

    @property
    def bins(self) -> tuple[LevelBin, ...]:
        return self._bins
