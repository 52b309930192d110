"""Whether a queue at an offered rate was in steady state: all arrivals were served, and the work in flight did not drift.

Above the capacity latency grows as long as a level lasts, without a change of the service. Only in steady state does a change of
latency show that the service changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.timeline import Timeline
from ..rates.level_state import GROWTH_ERRORS, LOST_LEAST


def is_steady(timeline: Timeline, ticks: Sequence[int], at: int) -> bool:
    """Whether these seconds are steady both before index `at` and from it on. `at` must be at least 1."""
    parts = ticks[:at], ticks[at:]
    return all(_is_served(timeline, part) for part in parts) and not any(
        _drifts(timeline, part) for part in (ticks, ticks[at - 1 :])
    )


def _is_served(timeline: Timeline, ticks: Sequence[int]) -> bool:
    columns = timeline.columns
    failures, requests = (math.fsum(columns[name][tick] for tick in ticks) for name in ("failures", "requests"))
    dropped = math.fsum(columns["dropped_per_s"][tick] * columns["duration_s"][tick] for tick in ticks)
    return failures + dropped <= LOST_LEAST * (requests + dropped)


def _drifts(timeline: Timeline, ticks: Sequence[int]) -> bool:
    """Whether iterations in flight changed by more than a random walk does that takes a step at each arrival and each end."""
    columns = timeline.columns
    steps = math.fsum(columns["planned"][tick] + columns["finished"][tick] for tick in ticks[1:]) + 1
    return abs(columns["in_flight"][ticks[-1]] - columns["in_flight"][ticks[0]]) > GROWTH_ERRORS * math.sqrt(steps)
