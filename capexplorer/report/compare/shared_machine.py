"""Whether other processes disturbed a level: then no difference of its figures is claimed.

Parts of a service that this app did not start (a database beside it) count as others too; on a full machine such a level is not
compared either.
"""

from __future__ import annotations

from ...analysis.causes.generator_saturation import others_cpu
from ...model.figures import LevelFigures

FULL_LEAST = 0.85
"""Share of the machine's CPU in use from which processes must wait for each other."""

OTHERS_LEAST = 0.1
"""Share of the machine's CPU of other processes from which they matter: beside busy neighbours p95 of an unchanged service moved
by up to +365% (docs/compare.md)."""


def is_held_by_others(figures: LevelFigures, cpus: int | None) -> bool:
    """Whether the machine's CPU was saturated with a share of other processes; False where that was not measured."""
    others = others_cpu(figures)
    if others is None or not cpus or figures.host_cpu_ratio is None:
        return False
    return figures.host_cpu_ratio >= FULL_LEAST * cpus and others >= OTHERS_LEAST * cpus
