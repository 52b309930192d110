"""The source of the explorer screen's timeline: one protocol for all sessions that it can show.

- A live run is a `LiveFeed` over the run's events.
- A saved session is a `RecordedFeed`: replayed, or followed while another process records it.
- A run of another process is an `AttachedFeed`: its log is followed, and its controls are known over a connection.

A feed determines the order of events and the pace of time. It must not know panes, keys or Textual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Protocol

from ..model.timeline import Timeline


class Change(Enum):
    """How much of the screen must be redrawn."""

    NOTHING = "nothing"
    STATUS = "the status area, and the widgets below the panes"
    ENTRIES = "the status area, and the panes that list events"
    PANES = "the status area and all panes"


class Feed(Protocol):
    """Provides a session's timeline. The app sets the pace: it calls `take`; events are never pushed."""

    @property
    def timeline(self) -> Timeline:
        """The timeline as of the last `take`."""

    @property
    def pause_s(self) -> float | None:
        """Seconds from one `take` to the next; None: the next one follows a call of `wake`."""

    def start(self, wake: Callable[[], None]) -> None:
        """Begin. `wake` may be called from any thread whenever `take` has something new; it does not block."""

    def take(self) -> Change:
        """Bring the timeline up to date, in about 50 ms at most. Raises SessionError if the session cannot be read any more."""

    def notices(self) -> Sequence[str]:
        """New notices about the session, one line each; each is returned once."""
