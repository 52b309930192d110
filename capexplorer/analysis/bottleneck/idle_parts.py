"""Where requests may wait if every watched part is idle: in a lock or pool of one of them, or in something not watched."""

from __future__ import annotations

from dataclasses import replace

from ...model.findings import Readings
from . import queue_rules
from .found import Found
from .gate import Gate
from .measured_level import MeasuredLevel
from .watched_parts import WatchedParts

SESSIONS_LEAST = 0.5
"""Requests wait in a server if its active sessions are at least this share of the requests inside the whole service (Little's
law)."""

INSIDE_LEAST = 4.0
"""Least mean number of requests inside, for most of them to wait for one party: of fewer, each part may work on one."""

QUEUE_SEEN_LEAST = 0.25
"""Requests may wait in a part if the mean number of connections in its accept queue is at least this, as if one was there in a
quarter of the seconds. From `queue_rules.QUEUE_LEAST` on they do; in between nothing is reported."""


def _idle_names(parts: WatchedParts) -> tuple[str, ...] | None:
    """Names of the parts whose use is known, if none of them is busy; None if one is."""
    return tuple(part.part or "" for part in parts.with_use) if all(map(_is_idle, parts.with_use)) else None


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
    idle = _idle_names(parts)
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
    idle = _idle_names(parts)
    if idle is None:
        return None
    return replace(
        found,
        readings={**found.readings, **({"idle_parts": ", ".join(idle)} if idle else {})},
        unavailable=(*found.unavailable, *parts.use_unknown),
        competing=(*found.competing, "unwatched_party"),
    )
