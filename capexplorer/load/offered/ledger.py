"""The outcomes of iterations, passed from the load thread to the recorder's by a deque of entries, which are added up once a
tick.

Each entry moves one iteration from one state to another. So planned = finished + failed + dropped + queued + running holds at any
entry at which a tick ends. Each entry also has the load thread's own count of iterations in flight, which shows missing entries.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Sequence

from ...model.histogram import LatencyHistogram
from ...model.offered import NO_DROPS, Drops, OfferedTick

Entry = tuple[str, float, int]
"""(what happened; seconds: how late an arrival was handled, or the time from plan of a finished iteration; iterations in flight
after it, as counted in the load thread)."""

_ARRIVALS = ("started", "queued", "max_users", "target", "starting", "late")
"""The outcomes of an arrival; all but the first two are reasons for which it was dropped."""


class Ledger:
    """`record` in the load thread, `drain` in the recorder's."""

    def __init__(self) -> None:
        self.per_s: float | None = None
        """The rate of the schedule; None: no rate is offered. Set in the load thread."""
        self._entries: deque[Entry] = deque()
        self.record = self._entries.append
        self._queued = self._running = 0

    def drain(self) -> OfferedTick | None:
        """The iterations since the last call; None if no rate is offered and no iteration is or was in flight."""
        per_s = self.per_s
        entries = [self._entries.popleft() for _ in range(len(self._entries))]
        if per_s is None and not entries and not self._queued and not self._running:
            return None
        counts = Counter(what for what, _, _ in entries)
        started = counts["started"] + counts["dequeued"]
        self._queued += counts["queued"] - counts["dequeued"] - counts["unqueued"]
        self._running += started - counts["finished"] - counts["failed"] - counts["abandoned"]
        from_plan_ms = [seconds * 1000 for what, seconds, _ in entries if what == "finished"]
        late_ms = sorted(seconds * 1000 for what, seconds, _ in entries if what in _ARRIVALS)
        histogram = LatencyHistogram()
        histogram.record_us([value * 1000 for value in from_plan_ms])
        return OfferedTick(
            offered_per_s=per_s or 0.0,
            planned=sum(counts[what] for what in _ARRIVALS),
            started=started,
            finished=counts["finished"],
            failed=counts["failed"],
            dropped=_drops(counts),
            queued=self._queued,
            running=self._running,
            in_flight_counted=entries[-1][2] if entries else None,
            from_plan=histogram.encode() if histogram.count else None,
            from_plan_sum_ms=math.fsum(from_plan_ms),
            **histogram.of_tick(),
            late_p50_ms=_rank(late_ms, 0.50),
            late_p99_ms=_rank(late_ms, 0.99),
            late_max_ms=_rank(late_ms, 1.0),
        )


def _drops(counts: Counter[str]) -> Drops:
    found = Drops(
        max_users=counts["max_users"],
        target=counts["target"],
        starting=counts["starting"],
        late=counts["late"],
        stopped=counts["unqueued"] + counts["abandoned"],
    )
    return found if found.total else NO_DROPS


def _rank(values: Sequence[float], q: float) -> float | None:
    """The quantile `q` of sorted values by nearest rank; None without values."""
    return values[max(0, math.ceil(q * len(values)) - 1)] if values else None
