"""Bottlenecks of watched parts, by the rules and behind the gates of the target's own: the database, the proxy, another host.

A part that was not read throughout a level is never blamed for it, and nothing is concluded from its silence. Machine-wide
resources are blamed once for each machine, on the part that was asked for first.
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
"""Share of a level's seconds in which a part must have been watched: readings come late now and then."""

OPEN_FILES_LEAST = queue_rules.FDS_NEAR
FULL_SECONDS_LEAST = 0.2
"""Share of a level's seconds with no descriptor or connection left, or in which a server refused the reader itself, from which
the limit is at work even if the mean is below it."""
CONNECTIONS_LEAST = 0.95
"""Share of a server's connections from which no more are free: some are kept for administrators."""

IN_USE_LEAST = 0.9
"""Share of them that must be in use: a pool keeps idle ones open, and those limit nobody."""

LOCK_WAITS_LEAST = 0.5
"""Share of a server's active sessions that wait for locks, from which locks are what it waits for."""

SESSIONS_LEAST = 0.5
"""Share of the requests inside the whole service (Little's law) that must be active sessions of a server, for the server to be
where they wait."""

INSIDE_LEAST = 4.0
"""Requests inside, on average, from which most of them wait for one party: of fewer each part may work on one."""

QUEUE_SEEN_LEAST = 0.25
"""Mean number of connections in the accept queue of a part, from which requests may wait in it: seen in one second of four. From
QUEUE_LEAST of the queue rules on they surely do; in between nobody is blamed."""

WAITING_LEAST = 2.0
"""Sessions: one that waits for one other is no queue."""

MACHINE_WIDE = frozenset(
    ("host_cpu_saturated", "cpu_steal", "memory_saturated", "swapping", "disk_saturated", "disk_full",
     "network_bandwidth_saturated", sharing.NEIGHBOURS)
)  # fmt: skip
"""Resources that all parts of a machine share."""

HERE = "generator"
"""The machine of the generator, and of a target that was started here."""


@dataclass(frozen=True, slots=True)
class WatchedParts:
    """The parts as one level shows them."""

    levels: tuple[MeasuredLevel, ...] = ()
    """One for each part that was read throughout the level: its readings, on its machine."""
    machines: tuple[str | None, ...] = ()
    """Of each."""
    unread: tuple[str, ...] = ()
    """Names of the others."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of those that were read."""
        return _names(self.levels)

    @property
    def with_use(self) -> tuple[MeasuredLevel, ...]:
        """Those of which it is known how busy they are; of the others only their servers' own figures are."""
        return tuple(level for level in self.levels if level.read("host.cpu_ratio") is not None)

    @property
    def use_unknown(self) -> tuple[str, ...]:
        """Names of all others, as unavailable readings."""
        known = _names(self.with_use)
        return tuple(f"part {name}" for name in (*self.names, *self.unread) if name not in known)

    def found(self, rules: Sequence[Rule], of_target: Iterable[Found]) -> Iterator[Found]:
        """What limits which part, beside what was found of the target."""
        seen = {(HERE, each.id) for each in of_target if not _is_of_replies(each)}
        for rule in rules:
            judged = [level for level in self.levels if level.withheld is None or rule not in OTHERS_MAY_BE_WHY]
            each = {level.part or "": found for level in judged if (found := rule(level)) is not None}
            for level, machine in zip(self.levels, self.machines, strict=True):
                name = level.part or ""
                if name not in each or (each[name].id in MACHINE_WIDE and (machine, each[name].id) in seen):
                    continue
                seen.add((machine or name, each[name].id))
                yield self._beside_peers(each[name], name, each)

    def _beside_peers(self, found: Found, part: str, limited: Collection[str]) -> Found:
        """The finding with the part's peers, if none of them is at this limit: web2 is slower than web1 and web3."""
        peers = [name for name in self.names if name != part and _kind(name) == _kind(part)]
        at_ease = ", ".join(peers) if peers and not any(name in limited for name in peers) else ""
        return replace(found, part=part, readings={**found.readings, **({"peers_at_ease": at_ease} if at_ease else {})})


def watched_parts(level: MeasuredLevel, timeline: Timeline) -> WatchedParts:
    """All parts of a level."""
    own = {name: _of_part(level, part, timeline.parts.values()) for name, part in timeline.parts.items()}
    read = [name for name, part in timeline.parts.items() if _is_read(own[name], part)]
    return WatchedParts(
        levels=tuple(own[name] for name in read),
        machines=tuple(timeline.parts[name].machine for name in read),
        unread=tuple(name for name in own if name not in read),
    )


def _of_part(level: MeasuredLevel, part: PartState, parts: Iterable[PartState]) -> MeasuredLevel:
    """The level with the part's readings, on its machine. Replies that name a full disk do not say whose it is."""
    own = replace(level, part=part.name, host=part.host, program=part.program, is_loopback=part.machine == HERE)
    return replace(own, withheld=_withheld_from(level.figures, part, parts), reported_no_space=False)


def _withheld_from(figures: LevelFigures, part: PartState, parts: Iterable[PartState]) -> Withheld | None:
    """What strangers on its machine withheld from the part, by the check that the target has. Other parts and the generator are
    no strangers."""
    each = readings_of_parts(figures.readings)
    own = {name: value for name, value in figures.readings.items() if name.startswith("generator.")} | each.get(part.name, {})
    if part.machine is not None and "neighbours.cpu_ratio" in own:
        there = [peer.name for peer in parts if peer.machine == part.machine and peer.name != part.name]
        known = sum(each.get(name, {}).get("target.cpu_ratio", 0.0) for name in there)
        known += figures.readings.get("generator.process_cpu_ratio", 0.0) if part.machine == HERE else 0.0
        own["neighbours.cpu_ratio"] = max(0.0, own["neighbours.cpu_ratio"] - known)
    return NeighbourCheck(part.host, part.program).withheld(msgspec.structs.replace(figures, readings=own))


def _is_read(level: MeasuredLevel, part: PartState) -> bool:
    """Whether it was read throughout the level, and is still read if the level goes on."""
    is_cut_off = part.state == "unread" and level.level.closed is None
    return not is_cut_off and (level.read(READ_RATIO) or 0.0) >= READ_LEAST


# -- rules that parts alone have: of the target the same is a cause, by its failures


def open_files(level: MeasuredLevel) -> Found | None:
    """A process of it has no descriptor left for another connection."""
    used, limit = level.read("target.fds_fullest"), level.read("target.fds_limit")
    full = level.read(FDS_FULL_RATIO) or 0.0
    if used is None or not limit or (used < OPEN_FILES_LEAST * limit and full < FULL_SECONDS_LEAST):
        return None
    return Found("open_files_limit", {"fds_fullest": used, "fds_limit": limit, **({"fds_full_ratio": full} if full else {})})


def connections(level: MeasuredLevel) -> Found | None:
    """A server refuses connections, or has none left and hardly any that is idle, by its own count."""
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
    """All are taken, throughout or in many of the seconds, and hardly any is idle: a session that logs in is neither."""
    used, limit = level.read("server.connections"), level.read("server.connections_limit")
    if used is None or not limit:
        return False
    idle, active = level.read("server.idle"), level.read("server.active") or 0.0
    with_reader = active + (level.read("server.idle_in_transaction") or 0.0) + 1
    in_use = with_reader if idle is None else used - idle
    is_full = used >= CONNECTIONS_LEAST * limit or (level.read(CONNECTIONS_FULL_RATIO) or 0.0) >= FULL_SECONDS_LEAST
    return is_full and in_use >= IN_USE_LEAST * used


def lock_waits(level: MeasuredLevel) -> Found | None:
    """Most of a server's active sessions wait for locks, by its own count."""
    waiting, active = level.read("server.lock_waits"), level.read("server.active")
    if waiting is None or not active or waiting < max(WAITING_LEAST, LOCK_WAITS_LEAST * active):
        return None
    return Found("lock_waits", {"lock_waits_ratio": waiting / active, "active_sessions": active})


# -- what waits where nothing is busy


def idle_parts(parts: WatchedParts) -> tuple[str, ...] | None:
    """Names of the parts of which it is known, if none of them is busy with anything that is read; None where one is."""
    return _names(parts.with_use) if all(map(_is_idle, parts.with_use)) else None


def _kind(name: str) -> str:
    """`web` of `web2` and `web-3`: parts that do the same are numbered."""
    return name.rstrip("0123456789").rstrip("-_")


def _names(levels: Iterable[MeasuredLevel]) -> tuple[str, ...]:
    return tuple(level.part or "" for level in levels)


def _is_idle(level: MeasuredLevel) -> bool:
    disk = level.read("host.disk_busy_ratio")
    if level.withheld is not None or (disk is not None and disk > queue_rules.DISK_LOW):
        return False
    return queue_rules.is_idle(level) if level.target_is_read else queue_rules.is_idle_machine(level)


def unwatched_party(level: MeasuredLevel, gate: Gate, parts: WatchedParts) -> Found | None:
    """More users bring nothing, and every part is idle; the target itself is not watched. An idle part may hide a lock or a pool,
    unless it counts its sessions: `may_wait_in` names those that may. Else requests wait elsewhere."""
    idle = idle_parts(parts)
    if not idle or level.target_is_here or not gate.is_open:
        return None
    if not queue_rules.generator_is_at_ease(level) or not queue_rules.accounts_for_users(level):
        return None
    if level.requests_inside is None or level.requests_inside < INSIDE_LEAST:
        return None
    if any((part.read("target.listen_queue") or 0.0) >= QUEUE_SEEN_LEAST for part in parts.levels):
        return None
    inside = ", ".join(part.part or "" for part in parts.with_use if not _counts_few_sessions(part))
    readings: Readings = {"idle_parts": ", ".join(idle), **({"may_wait_in": inside} if inside else {})}
    return Found("unwatched_party", readings, parts.use_unknown, ("lock_or_pool_limit",))


def _counts_few_sessions(level: MeasuredLevel) -> bool:
    """Whether its server's own count shows that most requests wait elsewhere: who waits in a database has an active session."""
    active, inside = level.read("server.active"), level.requests_inside
    return active is not None and inside is not None and active < SESSIONS_LEAST * inside


def beside_parts(found: Found, parts: WatchedParts) -> Found | None:
    """A lock or pool, concluded from an idle service: not if a watched part is busy. With parts that are idle, too, it may be
    outside of them all."""
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
    """Without the target's full disk where only its replies name one, and the disk of a part is seen to be full: it passed the
    part's error on."""
    is_part = any(each.id == "disk_full" and each.part is not None for each in findings)
    return [each for each in findings if not (is_part and _is_of_replies(each))]


def _is_of_replies(found: Found) -> bool:
    """A full disk of the target that replies name and its own reading does not show."""
    return found.id == "disk_full" and found.part is None and not resource_rules.is_disk_full(found)


def neighbours_elsewhere(parts: WatchedParts) -> list[Found]:
    """Other processes on the machines of parts that used CPU which these parts needed. Those of the generator's machine are found
    with the target."""
    here = (Found(sharing.NEIGHBOURS, {}),)
    return list(parts.found((sharing.noisy_neighbours,), here))


def worker_pools(parts: WatchedParts, gate: Gate) -> list[Found]:
    """Parts whose accept queue fills while they are idle."""
    return list(parts.found((lambda level: queue_rules.worker_pool(level, gate) if level.withheld is None else None,), ()))


OTHERS_MAY_BE_WHY: frozenset[Rule] = frozenset((*resource_rules.GATED, lock_waits)) - {resource_rules.network}
"""Rules that find nothing of a part from which other processes of its machine withheld CPU: it would have used more, or held its
locks for less time."""

STALLED: tuple[Rule, ...] = (open_files, connections)
"""Need no rise of the latency: who gets no connection adds none."""

GATED: tuple[Rule, ...] = (*resource_rules.GATED, lock_waits)
