"""Causes that readings alone show, with or without failures; tested once a tick.

Each condition must last for some seconds: one tick is a single sample, and other programs cause short bursts in the counters.
(p) marks a threshold that was set by judgement, not measured. `*_OVER` are windows in ticks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ...model.events import HostFacts, Sample
from ...model.figures import LevelFigures
from ...model.findings import Readings
from ...model.load import OfferedTick
from ..statistics import COUNT_LEAST, MOSTLY, RELEVANT, measured
from . import confirmation
from .confirmation import Proof, RecentReadings, closed_by_service, connects, failures, growth, most, requests, retried
from .generator_saturation import readings_over_seconds, time_outside_requests_ms

# -- Whether the pool of users is too small for an offered rate, so that iterations are dropped at `guards.max_users`.
#
# While the service is at most a quarter slower than at its quickest level (six users of four busy workers: 1.45 times), the
# generator causes the drops: by Little's law a pool can start at most users / service time iterations a second. If the service
# has slowed down, all users wait for it and it causes the drops: `bottleneck` and the verdict of the level then say why. A
# service that hangs completes nothing, so the times of what it completed before do not show that it is quick: then Little's law
# does, by the users that are busy and the iterations that end.

OVER, CONSECUTIVE_TICKS = 5, 3
"""Number of latest ticks that most conditions are tested on, and of those in which a condition must hold: the first second of a
spike only fills a queue. Twice as many are tested for what needs longer: generator saturation, lost packets, and SYNs that are
sent again after 1, 3 and 7 s."""


class UsualTimes(msgspec.Struct, frozen=True):
    """Times at the quickest level; None: not known."""

    service_ms: float | None = None
    """Mean service time of requests."""
    task_ms: float | None = None
    """Mean duration of iterations, by Little's law."""
    outside_requests_ms: float = 0.0
    """Time per cycle that users spend outside responses and pauses (`generator_saturation.time_outside_requests_ms`)."""


NOT_KNOWN = UsualTimes()
"""Before any level has ended."""


def usual_times(levels: Sequence[LevelFigures]) -> UsualTimes:
    """The least times of the levels."""
    services = [figures.latency_ms.mean for figures in levels if figures.latency_ms.mean is not None]
    tasks = [task_ms for figures in levels if (task_ms := _level_task_ms(figures)) is not None]
    return UsualTimes(min(services, default=None), min(tasks, default=None), time_outside_requests_ms(levels))


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
    if len(dropping) < CONSECUTIVE_TICKS:
        return None
    drops = [tick.offered.dropped for tick in dropping if tick.offered is not None]
    # the load thread counts drops by its reason: the pool was at its maximum, or the target was slow
    by_generator, by_target = sum(each.max_users for each in drops), sum(each.target for each in drops)
    now = _service_ms(dropping)
    readings: Readings = {"dropped": by_generator + by_target, "users": ticks[-1].users}
    readings |= measured(service_ms=None if now is None else round(now, 3))
    if usual.service_ms is None:
        return Proof("users_at_cap", by_generator > by_target, readings)
    is_quick = now is not None and now <= (1 + RELEVANT) * usual.service_ms
    return Proof("users_at_cap", is_quick and not _hangs(dropping, usual), readings | {"usual_ms": round(usual.service_ms, 3)})


def _full(offered: OfferedTick) -> bool:
    return offered.dropped.max_users + offered.dropped.target > 0


def _hangs(ticks: Sequence[Sample], usual: UsualTimes) -> bool:
    """Whether so few iterations ended that by Little's law those which run take clearly longer than usual: users that run are
    counted once a second, so that a level of 10 s with five of them knows their mean to 14%.
    """
    known = [tick.offered for tick in ticks if tick.offered is not None]
    running, per_s = sum(each.running for each in known), sum(each.finished + each.failed for each in known)
    return usual.task_ms is not None and 1000 * running > (1 + MOSTLY) * usual.task_ms * per_s


def _service_ms(ticks: Sequence[Sample]) -> float | None:
    endpoints = [endpoint for tick in ticks for endpoint in tick.endpoints]
    succeeded = sum(each.requests - each.failures for each in endpoints)
    return sum(each.latency_sum_ms for each in endpoints) / succeeded if succeeded else None


CHURN_LEAST_PER_S = 10.0
"""Least number of new connections a second: with fewer, ports never run out, since Linux frees 470 a second."""


def current_conditions(recent: RecentReadings, host: HostFacts, usual: UsualTimes = NOT_KNOWN) -> Iterator[Proof]:
    """The conditions that hold now."""
    tested = (
        _generator_cpu(recent, usual.outside_requests_ms),
        users_at_cap(recent.last(OVER), usual),
        _backlog(recent, host),
        _target_fds(recent, host),
        confirmation.syn_queue(recent.last(CONSECUTIVE_TICKS), host),
        _packet_loss(recent, host),
        _time_wait_buckets(recent),
        _churn(recent),
        _amplification(recent),
        _oom(recent),
    )
    return (found for found in tested if found is not None and found.holds)


def _settled(recent: RecentReadings, ticks: int) -> list[Sample]:
    """The latest settled ticks of the present level, at most `ticks`."""
    found: list[Sample] = []
    for tick in reversed(recent.last(ticks)):
        if not tick.settled or (found and tick.level != found[0].level):
            break
        found.append(tick)
    return found[::-1]


def _generator_cpu(recent: RecentReadings, outside_requests_ms: float) -> Proof | None:
    ticks = _settled(recent, 2 * OVER)
    if len(ticks) < OVER:
        return None
    generator = readings_over_seconds(ticks, outside_requests_ms)
    named: dict[str, float | None] = {name: getattr(generator, name) for name in SHOWN_OF_GENERATOR}
    readings: Readings = {name: round(value, 4) for name, value in measured(**named).items()}
    unread, saturated = tuple(name for name in named if name not in readings), generator.saturated is True
    blocked_at = next((tick.generator.blocked_at for tick in ticks[::-1] if tick.generator and tick.generator.blocked_at), None)
    if blocked_at is not None and generator.waits_in_a_call:
        return Proof("event_loop_blocked", saturated, readings | {"blocked_at": blocked_at}, unread)
    grounds: Readings = {"grounds": ", ".join(generator.reasons), **readings, **_tokens_read(ticks)}
    return Proof("generator_cpu_saturated", saturated, grounds, unread)


def _tokens_read(ticks: Sequence[Sample]) -> Readings:
    """Tokens of streams that the generator reads each second: most of its work, where replies are long."""
    tokens = sum(each.tokens for tick in ticks for each in tick.endpoints)
    return {"tokens_read_per_s": round(tokens / sum(tick.duration_s for tick in ticks), 1)} if tokens else {}


SHOWN_OF_GENERATOR = (
    "busy_ratio", "threads_ratio", "loop_lag_p99_ms", "little_ratio", "unaccounted_ms", "target_cpu_ratio",
)  # fmt: skip


def _backlog(recent: RecentReadings, host: HostFacts) -> Proof | None:
    """Connections are dropped while the queue exceeds its limit, or the slowest replies are as late as a retransmitted SYN."""
    ticks = recent.last(CONSECUTIVE_TICKS)
    found = confirmation.backlog(ticks, host)
    if not confirmation.listen_drops(ticks):
        return None
    queue, limit = most(ticks, lambda target: target.listen_queue), most(ticks, lambda target: target.listen_backlog)
    over = queue is not None and limit is not None and queue > limit
    late = found.holds and confirmation.late_connections(recent.last(2 * OVER))
    return Proof(found.id, over or late, found.readings, found.unread)


def _target_fds(recent: RecentReadings, host: HostFacts) -> Proof | None:
    """The target has no free descriptor and connections wait to be accepted, in CONSECUTIVE_TICKS."""
    ticks = recent.last(CONSECUTIVE_TICKS)
    proofs = [confirmation.out_of_fds([tick], host) for tick in ticks]
    return proofs[-1] if len(proofs) == CONSECUTIVE_TICKS and all(each.holds and not each.unread for each in proofs) else None


def _packet_loss(recent: RecentReadings, host: HostFacts) -> Proof | None:
    """Retransmissions in at least CONSECUTIVE_TICKS of the last 2 * OVER ticks, one of them recent. None while a listener drops
    connections: their SYNs are retransmitted too.
    """
    ticks = recent.last(2 * OVER)
    lost = [bool(tick.tcp and tick.tcp.target and tick.tcp.target.segments_retransmitted) for tick in ticks]
    lasts = sum(lost) >= CONSECUTIVE_TICKS and any(lost[-CONSECUTIVE_TICKS:])
    return confirmation.packet_loss(ticks, host) if lasts and not confirmation.listen_drops(recent.last(4 * OVER)) else None


def _time_wait_buckets(recent: RecentReadings) -> Proof | None:
    """TIME_WAIT buckets overflow, and users opened about as many connections as overflowed."""
    ticks = recent.last(CONSECUTIVE_TICKS)
    overflows, opens = growth(ticks[-1:], "time_wait_overflows"), connects(ticks)
    if not overflows or opens < MOSTLY * (growth(ticks, "time_wait_overflows") or 0):
        return None
    waiting = ticks[-1].tcp.sockets_time_wait if ticks[-1].tcp is not None else None
    return Proof("time_wait_bucket_overflow", True, {**measured(time_wait_overflows=overflows, sockets_time_wait=waiting)})


def _churn(recent: RecentReadings) -> Proof | None:
    """Users open about as many connections as they send requests, without one for each failure, after which a new connection is
    normal, and the first one of whoever replaces a user that has stopped itself. The cause is the service if it closes most of
    the connections, else the generator.
    """
    ticks = _settled(recent, OVER)
    opens, done = connects(ticks), requests(ticks)
    if any(tick.offered is not None for tick in ticks):  # a pool that grows, or uses its spare users, opens first connections
        opens = min(opens, sum((tick.closed_by_service or 0) + (tick.closed_by_users or 0) for tick in ticks))
    churned = opens - failures(ticks) - sum(tick.users_stopped for tick in ticks)
    if len(ticks) < OVER or not done:
        return None
    if churned < CHURN_LEAST_PER_S * sum(tick.duration_s for tick in ticks) or retried(ticks) > MOSTLY * done:
        return None
    readings: Readings = {"connects": opens, "requests": done, "connects_per_request": round(opens / done, 3)}
    closed = closed_by_service(ticks)
    if ticks[-1].closed_by_service is not None:
        readings["closed_by_service"] = closed
    by_service = closed >= MOSTLY * opens
    return Proof("service_closes_connections" if by_service else "connection_churn", churned >= MOSTLY * done, readings)


def _amplification(recent: RecentReadings) -> Proof | None:
    ticks = recent.last(OVER)
    again, done = retried(ticks), requests(ticks)
    if again < max(COUNT_LEAST, done):  # (p) clients repeat each request once, in the mean
        return None
    readings: Readings = {"retried": again, "requests": done, "connects": connects(ticks)}
    return Proof("generator_retry_amplification", True, readings)


def _oom(recent: RecentReadings) -> Proof | None:
    """The kernel killed one process of the target for lack of memory while the others run. Without a cgroup the counter is that
    of the machine, so a process must have ended by SIGKILL.
    """
    for target in (target for tick in recent.last(1) for target in tick.targets):
        kills = target.grown("oom_kills")
        is_its_own = target.ended_by.get("SIGKILL", 0) > 0 or (not target.ended_by and target.memory_limit_bytes is not None)
        if kills and target.alive and target.processes_ended and is_its_own:
            readings: Readings = {"oom_kills": int(kills), "processes_ended": target.processes_ended, "pid": target.pid}
            return Proof("target_oom_killed", True, readings)
    return None
