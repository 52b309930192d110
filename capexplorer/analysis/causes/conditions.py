"""Causes that readings show by themselves, whether anything failed or not: looked at once a tick.

Each must have held for some seconds: a tick is a sample, and a burst of a neighbour's in the same counters is no cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...model.events import HostFacts, Sample
from ...model.findings import Readings
from . import confirmation
from .confirmation import Proof
from .generator_saturation import grounds_over
from .recent_readings import Recent, connects, failures, growth, most, requests, retried

SATURATED_OVER = 10
SATURATED_LEAST = 5
"""Settled ticks of one level that a saturated generator is judged by."""

CHURN_OVER = 5
CHURN_LEAST = 0.5
"""(p) New connections a request."""

CHURN_LEAST_PER_S = 10.0
"""Under it ports never run out: Linux frees 470 a second."""

AMPLIFIED_OVER = 5
AMPLIFIED_LEAST = 1.0
AMPLIFIED_RETRIES_LEAST = 20
"""(p) Repetitions a request, and how many at least."""

HELD_FOR = 3
"""Ticks in a row."""

LOSS_OVER = 10
DROPS_OVER = 18
SLOW_CONNECTS_OVER = 8
"""Ticks: a SYN that was dropped comes again after 1, 3, 7 s."""


def standing(lately: Recent, host: HostFacts, own_ms: float = 0.0) -> Iterator[Proof]:
    """What holds now. `own_ms`: what users spend of a cycle beside responses and chosen waits, where that is known."""
    saturated = _generator_cpu(lately, own_ms)
    if saturated is not None and saturated.holds:
        yield saturated
    for look in (
        _backlog, _target_fds, _syn_queue, _packet_loss, _time_wait_buckets, _churn, _amplification,
        _oom,
    ):  # fmt: skip
        found = look(lately, host)
        if found is not None and found.holds:
            yield found


TIME_WAIT_OURS = 0.5
"""(p) Connections that users opened for each TIME_WAIT that found no room: the count is the whole namespace's."""

Look = Callable[[Recent, HostFacts], Proof | None]


def _settled(lately: Recent, ticks: int) -> list[Sample]:
    """The latest ticks, as long as they are settled ones of the level that is open."""
    found: list[Sample] = []
    for tick in reversed(lately.last(ticks)):
        if not tick.settled or (found and tick.level != found[0].level):
            break
        found.append(tick)
    return found[::-1]


def _generator_cpu(lately: Recent, own_ms: float) -> Proof | None:
    ticks = _settled(lately, SATURATED_OVER)
    if len(ticks) < SATURATED_LEAST:
        return None
    grounds = grounds_over(ticks, own_ms)
    named = {
        "busy_ratio": grounds.busy_ratio,
        "threads_ratio": grounds.threads_ratio,
        "loop_lag_p99_ms": grounds.loop_lag_p99_ms,
        "little_ratio": grounds.little_ratio,
        "unaccounted_ms": grounds.unaccounted_ms,
        "target_cpu_ratio": grounds.target_cpu_ratio,
    }
    readings: Readings = {name: round(value, 4) for name, value in named.items() if value is not None}
    unread = tuple(name for name, value in named.items() if value is None)
    return Proof("generator_cpu_saturated", grounds.saturated is True, {"grounds": ", ".join(grounds.held), **readings}, unread)


def _backlog(lately: Recent, host: HostFacts) -> Proof | None:
    """Beyond its limit as connections are dropped; or dropped while the slowest replies are as late as a SYN sent again."""
    ticks = lately.last(HELD_FOR)
    found = confirmation.backlog(ticks, host)
    if not confirmation.listen_drops(ticks):
        return None
    queue, limit = most(ticks, lambda target: target.listen_queue), most(ticks, lambda target: target.listen_backlog)
    over = queue is not None and limit is not None and queue > limit
    late = found.holds and confirmation.late_connections(lately.last(SLOW_CONNECTS_OVER))
    return Proof(found.id, over or late, found.readings, found.unread)


def _target_fds(lately: Recent, host: HostFacts) -> Proof | None:
    """At its limit while connections wait that it cannot accept."""
    ticks = lately.last(HELD_FOR)
    proofs = [confirmation.starved_of_fds([tick], host) for tick in ticks]
    return proofs[-1] if len(proofs) == HELD_FOR and all(each.holds and not each.unread for each in proofs) else None


def _syn_queue(lately: Recent, host: HostFacts) -> Proof | None:
    return confirmation.syn_queue(lately.last(HELD_FOR), host)


def _packet_loss(lately: Recent, host: HostFacts) -> Proof | None:
    """Over ten seconds, in some of the latest. What a full queue dropped is sent again for as long as its SYNs are."""
    ticks = lately.last(LOSS_OVER)
    lost_in = [
        index for index, tick in enumerate(ticks) if tick.tcp and tick.tcp.target and tick.tcp.target.segments_retransmitted
    ]
    if len(lost_in) < HELD_FOR or lost_in[-1] < len(ticks) - HELD_FOR or confirmation.listen_drops(lately.last(DROPS_OVER)):
        return None
    return confirmation.packet_loss(ticks, host)


def _time_wait_buckets(lately: Recent, host: HostFacts) -> Proof | None:
    """Ours, where we open about as many connections as find no room."""
    ticks = lately.last(HELD_FOR)
    overflows, opens = growth(ticks[-1:], "time_wait_overflows"), connects(ticks)
    if not overflows or opens < TIME_WAIT_OURS * (growth(ticks, "time_wait_overflows") or 0):
        return None
    readings: Readings = {"time_wait_overflows": overflows}
    waiting = ticks[-1].tcp.sockets_time_wait if ticks[-1].tcp is not None else None
    if waiting is not None:
        readings["sockets_time_wait"] = waiting
    return Proof("time_wait_bucket_overflow", True, readings)


def _churn(lately: Recent, host: HostFacts) -> Proof | None:
    """New connections about as many as requests, while most succeed: after a failure a new one is right."""
    ticks = _settled(lately, CHURN_OVER)
    opens, done = connects(ticks), requests(ticks)
    if len(ticks) < CHURN_OVER or not done or failures(ticks) > done / 2:
        return None
    if opens < CHURN_LEAST_PER_S * sum(tick.duration_s for tick in ticks) or retried(ticks) > AMPLIFIED_LEAST / 2 * done:
        return None
    readings: Readings = {"connects": opens, "requests": done, "connects_per_request": round(opens / done, 3)}
    return Proof("connection_churn", opens >= CHURN_LEAST * done, readings)


def _amplification(lately: Recent, host: HostFacts) -> Proof | None:
    ticks = lately.last(AMPLIFIED_OVER)
    again, done = retried(ticks), requests(ticks)
    if again < max(AMPLIFIED_RETRIES_LEAST, AMPLIFIED_LEAST * done):
        return None
    readings: Readings = {"retried": again, "requests": done, "connects": connects(ticks)}
    return Proof("generator_retry_amplification", True, readings)


def _oom(lately: Recent, host: HostFacts) -> Proof | None:
    """A process of the target's that the kernel ended, while the rest lives. Without a cgroup the count is the machine's."""
    for target in (target for tick in lately.last(1) for target in tick.targets):
        kills = target.grown("oom_kills")
        told = target.ended_by.get("SIGKILL", 0) > 0 or (not target.ended_by and target.memory_limit_bytes is not None)
        if kills and target.alive and target.processes_ended and told:
            readings: Readings = {"oom_kills": int(kills), "processes_ended": target.processes_ended, "pid": target.pid}
            return Proof("target_oom_killed", True, readings)
    return None
