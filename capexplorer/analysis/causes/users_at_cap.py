"""Whether the pool of users is too small for an offered rate, so that iterations are dropped at `guards.max_users`.

While the service is as quick as at its quickest level, the generator causes the drops: by Little's law a pool can start at most
users / service time iterations a second. If the service has slowed down, all users wait for it and it causes the drops:
`bottleneck` and the verdict of the level then give the reason. A service that hangs completes nothing, so the times of what it
completed before do not show that it is quick: then Little's law does, by the users that are busy and the iterations that end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...model.events import OfferedTick, Sample
from ...model.figures import LevelFigures
from ...model.findings import Readings
from .confirmation import Proof

OVER, DROPPING_LEAST = 5, 3
"""Number of latest ticks that are tested, and of those in which iterations must be dropped: the first second of a spike only
fills the queue."""

FLAT_MOST = 1.2
"""The service has not slowed down up to this many times the service time of its quickest level. Requests of six users to four
busy workers took 1.45 times as long (measured): there the service is the limit, however small the pool."""

HANGING_LEAST = 2.0
"""It has slowed down as well if by Little's law tasks take so many times as long as at the quickest level: few have ended. Users
that run are counted once a second, so that a level of 10 s with five of them knows their mean to 14%."""


@dataclass(frozen=True, slots=True)
class UsualTimes:
    """Times at the quickest level; None: not known."""

    service_ms: float | None = None
    """Mean service time of requests."""
    task_ms: float | None = None
    """Mean duration of iterations, by Little's law."""


NOT_KNOWN = UsualTimes()
"""Before any level has ended."""


def usual_times(levels: Iterable[LevelFigures]) -> UsualTimes:
    """The least times of the levels."""
    known = list(levels)
    services = [figures.latency_ms.mean for figures in known if figures.latency_ms.mean is not None]
    tasks = [task_ms for figures in known if (task_ms := _level_task_ms(figures)) is not None]
    return UsualTimes(min(services, default=None), min(tasks, default=None))


def _level_task_ms(figures: LevelFigures) -> float | None:
    offered = figures.offered
    if offered is None or not offered.finished or not figures.settled_seconds:
        return None
    running = offered.in_flight_mean - offered.queued_mean
    return 1000 * running * figures.settled_seconds / (offered.finished + offered.failed) or None


def users_at_cap(ticks: Sequence[Sample], usual: UsualTimes) -> Proof | None:
    """Whether the generator causes the drops; None if hardly any iterations are dropped because all users are busy.

    `ticks`: the latest `OVER`. `usual`: the result of `usual_times`; if no level has ended, the reasons that the load thread gave
    for the drops decide.
    """
    dropping = [tick for tick in ticks if tick.offered is not None and _full(tick.offered)]
    if len(dropping) < DROPPING_LEAST:
        return None
    drops = [tick.offered.dropped for tick in dropping if tick.offered is not None]
    # the load thread counts drops by its reason: the pool was at its maximum, or the target was slow
    by_generator, by_target = sum(each.max_users for each in drops), sum(each.target for each in drops)
    now = _service_ms(dropping)
    readings: Readings = {"dropped": by_generator + by_target, "users": ticks[-1].users}
    if now is not None:
        readings["service_ms"] = round(now, 3)
    if usual.service_ms is None:
        return Proof("users_at_cap", by_generator > by_target, readings)
    is_quick = now is not None and now <= FLAT_MOST * usual.service_ms
    return Proof("users_at_cap", is_quick and not _hangs(dropping, usual), readings | {"usual_ms": round(usual.service_ms, 3)})


def _full(offered: OfferedTick) -> bool:
    return offered.dropped.max_users + offered.dropped.target > 0


def _hangs(ticks: Sequence[Sample], usual: UsualTimes) -> bool:
    """Whether so few iterations ended that those which run take longer than usual."""
    known = [tick.offered for tick in ticks if tick.offered is not None]
    running, per_s = sum(each.running for each in known), sum(each.finished + each.failed for each in known)
    return usual.task_ms is not None and 1000 * running > HANGING_LEAST * usual.task_ms * per_s


def _service_ms(ticks: Sequence[Sample]) -> float | None:
    endpoints = [endpoint for tick in ticks for endpoint in tick.endpoints]
    succeeded = sum(each.requests - each.failures for each in endpoints)
    return sum(each.latency_sum_ms for each in endpoints) / succeeded if succeeded else None
