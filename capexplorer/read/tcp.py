"""The kernel's TCP counters and socket totals, the accept queue of the target's port, and what waits for the network.

Counters are per network namespace. If the target is in another one, the counters of its end (accepts, overflows) are read through
/proc/PID/net. So is its accept queue, since sock_diag answers only for the caller's own namespace. /proc/net/tcp has how many
connections wait, not how many may; listeners are its first rows, so it costs 0.05 ms however many connections follow.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..model.readings import TargetTcpReading, TcpReading
from . import procfs
from .procfs import Growth, KeptFile, per_second
from .sockdiag import HOLDING, LISTEN, SYN_RECV, Netlink, SockDiag, rows, value_at

_GENERATOR_COUNTERS = {
    "active_opens": "Tcp.ActiveOpens",
    "attempt_fails": "Tcp.AttemptFails",
    "resets_sent": "Tcp.OutRsts",
    "resets_of_established": "Tcp.EstabResets",
    "segments_sent": "Tcp.OutSegs",
    "segments_retransmitted": "Tcp.RetransSegs",
    "aborts_on_memory": "TcpExt.TCPAbortOnMemory",
    "time_wait_overflows": "TcpExt.TCPTimeWaitOverflow",
}
_TARGET_COUNTERS = {
    "passive_opens": "Tcp.PassiveOpens",
    "listen_overflows": "TcpExt.ListenOverflows",
    "listen_drops": "TcpExt.ListenDrops",
    "syn_queue_full_drops": "TcpExt.TCPReqQFullDrop",
    "syncookies_sent": "TcpExt.SyncookiesSent",
}


class NetCounters:
    """snmp and netstat of one network namespace, as growth."""

    def __init__(self, net: str = "/proc/net") -> None:
        self._files = [KeptFile(f"{net}/snmp"), KeptFile(f"{net}/netstat")]
        self._growth = Growth()

    def read(self, fields: dict[str, str]) -> dict[str, int | None]:
        """Growth since the last call, by field of the reading."""
        now: dict[str, int] = {}
        for file in self._files:
            now |= procfs.named_counters(file.read())
        return {field: self._growth(field, now.get(name)) for field, name in fields.items()}

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


class NamespaceListeners:
    """The listeners in the network namespace of the process `pid`."""

    def __init__(self, pid: int) -> None:
        self._files = [KeptFile(f"/proc/{pid}/net/{name}") for name in ("tcp", "tcp6")]

    def queue(self, port: int) -> int | None:
        """Connections that wait on `port`; None if nothing listens on it.

        tcp6 is read only if nothing listens by IPv4: to find an IPv6 socket among 25,000 others takes the kernel 3 ms.
        """
        for file in self._files:
            queues = [queue for found, queue in _listening(file) if found == port]
            if queues:
                return sum(queues)
        return None

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def _listening(file: KeptFile) -> Iterator[tuple[int, int]]:
    """(port, queue) of each listener: the rows before the first one in another state."""
    try:
        rows = file.lines()
        next(rows, None)  # titles
        for row in rows:
            listener = procfs.listening(row)
            if listener is None:
                return
            yield listener
    except OSError:
        return


class SocketTotals:
    """sockstat: how many TCP sockets there are, of both ends and both families. 2 us a file."""

    def __init__(self) -> None:
        self._files = [KeptFile("/proc/net/sockstat"), KeptFile("/proc/net/sockstat6")]

    def read(self) -> dict[str, int]:
        """`TCP.inuse`, `TCP.tw`, `TCP6.inuse`, ...; empty when unreadable."""
        return procfs.sockstat(self._files[0].read()) | procfs.sockstat(self._files[1].read())

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


class TcpProbe:
    """Reads a TcpReading a tick, and the target's accept queue."""

    def __init__(self) -> None:
        self._counters = NetCounters()
        self._target_counters: NetCounters | None = None
        """Of the target's network namespace, if it is another one; so are its listeners."""
        self._target_listeners: NamespaceListeners | None = None
        self._target_tcp: TargetTcp | None = None
        self._totals = SocketTotals()
        self._diag = SockDiag()
        self._queues = InterfaceQueues()

    def watch(self, pid: int | None, port: int | None = None) -> None:
        """`pid`: the target's process, whose network namespace may be another one; `port`: where it listens."""
        for each in (self._target_counters, self._target_listeners):
            if each is not None:
                each.close()
        self._target_counters = self._target_listeners = None
        self._target_tcp = TargetTcp(port, self._diag) if port is not None else None
        if pid is not None and not _same_namespace(pid):
            self._target_counters, self._target_listeners = NetCounters(f"/proc/{pid}/net"), NamespaceListeners(pid)

    def read(self, elapsed_s: float = 1.0) -> TcpReading:
        """Growth of the counters since the last call, `elapsed_s` ago; all are unread at the first call."""
        grown = self._counters.read(_GENERATOR_COUNTERS | _TARGET_COUNTERS)
        if self._target_counters is not None:
            grown |= self._target_counters.read(_TARGET_COUNTERS)
        totals = self._totals.read()
        grown["sockets_orphaned"] = totals.get("TCP.orphan")
        in_use = [totals[name] for name in ("TCP.inuse", "TCP6.inuse") if name in totals]
        of_target = self._target_tcp.read(elapsed_s) if self._target_tcp is not None else None
        sending = self._target_tcp.sending if self._target_tcp is not None else None
        sending_sockets, unread_sockets, unsent_bytes = sending or (None, None, None)
        queued_bytes, queue_bytes_per_s = self._queues.read(elapsed_s) or (None, None)
        return TcpReading(
            unread=tuple(sorted(name for name, value in grown.items() if value is None)),
            **{name: value for name, value in grown.items() if value is not None},
            sockets_in_use=sum(in_use) if in_use else None,
            sockets_time_wait=totals.get("TCP.tw"),
            memory_pages=totals.get("TCP.mem"),
            target=of_target,
            sending_sockets=sending_sockets,
            unread_sockets=unread_sockets,
            unsent_bytes=unsent_bytes,
            queued_bytes=queued_bytes,
            queue_bytes_per_s=queue_bytes_per_s,
        )

    def listen_queue(self, port: int) -> tuple[int, int | None] | None:
        """(connections that wait on `port`, how many may wait), summed over its listeners; None if nothing listens on it."""
        if self._target_listeners is not None:
            queue = self._target_listeners.queue(port)
            return None if queue is None else (queue, None)
        rows = self._diag.listeners(port)
        return (sum(row.queue for row in rows), sum(row.backlog for row in rows)) if rows else None

    def close(self) -> None:
        """Close files and socket."""
        of_target = self._target_counters, self._target_listeners
        for each in (self._counters, *of_target, self._totals, self._diag, self._queues):
            if each is not None:
                each.close()


def _same_namespace(pid: int) -> bool:
    """Whether `pid` is in our network namespace; assumed to be true if that cannot be read."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino == os.stat("/proc/self/ns/net").st_ino
    except OSError:
        return True


# -- target tcp ----------------------------------------------------------------------------------------------------------------
# TCP at the target's port alone. The kernel's counters are those of a whole network namespace: on a busy machine, losses and
# full queues of other processes were marked as the service's (measured). Here the sockets of the target's port are read.
#
# Both ends of a connection count if both are in this namespace. Connections that were opened and closed between two readings are
# missed, so growth may be too small, never too large. A reading costs 2 us per socket, so with more sockets readings become
# rarer.


_SOCKETS_PER_S = 1500
"""Sockets read per second, on average: 0.3% of a core."""

_INFO, _MEMORY = 2, 7
"""INET_DIAG_INFO: struct tcp_info; INET_DIAG_SKMEMINFO: nine counts of a socket."""

_COUNTS, _INFO_BYTES = struct.Struct("=100xI32xI"), 140
"""tcpi_total_retrans and tcpi_segs_out (since Linux 4.2)."""

_SENDING, _INFO_WITH_SENDING_BYTES = struct.Struct("=144xI20xQQ"), 184
"""tcpi_notsent_bytes, tcpi_busy_time and tcpi_rwnd_limited (since Linux 4.10), the latter two in microseconds."""

_DUPLICATES, _INFO_WITH_DUPLICATES_BYTES = struct.Struct("=216xI"), 220
"""tcpi_dsack_dups (since Linux 4.19): segments retransmitted although the other end already had them (tail loss probes). On
loopback, where nothing can be lost, these were 81% of all retransmissions (measured).
"""

_DROPS_AT = 32
"""SK_MEMINFO_DROPS: of a listener, connections dropped because one of its queues was full."""

_STATE_AT, _INODE_AT = 17, 84
_COOKIE = struct.Struct("=60x8s")
_ATTRIBUTE = struct.Struct("=HH")


class _Sent(NamedTuple):
    """What one socket has sent since it was opened."""

    segments: int = 0
    retransmitted: int = 0
    """Without those that were duplicates."""
    busy_us: int = 0
    """Time with data that the other end had not acknowledged."""
    unread_us: int = 0
    """The part of it in which the other end's window was full, since its program did not read."""
    unsent_bytes: int = 0
    """Bytes that wait in the socket now."""


class Sending(NamedTuple):
    """The port's sockets with data on the way."""

    sockets: float
    unread_sockets: float
    unsent_bytes: int


class TargetTcp:
    """Reads one TargetTcpReading per tick, through the caller's SockDiag."""

    def __init__(self, port: int, diag: SockDiag) -> None:
        self._port, self._diag = port, diag
        self._allowed = self._since_s = 0.0
        self._sent: dict[bytes, _Sent] | None = None
        self._drops: dict[int, int] | None = None
        self.sending: Sending | None = None
        """What the latest reading showed; None: it did not read the sockets, or not those of the target's end."""

    def read(self, elapsed_s: float) -> TargetTcpReading | None:
        """Growth since the last call; None at the first call, and if the kernel does not report it."""
        self.sending = None
        try:
            drops = self._listeners()
            dropped = _growth(drops, self._drops)
            self._drops = drops
            self._allowed += elapsed_s * _SOCKETS_PER_S
            self._since_s += elapsed_s
            first = self._sent is None
            sent, retransmitted = self._sockets() if first or len(self._sent or ()) <= self._allowed else (0, 0)
            half_open = self._half_open() if drops else 0
        except OSError:
            self._sent = self._drops = None
            return None
        if first:
            self.sending = None
            return None
        return TargetTcpReading(
            segments_sent=sent, segments_retransmitted=retransmitted, listen_drops=dropped, half_open=half_open
        )

    def _listeners(self) -> dict[int, int]:
        """Connections dropped so far, by listener."""
        return {
            struct.unpack_from("=I", piece, row + _INODE_AT)[0]: struct.unpack_from("=I", piece, found + _DROPS_AT)[0]
            for piece in self._diag.pieces([LISTEN], port=self._port, attribute=_MEMORY)
            for row, length in rows(piece)
            if (found := value_at(piece, row, length, _MEMORY)) is not None
        }

    def _sockets(self) -> tuple[int, int]:
        """(segments sent, segments retransmitted without duplicates) since the last reading. A new socket began with 0."""
        now: dict[bytes, _Sent] = {}
        for piece in self._diag.pieces(HOLDING, remote_port=self._port, attribute=_INFO):
            now.update(_sent(piece))
        if self._drops:  # the target's end is in this namespace as well
            for piece in self._diag.pieces(HOLDING, port=self._port, attribute=_INFO):
                now.update(_sent(piece))
        before, self._sent, self._allowed = self._sent or {}, now, 0.0
        none = _Sent()
        pairs = [(new, before.get(cookie, none)) for cookie, new in now.items()]
        self.sending, self._since_s = _sending(pairs, self._since_s) if self._drops and self._since_s else None, 0.0
        sent, retransmitted = (sum(new[each] - old[each] for new, old in pairs) for each in (0, 1))
        return sent, max(0, retransmitted)  # a duplicate may be reported one tick later

    def _half_open(self) -> int:
        pieces = self._diag.pieces([SYN_RECV], port=self._port)
        return sum(piece[row + _STATE_AT] == SYN_RECV for piece in pieces for row, _ in rows(piece))


def _sending(pairs: Sequence[tuple[_Sent, _Sent]], elapsed_s: float) -> Sending:
    """By (socket now, socket before). Time at most that of the reading: a socket may be read again sooner than a second."""
    busy_us = unread_us = unsent_bytes = 0
    for now, before in pairs:
        unread, busy = now.unread_us - before.unread_us, now.busy_us - before.busy_us
        if busy:
            busy_us, unread_us = busy_us + busy, unread_us + unread
            unsent_bytes += now.unsent_bytes if 2 * unread < busy else 0
    microseconds = elapsed_s * 1e6
    return Sending((busy_us - unread_us) / microseconds, unread_us / microseconds, unsent_bytes)


def _sent(piece: memoryview) -> Iterator[tuple[bytes, _Sent]]:
    """By socket. Rows of a piece mostly carry the same attributes, so the value is looked for where the last row had it."""
    at = 0
    for row, length in rows(piece):
        if not at or at + _INFO_BYTES > length or _ATTRIBUTE.unpack_from(piece, row + at - 4)[1] != _INFO:
            found = value_at(piece, row, length, _INFO)
            at = 0 if found is None or found + _INFO_BYTES > row + length else found - row
        if at:
            retransmitted, sent = _COUNTS.unpack_from(piece, row + at)
            info_bytes = _ATTRIBUTE.unpack_from(piece, row + at - 4)[0] - 4
            duplicates = _DUPLICATES.unpack_from(piece, row + at)[0] if info_bytes >= _INFO_WITH_DUPLICATES_BYTES else 0
            has_sending = info_bytes >= _INFO_WITH_SENDING_BYTES
            unsent, busy_us, unread_us = _SENDING.unpack_from(piece, row + at) if has_sending else (0, 0, 0)
            yield _COOKIE.unpack_from(piece, row)[0], _Sent(sent, retransmitted - duplicates, busy_us, unread_us, unsent)


def _growth(now: dict[int, int], before: dict[int, int] | None) -> int:
    """Growth of listeners' drops, of those that were there before. The kernel's counter wraps at 2^32."""
    return sum((drops - before[inode]) % 2**32 for inode, drops in now.items() if inode in before) if before else 0


# -- interface queues ----------------------------------------------------------------------------------------------------------
# Bytes that wait in the queues of this namespace's interfaces (what `tc -s qdisc` shows), by netlink. A queue that always holds
# bytes is that of a link at its limit.


class Queues(NamedTuple):
    """The queues of all interfaces."""

    queued_bytes: int
    """Bytes that wait now."""
    bytes_per_s: float | None
    """Bytes a second that left the queue in which most wait; None: none waits, or this is the first reading."""


_TCMSG = struct.Struct("=B3xi12x")
_GET_QUEUES, _NETLINK_ROUTE = 38, 0
_QUEUE_ROW_BYTES = 36
"""Netlink header and struct tcmsg; attributes follow."""
_STATISTICS = 3
"""TCA_STATS: struct tc_stats."""
_LEFT_AND_WAITING = struct.Struct("=Q24xI")
"""Bytes that have left the queue, and those that wait in it."""


class InterfaceQueues:
    """Reads the queues of all interfaces."""

    def __init__(self) -> None:
        self._netlink = Netlink(_NETLINK_ROUTE)
        self._left: dict[int, int] = {}
        """Bytes by interface."""

    def read(self, elapsed_s: float) -> Queues | None:
        """The queues now; None if the kernel does not report them."""
        queues: dict[int, tuple[int, int]] = {}
        try:
            for piece in self._netlink.pieces(_GET_QUEUES, _TCMSG.pack(0, 0)):
                for row, length in rows(piece):
                    found = value_at(piece, row, length, _STATISTICS, _QUEUE_ROW_BYTES)
                    if found is not None:
                        left, waiting = _LEFT_AND_WAITING.unpack_from(piece, found)
                        interface = _TCMSG.unpack_from(piece, row + 16)[1]
                        queues[interface] = max((waiting, left), queues.get(interface, (0, 0)))  # a child counts in its parent
        except OSError:
            return None
        fullest = max(queues, key=lambda each: queues[each], default=0)
        waiting, left = queues.get(fullest, (0, 0))
        before, self._left = self._left, {interface: left for interface, (_, left) in queues.items()}
        grown = left - before[fullest] if waiting and fullest in before else None
        return Queues(sum(waiting for waiting, _ in queues.values()), per_second(grown, elapsed_s))

    def close(self) -> None:
        """Close the socket."""
        self._netlink.close()
