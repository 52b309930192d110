"""The epoch that marks, stop rules and the autopilot judge once a second; it is built at most once a second for all of them."""

from __future__ import annotations

from functools import cached_property

from ..analysis.epoch.epoch import Epoch, epoch_of
from ..model.timeline import Timeline


class CurrentEpoch:
    """Make a new one each second; valid until the next sample or level."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    @cached_property
    def epoch(self) -> Epoch:
        """The epoch of the latest level; the first one while there is none. Built on first use."""
        levels = self._timeline.levels
        return epoch_of(self._timeline, levels[-1].opened.epoch if levels else 0)
