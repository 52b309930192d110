"""The machine that generator and target may share: its readings each second, its facts for the header, its limits for `doctor`.

Rates are growth between two readings, so they are None in the first. `analysis/host_checks` judges the limits.
"""

from __future__ import annotations

import os
import platform
import re
import select
import shutil
import sys
import time
from collections.abc import Callable, Iterable

from ..model.events import HostFacts
from ..model.limits import Machine
from ..model.readings import HostReading, NeighboursReading
from . import procfs
from .cgroup import cgroup_of
from .neighbours import busiest, snapshot
from .ports import ephemeral_range
from .procfs import Growth, KeptFile, OpenFile, names_in, numbers, per_second, read_once

FILES = {
    "stat": "/proc/stat",
    "loadavg": "/proc/loadavg",
    "meminfo": "/proc/meminfo",
    "cpu": "/proc/pressure/cpu",
    "memory": "/proc/pressure/memory",
    "io": "/proc/pressure/io",
    "diskstats": "/proc/diskstats",
    "net": "/proc/net/dev",
    "file-nr": "/proc/sys/fs/file-nr",
    "vmstat": "/proc/vmstat",
    "conntrack": "/proc/sys/net/netfilter/nf_conntrack_count",
}
_PRESSURES = {"cpu": "some", "memory": "full", "io": "full"}
_NOT_A_DISK = ("loop", "ram", "zram", "dm-", "md", "sr", "fd")
"""Prefixes of block devices that are not disks, or are views of disks that are counted already."""


class HostProbe:
    """Reads one HostReading per tick. `open_file` opens files of this machine, or of another one."""

    def __init__(self, open_file: OpenFile = KeptFile, is_block_device: Callable[[str], bool] | None = None) -> None:
        self._files = {name: open_file(path) for name, path in FILES.items()}
        self._is_block_device = is_block_device or (lambda name: os.path.exists(f"/sys/block/{name}"))
        self._growth = Growth()
        self._is_disk: dict[str, bool] = {}

    def read(self, elapsed_s: float) -> HostReading:
        """The host over the last `elapsed_s`."""
        text = {name: file.read() for name, file in self._files.items()}
        busy, steal = self._cores(procfs.cpu_time(text["stat"]))
        memory = procfs.colon_table(text["meminfo"])
        total, available = memory.get("MemTotal"), memory.get("MemAvailable")
        received, sent = procfs.interface_bytes(text["net"]) or (None, None)
        fds, _ = procfs.file_nr(text["file-nr"]) or (None, None)
        swapped_in = per_second(self._growth("swapped in", procfs.spaced_table(text["vmstat"]).get("pswpin")), elapsed_s)
        pressure = {name: self._pressure(name, text[name], elapsed_s) for name in _PRESSURES}
        busiest_disk = self._busiest_disk(text["diskstats"], elapsed_s)
        return HostReading(
            cpu_ratio=busy,
            steal_ratio=steal,
            load_average_1m=procfs.load_average_1m(text["loadavg"]),
            memory_used_bytes=None if total is None or available is None else (total - available) * 1024,
            cpu_pressure_ratio=pressure["cpu"],
            memory_pressure_ratio=pressure["memory"],
            io_pressure_ratio=pressure["io"],
            disk_busy_ratio=busiest_disk[0] if busiest_disk is not None else None,
            disk_bytes_per_s=busiest_disk[1] if busiest_disk is not None else None,
            received_bytes_per_s=per_second(self._growth("received", received), elapsed_s),
            sent_bytes_per_s=per_second(self._growth("sent", sent), elapsed_s),
            fds=fds,
            swapped_in_per_s=swapped_in or 0.0,
            conntrack=int(text["conntrack"] or 0) or None,
            unread=() if swapped_in is not None else ("swapped_in_per_s",),
        )

    def _cores(self, now: procfs.CpuTime | None) -> tuple[float | None, float | None]:
        """(busy cores, stolen cores). Computed as shares of the total time in /proc/stat: the clock tick's error cancels out."""
        if now is None:
            return None, None
        busy, steal, total = (self._growth(name, value) for name, value in now._asdict().items() if name != "cpus")
        if busy is None or steal is None or not total:  # a total that does not change is stale
            return None, None
        return busy / total * now.cpus, steal / total * now.cpus

    def _pressure(self, name: str, text: str | None, elapsed_s: float) -> float | None:
        stalled = self._growth(name, procfs.pressure_us(text, _PRESSURES[name]))
        ratio = per_second(stalled, elapsed_s, 1e6)
        return None if ratio is None else min(ratio, 1.0)

    def _busiest_disk(self, text: str | None, elapsed_s: float) -> tuple[float, float] | None:
        """(share of the time with work in flight, bytes a second) of the disk that was busy for longest."""
        measured = []
        for name, (busy_ms, moved) in procfs.disks(text).items():
            if self._whole_disk(name):
                busy = per_second(self._growth(("disk", name), busy_ms), elapsed_s, 1e3)
                bytes_per_s = per_second(self._growth(("disk bytes", name), moved), elapsed_s)
                if busy is not None and bytes_per_s is not None:
                    measured.append((min(busy, 1.0), bytes_per_s))
        return max(measured, default=None)

    def _whole_disk(self, name: str) -> bool:
        """A partition has no folder of its own in /sys/block. Checked once for each device, without opening anything."""
        if name not in self._is_disk:
            self._is_disk[name] = not name.startswith(_NOT_A_DISK) and self._is_block_device(name)
        return self._is_disk[name]

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()


# -- facts ---------------------------------------------------------------------------------------------------------------------
# Facts about the machine, read once for the session's header. The probes read values that change each second.


def host_facts() -> HostFacts:
    """This machine, as this process sees it: its network namespace, its cgroup, its limits."""
    ports = ephemeral_range()
    cgroup = cgroup_of(os.getpid())
    found = HostFacts(
        name=platform.node() or None,
        system=platform.system() or None,
        kernel=platform.release() or None,
        python=platform.python_version(),
        cpu_model=cpu_model(read_once("/proc/cpuinfo")),
        cpus=os.cpu_count(),
        memory_bytes=_memory_bytes(),
        fds_limit=fds_limit(),
        fds_limit_of_system=(procfs.file_nr(read_once("/proc/sys/fs/file-nr")) or (None, None))[1],
        port_range=(ports.first, ports.last) if ports else None,
        ports_reserved=ports.reserved if ports else None,
        ports_capacity=ports.capacity if ports else None,
        tcp_tw_reuse=next(iter(numbers("/proc/sys/net/ipv4/tcp_tw_reuse")), None),
        somaxconn=next(iter(numbers("/proc/sys/net/core/somaxconn")), None),
        tcp_max_syn_backlog=next(iter(numbers("/proc/sys/net/ipv4/tcp_max_syn_backlog")), None),
        conntrack_max=next(iter(numbers("/proc/sys/net/netfilter/nf_conntrack_max")), None),
        link_bytes_per_s=fastest_link("/sys/class/net"),
        cgroup_cpus=cgroup.cpus(),
        cgroup_memory_bytes=cgroup.memory_limit_bytes(),
    )
    cgroup.close()
    return found


def fastest_link(folder: str) -> float | None:
    """Bytes a second in one direction. Loopback, links that are down and virtual links report no speed, or -1 Mb/s."""
    speeds = [procfs.integer(read_once(f"{folder}/{name}/speed")) for name in names_in(folder)]
    return max((mbit * 1e6 / 8 for mbit in speeds if mbit is not None and mbit > 0), default=None)


def cpu_model(cpuinfo: str | None) -> str | None:
    """The first core's name; None where the architecture gives none."""
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo or "", re.MULTILINE)
    return found[1] if found else None


def _memory_bytes() -> int | None:
    total_kb = procfs.colon_table(read_once("/proc/meminfo")).get("MemTotal")
    if total_kb is not None:
        return total_kb * 1024
    import psutil

    return int(psutil.virtual_memory().total)


def fds_limit() -> int | None:
    """This process's soft limit of open files; None: unlimited, or Windows."""
    if sys.platform == "win32":
        return None
    import resource

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft


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
