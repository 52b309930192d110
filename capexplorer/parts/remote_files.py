"""Files of another machine, as the probes read files: the text is that of the latest raw reading. And which files to request."""

from __future__ import annotations

import errno
from collections.abc import Callable

from ..probe.cgroup import MEMORY_LIMIT_FILES, OOM_KILL_FILES, QUOTA_FILES
from ..probe.facts import cgroup_folders
from ..probe.host import FILES as HOST_FILES
from .raw_reading import RawReading

Wanted = dict[str, list[str]]
"""Paths to read, each with the prefixes of the lines to send; no prefixes: all lines."""

_LINES = {
    "/proc/stat": ["cpu"],
    "/proc/meminfo": ["MemTotal:", "MemAvailable:"],
    "/proc/vmstat": ["pswpin ", "oom_kill "],
}
"""Prefixes for long files."""

HOST: Wanted = {path: _LINES.get(path, []) for path in HOST_FILES.values()}
"""Read each second."""

BLOCK_DEVICES, INTERFACES = "/sys/block/", "/sys/class/net/"
CPU_MODEL, HOST_NAME, KERNEL, BOOT_ID = (
    "/proc/cpuinfo", "/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/random/boot_id",
)  # fmt: skip
SOMAXCONN, SYN_BACKLOG = "/proc/sys/net/core/somaxconn", "/proc/sys/net/ipv4/tcp_max_syn_backlog"

FACTS: Wanted = {
    **dict.fromkeys((BLOCK_DEVICES, INTERFACES, HOST_NAME, KERNEL, BOOT_ID, SOMAXCONN, SYN_BACKLOG), []),
    CPU_MODEL: ["model name"],
}
"""Read once."""


def cgroup_files(proc_cgroup: str | None) -> Wanted:
    """Files of the control groups that /proc/PID/cgroup names, and of those above them."""
    cpu, memory = ((*dict.fromkeys(cgroup_folders(proc_cgroup, controller)),) for controller in ("cpu", "memory"))
    names = [f"{folder}/{name}" for folder in cpu for name in (*QUOTA_FILES, "cpu.cfs_period_us", "cpu.stat")]
    names += [f"{folder}/{name}" for folder in memory for name in (*MEMORY_LIMIT_FILES, *OOM_KILL_FILES)]
    names += [f"{folder}/{name}.pressure" for folder, name in ((*cpu[:1], "cpu"), (*memory[:1], "memory")) if folder]
    return dict.fromkeys(names, [])


class RemoteFiles:
    """The files of the latest raw reading. `open` is an `OpenFile` for the probes."""

    def __init__(self) -> None:
        self.raw = RawReading(wall=0.0, boot=0.0)

    def get(self, path: str) -> str | None:
        """The text; None where it could not be read."""
        return self.raw.files.get(path)

    def open(self, path: str) -> RemoteFile:
        """A file whose text each raw reading contains."""
        return RemoteFile(path, self.get)


class RemoteFile:
    """One file of another machine."""

    def __init__(self, path: str, get: Callable[[str], str | None]) -> None:
        self._path, self._get = path, get
        self.error = errno.ENOENT if get(path) is None else None

    def read(self) -> str | None:
        """Its text in the latest raw reading."""
        return self._get(self._path)

    def close(self) -> None:
        """Nothing is open here."""
