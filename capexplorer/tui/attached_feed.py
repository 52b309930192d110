"""Feed of a run of another process: it follows the log, and gets the state of the controls over a connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..model.recording import Recording
from ..model.timeline import Timeline
from .feed import Change
from .playback import Playback
from .recorded_feed import RecordedFeed

LOOK_S = 0.2
"""Between looks for new lines: what another screen did is in the log at once, and seconds are once a second."""


class Link(Protocol):
    """The connection to the run."""

    def poll(self) -> bool:
        """Take the messages that have arrived. Returns whether the state has changed."""

    def notices(self) -> list[str]:
        """Messages of the run for a person; each is returned once."""


class AttachedFeed:
    """The end of `recording` as it grows. The caller closes both."""

    def __init__(self, recording: Recording, link: Link) -> None:
        self._recorded = RecordedFeed(recording, Playback(follows=True), look_s=LOOK_S)
        self._link = link

    @property
    def timeline(self) -> Timeline:
        """As of the last `take`."""
        return self._recorded.timeline

    @property
    def pause_s(self) -> float:
        """No pause while the log is read in."""
        return self._recorded.pause_s

    def start(self, wake: Callable[[], None]) -> None:
        """Begin to read."""
        self._recorded.start(wake)

    def take(self) -> Change:
        """What is new in the log, and of the controls."""
        is_different = self._link.poll()
        change = self._recorded.take()
        return Change.STATUS if is_different and change is Change.NOTHING else change

    def notices(self) -> Sequence[str]:
        """What was left out of the log, and what the run said."""
        return [*self._recorded.notices(), *self._link.notices()]
