"""What a screen draws from, as protocols: a source of events, a clock, a recording, and the summary of a saved session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from .events import Ended, Event
from .timeline import Timeline


class EventSource(Protocol):
    """A source of events: a live run, or a log. Events are not pushed: the consumer takes them when it is ready."""

    def start(self, wake: Callable[[], None]) -> None:
        """Begin. `wake` is called from any thread, often, whenever `take` has something new; it must not block."""

    def take(self) -> Sequence[Event]:
        """All events since the last call, in order; empty when there are none. Never blocks."""

    def close(self) -> None:
        """End the run or close the log. Returns when everything is saved; may be called twice."""


Clock = Callable[[], float]
"""Monotonic seconds; passed in so that tests can set them."""


# -- The protocol of a recording: a saved session, or one that is being saved, at any moment.
#
# `replay` implements it and `tui` draws from it; neither imports the other.

Landmark = Literal["level", "mark", "note"]
"""Kinds of times to which a replay can jump."""


class Recording(Protocol):
    """A session at any moment. The log is read in parts: events of parts that are not read yet are missing."""

    @property
    def id(self) -> str:
        """Id of the session."""

    @property
    def follows(self) -> bool:
        """Whether more events may follow, because another process still records the session."""

    @property
    def duration_s(self) -> float:
        """Time of the latest event that was read."""

    @property
    def read_ratio(self) -> float:
        """Share of the file that was read, 0 to 1."""

    @property
    def ended(self) -> Ended | None:
        """The session's end; None if it is missing or not read yet."""

    @property
    def notes(self) -> Sequence[str]:
        """What was left out when the log was read, one line each."""

    def read_on(self, for_s: float) -> bool:
        """Read more of the log, for about `for_s` seconds. False if there was nothing more (yet). Raises SessionError."""

    def prepare(self, for_s: float) -> bool:
        """Build the index that makes jumps fast, for about `for_s` seconds, after the log was read. False if it is complete."""

    def at(self, t_s: float) -> Timeline:
        """The timeline at `t_s`: of all events up to then, and no later one. Returns the same object as the last call if no event
        lies between both times.
        """

    def landmarks(self, kind: Landmark) -> Sequence[float]:
        """Ascending times at which levels opened, marks were made, closed or retracted, or notes were written."""

    def next_tick(self, t_s: float, direction: int) -> float | None:
        """Time of the tick after (`direction` 1) or before (-1) the one at `t_s`; None at the ends."""

    def close(self) -> None:
        """Close the file; may be called twice."""


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a saved session, for lists. If `problem` is set, all but `id`, `path` and `size_bytes` may be unknown."""

    id: str
    path: Path
    size_bytes: int
    started_at: str | None = None
    """Wall time, ISO 8601 with offset."""
    profile: str | None = None
    target: str | None = None
    label: str | None = None
    duration_s: float | None = None
    levels: int | None = None
    complete: bool = False
    """Whether its last event is `ended`."""
    problem: str | None = None
    """Why it cannot be opened, in one line."""
