"""Short stalls inside a settled level: seconds without any reply while requests wait, after which the service goes on as before.

They are too short to be a state of the service (`regime.PART_LEAST_S`), so that nothing else names them. The level's figures
contain them: they happened at its load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from ...model.level import Level
from ...model.timeline import Timeline
from ..statistics import Series
from .failing_seconds import BUSY_PERCENTILE, CLEAN_MOST

SECONDS_LEAST, SECONDS_MOST = 2, 5
"""Whole seconds without a reply. More are a regime of their own (`regime.PART_LEAST_S`)."""

BUSY_LEAST = 10
"""Requests in a usual second (BUSY_PERCENTILE of the level's): two such seconds have none by chance with e^-20."""

LAG_MOST_MS = 500.0
"""Loop lag in these seconds, or the next one, from which the generator stalled and not the service."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A stall of the service."""

    at_s: float
    """Start of the first second without a reply, in seconds of the session."""
    seconds: int
    """Whole seconds without a reply; the stall itself is up to two seconds longer."""


_known: WeakKeyDictionary[Level, tuple[int, tuple[Stall, ...]]] = WeakKeyDictionary()
"""Results by level, with the number of its settled seconds: conclusions are drawn many times as a level grows."""


def stalls_of(timeline: Timeline, level: Level) -> tuple[Stall, ...]:
    """The short stalls in the settled seconds of a level, in order; none for a ramp."""
    ticks = [] if level.opened.ramp else timeline.seconds_of(level)
    known = _known.get(level)
    if known is None or known[0] != len(ticks):
        names = ("requests", "failures", "max_ms", "loop_lag_p99_ms")
        series = [np.array([timeline.columns[name][tick] for tick in ticks], float) for name in names]
        times = [timeline.columns["t_s"][tick] - timeline.columns["duration_s"][tick] for tick in ticks]
        known = _known[level] = (len(ticks), tuple(Stall(times[first], seconds) for first, seconds in stalls(*series)))
    return known[1]


def stalls(requests: Series, failures: Series, longest_ms: Series, lag_p99_ms: Series) -> Iterator[tuple[int, int]]:
    """(index of the first second without a reply, number of such seconds) of each stall. Series: one value per second.

    The second after a stall has a request that waited for all of it, and hardly a failure. So users who pause together are none.
    """
    if not len(requests) or float(np.percentile(requests, BUSY_PERCENTILE)) < BUSY_LEAST:
        return
    for first, end in _runs(requests == 0):
        waited = longest_ms[end] >= 1000.0 * (end - first)
        lags = np.nanmax(lag_p99_ms[first : end + 1], initial=0.0)
        is_short = SECONDS_LEAST <= end - first <= SECONDS_MOST
        if is_short and waited and lags <= LAG_MOST_MS and failures[end] <= CLEAN_MOST * requests[end]:
            yield first, end - first


def _runs(silent: Sequence[bool] | Series) -> Iterator[tuple[int, int]]:
    """(first index, index after the last) of each run of true values that does not begin or end the series."""
    first = None
    for index, now in enumerate(silent):
        if now and first is None:
            first = index
        elif not now and first is not None:
            if first > 0:
                yield first, index
            first = None
