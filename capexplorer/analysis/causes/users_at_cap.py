"""Whether the pool of users of a rate level is too small for the rate: iterations are dropped at guards.max_users.

The cap is a setting of the load. While the service is as quick as at its quickest level the drops are the generator's: by
Little's law the pool itself offers no more than users / service time. A service that has slowed down holds the users, and the
drops are its own: `bottleneck` and the verdict of the level then say why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...model.events import Sample
from ...model.figures import LevelFigures
from ...model.findings import Readings
from .confirmation import Proof

OVER, DROPPING_LEAST = 5, 3
"""Latest ticks that are searched, and in how many of them iterations are dropped: the first second of a spike fills the queue."""

FLAT_MOST = 1.2
"""Times the service time of the quickest level, up to which the service has not slowed down. Six users on four workers that were
all busy took 1.45 times as long (measured): there the service is the limit, however small the pool."""


def usual_ms(levels: Iterable[LevelFigures]) -> float | None:
    """Mean service time of the quickest level, None if there is none."""
    return min((figures.latency_ms.mean for figures in levels if figures.latency_ms.mean is not None), default=None)


def users_at_cap(ticks: Sequence[Sample], usual: float | None) -> Proof | None:
    """`ticks`: the latest `OVER`. `usual`: see `usual_ms`; without it the reasons of the load thread decide, which compares the
    rate with the least task time so far. None: hardly any iterations are dropped because all users are busy."""
    drops = [tick.offered.dropped for tick in ticks if tick.offered is not None]
    too_few, held = sum(each.max_users for each in drops), sum(each.target for each in drops)
    if sum(each.max_users + each.target > 0 for each in drops) < DROPPING_LEAST:
        return None
    now = _service_ms(ticks)
    readings: Readings = {"dropped": too_few + held, "users": ticks[-1].users}
    if now is not None:
        readings["service_ms"] = round(now, 3)
    if now is None or usual is None:
        return Proof("users_at_cap", too_few > held, readings)
    return Proof("users_at_cap", now <= FLAT_MOST * usual, readings | {"usual_ms": round(usual, 3)})


def _service_ms(ticks: Sequence[Sample]) -> float | None:
    endpoints = [endpoint for tick in ticks for endpoint in tick.endpoints]
    succeeded = sum(each.requests - each.failures for each in endpoints)
    return sum(each.latency_sum_ms for each in endpoints) / succeeded if succeeded else None
