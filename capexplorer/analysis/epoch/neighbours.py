"""Whether other processes on the machine ("neighbours") disturbed a level by using CPU that it needed (docs/knee.md, section 2).

Other processes do no harm while cores are idle. A level is *disturbed* if all of these hold: others use a relevant part of the
machine; the service (or the load thread) waited for a core, by its run delay; it would have used much more CPU without them; and
CPU is what its requests need. The goodput of a disturbed level is a lower bound of what the service can do. So a disturbed level
on the low-load line still shows that the service keeps up; one below the line shows nothing about knee or capacity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from ...model.events import HostFacts, Target
from ...model.figures import LevelFigures
from ...model.timeline import Timeline
from ..causes.generator_saturation import OTHERS_LEAST, WITHHELD_LEAST, others_cpu, readings_at_level
from ..knee.knee_lines import KneeLines
from ..ladder import LadderLevel, requests_inside
from ..statistics import FULL, MOSTLY, NOTABLE, RELEVANT

# -- Which program the target runs, and whether one Python interpreter lock limits the whole target.

PROCESSES_MOST = 2.5
"""A target with fewer processes in the mean is a single process: a second one may be a supervisor."""


def program_of(timeline: Timeline) -> str | None:
    """File name of the target's program, as reported by the system, else from its command; None if not known."""
    reported = [entry.program for entry in timeline.journal if isinstance(entry, Target) and entry.program]
    if reported:
        return reported[-1]
    command: Sequence[str] = timeline.header.target.command if timeline.header is not None else ()
    return command[0].replace("\\", "/").rpartition("/")[2] if command else None


def is_one_python_process(program: str | None, processes: float | None) -> bool:
    """Whether one global interpreter lock limits the whole target."""
    return (program or "").startswith("python") and (processes or 1.0) < PROCESSES_MOST


SERIAL_LEAST = 0.80
"""A service is serial, and can use one core, if at least this share of its CPU time is in one thread."""


class Withheld(msgspec.Struct, frozen=True):
    """CPU that other processes withheld from a level."""

    others_cpu_ratio: float
    """Cores that other processes used."""
    of_goodput: bool
    """Whether goodput was lowered: the service wanted nearly all cores that it can use, or the load thread its own. If not,
    requests only took longer, and goodput describes the service."""


class NeighbourCheck(msgspec.Struct, frozen=True):
    """Facts about the machine and the service's program that hold for all levels of a session."""

    host: HostFacts
    program: str | None
    low_load_ms: float | None = None
    """Least mean response time of a level; None: not known."""

    @classmethod
    def of(cls, timeline: Timeline, epoch: int) -> NeighbourCheck:
        """The facts in the session's header and journal, and in the levels of an epoch."""
        levels = (level.figures for level in timeline.levels if level.opened.epoch == epoch and level.figures.settled)
        served = (each.response_ms for each in levels if (each.failure_ratio or 0.0) <= NOTABLE)
        low_load_ms = min((each for each in served if each), default=None)
        return cls(timeline.header.host if timeline.header is not None else HostFacts(), program_of(timeline), low_load_ms)

    def withheld(self, figures: LevelFigures) -> Withheld | None:
        """CPU that other processes withheld from a level; None if it was not relevant or is not known."""
        others = others_cpu(figures)
        if others is None or others < OTHERS_LEAST:
            return None
        is_starved = readings_at_level(figures).starved
        if not (is_starved or self._is_withheld_from_service(figures, others)):
            return None
        return Withheld(others, of_goodput=is_starved or self._lowers_goodput(figures))

    def _withheld_ratio(self, figures: LevelFigures, cpu: float, others: float) -> float:
        """Upper bound of the further cores that the service would have used if no other process had run."""
        usable = self._cores_usable(figures, cpu)
        delay = figures.readings.get("target.run_delay_ratio", math.inf)
        return min(others, delay, math.inf if usable is None else usable - cpu)

    def _lowers_goodput(self, figures: LevelFigures) -> bool:
        """Whether the service wanted nearly all cores that it can use, or its waits for a core make users' cycles longer."""
        cpu, delay = (figures.readings.get(f"target.{name}_ratio") for name in ("cpu", "run_delay"))
        usable = self._cores_usable(figures, cpu or 0.0)
        if cpu is None or delay is None or usable is None or not figures.users_mean:
            return True
        wants_its_cores = self._wants_its_cores(figures, cpu, delay, usable)
        if wants_its_cores or figures.offered is not None:
            return wants_its_cores  # arrivals at a rate do not wait for replies
        return delay >= NOTABLE * figures.users_mean

    def _wants_its_cores(self, figures: LevelFigures, cpu: float, delay: float, usable: float | None) -> bool:
        """Whether the service ran on or waited for nearly all cores that it can use. One with few slots cannot use them all: it
        needs to want one, if most requests inside wait for others, and those that it works on, by the response time at low load,
        take longer by its waits for a core (a Go service with one slot wanted 1.4 of 2 cores for 0.7 requests, with 14 inside).
        """
        if usable is not None and cpu + delay >= FULL * usable:
            return True
        rate, response_ms, low_load_ms = figures.throughput_rps, figures.response_ms, self.low_load_ms
        fails = (figures.failure_ratio or 0.0) > NOTABLE
        if rate is None or response_ms is None or low_load_ms is None or fails or cpu + delay < FULL:
            return False
        working = requests_inside(rate, low_load_ms)
        return delay >= WITHHELD_LEAST * working and working + delay <= MOSTLY * requests_inside(rate, response_ms)

    def _is_withheld_from_service(self, figures: LevelFigures, others: float) -> bool:
        cpu, delay = (figures.readings.get(f"target.{name}_ratio") for name in ("cpu", "run_delay"))
        if cpu is None or self._waits_for_something_else(figures):
            return False
        if delay is None:
            return self._is_full(figures, others)
        if self._withheld_ratio(figures, cpu, others) < WITHHELD_LEAST * cpu:
            return False
        return self._wants_its_cores(figures, cpu, delay, self._cores_usable(figures, cpu)) or _needs_cpu(figures, cpu + delay)

    def _waits_for_something_else(self, figures: LevelFigures) -> bool:
        """Whether a quota throttled the service, or cores that it may use were idle."""
        readings, cores = figures.readings, self.host.cpus
        if readings.get("target.throttled_ratio", 0.0) > NOTABLE:
            return True
        busy, allowed = readings.get("host.cpu_ratio"), readings.get("target.cpus_allowed")
        if busy is None or not cores or (allowed is not None and allowed < cores):
            return False
        return cores - busy >= max(1.0, MOSTLY * cores)

    def _is_full(self, figures: LevelFigures, others: float) -> bool:
        busy, cores = figures.readings.get("host.cpu_ratio"), self.host.cpus
        return busy is not None and bool(cores) and busy >= FULL * (cores or 0) and others >= RELEVANT * (cores or 0)

    def _cores_usable(self, figures: LevelFigures, cpu: float) -> float | None:
        """Cores that the service can use: one if it is serial, else one per worker process, at most those that it may use."""
        readings = figures.readings
        busiest, processes = readings.get("target.busiest_thread_ratio"), readings.get("target.processes") or 1.0
        allowed = [readings.get("target.cpus_allowed") or self.host.cpus, self.host.cgroup_cpus]
        most = min((float(cores) for cores in allowed if cores), default=None)
        if is_one_python_process(self.program, processes) or (busiest is not None and busiest >= SERIAL_LEAST * cpu):
            return 1.0
        workers = processes - 1
        return most if processes < PROCESSES_MOST else workers if most is None else min(most, workers)


def _needs_cpu(figures: LevelFigures, wanted: float) -> bool:
    """Whether CPU is what its requests need. `wanted`: cores it ran on or waited for."""
    if (figures.failure_ratio or 0.0) > NOTABLE:
        return False
    rate, response_ms = figures.throughput_rps, figures.response_ms
    return rate is not None and response_ms is not None and wanted >= RELEVANT * requests_inside(rate, response_ms)


def disturbance_of(withheld: Withheld | None) -> tuple[bool, bool]:
    """(whether a level was disturbed, whether its goodput was lowered)."""
    return withheld is not None, withheld is not None and withheld.of_goodput


def usable_levels(levels: Sequence[LadderLevel]) -> tuple[LadderLevel, ...]:
    """The levels that describe the service: those whose goodput was not lowered, and of the others those on the low-load line.

    The line is fitted to the levels whose goodput was not lowered, or to all if there is none. A lowered level is left out if
    another level of the same users was not lowered.
    """
    free = [level for level in levels if not level.goodput_disturbed]
    if len(free) == len(levels) or not levels:
        return tuple(levels)
    counts = {round(level.users) for level in free}
    lines = KneeLines.of(free or levels)
    rate = lines.knees.rps_per_user if lines is not None else 0.0
    return tuple(
        level for level in levels if not level.goodput_disturbed or (round(level.users) not in counts and _on_line(level, rate))
    )


LINEAR_LIKELY = 0.93
"""A disturbed level that reaches this share of the low-load line within two standard errors lost nothing by it (docs/knee.md,
section 2)."""


def _on_line(level: LadderLevel, rate: float) -> bool:
    return level.goodput_rps > 0 and level.goodput_rps + 2 * level.goodput_error_rps >= LINEAR_LIKELY * rate * level.users
