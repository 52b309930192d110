"""The kernel's TCP counters and socket totals, and the accept queue of the target's port.

Counters are per network namespace. If the target is in another one, the counters of its end (accepts, overflows) are read through
/proc/PID/net. So is its accept queue, since sock_diag answers only for the caller's own namespace. /proc/net/tcp has how many
connections wait, not how many may; listeners are its first rows, so it costs 0.05 ms however many connections follow.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..model.readings import TcpReading
from . import parse
from .procfs import Growth, KeptFile
from .sockdiag import SockDiag
from .target_tcp import TargetTcp

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
            now |= parse.named_counters(file.read())
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
            listener = parse.listening(row)
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
        return parse.sockstat(self._files[0].read()) | parse.sockstat(self._files[1].read())

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
