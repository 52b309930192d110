"""One settled level as the bottleneck rules read it: figures, readings by name, and what the machine allows the target.

A reading that was not taken is None, never zero. A rule that needs it finds nothing; one that can do without lists it as missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from errno import ENOSPC
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ...addresses import is_loopback
from ...model.events import HostFacts
from ...model.figures import LevelFigures
from ...model.findings import Readings
from ...model.level import Level
from ...model.load import Rate
from ...model.reading_means import CONNECTIONS_FULL_RATIO, part_key
from ...model.timeline import Timeline
from ..causes.generator_saturation import is_saturated, little_ratio, stretch
from ..epoch.level_seconds import refused_status, seconds_of_part
from ..epoch.measured_epoch import MeasuredEpoch
from ..epoch.neighbours import NeighbourCheck, Withheld, is_one_python_process, program_of
from ..ladder import LadderLevel, ladder_level, requests_inside
from ..statistics import NOTABLE, measured, remainder

REQUESTS_LEAST = 100
"""Requests from which times of a level are used: with 100, at waits of 0.5 to 1.5 s, throughput and wait have an error of 3%."""


EVIDENCE = {
    **dict.fromkeys(("run_delay_ratio", "target_run_delay_ratio"), "target.run_delay_ratio"),
    **{name: f"target.{name}" for name in (
        "busiest_thread_ratio", "threads", "throttled_ratio", "major_faults_per_s", "rss_bytes", "disk_free_bytes",
        "fds_fullest", "fds_limit", "fds_full_ratio", "listen_queue", "listen_backlog",
    )},
    **{name: f"host.{name}" for name in (
        "cpu_pressure_ratio", "memory_pressure_ratio", "io_pressure_ratio", "disk_busy_ratio", "swapped_in_per_s",
    )},
    **{f"{whose}_cpu_ratio": f"{whose}.cpu_ratio" for whose in ("target", "host", "generator")},
    "generator_run_delay_ratio": "generator.run_delay_ratio",
    "connections": "server.connections",
    "connections_limit": "server.connections_limit",
    "connections_full_ratio": CONNECTIONS_FULL_RATIO,
    "rejected_connections_per_s": "server.rejected_connections_per_s",
    "refused_readings_ratio": "server.refused_readings",
    **{name: f"server.{name}" for name in ("requests_running", "requests_waiting", "kv_cache_ratio", "preemptions_per_s")},
}  # fmt: skip
"""Readings of a level by the names that findings show; all other names are properties of `MeasuredLevel`."""


class MeasuredLevel(msgspec.Struct, frozen=True, kw_only=True):
    """A settled level, a part of a level that changed inside, or a bin of a ramp."""

    level: Level
    figures: LevelFigures
    rates: LadderLevel
    """Users, goodput and latency with their standard errors."""
    host: HostFacts
    """The machine of the target, or of `part`."""
    program: str | None
    """File name of the target's executable."""
    is_loopback: bool
    """Whether the target has an address of this machine, so that no network link is used."""
    reported_no_space: bool
    """Whether a failed request in it reported that no disk space was left (ENOSPC)."""
    withheld: Withheld | None
    """CPU that other processes withheld from the service; None if it was not relevant or is not known."""
    refused_status: int | None
    """The HTTP status, 429 or 503, that nine in ten of its failed requests have; None without one."""
    outside_requests_ms: float
    """Part of a user's cycle outside responses and waits (`generator_saturation.time_outside_requests_ms`)."""
    pacing_s: float | None = None
    """Time from the start of one task of a user to that of the next; None if users are not paced."""
    part: str | None = None
    """The watched part whose readings `read` returns; None: the target and its host."""

    @property
    def users(self) -> float:
        """The load: users of the level; for a bin of a ramp their mean; at an offered rate iterations a second."""
        is_own = self.level.opened.ramp or isinstance(self.level.load, Rate)
        return self.rates.users if is_own else float(self.level.users)

    def seconds(self, timeline: Timeline) -> list[int]:
        """Column indices of its settled seconds: of a level that changed inside, those of this part."""
        return seconds_of_part(timeline, self.level, self.rates.started_s, self.rates.ended_s)

    @property
    def served(self) -> float:
        """The load that a level without a limit shows to be served: at an offered rate not more than what arrived."""
        offered, seconds = self.figures.offered, self.figures.settled_seconds
        return self.users if offered is None or not seconds else min(self.users, offered.planned / seconds)

    def read(self, name: str) -> float | None:
        """The mean of a reading over the level (`target.cpu_ratio`); None: not measured."""
        return self.figures.readings.get(self._key(name))

    def busy(self, name: str) -> float | None:
        """A mean of CPU time, with what the hypervisor took of it; None: not measured."""
        read = self.read(name)
        return None if read is None else read * self.stretch

    def shown(self, name: str) -> Any:
        """What findings show by this name: a reading (EVIDENCE) or a property; None: not measured."""
        key = EVIDENCE.get(name)
        return getattr(self, name) if key is None else self.read(key)

    def named(self, *names: str) -> Readings:
        """What was measured of these, by name."""
        return measured(**{name: self.shown(name) for name in names})

    def missing(self, *names: str) -> tuple[str, ...]:
        """The names of those readings that were not taken."""
        return tuple(name for name in names if self._key(name) not in self.figures.readings)

    def _key(self, name: str) -> str:
        return name if self.part is None else part_key(self.part, name)

    @property
    def target_is_read(self) -> bool:
        """Whether its processes are read, not only its machine."""
        return self.read("target.cpu_ratio") is not None

    @property
    def goodput_disturbed(self) -> bool:
        """Whether other processes used so much CPU that goodput is only a lower bound of what the service can do."""
        return self.withheld is not None and self.withheld.of_goodput

    @property
    def cores(self) -> int | None:
        """Cores of the machine; None: not known."""
        return self.host.cpus or None

    @property
    def steal_share(self) -> float | None:
        """CPU time that the hypervisor gave to others, as a share of the machine's; None: little, or not known."""
        stolen = self.read("host.steal_ratio")
        return stolen / self.cores if stolen and self.cores and stolen > NOTABLE * self.cores else None

    @property
    def stretch(self) -> float:
        """How many times as long threads were busy as their CPU time says (`generator_saturation.stretch`)."""
        return stretch(self.read("host.cpu_ratio"), self.read("host.steal_ratio"))

    @property
    def little_ratio(self) -> float | None:
        """Users divided by those accounted for, by Little's law; None: not known."""
        return little_ratio(self.figures)

    @property
    def cores_allowed(self) -> float | None:
        """Cores that the target may use, by its CPU affinity and by the cgroup's quota; None: not known."""
        known = [self.read("target.cpus_allowed") or self.host.cpus, self.host.cgroup_cpus]
        return min((float(cores) for cores in known if cores), default=None)

    @property
    def cores_idle(self) -> float | None:
        """Idle cores of the host; None: not known."""
        busy = self.read("host.cpu_ratio")
        return remainder(self.cores, busy, self.read("host.steal_ratio") or 0.0)

    @property
    def target_is_here(self) -> bool:
        """Whether readings of the target exist; without them the target may run on another machine than the generator."""
        return any(name.startswith("target.") for name in self.figures.readings)

    @property
    def is_one_python_process(self) -> bool:
        """Whether one global interpreter lock limits the whole target."""
        return is_one_python_process(self.program, self.read("target.processes"))

    @property
    def requests_inside(self) -> float | None:
        """Mean number of requests inside the service; None: not known."""
        rate, response_ms = self.figures.throughput_rps, self.figures.response_ms
        return None if rate is None or response_ms is None else requests_inside(rate, response_ms)

    @property
    def failure_ratio(self) -> float:
        """Share of all requests that failed; 0 if not known."""
        return self.figures.failure_ratio or 0.0

    @property
    def generator_saturated(self) -> bool:
        """Whether the generator was saturated, so that the level does not describe the target."""
        if self.figures is self.level.figures:
            return self.rates.generator_saturated is True  # judged already
        return is_saturated(self.figures, self.outside_requests_ms) is True


def measured_levels(epoch: MeasuredEpoch, *, unexplained: bool = False) -> Iterator[MeasuredLevel]:
    """Settled levels with load, and bins of ramps, in the order they ran: those that load explains
    (`MeasuredEpoch.explained_by_load`), or with `unexplained` all others.
    """
    explained = epoch.explained_by_load
    known = {id(each) for each in explained}
    chosen = [each for each in epoch.measured if id(each) not in known] if unexplained else explained
    timeline = epoch.timeline
    host = timeline.header.host if timeline.header is not None else HostFacts()
    neighbours = NeighbourCheck.of(timeline, epoch.index)
    program, local = program_of(timeline), is_loopback_url(timeline.header.target.url if timeline.header else "")
    for each in chosen:
        if each.level.has_load:
            yield MeasuredLevel(
                level=each.level,
                figures=each.figures,
                rates=each.ladder_level,
                host=host,
                program=program,
                is_loopback=local,
                reported_no_space=reported_no_space(timeline, each.level),
                withheld=neighbours.withheld(each.figures),
                refused_status=refused_status(timeline, each.level),
                outside_requests_ms=epoch.outside_requests_ms,
                pacing_s=timeline.header.pacing_s if timeline.header is not None else None,
            )


def level_outside(timeline: Timeline, level: Level) -> MeasuredLevel | None:
    """A level that is in no curve; None if it has not settled."""
    header, figures = timeline.header, level.figures
    if header is None or figures.goodput_rps is None:
        return None
    return MeasuredLevel(
        level=level,
        figures=figures,
        rates=ladder_level(level.users, figures, started_s=level.started_s, ended_s=level.ended_s),
        host=header.host,
        program=program_of(timeline),
        is_loopback=is_loopback_url(header.target.url),
        reported_no_space=False,
        withheld=NeighbourCheck.of(timeline, level.opened.epoch).withheld(figures),
        refused_status=None,
        outside_requests_ms=0.0,
        pacing_s=header.pacing_s,
    )


def is_loopback_url(url: str) -> bool:
    """Whether the host of `url` is this machine; False if it cannot be parsed."""
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def reported_no_space(timeline: Timeline, level: Level) -> bool:
    """Whether a failure during the level reports ENOSPC, by errno or in the text of a reply."""
    began_s, ended_s = level.started_s, timeline.last_s if level.ended_s is None else level.ended_s
    return any(
        (failure.signature.errno == ENOSPC or "no space left" in failure.signature.text.lower())
        and failure.first_s <= ended_s
        and failure.last_s >= began_s
        for failure in timeline.failures.values()
    )


# -- The result of one rule at one level, before it becomes a finding of the whole epoch.

FindingKey = tuple[str, str | None]
"""(id, watched part; None: the target and its host)."""


class Found(msgspec.Struct, frozen=True):
    """What one rule found at one level."""

    id: str
    """An id of the catalogue."""
    readings: Readings = msgspec.field(default_factory=dict)
    """The named readings that show it."""
    unavailable: tuple[str, ...] = ()
    """Readings that would have increased the confidence but were not taken."""
    competing: tuple[str, ...] = ()
    """Ids of other findings that would explain the same readings."""
    part: str | None = None
    """The watched part that it is about; None: the target and its host."""

    @property
    def key(self) -> FindingKey:
        """What distinguishes it from other findings at the same level."""
        return self.id, self.part
