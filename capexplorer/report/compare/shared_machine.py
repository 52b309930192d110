"""Whether other processes held the machine during a level: then its figures are partly theirs, and no difference is claimed.

Others' CPU is the host's less that of the target, its generator and this app. Parts of a service that this app did not start (a
database beside it) count as others too; on a full machine such a level is not compared either.
"""

from __future__ import annotations

from ...model.figures import LevelFigures

FULL_LEAST = 0.85
"""Share of the machine's CPU in use from which processes wait for each other."""

OTHERS_LEAST = 0.1
"""Share of the machine's CPU of other processes from which they matter: beside busy neighbours p95 of an unchanged service moved
by up to +365% (docs/compare.md)."""


def others_cpu(figures: LevelFigures) -> float | None:
    """Cores that neither target, generator nor this app used; None where one of them was not measured."""
    host, target, generator = figures.host_cpu_ratio, figures.target_cpu_ratio, figures.generator_cpu_ratio
    if host is None or target is None or generator is None:
        return None
    own = sum(figures.readings.get(f"generator.{name}", 0.0) for name in ("screen_cpu_ratio", "recorder_cpu_ratio"))
    return max(0.0, host - target - generator - own)


def is_held_by_others(figures: LevelFigures, cpus: int | None) -> bool:
    """Whether the machine was full and others had a part in it; False where that was not measured."""
    others = others_cpu(figures)
    if others is None or not cpus or figures.host_cpu_ratio is None:
        return False
    return figures.host_cpu_ratio >= FULL_LEAST * cpus and others >= OTHERS_LEAST * cpus
