"""Figures of some of a level's settled seconds, from columns: of its parts, and of seconds that other processes disturbed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
import numpy.ma  # np.percentile imports it at its first call, when a generator may be out of descriptors
from msgspec.structs import replace

from ...model.figures import LevelFigures
from ...model.level import Level
from ...model.slice import Slice
from ...model.timeline import Timeline
from ..knee.knee_lines import REPLIED_LEAST
from ..statistics import NOTABLE, Series

OF_NEIGHBOURS = {
    "neighbours.cpu_ratio": "others_cpu_ratio",
    "host.cpu_ratio": "host_cpu_ratio",
    "target.cpu_ratio": "target_cpu_ratio",
    "target.run_delay_ratio": "target_run_delay_ratio",
}
"""Readings that show whether other processes use the CPU that a part of a level needs (`neighbours`), and their columns."""


def seconds_of_part(timeline: Timeline, level: Level, started_s: float, ended_s: float | None) -> list[int]:
    """Column indices of a level's settled seconds between these times, in seconds of the session. `ended_s`: None for no end."""
    times = timeline.columns["t_s"]
    return [
        tick for tick in timeline.seconds_of(level) if started_s < times[tick] and (ended_s is None or times[tick] <= ended_s)
    ]


def part_figures(timeline: Timeline, level: Level, ticks: Sequence[int]) -> LevelFigures:
    """Figures of these seconds, without percentiles. Readings of the machine are those of the whole level, except those in
    OF_NEIGHBOURS: these are means over the given seconds, since other processes may start and end inside a level.
    """
    known = {key: [timeline.columns[name][tick] for tick in ticks] for key, name in OF_NEIGHBOURS.items()}
    means = {key: math.fsum(values) / len(values) for key, values in known.items() if values}
    readings = {**level.figures.readings, **{key: mean for key, mean in means.items() if not math.isnan(mean)}}
    figures, whole = Slice(timeline.columns, ticks).figures(), level.figures.offered
    offered = None if whole is None or figures.offered is None else replace(figures.offered, miscounted=whole.miscounted)
    return replace(figures, readings=readings, offered=offered)


# -- The failed requests of a level by HTTP status. Late timers of the generator cannot cause failures that have a status.

REFUSING = (429, 503)
"""Statuses by which a service refuses a request that it could read."""


def failures_by_status(timeline: Timeline, level: Level) -> Counter[int | None]:
    """Number of failed requests by HTTP status from a level's first settled second to its last; the key None: without a reply.

    Empty if it has not settled, no request failed, or its seconds are missing in the log.
    """
    counts = Counter[int | None]()
    if level.figures.failures and (settled := timeline.seconds_of(level)):
        for failure in timeline.failures.values():
            counts[failure.signature.status] += failure.between(settled[0], settled[-1])
    return +counts


def replied_shares(timeline: Timeline, level: Level) -> tuple[float, float] | None:
    """(share of a level's failed requests with any HTTP status, share with one in REFUSING); None without failures."""
    counts = failures_by_status(timeline, level)
    total = counts.total()
    return (1 - counts[None] / total, sum(counts[status] for status in REFUSING) / total) if total else None


def refused_status(timeline: Timeline, level: Level) -> int | None:
    """The status in REFUSING that nearly all failed requests of a level have; None without one."""
    counts = failures_by_status(timeline, level)
    return next((status for status in REFUSING if counts[status] and counts[status] >= REPLIED_LEAST * counts.total()), None)


# -- Short stalls inside a settled level: seconds without any reply while requests wait, after which the service goes on as
# before.
#
# They are too short to be a state of the service (`regime.SECONDS_LEAST`), so that nothing else names them. The level's figures
# contain them: they happened at its load.

STALLED_LEAST_S, STALLED_MOST_S = 2, 5
"""Whole seconds without a reply. More are a regime of their own (`regime.SECONDS_LEAST`)."""

BUSY_PERCENTILE, STALLED_BUSY_LEAST = 75, 10
"""This percentile of a level's requests per second is a usual second, and the requests that it must have: two such seconds have
none by chance with e^-20."""

STALLED_LAG_MOST_MS = 500.0
"""Loop lag in these seconds, or the next one, from which the generator stalled and not the service."""


class Stall(msgspec.Struct, frozen=True):
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
    if not len(requests) or float(np.percentile(requests, BUSY_PERCENTILE)) < STALLED_BUSY_LEAST:
        return
    for first, end in _runs(requests == 0):
        waited = longest_ms[end] >= 1000.0 * (end - first)
        lags = np.nanmax(lag_p99_ms[first : end + 1], initial=0.0)
        is_short = STALLED_LEAST_S <= end - first <= STALLED_MOST_S
        if is_short and waited and lags <= STALLED_LAG_MOST_MS and failures[end] <= NOTABLE * requests[end]:
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
