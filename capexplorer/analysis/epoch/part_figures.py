"""Figures of some of a level's settled seconds, from columns: of its parts, and of seconds that other processes disturbed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from ...model.figures import Latency, LevelFigures
from ...model.level import Level
from ...model.level_fold import LevelFold
from ...model.offered import OfferedFigures
from ...model.timeline import Timeline
from .offered_part import offered_part

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
