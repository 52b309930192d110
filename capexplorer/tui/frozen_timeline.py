"""A copy of a timeline at one time, shown while the display is paused and events continue to be folded into the original."""

from __future__ import annotations

import copy

from ..model.figures import LevelBin
from ..model.histogram import LatencyHistogram
from ..model.level import Level
from ..model.timeline import Timeline


def frozen_copy(timeline: Timeline) -> Timeline:
    """A copy that later events do not change. It shares the columns, which only grow: `ticks` is its own length."""
    frozen = copy.copy(timeline)
    frozen.levels = [level if level.closed else _FrozenLevel(level) for level in timeline.levels]
    frozen.marks, frozen.journal, frozen.log = dict(timeline.marks), list(timeline.journal), list(timeline.log)
    frozen.verdicts, frozen.parts = dict(timeline.verdicts), dict(timeline.parts)
    frozen.failures = {key: copy.copy(count) for key, count in timeline.failures.items()}
    return frozen


class _FrozenLevel(Level):
    """An open level whose figures no longer change."""

    def __init__(self, level: Level) -> None:
        super().__init__(level.opened, level.first_index, level.opened_index)
        self._figures, self._endpoints, self._settled_s = level.figures, level.endpoints, level.settled_s
        self._bins, self._histogram = level.bins, level.histogram.copy()

    @property
    def settled_s(self) -> float | None:
        return self._settled_s

    @property
    def histogram(self) -> LatencyHistogram:
        return self._histogram

    @property
    def bins(self) -> tuple[LevelBin, ...]:
        return self._bins
