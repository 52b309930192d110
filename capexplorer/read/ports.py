"""Ephemeral ports: how many there are, how many are in use, and when they run out.

A port is held by the end that connected. On loopback the kernel's totals (sockstat) count both ends, and the end that closed
first is in TIME_WAIT, so totals say nothing about ports. Client ends are recognised by their local port: it is in the ephemeral
range and no process listens on it; that filter runs in the kernel. Each (source, destination) pair has the whole range to itself,
so `used` is that of the pair with the most, among those to the target's port where that is known.

Cost: all states but TIME_WAIT are counted at every tick (0.15 ms; 1.5 ms with 25,000 TIME_WAIT sockets in the same tables).
TIME_WAIT rows are counted at `_COUNTED_PER_S` on average; between two counts a pair's number is estimated as the kernel's present
TIME_WAIT total times the pair's share at the last count.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from collections import Counter, deque
from collections.abc import Collection
from typing import NamedTuple

from ..model.readings import PortsReading
from ..procs.processes import stat_of
from . import procfs
from .procfs import numbers, read_once
from .sockdiag import ESTABLISHED, HOLDING, STATES, TIME_WAIT, Key, SockDiag, ports_between
from .tcp import SocketTotals

_COUNTED_PER_S = 8000
"""TIME_WAIT rows a second, on average: 0.4 us each, so 0.3% of a core; 25,000 rows are counted every four seconds."""

_RECOUNT_AT_CHANGE = 0.25
"""Relative change of the TIME_WAIT total since the last count at which rows are counted at once, whatever that costs."""

_OTHER_STATES = HOLDING - {ESTABLISHED}
"""States without a field of their own in the reading."""

_SMOOTHED_OVER_S = 10.0
"""Time over which the growth of the number of ports is averaged."""

_TIME_WAIT_LASTS_S = 60.0
"""TCP_TIMEWAIT_LEN, fixed in Linux."""

_IPV4_MAPPED_PREFIX = bytes(10) + b"\xff\xff"
_AF_INET = 2


class Range(NamedTuple):
    """The ephemeral range."""

    first: int
    last: int
    reserved: int
    """Ports within the range that the kernel never assigns."""

    @property
    def capacity(self) -> int:
        """Number of ports available to one (source, destination)."""
        return self.last - self.first + 1 - self.reserved


class PortPair(NamedTuple):
    """A source address and a destination: connections between them compete for the same ports."""

    source: bytes
    address: bytes
    port: int

    @property
    def destination(self) -> str:
        """`address:port`."""
        address = ipaddress.ip_address(self.address)
        return f"[{address}]:{self.port}" if address.version == 6 else f"{address}:{self.port}"


def ephemeral_range() -> Range | None:
    """That of this network namespace; None where it cannot be read."""
    bounds = numbers("/proc/sys/net/ipv4/ip_local_port_range")
    if len(bounds) != 2:
        return None
    return range_of(bounds[0], bounds[1], procfs.port_ranges(read_once("/proc/sys/net/ipv4/ip_local_reserved_ports")))


def range_of(first: int, last: int, reserved: list[tuple[int, int]]) -> Range:
    """The range with the number of reserved ports inside it; `reserved`: (first, last) of each block of reserved ports."""
    return Range(first, last, len({port for low, high in reserved for port in range(max(low, first), min(high, last) + 1)}))


class PortsProbe:
    """Reads one PortsReading per tick."""

    def __init__(self) -> None:
        self._range = ephemeral_range()
        self._diag = SockDiag()
        self._totals = SocketTotals()
        self._time_wait = _TimeWait()
        self._burn_rate = _BurnRate()
        self._port: int | None = None

    def watch(self, port: int | None) -> None:
        """Report only pairs with this port, where the target listens: other processes may hold more ports to other destinations.
        None: not known; the pair with the most ports is reported."""
        self._port = port

    def read(self, elapsed_s: float, dump_now: bool = False) -> PortsReading:
        """The ports now. `elapsed_s`: since the last call. `dump_now`: count TIME_WAIT rows in any case, as at the first
        EADDRNOTAVAIL.
        """
        if self._range is None:
            return PortsReading()
        total = self._totals.read().get("TCP.tw")
        exact = total is not None and (self._time_wait.due(total, elapsed_s) or dump_now)
        pairs = self._pairs(total, exact)
        if pairs is None:
            return PortsReading(capacity=self._range.capacity)
        pair, states = self._fullest(pairs)
        used = states.total()
        burn_per_s = self._burn_rate.per_s(used, elapsed_s)
        return PortsReading(
            capacity=self._range.capacity,
            used=used,
            time_wait=states[TIME_WAIT],
            established=states[ESTABLISHED],
            by_state={STATES[state]: count for state, count in sorted(states.items()) if count and state in _OTHER_STATES},
            destination=pair.destination if pair else None,
            burn_rate_per_s=burn_per_s,
            exhausted_in_s=exhausted_in_s(self._range.capacity, used, states[TIME_WAIT], burn_per_s),
        )

    def _fullest(self, pairs: dict[PortPair, Counter[int]]) -> tuple[PortPair | None, Counter[int]]:
        own = {pair: states for pair, states in pairs.items() if self._port in (None, pair.port)}
        return max(own.items(), key=lambda each: each[1].total(), default=(None, Counter[int]()))

    def _pairs(self, total: int | None, exact: bool) -> dict[PortPair, Counter[int]] | None:
        """Sockets by pair and state; `total` is the kernel's TIME_WAIT count. None when the kernel does not report it."""
        listening = self._diag.listeners()
        if listening is None or total is None or self._range is None:
            return None
        client_ends = ports_between(self._range.first, self._range.last, {row.port for row in listening})
        if exact:
            waiting = self._diag.count([TIME_WAIT], client_ends)
            if waiting is None:
                return None
            self._time_wait.counted(_by_pair(waiting), total)
        held = self._diag.count(HOLDING, client_ends)
        if held is None:
            return None
        pairs = _by_pair(held)
        for pair, count in self._time_wait.rows(total).items():
            pairs.setdefault(pair, Counter())[TIME_WAIT] += count
        return pairs

    def close(self) -> None:
        """Close files and socket."""
        self._diag.close()
        self._totals.close()


def exhausted_in_s(capacity: int, used: int, time_wait: int, burn_per_s: float | None) -> float | None:
    """Seconds until `capacity` at this rate; None if the number of ports does not grow, or levels off below the capacity.

    TIME_WAIT levels off: after 60 s as many sockets leave it as enter it (100 new connections a second make 6,000, not 28,000).
    """
    if burn_per_s is None or burn_per_s <= 0:
        return None
    plateau = burn_per_s * _TIME_WAIT_LASTS_S
    held = used - time_wait
    if held < time_wait <= plateau < capacity - held:
        return None
    return max(capacity - used, 0) / burn_per_s


def _by_pair(counts: Counter[Key]) -> dict[PortPair, Counter[int]]:
    pairs: dict[PortPair, Counter[int]] = {}
    for (family, state, port, source, address), count in counts.items():
        pair = PortPair(_address(family, source), _address(family, address), int.from_bytes(port, "big"))
        pairs.setdefault(pair, Counter())[state] += count
    return pairs


def _address(family: int, raw: bytes) -> bytes:
    """4 or 16 bytes. An IPv6 socket with an IPv4-mapped address uses the ports of IPv4."""
    if family == _AF_INET:
        return raw[:4]
    return raw[12:] if raw.startswith(_IPV4_MAPPED_PREFIX) else raw


class _TimeWait:
    """Decides when to count TIME_WAIT rows, and estimates them in between."""

    def __init__(self) -> None:
        self._allowed = 0.0
        self._counted_total = 0
        self._counts: dict[PortPair, int] = {}

    def due(self, total: int, elapsed_s: float) -> bool:
        """Whether to count the `total` rows now: the average rate allows for it, or the total has changed too much."""
        self._allowed += elapsed_s * _COUNTED_PER_S
        return total <= self._allowed or abs(total - self._counted_total) > self._counted_total * _RECOUNT_AT_CHANGE

    def counted(self, pairs: dict[PortPair, Counter[int]], total: int) -> None:
        """Store a count that was made while the kernel's total (both ends, all ports) was `total`."""
        self._allowed = 0.0
        self._counted_total = total
        self._counts = {pair: states.total() for pair, states in pairs.items()}

    def rows(self, total: int) -> dict[PortPair, int]:
        """Estimated rows by pair: those of the last count, scaled by the change of the kernel's total to `total`."""
        scale = total / self._counted_total if self._counted_total else 1.0
        return {pair: round(count * scale) for pair, count in self._counts.items()}


class _BurnRate:
    """Growth of the number of used ports per second, over the last ten seconds."""

    def __init__(self) -> None:
        self._now_s = 0.0
        self._seen: deque[tuple[float, int]] = deque()

    def per_s(self, used: int, elapsed_s: float) -> float | None:
        """None at the first tick; negative while ports become free."""
        self._now_s += elapsed_s
        while self._seen and self._now_s - self._seen[0][0] > _SMOOTHED_OVER_S + elapsed_s / 2:
            self._seen.popleft()
        self._seen.append((self._now_s, used))
        since_s, then = self._seen[0]
        return (used - then) / (self._now_s - since_s) if self._now_s > since_s else None


# -- listener ------------------------------------------------------------------------------------------------------------------
# The process that listens on a port (for a service that was already running), and the ports on which a process listens (for one
# that was just started). Walks over all processes: meant for the start of a session, not for every second.


def listening_pid(port: int, *, udp: bool = False) -> int | None:
    """The process that listens on `port` here; of several that share it, the one that started first. None: no such process is
    visible."""
    return _by_psutil(port, "udp" if udp else "tcp") if udp or sys.platform != "linux" else _by_inode(port)


def listening_ports(pid: int) -> list[int]:
    """TCP ports on which a process and its descendants listen, in ascending order; empty if it has ended."""
    import psutil

    found: set[int] = set()
    try:
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            found.update(row.laddr.port for row in each.net_connections("tcp") if row.status == psutil.CONN_LISTEN)
    except psutil.Error:
        pass
    return sorted(found)


def listening_programs(names: Collection[str]) -> list[tuple[str, int]]:
    """(name, lowest TCP port) of each of these programs that listens here; only what is visible to this user."""
    import psutil

    found: dict[str, int] = {}
    for process in psutil.process_iter(["name"]):
        name = process.info["name"]
        if name in names and (ports := listening_ports(process.pid)):
            found[name] = min(ports[0], found.get(name, ports[0]))
    return sorted(found.items())


def _by_inode(port: int) -> int | None:
    diag = SockDiag()
    try:
        inodes = {f"socket:[{row.inode}]" for row in diag.listeners(port) or []}
    finally:
        diag.close()
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit()) if inodes else []
    holders = [pid for pid in pids if _holds(pid, inodes)]
    return min(holders, key=_started, default=None)


def _holds(pid: int, inodes: set[str]) -> bool:
    try:
        return any(_link(f"/proc/{pid}/fd/{fd}") in inodes for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _started(pid: int) -> tuple[int, int]:
    stat = stat_of(pid)
    return (stat.started_ticks if stat else sys.maxsize, pid)


def _by_psutil(port: int, kind: str) -> int | None:
    import psutil

    listens = (psutil.CONN_LISTEN, psutil.CONN_NONE)  # the latter: of UDP
    try:
        rows = psutil.net_connections(kind)
    except psutil.Error:
        return None
    pids = {row.pid for row in rows if row.status in listens and row.laddr and row.laddr.port == port and row.pid}
    return min(pids, key=_started, default=None)
