"""Bottlenecks of watched parts (a database, a proxy, another host), by the same rules and the same gate as for the target.

Nothing is concluded about a part that was not read throughout a level. A saturated resource of a machine is reported once per
machine, for the part that was named first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from ...model.events import PartState
from ...model.figures import LevelFigures
from ...model.findings import Readings
from ...model.reading_means import READ_RATIO, readings_of_parts
from ...model.timeline import Timeline
from ..causes.generator_saturation import WITHHELD_LEAST
from ..epoch.neighbours import NeighbourCheck, Withheld
from ..statistics import FULL, MOSTLY
from . import queue_rules, resource_rules
from .gate import Gate
from .measured_level import Found, MeasuredLevel
from .resource_rules import Rule

# -- Findings about the run: the generator or other processes take CPU from the service.
#
# They are no bottleneck of the service. On a machine of its own it might have a higher capacity; how much higher is not known.

NEIGHBOURS = "noisy_neighbours"


def generator_shares_host(level: MeasuredLevel) -> Found | None:
    """The machine is nearly full, and the generator uses a relevant part of it."""
    busy, cores, target = level.read("host.cpu_ratio"), level.host.cpus, level.read("target.cpu_ratio")
    generator = _generator(level)
    if busy is None or not cores or target is None or generator is None or busy < FULL * cores:
        return None
    if generator < WITHHELD_LEAST * busy or generator + target < MOSTLY * busy:
        return None
    readings: Readings = {"generator_share_ratio": generator / busy, "generator_cpu_ratio": generator, "target_cpu_ratio": target}
    return Found("generator_shares_host", {**readings, "host_cpu_ratio": busy, "cores": cores})


def _generator(level: MeasuredLevel) -> float | None:
    """Cores used by all processes of the generator on this machine."""
    workers = level.read("workers.here_cpu_ratio")
    return level.read("generator.process_cpu_ratio") if workers is None else workers


def noisy_neighbours(level: MeasuredLevel) -> Found | None:
    """Other processes used CPU that the service, or the load thread, or a watched part needed on its machine."""
    if level.withheld is None:
        return None
    readings: Readings = {"others_cpu_ratio": level.withheld.others_cpu_ratio, **level.named("cores")}
    if level.figures.other_processes and level.part is None:  # names are read on the generator's machine alone
        readings["processes"] = ", ".join(f"{name} {ratio:.2f}" for name, ratio in level.figures.other_processes.items())
    names = ("target_cpu_ratio", "target_run_delay_ratio", "cpu_pressure_ratio")
    of_generator = ("generator_cpu_ratio", "generator_run_delay_ratio") if level.part is None else ()
    return Found(NEIGHBOURS, readings | level.named(*names, *of_generator), level.missing("target.run_delay_ratio"))


MACHINE_WIDE = frozenset(
    ("host_cpu_saturated", "cpu_steal", "memory_saturated", "swapping", "disk_saturated", "disk_full",
     "network_bandwidth_saturated", NEIGHBOURS)
)  # fmt: skip
"""Resources that all parts of a machine share."""

HERE = "generator"
"""The machine of the generator, and of a target that was started here."""


class WatchedParts(msgspec.Struct, frozen=True):
    """The watched parts at one level."""

    levels: tuple[MeasuredLevel, ...] = ()
    """The level with the readings of each part that was read throughout it."""
    machines: tuple[str | None, ...] = ()
    """The machine of each of these parts; None: not known."""
    unread: tuple[str, ...] = ()
    """Names of the parts that were not read throughout."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts that were read."""
        return _names(self.levels)

    @property
    def with_use(self) -> tuple[MeasuredLevel, ...]:
        """Parts whose use of CPU is known; of the others only their servers' own figures are."""
        return tuple(level for level in self.levels if level.read("host.cpu_ratio") is not None)

    @property
    def use_unknown(self) -> tuple[str, ...]:
        """All other parts, as names of unavailable readings."""
        known = _names(self.with_use)
        return tuple(f"part {name}" for name in (*self.names, *self.unread) if name not in known)

    def found(self, rules: Sequence[Rule], of_target: Iterable[Found]) -> Iterator[Found]:
        """Findings of these rules about the parts. `of_target`: those about the target, whose machine-wide ones are not
        repeated.
        """
        seen = {(HERE, each.id) for each in of_target if not _is_named_by_replies_only(each)}
        for rule in rules:
            judged = [level for level in self.levels if level.withheld is None or rule not in queue_rules.NOT_IF_CPU_WITHHELD]
            each = {level.part or "": found for level in judged if (found := rule(level)) is not None}
            for level, machine in zip(self.levels, self.machines, strict=True):
                name = level.part or ""
                if name not in each or (each[name].id in MACHINE_WIDE and (machine, each[name].id) in seen):
                    continue
                seen.add((machine or name, each[name].id))
                yield self._with_idle_peers(each[name], name, each)

    def _with_idle_peers(self, found: Found, part: str, limited: Collection[str]) -> Found:
        """The finding with its part, and the part's peers if none of them is at this limit: web1 and web3 for web2."""
        peers = [name for name in self.names if name != part and _kind(name) == _kind(part)]
        at_ease = ", ".join(peers) if peers and not any(name in limited for name in peers) else ""
        return replace(found, part=part, readings={**found.readings, **({"peers_at_ease": at_ease} if at_ease else {})})


def watched_parts(level: MeasuredLevel, timeline: Timeline) -> WatchedParts:
    """All watched parts at a level."""
    own = {name: _of_part(level, part, timeline.parts.values()) for name, part in timeline.parts.items()}
    read = [name for name, part in timeline.parts.items() if _is_read(own[name], part)]
    return WatchedParts(
        levels=tuple(own[name] for name in read),
        machines=tuple(timeline.parts[name].machine for name in read),
        unread=tuple(name for name in own if name not in read),
    )


def _of_part(level: MeasuredLevel, part: PartState, parts: Iterable[PartState]) -> MeasuredLevel:
    """The level with the readings of a part, on its machine. Replies that report a full disk are left out: they do not say whose
    disk it is.
    """
    own = replace(level, part=part.name, host=part.host, program=part.program, is_loopback=part.machine == HERE)
    return replace(own, withheld=_withheld_from(level.figures, part, parts), reported_no_space=False)


def _withheld_from(figures: LevelFigures, part: PartState, parts: Iterable[PartState]) -> Withheld | None:
    """CPU that other processes on its machine withheld from the part, by the same check as for the target. Other parts and the
    generator are not counted as other processes.
    """
    each = readings_of_parts(figures.readings)
    own = {name: value for name, value in figures.readings.items() if name.startswith("generator.")} | each.get(part.name, {})
    if part.machine is not None and "neighbours.cpu_ratio" in own:
        there = [peer.name for peer in parts if peer.machine == part.machine and peer.name != part.name]
        known = sum(each.get(name, {}).get("target.cpu_ratio", 0.0) for name in there)
        known += figures.readings.get("generator.process_cpu_ratio", 0.0) if part.machine == HERE else 0.0
        own["neighbours.cpu_ratio"] = max(0.0, own["neighbours.cpu_ratio"] - known)
    return NeighbourCheck(part.host, part.program).withheld(msgspec.structs.replace(figures, readings=own))


def _is_read(level: MeasuredLevel, part: PartState) -> bool:
    """Whether the part was read throughout the level, though readings are late now and then, and is still read if it is open."""
    is_cut_off = part.state == "unread" and level.level.closed is None
    return not is_cut_off and (level.read(READ_RATIO) or 0.0) >= FULL


def _kind(name: str) -> str:
    """The name without its number: `web` for `web2` and `web-3`, which are parts of one kind."""
    return name.rstrip("0123456789").rstrip("-_")


def _names(levels: Iterable[MeasuredLevel]) -> tuple[str, ...]:
    return tuple(level.part or "" for level in levels)


def without_relayed(findings: Sequence[Found]) -> list[Found]:
    """The findings without a full disk that only replies of the target report, if a part's disk is full: the target relayed the
    part's error.
    """
    is_part = any(each.id == "disk_full" and each.part is not None for each in findings)
    return [each for each in findings if not (is_part and _is_named_by_replies_only(each))]


def _is_named_by_replies_only(found: Found) -> bool:
    """Whether it is a full disk of the target that its replies report and no reading shows."""
    return found.id == "disk_full" and found.part is None and not resource_rules.is_disk_full(found)


def noisy_neighbours_of_parts(parts: WatchedParts) -> list[Found]:
    """Other processes on the machines of parts that used CPU which these parts needed, except on the generator's machine, where
    they are found with the target.
    """
    here = (Found(NEIGHBOURS, {}),)
    return list(parts.found((noisy_neighbours,), here))


def worker_pools(parts: WatchedParts, gate: Gate) -> list[Found]:
    """Parts whose accept queue fills while they are idle."""
    return list(parts.found((lambda level: queue_rules.worker_pool(level, gate) if level.withheld is None else None,), ()))
