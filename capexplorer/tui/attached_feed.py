"""The feed of a run in another process: it follows the log, and gets the state of the controls over a connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..model.recording import Recording
from ..model.timeline import Timeline
from .feed import Change
from .playback import Playback
from .recorded_feed import RecordedFeed

LOOK_S = 0.2
"""Seconds between checks for new lines: commands of other screens are in the log at once, samples once a second."""


class Link(Protocol):
    """The connection to the run."""

    def poll(self) -> bool:
        """Take the messages that have arrived. Returns whether the state has changed."""

    def notices(self) -> list[str]:
        """Messages of the run for the user; each is returned once."""


class AttachedFeed:
    """Shows the end of `recording` while it grows. The caller closes the recording and the link."""

    def __init__(self, recording: Recording, link: Link) -> None:
        self._recorded = RecordedFeed(recording, Playback(follows=True), look_s=LOOK_S)
        self._link = link

    @property
    def timeline(self) -> Timeline:
        """The timeline as of the last `take`."""
        return self._recorded.timeline

    @property
    def pause_s(self) -> float:
        """Seconds to the next `take`; 0 while the log is being read."""
        return self._recorded.pause_s

    def start(self, wake: Callable[[], None]) -> None:
        """Begin to read."""
        self._recorded.start(wake)

    def take(self) -> Change:
        """Take in new lines of the log and new states of the controls."""
        is_different = self._link.poll()
        change = self._recorded.take()
        return Change.STATUS if is_different and change is Change.NOTHING else change

    def notices(self) -> Sequence[str]:
        """Notices on lines of the log that were left out, and messages of the run."""
        return [*self._recorded.notices(), *self._link.notices()]
