"""Whether other processes of the machine disturbed a level by using CPU that it needed (docs/knee.md, section 2).

Others that use CPU do no harm while cores are left. A level is *disturbed* if all of this is so: others use a relevant part of
the machine; the service (or the load thread) waited for a core, by its run delay; it would have used much more CPU without
them; and CPU is what its requests need. What a disturbed level finished is a lower bound of what the service can do. So a
disturbed level that lies on the low-load line still shows that the service keeps up, and one below the line shows nothing: no
knee, no capacity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...model.events import HostFacts
from ...model.figures import LevelFigures
from ...model.timeline import Timeline
from ..causes.generator_saturation import grounds_of, others_cpu
from ..causes.saturation_grounds import OTHERS_LEAST
from ..knee.crossing import LINEAR_LIKELY, crossing, curve_of
from ..ladder import LadderLevel, pooled
from .service_program import is_one_python_process, program_of

WITHHELD_LEAST = 0.15
"""CPU time that others withheld from the service, over the CPU time that it had. Without them it could have done so much more
work; less is within the accuracy of a knee (10%)."""

SERIAL_LEAST = 0.80
"""Share of a service's CPU time in one thread from which it is serial: it can use one core."""

WANTED_LEAST = 0.85
"""Cores that the service ran on or waited for, over those that it can use, from which CPU is what it needs."""

WANTED_OF_REQUESTS = 0.30
"""The same over the requests inside it (Little's law): 0.36 and more for a CPU-bound service on two crowded cores, 0.01 for one
that waits for a lock (measured). A rate limiter beside busy neighbours: 0.00 to 0.07."""

OF_CYCLE_LEAST = 0.05
"""Share of the users' time that goes to the service's waits for a core, from which less is finished: a level is off the line at
7%."""

HOST_FULL = 0.95
OTHERS_NOTABLE = 0.25
"""Shares of the machine's cores, in use at all and used by others, from which a level without a run delay is disturbed."""

IDLE_MOST = 0.5
"""Share of the machine's cores that may be idle, and at least one core: with more, a service that may run on all of them waits
for something else."""

THROTTLED_MOST = 0.05
"""Share of time for which a quota may hold the service back: with more, its waits are the quota's."""

WORKERS_LEAST = 2
"""Processes beside the first from which they are counted as its workers, with one core each."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """What other processes withheld from a level."""

    others_cpu_ratio: float
    """Cores that they used."""
    of_goodput: bool
    """The service wanted nearly all cores that it can use, or the load thread its own: less was finished. Else requests only took
    longer, and what was finished is the service's own."""


@dataclass(frozen=True, slots=True)
class NeighbourCheck:
    """Facts about the machine and the service's program that hold for all levels of a session."""

    host: HostFacts
    program: str | None

    @classmethod
    def of(cls, timeline: Timeline) -> NeighbourCheck:
        """From the header and the journal."""
        return cls(timeline.header.host if timeline.header is not None else HostFacts(), program_of(timeline))

    def withheld(self, figures: LevelFigures) -> Withheld | None:
        """What other processes withheld from a level; None: no relevant amount, or unknown."""
        others = others_cpu(figures)
        if others is None or others < OTHERS_LEAST:
            return None
        is_starved = grounds_of(figures).starved
        if not (is_starved or self._from_service(figures, others)):
            return None
        return Withheld(others, of_goodput=is_starved or self._lowers_goodput(figures))

    def may_matter(self, figures: LevelFigures) -> bool:
        """Whether others withheld a relevant amount of CPU from the service, if CPU is what it needed."""
        cpu, others = figures.readings.get("target.cpu_ratio"), others_cpu(figures)
        return cpu is not None and others is not None and self._withheld_ratio(figures, cpu, others) >= WITHHELD_LEAST * cpu

    def _withheld_ratio(self, figures: LevelFigures, cpu: float, others: float) -> float:
        """Upper bound of the cores that the service would have used in addition if no other process had run."""
        usable = self._cores_usable(figures, cpu)
        delay = figures.readings.get("target.run_delay_ratio", math.inf)
        return min(others, delay, math.inf if usable is None else usable - cpu)

    def _lowers_goodput(self, figures: LevelFigures) -> bool:
        """Whether the service wanted nearly all that it can use, or its waits for a core make users' cycles longer."""
        cpu, delay = (figures.readings.get(f"target.{name}_ratio") for name in ("cpu", "run_delay"))
        usable = self._cores_usable(figures, cpu or 0.0)
        if cpu is None or delay is None or usable is None or not figures.users_mean:
            return True
        if cpu + delay >= WANTED_LEAST * usable or figures.offered is not None:
            return cpu + delay >= WANTED_LEAST * usable  # arrivals at a rate do not wait for replies
        return delay >= OF_CYCLE_LEAST * figures.users_mean

    def _from_service(self, figures: LevelFigures, others: float) -> bool:
        cpu, delay = (figures.readings.get(f"target.{name}_ratio") for name in ("cpu", "run_delay"))
        if cpu is None or self._waits_for_no_neighbour(figures):
            return False
        if delay is None:
            return self._is_full(figures, others)
        relevant = self._withheld_ratio(figures, cpu, others) >= WITHHELD_LEAST * cpu
        return relevant and _needs_cpu(figures, cpu + delay, self._cores_usable(figures, cpu))

    def _waits_for_no_neighbour(self, figures: LevelFigures) -> bool:
        """Whether a quota held it back, or cores were left that it could have used."""
        readings, cores = figures.readings, self.host.cpus
        if readings.get("target.throttled_ratio", 0.0) > THROTTLED_MOST:
            return True
        busy, allowed = readings.get("host.cpu_ratio"), readings.get("target.cpus_allowed")
        if busy is None or not cores or (allowed is not None and allowed < cores):
            return False
        return cores - busy >= max(1.0, IDLE_MOST * cores)

    def _is_full(self, figures: LevelFigures, others: float) -> bool:
        busy, cores = figures.readings.get("host.cpu_ratio"), self.host.cpus
        return busy is not None and bool(cores) and busy >= HOST_FULL * (cores or 0) and others >= OTHERS_NOTABLE * (cores or 0)

    def _cores_usable(self, figures: LevelFigures, cpu: float) -> float | None:
        """Cores that it can use: one if it is serial, else one a worker process, at most those that it may use."""
        readings = figures.readings
        busiest, processes = readings.get("target.busiest_thread_ratio"), readings.get("target.processes") or 1.0
        allowed = [readings.get("target.cpus_allowed") or self.host.cpus, self.host.cgroup_cpus]
        most = min((float(cores) for cores in allowed if cores), default=None)
        if is_one_python_process(self.program, processes) or (busiest is not None and busiest >= SERIAL_LEAST * cpu):
            return 1.0
        workers = processes - 1
        return most if workers < WORKERS_LEAST else workers if most is None else min(most, workers)


def _needs_cpu(figures: LevelFigures, wanted: float, usable: float | None) -> bool:
    """Whether the service wanted nearly all cores that it can use, or its requests ran or waited for one most of their time."""
    if usable is not None and wanted >= WANTED_LEAST * usable:
        return True
    rate, response_ms = figures.throughput_rps, figures.response_ms
    return rate is not None and response_ms is not None and wanted >= WANTED_OF_REQUESTS * rate * response_ms / 1000


def disturbance_of(withheld: Withheld | None) -> tuple[bool, bool]:
    """Whether a level was disturbed, and whether its goodput suffered."""
    return withheld is not None, withheld is not None and withheld.of_goodput


def usable_levels(levels: Sequence[LadderLevel]) -> tuple[LadderLevel, ...]:
    """The levels that describe the service: those that were not disturbed, and of the disturbed ones those on the low-load line.

    The line is that of the levels that were not disturbed; without any, that of all. A disturbed level says nothing
    where another level of the same users was not disturbed.
    """
    free = [level for level in levels if not level.goodput_disturbed]
    if len(free) == len(levels) or not levels:
        return tuple(levels)  # a level whose requests only took longer is free: its goodput is the service's own
    counts = {round(level.users) for level in free}
    rate = crossing(curve_of(pooled(free or levels))).rate if any(level.goodput_rps > 0 for level in free or levels) else 0.0
    return tuple(
        level for level in levels if not level.goodput_disturbed or (round(level.users) not in counts and _on_line(level, rate))
    )


def _on_line(level: LadderLevel, rate: float) -> bool:
    return level.goodput_rps > 0 and level.goodput_rps + 2 * level.goodput_error_rps >= LINEAR_LIKELY * rate * level.users
