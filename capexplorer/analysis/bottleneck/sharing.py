"""Findings about the run: the generator or other processes take CPU from the service.

They are no bottleneck of the service. On a machine of its own it might have a higher capacity; how much higher is not known.
"""

from __future__ import annotations

from ...model.findings import Readings
from .found import Found
from .measured_level import MeasuredLevel

NEIGHBOURS = "noisy_neighbours"

FULL_LEAST = 0.85
"""The machine is nearly full from this share of its cores in use; below that the service could still get another core."""

SHARE_LEAST = 0.10
"""Least share of the busy cores that the generator uses, for it to be relevant."""

OURS_LEAST = 0.70
"""Least share of the busy cores that generator and service use together; if they use less, other programs fill the machine."""


def generator_shares_host(level: MeasuredLevel) -> Found | None:
    """The machine is nearly full, and the generator uses a relevant part of it."""
    busy, cores, target = level.read("host.cpu_ratio"), level.host.cpus, level.read("target.cpu_ratio")
    generator = _generator(level)
    if busy is None or not cores or target is None or generator is None or busy < FULL_LEAST * cores:
        return None
    if generator < SHARE_LEAST * busy or generator + target < OURS_LEAST * busy:
        return None
    readings: Readings = {"generator_share_ratio": generator / busy, "generator_cpu_ratio": generator, "target_cpu_ratio": target}
    return Found("generator_shares_host", {**readings, "host_cpu_ratio": busy, "cores": cores})


def _generator(level: MeasuredLevel) -> float | None:
    """Cores used by all processes of the generator on this machine."""
    workers = level.read("workers.here_cpu_ratio")
    return level.read("generator.process_cpu_ratio") if workers is None else workers


def noisy_neighbours(level: MeasuredLevel) -> Found | None:
    """Other processes used CPU that the service, or the load thread, or a watched part needed on its machine."""
    withheld, cores = level.withheld, level.host.cpus
    if withheld is None:
        return None
    readings: Readings = {"others_cpu_ratio": withheld.others_cpu_ratio, **({"cores": cores} if cores else {})}
    if level.figures.other_processes and level.part is None:  # names are read on the generator's machine alone
        readings["processes"] = ", ".join(f"{name} {ratio:.2f}" for name, ratio in level.figures.other_processes.items())
    names = {
        "target_cpu_ratio": "target.cpu_ratio",
        "target_run_delay_ratio": "target.run_delay_ratio",
        "cpu_pressure_ratio": "host.cpu_pressure_ratio",
    }
    if level.part is None:
        names |= {"generator_cpu_ratio": "generator.cpu_ratio", "generator_run_delay_ratio": "generator.run_delay_ratio"}
    known = {name: level.read(reading) for name, reading in names.items()}
    readings |= {name: value for name, value in known.items() if value is not None}
    return Found(NEIGHBOURS, readings, level.missing("target.run_delay_ratio"))
