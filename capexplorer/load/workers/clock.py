"""A worker's clock against the master's, measured by round trips. Pure: times are passed in.

The offset of the trip that took least is the best one (as NTP has it): it is wrong by half of that trip at most.
"""

from __future__ import annotations

from collections import deque

TRIPS = 8
"""Latest round trips among which the shortest is taken: clocks drift by some us a second."""


class ClockOffset:
    """What to add to a worker's time to have the master's."""

    def __init__(self) -> None:
        self._trips: deque[tuple[float, float]] = deque(maxlen=TRIPS)
        """(seconds it took, offset)."""

    def trip(self, sent_s: float, worker_s: float, received_s: float) -> None:
        """A message that left at `sent_s` came back at `received_s`, with the worker's time."""
        self._trips.append((received_s - sent_s, (sent_s + received_s) / 2 - worker_s))

    @property
    def is_known(self) -> bool:
        """Whether a trip was made."""
        return bool(self._trips)

    @property
    def offset_s(self) -> float:
        """0 until a trip was made."""
        return min(self._trips)[1] if self._trips else 0.0

    @property
    def error_s(self) -> float | None:
        """Half of the shortest trip."""
        return min(self._trips)[0] / 2 if self._trips else None
