"""Whether the generator was saturated at a level, from the level's means. It is always tested first (docs/causes.md).

`saturation_readings` decides what saturated means; `saturation_over_seconds` tests the latest seconds of a level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, median

from ...model.figures import LevelFigures
from .saturation_readings import QUIET_MOST, SaturationReadings

# -- known values --------------------------------------------------------------------------------------------------------------
# Sums, means and remainders of figures that may not have been measured (None).


def remainder(whole: float | None, *parts: float | None) -> float | None:
    """The whole minus its parts, at least 0; None without parts, and if the whole or a part was not measured."""
    known = all_known(parts)
    return max(0.0, whole - sum(known)) if whole is not None and known else None


def mean_of_known(values: Sequence[float | None]) -> float | None:
    """Mean of the values that were measured; None if none was."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def mean_of_all(values: Sequence[float | None]) -> float | None:
    """Mean of all values; None if one was not measured."""
    known = all_known(values)
    return fmean(known) if known else None


def median_of_known(values: Sequence[float | None]) -> float | None:
    """Median of the values that were measured; None if none was."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def all_known(values: Sequence[float | None]) -> list[float]:
    """All of the values if each was measured; else an empty list."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


CYCLES_LEAST = 3.0
"""Requests per user from which Little's law is applied: with fewer, the requests in flight make a stalled service look like time
lost in the generator."""

PROCESS_THEN_THREADS = ("process_cpu_ratio", "cpu_ratio", "screen_cpu_ratio", "recorder_cpu_ratio")
"""Readings of the generator: the whole process first, then its threads that are known by name."""


def is_saturated(figures: LevelFigures, outside_requests_ms: float = 0.0) -> bool | None:
    """Whether the generator was saturated at a settled level; None if the load thread's CPU was not measured (imports).

    `outside_requests_ms`: the result of `time_outside_requests_ms`.
    """
    return readings_at_level(figures, outside_requests_ms).saturated


def time_outside_requests_ms(levels: Iterable[LevelFigures]) -> float:
    """Time per cycle that users spend outside responses and pauses, in ms, measured at the level with the fewest users.

    0 if it is not known, or the load thread had no spare time at that level.
    """
    known = [(figures, lost_ms) for figures in levels if (lost_ms := _unaccounted_ms(figures)) is not None]
    if not known:
        return 0.0
    fewest, lost_ms = min(known, key=lambda each: each[0].users_mean or 0.0)
    busy = _busy_ratio(fewest)
    return max(0.0, lost_ms) if busy is not None and busy < QUIET_MOST else 0.0


def readings_at_level(figures: LevelFigures, outside_requests_ms: float = 0.0) -> SaturationReadings:
    """The generator's readings at a level."""
    unaccounted_ms = _unaccounted_ms(figures)
    return SaturationReadings(
        busy_ratio=_busy_ratio(figures),
        threads_ratio=remainder(*(figures.readings.get(f"generator.{name}") for name in PROCESS_THEN_THREADS)),
        loop_lag_p99_ms=figures.loop_lag_p99_ms,
        loop_lag_p50_ms=figures.readings.get("generator.loop_lag_p50_ms"),
        little_ratio=little_ratio(figures, outside_requests_ms),
        unaccounted_ms=None if unaccounted_ms is None else unaccounted_ms - outside_requests_ms,
        target_cpu_ratio=figures.target_cpu_ratio,
        listen_queue=figures.readings.get("target.listen_queue"),
        run_delay_ratio=figures.generator_run_delay_ratio,
        others_cpu_ratio=others_cpu(figures),
    )


def others_cpu(figures: LevelFigures) -> float | None:
    """Cores used by other processes. In older logs without this reading: those of the host minus those of target and generator.

    None if it is not known: a service whose CPU was not measured may itself use these cores.
    """
    readings = figures.readings
    known, target = readings.get("neighbours.cpu_ratio"), readings.get("target.cpu_ratio")
    if known is not None or target is None:
        return known
    return remainder(readings.get("host.cpu_ratio"), target, readings.get("generator.process_cpu_ratio"))


def little_ratio(figures: LevelFigures, outside_requests_ms: float = 0.0) -> float | None:
    """N / (X (R + Z)), where Z is the mean pause of users plus `outside_requests_ms`.

    None if one of them is not known, if too few cycles were measured, and at an offered rate, whose pool has idle users.
    """
    if figures.offered is not None:
        return None
    if figures.pause_s is None or figures.response_ms is None or not figures.users_mean or not figures.throughput_rps:
        return None
    if figures.counted and 0 < figures.requests < CYCLES_LEAST * figures.users_mean:
        return None
    cycles = figures.throughput_rps * ((figures.response_ms + outside_requests_ms) / 1000 + figures.pause_s)
    return figures.users_mean / cycles if cycles else None


def _busy_ratio(figures: LevelFigures) -> float | None:
    cpu = figures.generator_cpu_ratio
    return None if cpu is None else cpu + (figures.generator_run_delay_ratio or 0.0)


def _unaccounted_ms(figures: LevelFigures) -> float | None:
    if little_ratio(figures) is None or not figures.users_mean or not figures.throughput_rps:
        return None
    return 1000 * (figures.users_mean / figures.throughput_rps - (figures.pause_s or 0.0)) - (figures.response_ms or 0.0)
