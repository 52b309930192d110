"""Iterations of a rate level's settled seconds, added up: counts, drops by reason, and the histogram of time from plan."""

from __future__ import annotations

from collections.abc import Iterable

from .histogram import LatencyHistogram, merged
from .offered import Drops, OfferedTick

MOST_WAITING = 512
"""Encoded histograms kept until they are asked for: about 80 KB, and 1 ms to merge."""


class OfferedSums:
    """`ticks` is 0 at a level of users."""

    def __init__(self) -> None:
        self.ticks = 0
        self.planned = self.started = self.finished = self.failed = 0
        self.dropped = Drops()
        self.in_flight_before = self.in_flight = 0
        self.from_plan_sum_ms = 0.0
        self.late_max_ms: float | None = None
        self.miscounted = False
        self._histogram = LatencyHistogram()
        self._waiting: list[str] = []

    @property
    def histogram(self) -> LatencyHistogram:
        """Time from plan of finished iterations."""
        if self._waiting:
            self._histogram.add(merged(self._waiting))
            self._waiting.clear()
        return self._histogram

    def add(self, tick: OfferedTick | None) -> None:
        """Fold one second."""
        if tick is None:
            return
        if not self.ticks:
            self.in_flight_before = tick.in_flight_before
        self.ticks += 1
        self._count(tick, 1)
        self.in_flight = tick.in_flight
        self.miscounted = self.miscounted or tick.is_miscounted
        if tick.late_max_ms is not None:
            self.late_max_ms = max(tick.late_max_ms, self.late_max_ms or 0.0)
        if tick.from_plan:
            self._waiting.append(tick.from_plan)
            if len(self._waiting) >= MOST_WAITING:
                _ = self.histogram

    def _count(self, tick: OfferedTick, sign: int) -> None:
        self.planned += sign * tick.planned
        self.started += sign * tick.started
        self.finished += sign * tick.finished
        self.failed += sign * tick.failed
        self.dropped = self.dropped + tick.dropped if sign > 0 else self.dropped - tick.dropped
        self.from_plan_sum_ms += sign * tick.from_plan_sum_ms

    def copy(self) -> OfferedSums:
        """An independent copy."""
        twin = OfferedSums()
        for name in vars(self).keys() - {"_histogram", "_waiting"}:
            setattr(twin, name, getattr(self, name))
        twin._histogram = self.histogram.copy()
        return twin

    def without(self, later: Iterable[OfferedTick | None]) -> OfferedSums:
        """An independent copy without these ticks, the last ones that were added. The greatest lateness stays."""
        twin, ticks = self.copy(), [tick for tick in later if tick is not None]
        for tick in ticks:
            twin._count(tick, -1)
        if ticks:
            twin.ticks -= len(ticks)
            twin.in_flight = ticks[0].in_flight_before
            twin._histogram.subtract(merged([tick.from_plan for tick in ticks if tick.from_plan]))
        return twin
