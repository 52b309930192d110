"""Whether the generator was saturated at a level, by the level's means. It is always tested first (docs/causes.md).

What counts as saturated is decided in `saturation_grounds`; single seconds are looked at in `saturation_over_seconds`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...model.figures import LevelFigures
from .known_values import rest
from .saturation_grounds import QUIET_MOST, SaturationGrounds

CYCLES_LEAST = 3.0
"""Requests a user from which Little's law is applied: with fewer, requests in flight make a stalled service look like a slow
loop."""

PROCESS = ("process_cpu_ratio", "cpu_ratio", "screen_cpu_ratio", "recorder_cpu_ratio")
"""Readings of the generator: the whole process first, then its threads that are known by name."""


def is_saturated(figures: LevelFigures, own_ms: float = 0.0) -> bool | None:
    """Of a settled level; `own_ms`: see `own_time_ms`. None where the load thread's CPU was not measured (imports)."""
    return grounds_of(figures, own_ms).saturated


def own_time_ms(levels: Iterable[LevelFigures]) -> float:
    """The part of a user's cycle outside responses and the pauses that it chose, measured at the level with the fewest users.

    0 if it is not known or the load thread had no time to spare at that level.
    """
    known = [(figures, lost_ms) for figures in levels if (lost_ms := _unaccounted_ms(figures)) is not None]
    if not known:
        return 0.0
    fewest, lost_ms = min(known, key=lambda each: each[0].users_mean or 0.0)
    busy = _busy_ratio(fewest)
    return max(0.0, lost_ms) if busy is not None and busy < QUIET_MOST else 0.0


def grounds_of(figures: LevelFigures, own_ms: float = 0.0) -> SaturationGrounds:
    """From the means of a level."""
    unaccounted_ms = _unaccounted_ms(figures)
    return SaturationGrounds(
        busy_ratio=_busy_ratio(figures),
        threads_ratio=rest(*(figures.readings.get(f"generator.{name}") for name in PROCESS)),
        loop_lag_p99_ms=figures.loop_lag_p99_ms,
        loop_lag_p50_ms=figures.readings.get("generator.loop_lag_p50_ms"),
        little_ratio=little_ratio(figures, own_ms),
        unaccounted_ms=None if unaccounted_ms is None else unaccounted_ms - own_ms,
        target_cpu_ratio=figures.target_cpu_ratio,
        listen_queue=figures.readings.get("target.listen_queue"),
        run_delay_ratio=figures.generator_run_delay_ratio,
        others_cpu_ratio=others_cpu(figures),
    )


def others_cpu(figures: LevelFigures) -> float | None:
    """Cores used by other processes. In logs from before that was a reading: the host's less the target's and the generator's.

    None where it cannot be known: a service whose CPU was not measured may itself be what uses them.
    """
    readings = figures.readings
    known, target = readings.get("neighbours.cpu_ratio"), readings.get("target.cpu_ratio")
    if known is not None or target is None:
        return known
    return rest(readings.get("host.cpu_ratio"), target, readings.get("generator.process_cpu_ratio"))


def little_ratio(figures: LevelFigures, own_ms: float = 0.0) -> float | None:
    """N / (X (R + Z)) with Z the mean pause that users chose, plus `own_ms`.

    None if one of them is not known or too few cycles were measured, and at an offered rate, whose pool has idle users.
    """
    if figures.offered is not None:
        return None
    if figures.pause_s is None or figures.response_ms is None or not figures.users_mean or not figures.throughput_rps:
        return None
    if figures.counted and 0 < figures.requests < CYCLES_LEAST * figures.users_mean:
        return None
    cycles = figures.throughput_rps * ((figures.response_ms + own_ms) / 1000 + figures.pause_s)
    return figures.users_mean / cycles if cycles else None


def _busy_ratio(figures: LevelFigures) -> float | None:
    cpu = figures.generator_cpu_ratio
    return None if cpu is None else cpu + (figures.generator_run_delay_ratio or 0.0)


def _unaccounted_ms(figures: LevelFigures) -> float | None:
    if little_ratio(figures) is None or not figures.users_mean or not figures.throughput_rps:
        return None
    return 1000 * (figures.users_mean / figures.throughput_rps - (figures.pause_s or 0.0)) - (figures.response_ms or 0.0)
