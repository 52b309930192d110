"""Whether the pool of users is too small for an offered rate, so that iterations are dropped at `guards.max_users`.

While the service is as quick as at its quickest level, the generator causes the drops: by Little's law a pool can start at most
users / service time iterations a second. If the service has slowed down, all users wait for it and it causes the drops:
`bottleneck` and the verdict of the level then give the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...model.events import Sample
from ...model.figures import LevelFigures
from ...model.findings import Readings
from .confirmation import Proof

OVER, DROPPING_LEAST = 5, 3
"""Number of latest ticks that are tested, and of those in which iterations must be dropped: the first second of a spike only
fills the queue."""

FLAT_MOST = 1.2
"""The service has not slowed down up to this many times the service time of its quickest level. Requests of six users to four
busy workers took 1.45 times as long (measured): there the service is the limit, however small the pool."""


def usual_ms(levels: Iterable[LevelFigures]) -> float | None:
    """Mean service time of the quickest level, in ms; None if there is none."""
    return min((figures.latency_ms.mean for figures in levels if figures.latency_ms.mean is not None), default=None)


def users_at_cap(ticks: Sequence[Sample], usual: float | None) -> Proof | None:
    """Whether the generator causes the drops; None if hardly any iterations are dropped because all users are busy.

    `ticks`: the latest `OVER`. `usual`: the result of `usual_ms`; if it is None, the reasons that the load thread gave for the
    drops decide.
    """
    drops = [tick.offered.dropped for tick in ticks if tick.offered is not None]
    # the load thread counts drops by its reason: the pool was at its maximum, or the target was slow
    by_generator, by_target = sum(each.max_users for each in drops), sum(each.target for each in drops)
    if sum(each.max_users + each.target > 0 for each in drops) < DROPPING_LEAST:
        return None
    now = _service_ms(ticks)
    readings: Readings = {"dropped": by_generator + by_target, "users": ticks[-1].users}
    if now is not None:
        readings["service_ms"] = round(now, 3)
    if now is None or usual is None:
        return Proof("users_at_cap", by_generator > by_target, readings)
    return Proof("users_at_cap", now <= FLAT_MOST * usual, readings | {"usual_ms": round(usual, 3)})


def _service_ms(ticks: Sequence[Sample]) -> float | None:
    endpoints = [endpoint for tick in ticks for endpoint in tick.endpoints]
    succeeded = sum(each.requests - each.failures for each in endpoints)
    return sum(each.latency_sum_ms for each in endpoints) / succeeded if succeeded else None
