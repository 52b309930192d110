"""How much of the machine the generator takes from the service: not a bottleneck of the service, but a limit of the run.

On a machine of its own the service might get further; how much further is not known.
"""

from __future__ import annotations

from ...model.findings import Readings
from .found import Found
from .measured_level import MeasuredLevel

FULL_LEAST = 0.85
"""Share of the cores in use, under which the service could still get another core."""

SHARE_LEAST = 0.10
"""Least share of the busy cores that the generator uses."""

OURS_LEAST = 0.70
"""Least share of the busy cores that generator and service use together; else other programs fill the machine."""


def generator_shares_host(level: MeasuredLevel) -> Found | None:
    """The machine is nearly full, and the generator uses a relevant part of it."""
    busy, cores, target = level.read("host.cpu_ratio"), level.host.cpus, level.read("target.cpu_ratio")
    generator = level.read("generator.process_cpu_ratio")
    if busy is None or not cores or target is None or generator is None or busy < FULL_LEAST * cores:
        return None
    if generator < SHARE_LEAST * busy or generator + target < OURS_LEAST * busy:
        return None
    readings: Readings = {"generator_share_ratio": generator / busy, "generator_cpu_ratio": generator, "target_cpu_ratio": target}
    return Found("generator_shares_host", {**readings, "host_cpu_ratio": busy, "cores": cores})
