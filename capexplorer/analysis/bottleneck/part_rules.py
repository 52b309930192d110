"""Rules for watched parts only: open files, connections and locks. For the target, its failures show the same as a cause."""

from __future__ import annotations

from ...model.reading_means import CONNECTIONS_FULL_RATIO, FDS_FULL_RATIO
from . import queue_rules, resource_rules
from .found import Found
from .measured_level import MeasuredLevel
from .resource_rules import Rule

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

WAITING_SESSIONS_LEAST = 2.0
"""Least number of sessions that wait for locks: one that waits for another is no queue."""


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
    if waiting is None or not active or waiting < max(WAITING_SESSIONS_LEAST, LOCK_WAITS_LEAST * active):
        return None
    return Found("lock_waits", {"lock_waits_ratio": waiting / active, "active_sessions": active})


NOT_IF_CPU_WITHHELD: frozenset[Rule] = frozenset((*resource_rules.GATED, lock_waits)) - {resource_rules.network}
"""Rules that are not applied to a part from which other processes withheld CPU: without them it would have used more, or kept its
locks for less time."""

STALLED: tuple[Rule, ...] = (open_files, connections)
"""Rules that do not require latency to rise: users who get no connection add none."""

GATED: tuple[Rule, ...] = (*resource_rules.GATED, lock_waits)
