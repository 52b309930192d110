"""What the generator takes of a machine that it shares with the service: no limit of its own, but a bound on what a run says.

On a machine of its own the service might get further; by how much, nobody can say from here. Must not name a bottleneck.
"""

from __future__ import annotations

from ...model.findings import Readings
from .found import Found
from .measured_level import MeasuredLevel

FULL_LEAST = 0.85
"""Of the cores: under it the service finds another one, whoever else runs."""

SHARE_LEAST = 0.10
"""Of the busy cores, had by the generator."""

OURS_LEAST = 0.70
"""Of the busy cores, had by generator and service together: else it is the neighbours that fill the machine."""


def generator_shares_host(level: MeasuredLevel) -> Found | None:
    """The machine is nearly full, and a part of it is the generator's."""
    busy, cores, target = level.read("host.cpu_ratio"), level.host.cpus, level.read("target.cpu_ratio")
    generator = level.read("generator.process_cpu_ratio")
    if busy is None or not cores or target is None or generator is None or busy < FULL_LEAST * cores:
        return None
    if generator < SHARE_LEAST * busy or generator + target < OURS_LEAST * busy:
        return None
    readings: Readings = {"generator_share_ratio": generator / busy, "generator_cpu_ratio": generator, "target_cpu_ratio": target}
    return Found("generator_shares_host", {**readings, "host_cpu_ratio": busy, "cores": cores})
