"""The protocol of a replay's source: a saved session, or one being saved, at any time. `replay` implements it, `tui` draws from
it; neither imports the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from .events import Ended
from .timeline import Timeline

Landmark = Literal["level", "mark", "note"]
"""Kinds of times to which a replay can jump."""


class Recording(Protocol):
    """A session's events by time. The log is read in parts; events of parts not yet read are missing."""

    @property
    def id(self) -> str:
        """Of the session."""

    @property
    def follows(self) -> bool:
        """Whether more events may follow, because another process is recording the session."""

    @property
    def duration_s(self) -> float:
        """Time of the latest event that was read."""

    @property
    def read_ratio(self) -> float:
        """How much of the file was read, 0 to 1."""

    @property
    def ended(self) -> Ended | None:
        """The session's end; None if it is missing or not read yet."""

    @property
    def notes(self) -> Sequence[str]:
        """What was left out of the log when it was read, one line each."""

    def read_on(self, for_s: float) -> bool:
        """Read for about `for_s`. False when there was nothing (yet). Raises SessionError."""

    def prepare(self, for_s: float) -> bool:
        """After the log is read: build, for about `for_s`, the index that makes jumps fast. False when it is complete."""

    def at(self, t_s: float) -> Timeline:
        """The timeline as it was known at `t_s`: of all events up to then, and of no other.

        The same object as last time while nothing happened in between.
        """

    def landmarks(self, kind: Landmark) -> Sequence[float]:
        """When levels opened, marks were made, closed or retracted, notes were written; ascending."""

    def next_tick(self, t_s: float, direction: int) -> float | None:
        """Time of the tick after (1) or before (-1) the tick at `t_s`; None at the ends."""

    def close(self) -> None:
        """Close the file; may be called twice."""
