"""What a replay draws from: a saved session (or one that is being saved) at any moment of it.

Implemented by `replay`, drawn by `tui`; neither knows the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from .events import Ended
from .timeline import Timeline

Landmark = Literal["level", "mark", "note"]
"""Moments to jump to."""


class Recording(Protocol):
    """A session's events by time. It is read part by part: what is not read yet is not there yet."""

    @property
    def id(self) -> str:
        """Of the session."""

    @property
    def follows(self) -> bool:
        """Whether more may come: another process is recording it."""

    @property
    def duration_s(self) -> float:
        """Time of the latest event that was read."""

    @property
    def read_ratio(self) -> float:
        """How much of the file was read, 0 to 1."""

    @property
    def ended(self) -> Ended | None:
        """How it ended; None if the end was not read yet or is missing."""

    @property
    def notes(self) -> Sequence[str]:
        """What was left out of it, a line each."""

    def read_on(self, for_s: float) -> bool:
        """Read for about `for_s`. False when there was nothing (yet). Raises SessionError."""

    def prepare(self, for_s: float) -> bool:
        """Once all is read: get ready, for about `for_s`, what makes jumps quick. False when there is nothing left to do."""

    def at(self, t_s: float) -> Timeline:
        """The timeline as it was known at `t_s`: of all events up to then, and of no other.

        The same object as last time while nothing happened in between.
        """

    def landmarks(self, kind: Landmark) -> Sequence[float]:
        """When levels opened, marks were made, closed or retracted, notes were written; ascending."""

    def next_tick(self, t_s: float, direction: int) -> float | None:
        """Time of the tick after (1) or before (-1) the one that is known at `t_s`; None at the ends."""

    def close(self) -> None:
        """Close the file; may be called twice."""
