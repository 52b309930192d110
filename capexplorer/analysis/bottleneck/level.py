"""One settled level as the rules see it: its figures, its readings by name, and what the machine allows the target.

A reading that was not taken is None, never zero: a rule that needs it says nothing, one that only leans on it says so. Must not
judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...model.events import HostFacts, LevelFigures
from ...model.events import Target as TargetEvent
from ...model.timeline import Level, Timeline
from ..generator import is_saturated
from ..ladder import LadderLevel, ladder_level, parts

TELLS_S = 5.5
"""Settled seconds from which a level that is still open is judged: before six batches have an error, its figures are guesses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A settled level, or a bin of a ramp."""

    level: Level
    figures: LevelFigures
    rates: LadderLevel
    """Users, goodput, latency with their standard errors."""
    host: HostFacts
    program: str | None
    """File name of the target's executable."""

    @property
    def users(self) -> float:
        """As wanted; of a ramp's bin as they were."""
        return self.rates.users if self.level.opened.ramp else float(self.level.users)

    def read(self, name: str) -> float | None:
        """The mean of a reading over the level (`target.cpu_ratio`); None: not measured."""
        return self.figures.readings.get(name)

    def missing(self, *names: str) -> tuple[str, ...]:
        """Those of these readings that were not taken."""
        return tuple(name for name in names if name not in self.figures.readings)

    @property
    def cores_allowed(self) -> float | None:
        """Cores that the target may use: its affinity, and its cgroup's quota as far as we share the cgroup."""
        known = [self.read("target.cpus_allowed") or self.host.cpus, self.host.cgroup_cpus]
        return min((float(cores) for cores in known if cores), default=None)

    @property
    def cores_idle(self) -> float | None:
        """Cores of the host that nobody used."""
        busy = self.read("host.cpu_ratio")
        return None if busy is None or not self.host.cpus else max(0.0, self.host.cpus - busy)

    @property
    def target_is_here(self) -> bool:
        """Whether anything of the target was read: else the host's readings are those of the generator's machine alone."""
        return any(name.startswith("target.") for name in self.figures.readings)

    @property
    def is_one_python_process(self) -> bool:
        """Whether one global interpreter lock bounds all of it. A second process may be a master that only watches."""
        return (self.program or "").startswith("python") and (self.read("target.processes") or 1.0) < 2.5

    @property
    def failure_ratio(self) -> float:
        """Of all requests."""
        return self.figures.failure_ratio or 0.0

    @property
    def generator_saturated(self) -> bool:
        """Then the level says nothing about the target."""
        return is_saturated(self.figures) is True


def seen(timeline: Timeline, epoch: int) -> Iterator[Seen]:
    """Settled levels with users of an epoch in the order they ran, ramps as their bins."""
    host = timeline.header.host if timeline.header is not None else HostFacts()
    program = program_of(timeline)
    for level in timeline.levels:
        if level.opened.epoch != epoch or not level.users or not (level.closed or level.figures.settled_seconds >= TELLS_S):
            continue
        for users, figures in parts(level):
            if figures.settled and figures.goodput_rps is not None and users > 0:
                rates = ladder_level(users, figures)
                yield Seen(level=level, figures=figures, rates=rates, host=host, program=program)


def program_of(timeline: Timeline) -> str | None:
    """What runs as the target: as the system says, else as its command says."""
    told = [entry.program for entry in timeline.journal if isinstance(entry, TargetEvent) and entry.program]
    if told:
        return told[-1]
    command: Sequence[str] = timeline.header.target.command if timeline.header is not None else ()
    return command[0].replace("\\", "/").rpartition("/")[2] if command else None
