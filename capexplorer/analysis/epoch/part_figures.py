"""Figures of some of a level's settled seconds, from columns: of its parts, and of seconds that other processes disturbed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from ...model.figures import LevelFigures
from ...model.level import Level
from ...model.slice import Slice
from ...model.timeline import Timeline
from ..knee.limit import REPLIED_LEAST

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


# -- failed replies ------------------------------------------------------------------------------------------------------------
# The failed requests of a level by HTTP status. Late timers of the generator cannot cause failures that have a status.


REFUSING = (429, 503)
"""Statuses by which a service refuses a request that it could read."""


def failures_by_status(timeline: Timeline, level: Level) -> Counter[int | None]:
    """Number of failed requests by HTTP status from a level's first settled second to its last; the key None: without a reply.

    Empty if it has not settled, or no request failed.
    """
    counts = Counter[int | None]()
    if level.figures.failures:
        settled = timeline.seconds_of(level)
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
