"""Bottlenecks of watched parts (a database, a proxy, another host), by the same rules and the same gate as for the target.

Nothing is concluded about a part that was not read throughout a level. A saturated resource of a machine is reported once per
machine, for the part that was named first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from ...model.events import PartState
from ...model.figures import LevelFigures
from ...model.findings import Readings
from ...model.reading_means import CONNECTIONS_FULL_RATIO, FDS_FULL_RATIO, READ_RATIO, readings_of_parts
from ...model.timeline import Timeline
from ..epoch.neighbours import NeighbourCheck, Withheld
from . import queue_rules, resource_rules, sharing
from .found import Found
from .gate import Gate
from .measured_level import MeasuredLevel
from .resource_rules import Rule

READ_LEAST = 0.8
"""Least share of a level's seconds in which a part must have been read: readings are late now and then."""

OPEN_FILES_LEAST = queue_rules.FDS_NEAR
"""A process has no descriptor left from this share of its limit on."""

FULL_SECONDS_LEAST = 0.2
"""A limit is also reached if for at least this share of a level's seconds no descriptor or connection was left, or the server
refused the connection of the reader, even if the mean is below the limit."""

CONNECTIONS_LEAST = 0.95
"""A server has no free connection from this share of its limit on: some are kept for administrators."""

IN_USE_LEAST = 0.9
"""Least share of the open connections that must be in use: those that a pool keeps idle limit nothing."""

LOCK_WAITS_LEAST = 0.5
"""A server waits for locks if at least this share of its active sessions does."""

SESSIONS_LEAST = 0.5
"""Requests wait in a server if its active sessions are at least this share of the requests inside the whole service (Little's
law)."""

INSIDE_LEAST = 4.0
"""Least mean number of requests inside, for most of them to wait for one party: of fewer, each part may work on one."""

QUEUE_SEEN_LEAST = 0.25
"""Requests may wait in a part if the mean number of connections in its accept queue is at least this, as if one was there in a
quarter of the seconds. From `queue_rules.QUEUE_LEAST` on they do; in between nothing is reported."""

WAITING_LEAST = 2.0
"""Least number of sessions that wait for locks: one that waits for another is no queue."""

MACHINE_WIDE = frozenset(
    ("host_cpu_saturated", "cpu_steal", "memory_saturated", "swapping", "disk_saturated", "disk_full",
     "network_bandwidth_saturated", sharing.NEIGHBOURS)
)  # fmt: skip
"""Resources that all parts of a machine share."""

HERE = "generator"
"""The machine of the generator, and of a target that was started here."""


@dataclass(frozen=True, slots=True)
class WatchedParts:
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
            judged = [level for level in self.levels if level.withheld is None or rule not in NOT_IF_CPU_WITHHELD]
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
    """Whether the part was read throughout the level, and is still read if the level is open."""
    is_cut_off = part.state == "unread" and level.level.closed is None
    return not is_cut_off and (level.read(READ_RATIO) or 0.0) >= READ_LEAST


# -- rules for parts only: for the target the same is found as a cause, from its failures


def open_files(level: MeasuredLevel) -> Found | None:
    """A process of the part has no descriptor left for another connection."""
    used, limit = level.read("target.fds_fullest"), level.read("target.fds_limit")
    full = level.read(FDS_FULL_RATIO) or 0.0
    if used is None or not limit or (used < OPEN_FILES_LEAST * limit and full < FULL_SECONDS_LEAST):
        return None
    return Found("open_files_limit", {"fds_fullest": used, "fds_limit": limit, **({"fds_full_ratio": full} if full else {})})


def connections(level: MeasuredLevel) -> Found | None:
    """A server, by its own counts, refuses connections, or has none left while hardly any is idle."""
    rejected = level.read("server.rejected_connections_per_s") or 0.0
    refused = level.read("server.refused_readings") or 0.0
    if not rejected and refused < FULL_SECONDS_LEAST and not _has_no_connection_left(level):
        return None
    named = {
        "connections": level.read("server.connections"),
        "connections_limit": level.read("server.connections_limit"),
        "connections_full_ratio": level.read(CONNECTIONS_FULL_RATIO) or None,
        "rejected_connections_per_s": rejected or None,
        "refused_readings_ratio": refused or None,
    }
    return Found("connection_limit", {name: value for name, value in named.items() if value is not None})


def _has_no_connection_left(level: MeasuredLevel) -> bool:
    """Whether all connections are taken, in the mean or in many of the seconds, and hardly any is idle. Sessions that log in
    count as neither active nor idle.
    """
    used, limit = level.read("server.connections"), level.read("server.connections_limit")
    if used is None or not limit:
        return False
    idle, active = level.read("server.idle"), level.read("server.active") or 0.0
    with_reader = active + (level.read("server.idle_in_transaction") or 0.0) + 1
    in_use = with_reader if idle is None else used - idle
    is_full = used >= CONNECTIONS_LEAST * limit or (level.read(CONNECTIONS_FULL_RATIO) or 0.0) >= FULL_SECONDS_LEAST
    return is_full and in_use >= IN_USE_LEAST * used


def lock_waits(level: MeasuredLevel) -> Found | None:
    """A server most of whose active sessions wait for locks, by its own counts."""
    waiting, active = level.read("server.lock_waits"), level.read("server.active")
    if waiting is None or not active or waiting < max(WAITING_LEAST, LOCK_WAITS_LEAST * active):
        return None
    return Found("lock_waits", {"lock_waits_ratio": waiting / active, "active_sessions": active})


# -- where requests wait if nothing is busy


def idle_parts(parts: WatchedParts) -> tuple[str, ...] | None:
    """Names of the parts whose use is known, if none of them is busy; None if one is."""
    return _names(parts.with_use) if all(map(_is_idle, parts.with_use)) else None


def _kind(name: str) -> str:
    """The name without its number: `web` for `web2` and `web-3`, which are parts of one kind."""
    return name.rstrip("0123456789").rstrip("-_")


def _names(levels: Iterable[MeasuredLevel]) -> tuple[str, ...]:
    return tuple(level.part or "" for level in levels)


def _is_idle(level: MeasuredLevel) -> bool:
    disk = level.read("host.disk_busy_ratio")
    if level.withheld is not None or (disk is not None and disk > queue_rules.DISK_LOW):
        return False
    return queue_rules.is_idle(level) if level.target_is_read else queue_rules.is_idle_machine(level)


def unwatched_party(level: MeasuredLevel, gate: Gate, parts: WatchedParts) -> Found | None:
    """Requests wait for something that is not watched: more users bring no more goodput, every part is idle, and the target
    itself is not read.

    An idle part may also have a lock or a pool at its limit, unless it counts its sessions: the reading `may_wait_in` names
    such parts.
    """
    idle = idle_parts(parts)
    if not idle or level.target_is_here or not gate.is_open:
        return None
    if not queue_rules.generator_has_spare_time(level) or not queue_rules.accounts_for_users(level):
        return None
    if level.requests_inside is None or level.requests_inside < INSIDE_LEAST:
        return None
    if any((part.read("target.listen_queue") or 0.0) >= QUEUE_SEEN_LEAST for part in parts.levels):
        return None
    inside = ", ".join(part.part or "" for part in parts.with_use if not _counts_few_sessions(part))
    readings: Readings = {"idle_parts": ", ".join(idle), **({"may_wait_in": inside} if inside else {})}
    return Found("unwatched_party", readings, parts.use_unknown, ("lock_or_pool_limit",))


def _counts_few_sessions(level: MeasuredLevel) -> bool:
    """Whether a server's own counts show that most requests wait elsewhere: a request in a database has an active session."""
    active, inside = level.read("server.active"), level.requests_inside
    return active is not None and inside is not None and active < SESSIONS_LEAST * inside


def with_idle_parts(found: Found, parts: WatchedParts) -> Found | None:
    """The finding of a lock or pool, given the watched parts: None if one of them is busy. If they are idle too, requests may
    also wait for something that is not watched. Other findings are returned as they are.
    """
    if found.id != "lock_or_pool_limit" or not (parts.levels or parts.unread):
        return found
    idle = idle_parts(parts)
    if idle is None:
        return None
    return replace(
        found,
        readings={**found.readings, **({"idle_parts": ", ".join(idle)} if idle else {})},
        unavailable=(*found.unavailable, *parts.use_unknown),
        competing=(*found.competing, "unwatched_party"),
    )


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
    here = (Found(sharing.NEIGHBOURS, {}),)
    return list(parts.found((sharing.noisy_neighbours,), here))


def worker_pools(parts: WatchedParts, gate: Gate) -> list[Found]:
    """Parts whose accept queue fills while they are idle."""
    return list(parts.found((lambda level: queue_rules.worker_pool(level, gate) if level.withheld is None else None,), ()))


NOT_IF_CPU_WITHHELD: frozenset[Rule] = frozenset((*resource_rules.GATED, lock_waits)) - {resource_rules.network}
"""Rules that are not applied to a part from which other processes withheld CPU: without them it would have used more, or kept its
locks for less time."""

STALLED: tuple[Rule, ...] = (open_files, connections)
"""Rules that do not require latency to rise: users who get no connection add none."""

GATED: tuple[Rule, ...] = (*resource_rules.GATED, lock_waits)
