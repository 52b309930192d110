"""Which readings confirm a cause: one function per row of docs/causes.md, from the ticks of a window to a `Proof`.

Thresholds are those of the rows; (p) marks one that was set by judgement, not measured. A reading that could not be taken is
listed in `unread` and confirms nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from ...model.events import FailureSignature, HostFacts, Sample
from ...model.findings import Readings
from ...model.readings import TargetReading, TargetTcpReading
from ..statistics import COUNT_LEAST, FULL, MOSTLY, NONE_EXPECTED_MOST, measured

# -- The latest ticks, and sums over them, in which readings are searched that explain a failure.
#
# A reading that was not taken stays None in sums and maxima, never zero.

READINGS_WAIT_S = 0.9
"""Seconds to wait for the readings of the next tick; marks come within two seconds."""

KEPT = 90
"""Ticks kept: enough for a timeout of a minute and the half minute before it."""

Ticks = Sequence[Sample]
"""Samples in order of time."""


class RecentReadings:
    """The latest samples, in order."""

    def __init__(self) -> None:
        self._ticks: deque[Sample] = deque(maxlen=KEPT)

    def add(self, sample: Sample) -> None:
        """Append a sample and drop the oldest one."""
        self._ticks.append(sample)

    def since(self, t_s: float) -> Ticks:
        """Ticks that ended after `t_s`."""
        found = []
        for tick in reversed(self._ticks):
            if tick.t_s <= t_s:
                break
            found.append(tick)
        return found[::-1]

    def last(self, ticks: int) -> Ticks:
        """The latest `ticks` samples; fewer at the session's start."""
        return list(self._ticks)[-ticks:]


def growth(ticks: Ticks, *counters: str) -> int | None:
    """Sum of the growth of these TCP counters; None if one of them was never read."""
    total = 0
    for counter in counters:
        read = [grown for tick in ticks if tick.tcp is not None and (grown := tick.tcp.grown(counter)) is not None]
        if not read:
            return None
        total += int(sum(read))
    return total


def most(ticks: Ticks, reading: Callable[[TargetReading], int | None]) -> int | None:
    """The greatest value of a target's reading; None if it was never read."""
    return max((value for tick in ticks for target in tick.targets if (value := reading(target)) is not None), default=None)


def requests(ticks: Ticks) -> int:
    """All requests, warm-up included, without attempts that clients repeated by themselves."""
    return sum(each.requests + each.warmup_requests for tick in ticks for each in tick.endpoints)


def failures(ticks: Ticks) -> int:
    """Requests that failed, warm-up included."""
    return sum(each.failures + each.warmup_failures for tick in ticks for each in tick.endpoints)


def connects(ticks: Ticks) -> int:
    """Connections that users tried to open."""
    return sum(tick.connects for tick in ticks)


def closed_by_service(ticks: Ticks) -> int:
    """Connections that the service ended; 0 in older logs, which do not count them."""
    return sum(tick.closed_by_service or 0 for tick in ticks)


def broken(ticks: Ticks, reused: Iterable[bool | None] = (True, False, None)) -> int:
    """Failures by a broken connection, repeated attempts included. `reused`: count only those whose connection had been used
    before (True), was new (False), or is not known (None).
    """
    failed = [each for tick in ticks for each in (*tick.failures, *tick.retried)]
    return sum(each.count for each in failed if each.signature.reused in reused and _is_break(each.signature))


def _is_break(signature: FailureSignature) -> bool:
    return signature.status is None and bool(_BREAKS.intersection(signature.types))


_BREAKS = frozenset(
    ("ConnectionResetError", "BrokenPipeError", "ConnectionAbortedError", "RemoteDisconnected", "HTTPConnectionClosed")
)


def retried(ticks: Ticks) -> int:
    """Attempts that clients repeated by themselves."""
    return sum(each.count for tick in ticks for each in tick.retried)


TIME_WAIT = "ephemeral_port_exhaustion_time_wait"
ESTABLISHED = "ephemeral_port_exhaustion_established"

LOSS_LEAST = 0.01
"""Least share of retransmitted segments, and of dropped SYNs among accepted connections."""

RETRANSMITTED_SYN_MS = ((990.0, 1300.0), (2990.0, 3500.0), (6990.0, 7800.0))
"""Latency ranges of requests whose SYN was sent two, three or four times (after 1 s, 2 s and 4 s more)."""


class Proof(msgspec.Struct, frozen=True):
    """Whether a cause is confirmed, and by which readings."""

    id: str
    """An id of the catalogue."""
    holds: bool
    """Whether it is confirmed."""
    readings: Readings = msgspec.field(default_factory=dict)
    unread: tuple[str, ...] = ()
    """Names of readings that could not be taken."""


Check = Callable[[Ticks, HostFacts], Proof]
"""(ticks of a window, facts about the generator's host) -> whether a cause is confirmed."""


def ports(ticks: Ticks, host: HostFacts) -> Proof:
    """Ephemeral ports to the destination with the fewest free ones, and whether most of them are in TIME_WAIT or established."""
    read = [tick for tick in ticks if tick.ports is not None and tick.ports.used is not None and tick.ports.capacity]
    if not read:
        return Proof(TIME_WAIT, False, unread=("ports_used", "ports_capacity"))
    found = max(read, key=_ports_ratio).ports
    assert found is not None and found.used is not None and found.capacity
    states = measured(time_wait=found.time_wait, established=found.established)
    readings: Readings = {"ports_used": found.used, "ports_capacity": found.capacity, **states}
    if found.destination:
        readings["destination"] = found.destination
    time_wait, established = found.time_wait or 0, found.established or 0
    holds = found.used >= FULL * found.capacity and time_wait + established > 0
    unread = tuple(name for name in ("time_wait", "established") if name not in states)
    return Proof(TIME_WAIT if time_wait >= established else ESTABLISHED, holds, readings, unread)


def _ports_ratio(tick: Sample) -> float:
    found = tick.ports
    return found.used / found.capacity if found is not None and found.used is not None and found.capacity else 0.0


def used_up(id: str, used: str, limit: str, pairs: Iterable[tuple[int | None, int | None]]) -> Proof:  # noqa: A002
    """Whether hardly any is left of what has a fixed number. `pairs`: (used, limit), of which the nearest to its limit counts;
    `used`, `limit`: names of these readings.
    """
    known = [(number, most) for number, most in pairs if number is not None and most]
    if not known:
        return Proof(id, False, unread=(used,))
    number, most = max(known, key=lambda pair: pair[0] / pair[1])
    return Proof(id, number >= FULL * most, {used: number, limit: most})


def own_fds(ticks: Ticks, host: HostFacts) -> Proof:
    """File descriptors of the generator."""
    read = ((tick.generator.fds, tick.generator.fds_limit) for tick in ticks if tick.generator is not None)
    return used_up("fd_exhaustion_generator", "fds", "fds_limit", read)


def system_fds(ticks: Ticks, host: HostFacts) -> Proof:
    """File descriptors of all processes."""
    read = ((tick.host.fds, host.fds_limit_of_system) for tick in ticks if tick.host is not None)
    return used_up("fd_exhaustion_system", "fds_of_system", "fds_limit_of_system", read)


def target_fds(ticks: Ticks, host: HostFacts) -> Proof:
    """File descriptors of the target's process that is nearest to its limit."""
    read = [target for tick in ticks for target in tick.targets]
    found = used_up("fd_exhaustion_target", "target_fds", "fds_limit", ((each.fds_fullest, each.fds_limit) for each in read))
    if found.unread:
        return found
    queue = most(ticks, lambda target: target.listen_queue)
    return replace(found, readings=found.readings | {"pid": read[-1].pid} | measured(listen_queue=queue))


def out_of_fds(ticks: Ticks, host: HostFacts) -> Proof:
    """As `target_fds`, while connections wait to be accepted: if none does, requests wait for something else."""
    found = target_fds(ticks, host)
    if "listen_queue" not in found.readings:
        return replace(found, unread=(*found.unread, "listen_queue"))
    return replace(found, holds=found.holds and found.readings["listen_queue"] != 0)


def conntrack(ticks: Ticks, host: HostFacts) -> Proof:
    """The connection tracking table; never full if the kernel tracks nothing."""
    read = ((tick.host.conntrack, host.conntrack_max) for tick in ticks if tick.host is not None)
    return replace(used_up("conntrack_table_full", "conntrack", "conntrack_max", read), unread=())


def backlog(ticks: Ticks, host: HostFacts) -> Proof:
    """The target's accept queue: it is longer than its limit, or connections were dropped from it. Other listeners do not
    count.
    """
    overflows, queue = growth(ticks, "listen_overflows", "listen_drops"), most(ticks, lambda target: target.listen_queue)
    limit, dropped = most(ticks, lambda target: target.listen_backlog), listen_drops(ticks)
    readings: Readings = {**measured(listen_queue=queue, listen_backlog=limit, listen_drops=dropped)}
    unread = tuple(name for name, value in (("listen_queue", queue), ("listen_overflows", overflows)) if value is None)
    over = queue is not None and limit is not None and queue > limit
    nearly = queue is not None and queue > MOSTLY * (limit or 0) and not _listeners_are_read(ticks)
    holds = over or (bool(overflows) and (nearly or bool(dropped)))  # drops of a full SYN queue are no overflows
    return Proof("listen_backlog_overflow", holds, readings, unread)


def syn_queue(ticks: Ticks, host: HostFacts) -> Proof:
    """Half-open connections that the target's kernel dropped because the SYN queue was full."""
    drops, accepted = growth(ticks, "syn_queue_full_drops", "syncookies_sent"), growth(ticks, "passive_opens")
    if drops is None or accepted is None:
        return Proof("syn_queue_overflow", False, unread=("syn_queue_drops",))
    readings: Readings = {"syn_queue_drops": drops, "passive_opens": accepted}
    readings |= measured(tcp_max_syn_backlog=host.tcp_max_syn_backlog)
    many = drops >= max(NONE_EXPECTED_MOST, LOSS_LEAST * accepted)  # other programs of the namespace may have a few
    by_backlog = growth(ticks, "listen_overflows") or 0  # a full accept queue fills the SYN queue too
    full = True
    if _listeners_are_read(ticks):
        half_open = max(own.half_open for own in _at_target(ticks))
        readings["half_open"] = half_open
        full = half_open > MOSTLY * (most(ticks, lambda target: target.listen_backlog) or 0)
    return Proof("syn_queue_overflow", many and full and drops > by_backlog, readings)


def packet_loss(ticks: Ticks, host: HostFacts) -> Proof:
    """Retransmitted segments of the users' connections. Two other reasons are excluded: a full accept queue, and a machine
    without an idle core, where acknowledgements are late although nothing was lost (measured on loopback).
    """
    own = _at_target(ticks)
    sent, again = sum(each.segments_sent for each in own), sum(each.segments_retransmitted for each in own)
    if not sent:
        return Proof("packet_loss", False, unread=("segments_retransmitted",))
    readings: Readings = {"segments_retransmitted": again, "segments_sent": sent, "retransmitted_ratio": again / sent}
    lost = again >= max(COUNT_LEAST, LOSS_LEAST * sent) and not listen_drops(ticks) and not _is_full(ticks, host)
    return Proof("packet_loss", lost, readings)


def _is_full(ticks: Ticks, host: HostFacts) -> bool:
    """Whether all cores were in use in more than half of the ticks."""
    busy = [tick.host.cpu_ratio for tick in ticks if tick.host is not None and tick.host.cpu_ratio is not None]
    full = [ratio for ratio in busy if host.cpus and ratio >= FULL * host.cpus]
    return len(full) > len(busy) / 2


def tcp_memory(ticks: Ticks, host: HostFacts) -> Proof:
    """Connections that the kernel aborted for lack of memory. The counter is that of the network namespace, so connections of
    users must have broken too.
    """
    aborts = growth(ticks, "aborts_on_memory")
    if aborts is None:
        return Proof("tcp_memory_pressure", False, unread=("aborts_on_memory",))
    readings: Readings = {"aborts_on_memory": aborts}
    pages = [tick.tcp.memory_pages for tick in ticks if tick.tcp is not None and tick.tcp.memory_pages is not None]
    if pages:
        readings["tcp_memory_pages"] = max(pages)
    return Proof("tcp_memory_pressure", 0 < broken(ticks) <= 2 * aborts, readings)  # (p) more have another cause, too


def listen_drops(ticks: Ticks) -> int | None:
    """Connections dropped by the target's listeners; where those are not known (another network namespace, old logs), by all
    listeners of the namespace. None: not read.
    """
    dropped = sum(own.listen_drops for own in _at_target(ticks))
    if dropped or _listeners_are_read(ticks):
        return min(
            dropped, growth(ticks, "listen_drops") or 0
        )  # a packet filter's drops count for the listener, not for its queues
    return growth(ticks, "listen_drops") if most(ticks, lambda target: target.listen_queue) is not None else None


def _at_target(ticks: Ticks) -> list[TargetTcpReading]:
    return [tick.tcp.target for tick in ticks if tick.tcp is not None and tick.tcp.target is not None]


def _listeners_are_read(ticks: Ticks) -> bool:
    """Whether the target's listeners are in the app's own network namespace, where their drops can be read."""
    return bool(_at_target(ticks)) and most(ticks, lambda target: target.listen_backlog) is not None


def late_connections(ticks: Ticks) -> bool:
    """Whether the slowest success of a tick took as long as a request whose SYN was retransmitted."""
    return any(low <= tick.max_ms <= high for tick in ticks if tick.max_ms is not None for low, high in RETRANSMITTED_SYN_MS)
