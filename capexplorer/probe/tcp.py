"""The kernel's TCP counters and socket totals, and the accept queue of the target's port.

Counters are per network namespace. Where the target lives in another one, what happens at its end (accepts, overflows) is read
there through /proc/PID/net. So is its accept queue: sock_diag would want us in there. /proc/net/tcp gives how many wait, not how
many may; listeners stand first in it, so it costs 0.05 ms however many connections follow.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..model.readings import TcpReading
from . import parse
from .procfs import Growth, KeptFile
from .sockdiag import SockDiag
from .target_tcp import TargetTcp

_OURS = {
    "active_opens": "Tcp.ActiveOpens",
    "attempt_fails": "Tcp.AttemptFails",
    "resets_sent": "Tcp.OutRsts",
    "resets_of_established": "Tcp.EstabResets",
    "segments_sent": "Tcp.OutSegs",
    "segments_retransmitted": "Tcp.RetransSegs",
    "aborts_on_memory": "TcpExt.TCPAbortOnMemory",
    "time_wait_overflows": "TcpExt.TCPTimeWaitOverflow",
}
_TARGETS = {
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


class ListenersThere:
    """The listeners of the network namespace of `pid`."""

    def __init__(self, pid: int) -> None:
        self._files = [KeptFile(f"/proc/{pid}/net/{name}") for name in ("tcp", "tcp6")]

    def queue(self, port: int) -> int | None:
        """Connections that wait on `port`; None when nothing listens there.

        tcp6 only where nothing listens by IPv4: to find an IPv6 socket among 25,000 others takes the kernel 3 ms.
        """
        for file in self._files:
            queues = [queue for there, queue in _listening(file) if there == port]
            if queues:
                return sum(queues)
        return None

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()


def _listening(file: KeptFile) -> Iterator[tuple[int, int]]:
    """Port and queue of each listener: up to the first row of another state."""
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
        self._ours = NetCounters()
        self._theirs: NetCounters | None = None
        self._there: ListenersThere | None = None
        self._at_target: TargetTcp | None = None
        self._totals = SocketTotals()
        self._diag = SockDiag()

    def watch(self, pid: int | None, port: int | None = None) -> None:
        """The target's process, whose network namespace may be another one, and where it listens."""
        for each in (self._theirs, self._there):
            if each is not None:
                each.close()
        self._theirs = self._there = None
        self._at_target = TargetTcp(port, self._diag) if port is not None else None
        if pid is not None and not _same_namespace(pid):
            self._theirs, self._there = NetCounters(f"/proc/{pid}/net"), ListenersThere(pid)

    def read(self, elapsed_s: float = 1.0) -> TcpReading:
        """Counters grown since the last call, `elapsed_s` ago; all unread the first time."""
        grown = self._ours.read(_OURS | _TARGETS)
        if self._theirs is not None:
            grown |= self._theirs.read(_TARGETS)
        totals = self._totals.read()
        grown["sockets_orphaned"] = totals.get("TCP.orphan")
        in_use = [totals[name] for name in ("TCP.inuse", "TCP6.inuse") if name in totals]
        return TcpReading(
            unread=tuple(sorted(name for name, value in grown.items() if value is None)),
            **{name: value for name, value in grown.items() if value is not None},
            sockets_in_use=sum(in_use) if in_use else None,
            sockets_time_wait=totals.get("TCP.tw"),
            memory_pages=totals.get("TCP.mem"),
            target=self._at_target.read(elapsed_s) if self._at_target is not None else None,
        )

    def listen_queue(self, port: int) -> tuple[int, int | None] | None:
        """Connections that wait on `port`, and how many may, over all its listeners; None when nothing listens."""
        if self._there is not None:
            queue = self._there.queue(port)
            return None if queue is None else (queue, None)
        rows = self._diag.listeners(port)
        return (sum(row.queue for row in rows), sum(row.backlog for row in rows)) if rows else None

    def close(self) -> None:
        """Give files and socket back."""
        for each in (self._ours, self._theirs, self._there, self._totals, self._diag):
            if each is not None:
                each.close()


def _same_namespace(pid: int) -> bool:
    """Whether `pid` shares our network namespace; assumed to be true when that cannot be read."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino == os.stat("/proc/self/ns/net").st_ino
    except OSError:
        return True
