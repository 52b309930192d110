"""The kernel's TCP counters and socket totals, and the accept queue of the target's port.

Counters are per network namespace. Where the target lives in another one, what happens at its end (accepts, overflows) is read
there through /proc/PID/net; its accept queue cannot be, and is None.
"""

from __future__ import annotations

import os

from ..model.readings import TcpReading
from . import parse
from .procfs import Growth, KeptFile
from .sockdiag import SockDiag

_OURS = {
    "active_opens": "Tcp.ActiveOpens",
    "attempt_fails": "Tcp.AttemptFails",
    "resets_sent": "Tcp.OutRsts",
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
        """Give the files back."""
        for file in self._files:
            file.close()


class SocketTotals:
    """sockstat: how many TCP sockets there are, of both ends and both families. 2 us a file."""

    def __init__(self) -> None:
        self._files = [KeptFile("/proc/net/sockstat"), KeptFile("/proc/net/sockstat6")]

    def read(self) -> dict[str, int]:
        """`TCP.inuse`, `TCP.tw`, `TCP6.inuse`, ...; empty when unreadable."""
        return parse.sockstat(self._files[0].read()) | parse.sockstat(self._files[1].read())

    def close(self) -> None:
        """Give the files back."""
        for file in self._files:
            file.close()


class TcpProbe:
    """Reads a TcpReading a tick, and the target's accept queue."""

    def __init__(self) -> None:
        self._ours = NetCounters()
        self._theirs: NetCounters | None = None
        self._totals = SocketTotals()
        self._diag = SockDiag()

    def watch(self, pid: int | None) -> None:
        """The target's process: its network namespace may be another one."""
        if self._theirs is not None:
            self._theirs.close()
        self._theirs = None if pid is None or _same_namespace(pid) else NetCounters(f"/proc/{pid}/net")

    def read(self) -> TcpReading:
        """Counters grown since the last call; all unread the first time."""
        grown = self._ours.read(_OURS | _TARGETS)
        if self._theirs is not None:
            grown |= self._theirs.read(_TARGETS)
        totals = self._totals.read()
        in_use = [totals[name] for name in ("TCP.inuse", "TCP6.inuse") if name in totals]
        return TcpReading(
            unread=tuple(sorted(name for name, value in grown.items() if value is None)),
            **{name: value for name, value in grown.items() if value is not None},
            sockets_in_use=sum(in_use) if in_use else None,
            sockets_time_wait=totals.get("TCP.tw"),
            sockets_orphaned=totals.get("TCP.orphan"),
            memory_pages=totals.get("TCP.mem"),
        )

    def listen_queue(self, port: int) -> tuple[int, int] | None:
        """Connections that wait on `port`, and how many may, over all its listeners; None when nothing listens here."""
        rows = self._diag.listeners(port) if self._theirs is None else None
        return (sum(row.queue for row in rows), sum(row.backlog for row in rows)) if rows else None

    def close(self) -> None:
        """Give files and socket back."""
        for each in (self._ours, self._theirs, self._totals, self._diag):
            if each is not None:
                each.close()


def _same_namespace(pid: int) -> bool:
    """Whether `pid` shares our network namespace; taken as true when that is not to be known."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino == os.stat("/proc/self/ns/net").st_ino
    except OSError:
        return True
