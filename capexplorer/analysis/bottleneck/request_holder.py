"""Which of several idle parts holds the waiting requests, by the counts of the servers in front of it and behind it.

A proxy with open requests waits for the part behind it. A database that works on few of them is not what they wait for. The one
part between both holds the others: in a lock or a pool of its own, or waiting for a party that is not watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...model.findings import Readings
from . import queue_rules
from .found import Found
from .measured_level import MeasuredLevel
from .watched_parts import WatchedParts

MAJORITY = 0.5
"""A part holds most of the requests if it holds at least this share of those inside the service."""

REQUESTS_LEAST = 2.0
"""Least mean number of requests inside: one that waits for another is no queue."""

IN_PROXY, IN_DATABASE = "server.writing", "server.active"
"""Requests that nginx has open, and sessions that a database works for."""


def located(found: Found | None, level: MeasuredLevel, levels: Sequence[MeasuredLevel], parts: WatchedParts) -> Found | None:
    """Name the part that holds the requests, if the counts of the servers show which one it is.

    `found`: a lock or pool, or an unwatched party; other findings are returned as they are. `levels`: all of the epoch. Returns
    None if a watched database holds the requests: then the service has no lock or pool at its limit.
    """
    inside = level.requests_inside
    if found is None or found.id not in ("lock_or_pool_limit", "unwatched_party"):
        return found
    if inside is None or inside < REQUESTS_LEAST:
        return found
    if _has_most(parts.levels, IN_DATABASE, inside):
        return found if found.id == "unwatched_party" else None
    holder = _between(parts.levels) if _has_most(parts.levels, IN_PROXY, inside) else None
    may_be_limiter = "rate_limit" in found.competing
    if holder is None or (may_be_limiter and not _has_connections_of_waiting_requests(holder, inside, levels)):
        return found
    kept: Readings = {name: value for name, value in found.readings.items() if name in ("idle_parts", "little_ratio")}
    return replace(
        found,
        id="lock_or_pool_limit",
        part=holder.part,
        readings={**queue_rules.idleness(holder), "requests_inside": inside, **kept},
        competing=(*(("rate_limit",) if may_be_limiter else ()), "unwatched_party"),
    )


def _has_most(levels: Sequence[MeasuredLevel], name: str, inside: float) -> bool:
    return sum(level.read(name) or 0.0 for level in levels) >= MAJORITY * inside


def _has_connections_of_waiting_requests(holder: MeasuredLevel, inside: float, levels: Sequence[MeasuredLevel]) -> bool:
    """Whether `holder` has opened at least MAJORITY as many files, since the level with the fewest users, as there are additional
    requests inside.

    A proxy that delays requests by a rate limit counts them as open too, but does not pass them on.
    """
    low_load = min(levels, key=lambda each: each.users, default=holder)
    fds_now, fds_before, inside_before = (
        holder.read("target.fds"),
        replace(low_load, part=holder.part).read("target.fds"),
        low_load.requests_inside,
    )
    if fds_now is None or fds_before is None or inside_before is None or inside - inside_before < REQUESTS_LEAST:
        return False
    return fds_now - fds_before >= MAJORITY * (inside - inside_before)


def _between(levels: Sequence[MeasuredLevel]) -> MeasuredLevel | None:
    """The only part that is neither a proxy nor a database, if a database is watched and its processes are read; else None."""
    others = [level for level in levels if level.read(IN_PROXY) is None and level.read(IN_DATABASE) is None]
    has_database = any(level.read(IN_DATABASE) is not None for level in levels)
    return others[0] if has_database and len(others) == 1 and others[0].target_is_read else None
