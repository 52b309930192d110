"""Figures of some of a level's settled seconds, from columns: of its parts, and of seconds that other processes disturbed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from ...model.figures import Latency, LevelFigures
from ...model.level import Level
from ...model.level_fold import LevelFold, batch_error
from ...model.offered import Drops, OfferedFigures
from ...model.timeline import Timeline
from ..knee.limit import REPLIED_LEAST

# -- offered part --------------------------------------------------------------------------------------------------------------
# Counts of iterations in some seconds of a level of an offered rate, from columns: levels are cut where the service changed.


COLUMNS = (
    "duration_s", "offered_per_s", "planned", "finished", "dropped_per_s", "in_flight", "queued", "from_plan_sum_ms",
    "dropped_by_target", "dropped_at_stop",
)  # fmt: skip
"""Columns of the seconds that are read."""


def offered_part(timeline: Timeline, ticks: Sequence[int], whole: OfferedFigures) -> OfferedFigures:
    """Figures of some settled seconds of a level, at least one.

    Columns have no failed iterations: they are what remains of those planned and in flight. Drops by the generator, for whichever
    reason, are `max_users`.
    """
    columns = timeline.columns
    values = {name: [columns[name][tick] for tick in ticks] for name in COLUMNS}
    seconds = math.fsum(values["duration_s"])
    counts = ("planned", "finished", "dropped_by_target", "dropped_at_stop")
    planned, finished, by_target, at_stop = (round(math.fsum(values[name])) for name in counts)
    dropped = round(math.fsum(map(math.prod, zip(values["dropped_per_s"], values["duration_s"], strict=True))))
    before, after = round(columns["in_flight"][ticks[0] - 1] if ticks[0] else 0.0), round(values["in_flight"][-1])
    return OfferedFigures(
        offered_per_s=round(math.fsum(values["offered_per_s"]) / len(ticks), 6),
        planned=planned,
        finished=finished,
        failed=max(planned + before - after - finished - dropped, 0),
        dropped=Drops(target=by_target, stopped=at_stop, max_users=max(dropped - by_target - at_stop, 0)),
        in_flight_before=before,
        in_flight=after,
        miscounted=whole.miscounted,
        finished_per_s=finished / seconds,
        finished_se_per_s=batch_error(list(zip(values["finished"], values["duration_s"], strict=True))),
        in_flight_mean=math.fsum(values["in_flight"]) / len(ticks),
        queued_mean=math.fsum(values["queued"]) / len(ticks),
        from_plan_ms=Latency(mean=math.fsum(values["from_plan_sum_ms"]) / finished if finished else None),
    )


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
    """Figures of these seconds, with the readings of the whole level, except those in OF_NEIGHBOURS: these are means over the
    given seconds, since other processes may start and end inside a level.
    """
    known = {key: [timeline.columns[name][tick] for tick in ticks] for key, name in OF_NEIGHBOURS.items()}
    means = {key: math.fsum(values) / len(values) for key, values in known.items() if values}
    readings = {**level.figures.readings, **{key: mean for key, mean in means.items() if not math.isnan(mean)}}
    return msgspec.structs.replace(figures_of(timeline, ticks, level.figures.offered), readings=readings)


def figures_of(timeline: Timeline, ticks: Sequence[int], offered: OfferedFigures | None = None) -> LevelFigures:
    """Figures of some settled seconds of a level, without percentiles and readings of the machine.

    `offered`: the figures of the whole level, if it offered a rate.
    """
    fold = LevelFold(timeline.columns, ticks)
    figures = fold.figures()
    successes = figures.requests - figures.failures
    mean_ms = sum(fold.columns["latency_sum_ms"]) / successes if successes else None
    part = None if offered is None else offered_part(timeline, ticks, offered)
    return msgspec.structs.replace(figures, latency_ms=Latency(mean=mean_ms), offered=part)


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
