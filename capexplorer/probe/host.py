"""The machine that generator and target may share: cores, memory, pressure, disks, network, open files.

Rates are growth between two readings, so they are None in the first.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from ..model.readings import HostReading
from . import procfs
from .procfs import Growth, KeptFile, OpenFile, per_second

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
        return HostReading(
            cpu_ratio=busy,
            steal_ratio=steal,
            load_average_1m=procfs.load_average_1m(text["loadavg"]),
            memory_used_bytes=None if total is None or available is None else (total - available) * 1024,
            cpu_pressure_ratio=pressure["cpu"],
            memory_pressure_ratio=pressure["memory"],
            io_pressure_ratio=pressure["io"],
            disk_busy_ratio=self._busiest_disk(text["diskstats"], elapsed_s),
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

    def _busiest_disk(self, text: str | None, elapsed_s: float) -> float | None:
        busy = {name: ms for name, ms in procfs.disk_busy_ms(text).items() if self._whole_disk(name)}
        shares = (per_second(self._growth(("disk", name), ms), elapsed_s, 1e3) for name, ms in busy.items())
        measured = [min(share, 1.0) for share in shares if share is not None]
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
