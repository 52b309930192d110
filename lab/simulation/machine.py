"""Probe readings of the machine on which a simulated service runs.

Simulated work is CPU: the service has one core for each of its servers, the generator has another one. A neighbour is a number
of busy processes on each core that leave the service a share `speed` of the CPU: all cores are busy, and for each second of
CPU the service and the load thread wait 1/speed - 1 seconds for a core. Real neighbours made a service wait longer: 0.8 to 4 s
for 0.15 to 0.3 s of CPU, while they used 1.7 to 1.9 of two cores (docs/faults.md, rows neighbour-*).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capexplorer.model.readings import GeneratorReading, HostReading, NeighboursReading, TargetReading

from .queues import System

IDLE_CPU = 0.1
"""Cores that the generator uses beside the CPU of its requests."""

QUIET_CPU = 0.03
"""Cores that other processes use on a quiet machine."""

QUIET_DELAY = 0.02
"""Seconds of waiting for a core for each second of CPU, on a quiet machine."""

DELAY_SPREAD = 0.3
"""Standard deviation of the logarithm of a second's run delay (lognormal), since the use by other processes varies."""


@dataclass(frozen=True, slots=True)
class Machine:
    """All readings of one second."""

    generator: GeneratorReading
    host: HostReading
    target: TargetReading
    neighbours: NeighboursReading


def cores_of(system: System) -> int:
    """Number of cores of the machine."""
    return system.servers + 1


def machine(system: System, at_s: float, busy_s: float, sent: int, rng: np.random.Generator) -> Machine:
    """Readings of the second that begins at `at_s`, in which the service's servers were busy for `busy_s` in total, and `sent`
    requests were sent. Beside a neighbour a part of `busy_s` is time for which servers wait for a core.
    """
    crowded = system.trouble.by_neighbour and system.trouble.now(at_s)
    cores, speed = cores_of(system), system.trouble.speed if crowded else 1.0
    target_cpu = min(busy_s, system.servers) * speed
    generator_cpu = IDLE_CPU + sent * system.generator_s
    others_cpu = max(QUIET_CPU, cores - target_cpu - generator_cpu) if crowded else QUIET_CPU
    delay = (1 / speed - 1 + QUIET_DELAY) * float(rng.lognormal(0.0, DELAY_SPREAD))
    return Machine(
        generator=GeneratorReading(
            cpu_ratio=generator_cpu,
            process_cpu_ratio=generator_cpu,
            run_delay_ratio=min(generator_cpu * delay, max(0.0, 1 - generator_cpu)),
            loop_lag_p99_ms=5.0 if crowded else 1.0,
        ),
        host=HostReading(cpu_ratio=min(float(cores), target_cpu + generator_cpu + others_cpu), load_average_1m=0.5),
        target=TargetReading(
            pid=1,
            processes=1,
            threads=system.servers,
            cpu_ratio=target_cpu,
            cpus_allowed=system.servers,
            busiest_thread_ratio=target_cpu / system.servers,
            run_delay_ratio=target_cpu * delay,
        ),
        neighbours=NeighboursReading(cpu_ratio=others_cpu, processes={"busy": others_cpu} if crowded else {}),
    )
