"""Sums over the settled seconds of a level of an offered rate: counts of iterations, drops by reason, times from plan."""

from __future__ import annotations

from collections.abc import Iterable

from .histogram import LatencyHistogram, merged
from .histogram_sum import HistogramSum
from .offered import Drops, OfferedTick


class OfferedSums:
    """Sums of the ticks that were added. For a level of users `ticks` is 0."""

    def __init__(self) -> None:
        self.ticks = 0
        self.planned = self.started = self.finished = self.failed = 0
        self.dropped = Drops()
        self.in_flight_before = self.in_flight = 0
        self.from_plan_sum_ms = 0.0
        self.late_max_ms: float | None = None
        self.miscounted = False
        self._from_plan = HistogramSum()

    @property
    def histogram(self) -> LatencyHistogram:
        """Time from plan of finished iterations."""
        return self._from_plan.histogram

    def add(self, tick: OfferedTick | None) -> None:
        """Add one settled second; None: no rate was offered in it."""
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
            self._from_plan.add(tick.from_plan)

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
        for name in vars(self).keys() - {"_from_plan"}:
            setattr(twin, name, getattr(self, name))
        twin._from_plan = self._from_plan.copy()
        return twin

    def without(self, later: Iterable[OfferedTick | None]) -> OfferedSums:
        """An independent copy without these ticks, the last ones that were added. `late_max_ms` is not reduced."""
        twin, ticks = self.copy(), [tick for tick in later if tick is not None]
        for tick in ticks:
            twin._count(tick, -1)
        if ticks:
            twin.ticks -= len(ticks)
            twin.in_flight = ticks[0].in_flight_before
            twin.histogram.subtract(merged([tick.from_plan for tick in ticks if tick.from_plan]))
        return twin
