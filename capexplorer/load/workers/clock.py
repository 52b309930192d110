"""The offset between a worker's clock and the master's, measured by round trips. Pure: times are passed in.

As in NTP, the offset of the shortest trip is taken, whose error is at most half of that trip.
"""

from __future__ import annotations

from collections import deque

TRIPS = 8
"""Number of latest round trips among which the shortest is taken: clocks drift by some microseconds a second."""


class ClockOffset:
    """The seconds to add to a worker's time for the master's time."""

    def __init__(self) -> None:
        self._trips: deque[tuple[float, float]] = deque(maxlen=TRIPS)
        """(duration, offset) of each trip, in seconds."""

    def trip(self, sent_s: float, worker_s: float, received_s: float) -> None:
        """A message that left at `sent_s` came back at `received_s`, with the worker's time."""
        self._trips.append((received_s - sent_s, (sent_s + received_s) / 2 - worker_s))

    @property
    def is_known(self) -> bool:
        """Whether a trip was made."""
        return bool(self._trips)

    @property
    def offset_s(self) -> float:
        """The offset of the shortest trip; 0 before the first trip."""
        return min(self._trips)[1] if self._trips else 0.0

    @property
    def error_s(self) -> float | None:
        """The largest possible error: half of the shortest trip; None before the first trip."""
        return min(self._trips)[0] / 2 if self._trips else None
