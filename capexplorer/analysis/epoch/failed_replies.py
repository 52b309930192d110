"""The failed requests of a level by HTTP status. Late timers of the generator cannot cause failures that have a status."""

from __future__ import annotations

from collections import Counter

from ...model.level import Level
from ...model.timeline import Timeline
from ..knee.limit import REPLIED_LEAST

REFUSING = (429, 503)
"""Statuses by which a service refuses a request that it could read."""


def failures_by_status(timeline: Timeline, level: Level) -> Counter[int | None]:
    """Number of failed requests by HTTP status from a level's first settled second to its last; the key None: without a reply.

    Empty if it has not settled, or no request failed.
    """
    counts = Counter[int | None]()
    if level.figures.failures:
        settled = timeline.seconds_of(level)
        for failure in timeline.failures.values():
            counts[failure.signature.status] += failure.between(settled[0], settled[-1])
    return +counts


def replied_shares(timeline: Timeline, level: Level) -> tuple[float, float] | None:
    """(share of a level's failed requests with any HTTP status, share with one in REFUSING); None without failures."""
    counts = failures_by_status(timeline, level)
    total = counts.total()
    return (1 - counts[None] / total, sum(counts[status] for status in REFUSING) / total) if total else None


def refused_status(timeline: Timeline, level: Level) -> int | None:
    """The status in REFUSING that nearly all failed requests of a level have; None without one."""
    counts = failures_by_status(timeline, level)
    return next((status for status in REFUSING if counts[status] and counts[status] >= REPLIED_LEAST * counts.total()), None)
