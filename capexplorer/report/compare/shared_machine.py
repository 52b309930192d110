"""Whether other processes on a saturated machine may have changed the figures of a level, so that no difference is claimed.

Stricter than the verdict's rule (`analysis.epoch.neighbours`), which allows for changes within the accuracy of a knee, while a
comparison claims differences from 2% on. Processes that capexplorer neither started nor watches count as other processes.
"""

from __future__ import annotations

from ...analysis.causes.generator_saturation import others_cpu
from ...model.figures import LevelFigures
from ...model.reading_means import readings_of_parts
from .difference import LEAST_RATIO

FULL_LEAST = 0.85
"""Share of the machine's CPU in use from which processes must wait for each other."""

OTHERS_LEAST = 0.1
"""Share of the machine's CPU from which other processes matter: with busy ones, p95 of an unchanged service rose by up to 365%
(docs/compare.md)."""

WAITS_MOST = LEAST_RATIO
"""Share of the time up to which service and load thread may wait for a core without a difference that could be claimed. A thread
that waits may have the only place of a pool, so goodput may fall by this share."""

_DELAY = "target.run_delay_ratio"


def is_disturbed(figures: LevelFigures, cpus: int | None) -> bool:
    """Whether the machine's CPU was saturated, other processes had a share of it, and service or load thread may have waited for
    a core; False if use of the CPU was not measured.
    """
    others = others_cpu(figures)
    if others is None or not cpus or figures.host_cpu_ratio is None:
        return False
    is_shared = figures.host_cpu_ratio >= FULL_LEAST * cpus and others >= OTHERS_LEAST * cpus
    return is_shared and not _waits_for_no_core(figures)


def _waits_for_no_core(figures: LevelFigures) -> bool:
    """Whether service, watched parts and load thread together wait for at most WAITS_MOST of the time, and of the time that
    requests are inside the service (Little's law). False if that was not measured.
    """
    readings, rate, response_ms = figures.readings, figures.throughput_rps, figures.response_ms
    own = [readings.get(name) for name in (_DELAY, "generator.run_delay_ratio")]
    known = [delay for delay in own if delay is not None]
    if len(known) < len(own) or rate is None or response_ms is None:
        return False
    of_parts = sum(part.get(_DELAY, 0.0) for part in readings_of_parts(readings).values())
    return sum(known) + of_parts <= WAITS_MOST * min(1.0, rate * response_ms / 1000)
