"""The process that listens on a port (for a service that was already running), and the ports on which a process listens (for one
that was just started). Walks over all processes: meant for the start of a session, not for every second."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection

from ..procs.stat import stat_of
from .sockdiag import SockDiag


def listening_pid(port: int) -> int | None:
    """The process that listens on `port` here; of several that share it, the one that started first. None: no such process is
    visible."""
    return _by_inode(port) if sys.platform == "linux" else _by_psutil(port)


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


def _by_psutil(port: int) -> int | None:
    import psutil

    try:
        rows = psutil.net_connections("tcp")
    except psutil.Error:
        return None
    pids = sorted(row.pid for row in rows if row.status == psutil.CONN_LISTEN and row.laddr.port == port and row.pid)
    return pids[0] if pids else None
