"""One look at a run, once a second: the epoch that marks, stop rules and the autopilot judge, built at most once for all."""

from __future__ import annotations

from functools import cached_property

from ..analysis.epoch.epoch import Epoch, epoch_of
from ..model.timeline import Timeline


class CurrentEpoch:
    """Valid until the next sample or level."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    @cached_property
    def epoch(self) -> Epoch:
        """The epoch of the latest level; the first one while there is none. Built when it is first asked for."""
        levels = self._timeline.levels
        return epoch_of(self._timeline, levels[-1].opened.epoch if levels else 0)
