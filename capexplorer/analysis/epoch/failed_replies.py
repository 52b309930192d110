"""The failed requests of a level that got a reply with an HTTP status; a late timer of the generator cannot cause those.

A timeline counts each signature of failure over the session, with its first and last moment. Its count is spread evenly over that
time; a level gets the part that lies within it.
"""

from __future__ import annotations

from collections import Counter

from ...model.level import Level
from ...model.timeline import Timeline

TICK_S = 1.0
"""Failures are counted once a second, so those of one moment happened within the second before it."""

REFUSING = (429, 503)
"""Statuses by which a service refuses a request that it could read."""


def failures_by_status(timeline: Timeline, level: Level) -> Counter[int | None]:
    """Approximate number of failed requests of a level by HTTP status; None: without a reply."""
    began_s, ended_s = level.started_s, timeline.last_s if level.ended_s is None else level.ended_s
    counts: Counter[int | None] = Counter()
    for failure in timeline.failures.values():
        first_s, last_s = failure.first_s - TICK_S, failure.last_s
        within_s = min(last_s, ended_s) - max(first_s, began_s)
        if within_s > 0:
            counts[failure.signature.status] += round(failure.count * within_s / (last_s - first_s))
    return counts


def replied_shares(timeline: Timeline, level: Level) -> tuple[float, float] | None:
    """Shares of a level's failed requests that got a reply with any status, and with one that refuses; None without failures."""
    counts = failures_by_status(timeline, level)
    total = counts.total()
    return (1 - counts[None] / total, sum(counts[status] for status in REFUSING) / total) if total else None
