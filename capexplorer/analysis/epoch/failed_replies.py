"""The failed requests of a level by HTTP status. Late timers of the generator cannot cause failures that have a status.

A timeline has, for each signature of failures, its count over the session and the times of the first and the last one. The count
is spread evenly over that time, and a level gets the share that lies within it.
"""

from __future__ import annotations

from collections import Counter

from ...model.level import Level
from ...model.timeline import Timeline

TICK_S = 1.0
"""Failures are counted once a second, so those with one time happened within the second before it."""

REFUSING = (429, 503)
"""Statuses by which a service refuses a request that it could read."""


def failures_by_status(timeline: Timeline, level: Level) -> Counter[int | None]:
    """Approximate number of failed requests of a level by HTTP status; the key None: without a reply."""
    began_s, ended_s = level.started_s, timeline.last_s if level.ended_s is None else level.ended_s
    counts: Counter[int | None] = Counter()
    for failure in timeline.failures.values():
        first_s, last_s = failure.first_s - TICK_S, failure.last_s
        within_s = min(last_s, ended_s) - max(first_s, began_s)
        if within_s > 0:
            counts[failure.signature.status] += round(failure.count * within_s / (last_s - first_s))
    return counts


def replied_shares(timeline: Timeline, level: Level) -> tuple[float, float] | None:
    """(share of a level's failed requests with any HTTP status, share with one in REFUSING); None without failures."""
    counts = failures_by_status(timeline, level)
    total = counts.total()
    return (1 - counts[None] / total, sum(counts[status] for status in REFUSING) / total) if total else None
