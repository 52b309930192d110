"""The kernel's TCP counters and socket totals, and the accept queue of the target's port.

Counters are per network namespace. If the target is in another one, the counters of its end (accepts, overflows) are read through
/proc/PID/net. So is its accept queue, since sock_diag answers only for the caller's own namespace. /proc/net/tcp has how many
connections wait, not how many may; listeners are its first rows, so it costs 0.05 ms however many connections follow.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from ..model.readings import TargetTcpReading, TcpReading
from . import procfs
from .procfs import Growth, KeptFile
from .sockdiag import HOLDING, LISTEN, SYN_RECV, SockDiag, rows, value_at

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
        return TcpReading(
            unread=tuple(sorted(name for name, value in grown.items() if value is None)),
            **{name: value for name, value in grown.items() if value is not None},
            sockets_in_use=sum(in_use) if in_use else None,
            sockets_time_wait=totals.get("TCP.tw"),
            memory_pages=totals.get("TCP.mem"),
            target=self._target_tcp.read(elapsed_s) if self._target_tcp is not None else None,
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
        for each in (self._counters, self._target_counters, self._target_listeners, self._totals, self._diag):
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

_DUPLICATES, _INFO_WITH_DUPLICATES_BYTES = struct.Struct("=216xI"), 220
"""tcpi_dsack_dups (since Linux 4.19): segments retransmitted although the other end already had them (tail loss probes). On
loopback, where nothing can be lost, these were 81% of all retransmissions (measured).
"""

_DROPS_AT = 32
"""SK_MEMINFO_DROPS: of a listener, connections dropped because one of its queues was full."""

_STATE_AT, _INODE_AT = 17, 84
_COOKIE = struct.Struct("=60x8s")
_ATTRIBUTE = struct.Struct("=HH")

_Sent = dict[bytes, tuple[int, int]]
"""By socket, since it was opened: (segments sent, segments retransmitted without those that were duplicates)."""


class TargetTcp:
    """Reads one TargetTcpReading per tick, through the caller's SockDiag."""

    def __init__(self, port: int, diag: SockDiag) -> None:
        self._port, self._diag = port, diag
        self._allowed = 0.0
        self._sent: _Sent | None = None
        self._drops: dict[int, int] | None = None

    def read(self, elapsed_s: float) -> TargetTcpReading | None:
        """Growth since the last call; None at the first call, and if the kernel does not report it."""
        try:
            drops = self._listeners()
            dropped = _growth(drops, self._drops)
            self._drops = drops
            self._allowed += elapsed_s * _SOCKETS_PER_S
            first = self._sent is None
            sent, retransmitted = self._sockets() if first or len(self._sent or ()) <= self._allowed else (0, 0)
            half_open = self._half_open() if drops else 0
        except OSError:
            self._sent = self._drops = None
            return None
        if first:
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
        now: _Sent = {}
        for piece in self._diag.pieces(HOLDING, remote_port=self._port, attribute=_INFO):
            now.update(_sent(piece))
        if self._drops:  # the target's end is in this namespace as well
            for piece in self._diag.pieces(HOLDING, port=self._port, attribute=_INFO):
                now.update(_sent(piece))
        before, self._sent, self._allowed = self._sent or {}, now, 0.0
        pairs = [(counts, before.get(cookie, (0, 0))) for cookie, counts in now.items()]
        sent, retransmitted = (sum(new[each] - old[each] for new, old in pairs) for each in (0, 1))
        return sent, max(0, retransmitted)  # a duplicate may be reported one tick later

    def _half_open(self) -> int:
        pieces = self._diag.pieces([SYN_RECV], port=self._port)
        return sum(piece[row + _STATE_AT] == SYN_RECV for piece in pieces for row, _ in rows(piece))


def _sent(piece: memoryview) -> Iterator[tuple[bytes, tuple[int, int]]]:
    """By socket. Rows of a piece mostly carry the same attributes, so the value is looked for where the last row had it."""
    at = 0
    for row, length in rows(piece):
        if not at or at + _INFO_BYTES > length or _ATTRIBUTE.unpack_from(piece, row + at - 4)[1] != _INFO:
            found = value_at(piece, row, length, _INFO)
            at = 0 if found is None or found + _INFO_BYTES > row + length else found - row
        if at:
            retransmitted, sent = _COUNTS.unpack_from(piece, row + at)
            has_duplicates = _ATTRIBUTE.unpack_from(piece, row + at - 4)[0] - 4 >= _INFO_WITH_DUPLICATES_BYTES
            duplicates = _DUPLICATES.unpack_from(piece, row + at)[0] if has_duplicates else 0
            yield _COOKIE.unpack_from(piece, row)[0], (sent, retransmitted - duplicates)


def _growth(now: dict[int, int], before: dict[int, int] | None) -> int:
    """Growth of listeners' drops, of those that were there before. The kernel's counter wraps at 2^32."""
    return sum((drops - before[inode]) % 2**32 for inode, drops in now.items() if inode in before) if before else 0
