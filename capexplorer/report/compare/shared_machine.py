"""Whether other processes disturbed a level, so that no difference of its figures is claimed.

Parts of a service that capexplorer did not start, such as its database, count as other processes too.
"""

from __future__ import annotations

from ...analysis.causes.generator_saturation import others_cpu
from ...model.figures import LevelFigures

FULL_LEAST = 0.85
"""Share of the machine's CPU in use from which processes must wait for each other."""

OTHERS_LEAST = 0.1
"""Share of the machine's CPU from which other processes matter: with busy ones, p95 of an unchanged service rose by up to 365%
(docs/compare.md)."""


def is_disturbed(figures: LevelFigures, cpus: int | None) -> bool:
    """Whether the machine's CPU was saturated and other processes had a share of it; False if that was not measured."""
    others = others_cpu(figures)
    if others is None or not cpus or figures.host_cpu_ratio is None:
        return False
    return figures.host_cpu_ratio >= FULL_LEAST * cpus and others >= OTHERS_LEAST * cpus
