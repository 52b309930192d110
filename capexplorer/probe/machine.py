"""This machine's limits, read once for `doctor`. `analysis/host_checks` judges them."""

from __future__ import annotations

import os
import select
import shutil
import sys
import time
from collections.abc import Callable, Iterable

from ..model.limits import Machine
from ..model.readings import NeighboursReading
from . import procfs
from .facts import host_facts
from .host import HostProbe
from .other_processes import busiest, snapshot
from .procfs import numbers, read_once

_NEIGHBOURS_OVER_S = 1.0
"""Time over which the CPU use of other processes is measured."""

_NEEDED_FOR_OTHERS = (1 << 19, (1 << 1) | (1 << 2))
"""CAP_SYS_PTRACE, and one of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: needed to read /proc/PID/fd of another user."""


def machine(wait: Callable[[float], None], programs: Iterable[str] = (), namespace_refused: str | None = None) -> Machine:
    """This machine now. `wait` sleeps for that many seconds, in which the CPU use of other processes is measured; `programs`:
    names to look up on PATH; `namespace_refused`: what `namespace.refusal()` returned."""
    return Machine(
        host=host_facts(),
        neighbours=_neighbours(wait),
        fds_hard_limit=_hard_limit(),
        has_poll=hasattr(select, "poll"),
        fds_of_system=(procfs.file_nr(read_once("/proc/sys/fs/file-nr")) or (None,))[0],
        cpus_usable=len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        tcp_tw_reuse_delay_ms=next(iter(numbers("/proc/sys/net/ipv4/tcp_tw_reuse_delay")), None),
        conntrack=next(iter(numbers("/proc/sys/net/netfilter/nf_conntrack_count")), None),
        pressure_readable=read_once("/proc/pressure/cpu") is not None if sys.platform == "linux" else None,
        reads_other_users=reads_other_users(read_once("/proc/self/status")),
        namespace_refused=namespace_refused,
        programs={name: shutil.which(name, path=_search_path()) for name in programs},
    )


def _neighbours(wait: Callable[[float], None]) -> NeighboursReading:
    """CPU use of other processes, without this one and its children."""
    if sys.platform != "linux":
        return NeighboursReading()
    host, before = HostProbe(), snapshot()
    host.read(1.0)
    own_ns = time.process_time_ns()
    began_s = time.monotonic()
    wait(_NEIGHBOURS_OVER_S)
    busy, now, elapsed_s = host.read(_NEIGHBOURS_OVER_S).cpu_ratio, snapshot(), time.monotonic() - began_s
    host.close()
    if busy is None or before is None or now is None or elapsed_s <= 0:
        return NeighboursReading()
    own = (time.process_time_ns() - own_ns) / 1e9 / elapsed_s
    return NeighboursReading(cpu_ratio=max(0.0, busy - own), processes=busiest(before, now, {os.getpid()}))


def reads_other_users(status: str | None) -> bool | None:
    """Whether this process may read other users' processes, by the effective capabilities in /proc/self/status; None: unknown."""
    found = next((line.split()[1] for line in (status or "").splitlines() if line.startswith("CapEff:")), None)
    return None if found is None else all(int(found, 16) & needed for needed in _NEEDED_FOR_OTHERS)


def _search_path() -> str:
    """PATH, and the usual folders of servers and of Go, which are not on every PATH; targets search them, too."""
    return os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/usr/local/go/bin"))


def _hard_limit() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return None if hard == resource.RLIM_INFINITY else hard
