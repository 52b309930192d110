"""Readings of a target's control groups: how long a CPU quota throttled it, which processes were killed for lack of memory, and
how much memory it may use.

Supports both versions: version 2 has one root, or `unified`; version 1 has a root for each controller. Quotas and limits of the
levels above apply too. Kills are counted in the victim's group (version 1), or there and at each level above (version 2), so the
lowest level with a count is read; without one, the machine's count is used. Files are opened once. Readings only: `analysis`
decides what they mean.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from typing import Literal

from . import procfs
from .procfs import Growth, KeptFile, OpenFile, TextFile, per_second, read_once

_NO_LIMIT_BYTES = 1 << 60
"""From here on a limit means none: version 1 of cgroups shows "no limit" as a number near 2**63."""

_QUOTA_FILES = ("cpu.max", "cpu.cfs_quota_us")
"""The file of version 2 and that of version 1; so are the next two."""
_PERIOD_FILE = "cpu.cfs_period_us"
_MEMORY_LIMIT_FILES = ("memory.max", "memory.limit_in_bytes")
_OOM_KILL_FILES = ("memory.events", "memory.oom_control")


class Cgroup:
    """A process's control groups. `cpu`, `memory`: the controller's folders, the process's own first, then those above it."""

    def __init__(self, cpu: Sequence[str], memory: Sequence[str], open_file: OpenFile = KeptFile) -> None:
        self._quotas = [quota for folder in cpu if (quota := _Quota(folder, open_file)).exists]
        self._limits = _opened(open_file, (f"{folder}/{name}" for folder in memory for name in _MEMORY_LIMIT_FILES))
        self._kills = _first_with_kills(open_file, (f"{folder}/{name}" for folder in memory for name in _OOM_KILL_FILES))
        self._pressures = {name: _opened(open_file, (f"{folder}/{name}.pressure" for folder in folders[:1]))
                           for name, folders in (("cpu", cpu), ("memory", memory))}  # fmt: skip
        self._growth = Growth()
        self.oom_kills()  # counts from now on: a target may be killed before the first tick

    def throttled_ratio(self, elapsed_s: float) -> float | None:
        """Share of the tick in which the most restrictive quota throttled it; None without a quota, and at the first call."""
        grown = [self._growth(index, quota.throttled_us()) for index, quota in enumerate(self._quotas)]
        shares = [share for each in grown if (share := per_second(each, elapsed_s, 1e6)) is not None]
        return min(max(shares), 1.0) if shares else None  # the kernel sums the time over cores

    def oom_kills(self) -> int | None:
        """Processes killed for lack of memory since the last call."""
        return self._growth("oom_kill", procfs.spaced_table(self._kills.read()).get("oom_kill"))

    def cpus(self) -> float | None:
        """The lowest quota of all levels, in cores; None without a quota."""
        return min((cpus for quota in self._quotas if (cpus := quota.cpus()) is not None), default=None)

    def memory_limit_bytes(self) -> int | None:
        """The lowest limit of all levels; None without a limit."""
        limits = [int(text) for file in self._limits if (text := (file.read() or "").strip()).isdigit()]
        return min((limit for limit in limits if limit < _NO_LIMIT_BYTES), default=None)

    def pressure_ratio(self, name: Literal["cpu", "memory"], elapsed_s: float) -> float | None:
        """Share of the tick in which a task of its own group waited (PSI "some"); None in version 1, and at the first call."""
        stalled = [procfs.pressure_us(file.read(), "some") for file in self._pressures[name]]
        ratio = per_second(self._growth(name, stalled[0] if stalled else None), elapsed_s, 1e6)
        return None if ratio is None else min(ratio, 1.0)

    def ratios(self, elapsed_s: float) -> dict[str, float | None]:
        """The shares of the tick, by their fields of TargetReading."""
        return {
            "throttled_ratio": self.throttled_ratio(elapsed_s),
            "cpu_pressure_ratio": self.pressure_ratio("cpu", elapsed_s),
            "memory_pressure_ratio": self.pressure_ratio("memory", elapsed_s),
        }

    def close(self) -> None:
        """Close the files."""
        for quota in self._quotas:
            quota.close()
        for file in (*self._limits, self._kills, *self._pressures["cpu"], *self._pressures["memory"]):
            file.close()


class _Quota:
    """One level's limit on CPU time."""

    def __init__(self, folder: str, open_file: OpenFile) -> None:
        self._folder, self._open_file = folder, open_file
        self._files = _opened(open_file, (f"{folder}/{name}" for name in _QUOTA_FILES))
        self._stat = open_file(f"{folder}/cpu.stat") if self._files else None

    @property
    def exists(self) -> bool:
        """Whether this level can have a quota: the root of version 2 cannot."""
        return bool(self._files)

    def cpus(self) -> float | None:
        """In cores; None while there is none."""
        words = (self._files[0].read() or "").split()
        if len(words) == 1:  # version 1 has the period in a file of its own
            period = self._open_file(f"{self._folder}/{_PERIOD_FILE}")
            words += (period.read() or "").split()
            period.close()
        return int(words[0]) / int(words[1]) if len(words) == 2 and words[0].isdigit() else None

    def throttled_us(self) -> int | None:
        """Total time for which it has throttled processes; None while there is no quota."""
        words = (self._files[0].read() or "").split()
        if not words or not words[0].isdigit() or self._stat is None:  # "max", or -1
            return None
        table = procfs.spaced_table(self._stat.read())
        throttled_ns = table.get("throttled_time")
        return table.get("throttled_usec") if throttled_ns is None else throttled_ns // 1000

    def close(self) -> None:
        for file in (*self._files, self._stat):
            if file is not None:
                file.close()


def cgroup_folders(proc_cgroup: str | None, controller: str = "cpu", mountinfo: str | None = None) -> list[str]:
    """Folders of a process's control groups for a controller, its own first, then all above it. From /proc/PID/cgroup.

    `mountinfo`: this process's. In a container a mount begins at the container's own group, not at the root: groups outside of
    it, such as those of a service on the host, have no folders there. None: each mount begins at the root.
    """
    begins = _mounts(mountinfo)
    folders = []
    for line in (proc_cgroup or "").splitlines():
        _, controllers, path = line.split(":", 2)
        mounts = {"": ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]}.get(controllers, [])
        if controller in controllers.split(","):
            mounts = [f"/sys/fs/cgroup/{controllers}", f"/sys/fs/cgroup/{controller}"]
        for mount in mounts:
            first = (begins.get(mount) or begins.get(os.path.realpath(mount), "/")).rstrip("/")  # a link: cpu → cpu,cpuacct
            if path.startswith("/..") or not f"{path.rstrip('/')}/".startswith(f"{first}/"):
                continue
            parts = [part for part in path[len(first) :].split("/") if part]
            folders += ["/".join([mount, *parts[:depth]]) for depth in range(len(parts), -1, -1)]
    return folders


def _mounts(mountinfo: str | None) -> dict[str, str]:
    """The group at which each mount of control groups begins, by its folder."""
    lines = (line.split() for line in (mountinfo or "").splitlines() if " - cgroup" in line)
    return {words[4]: words[3] for words in lines}


def _folders(proc_cgroup: str | None, mountinfo: str | None = None) -> tuple[list[str], list[str]]:
    """(those of CPU, those of memory) that /proc/PID/cgroup names, each once."""
    cpu, memory = (list(dict.fromkeys(cgroup_folders(proc_cgroup, each, mountinfo))) for each in ("cpu", "memory"))
    return cpu, memory


def files_of(proc_cgroup: str | None) -> list[str]:
    """The files that are read of the control groups that /proc/PID/cgroup names, and of those above them."""
    cpu, memory = _folders(proc_cgroup)
    names = [f"{folder}/{name}" for folder in cpu for name in (*_QUOTA_FILES, _PERIOD_FILE, "cpu.stat")]
    names += [f"{folder}/{name}" for folder in memory for name in (*_MEMORY_LIMIT_FILES, *_OOM_KILL_FILES)]
    return names + [f"{folders[0]}/{name}.pressure" for folders, name in ((cpu, "cpu"), (memory, "memory")) if folders]


def cgroup_in(proc_cgroup: str | None, open_file: OpenFile = KeptFile, mountinfo: str | None = None) -> Cgroup:
    """The control groups that /proc/PID/cgroup names. `mountinfo`: see `cgroup_folders`."""
    return Cgroup(*_folders(proc_cgroup, mountinfo), open_file)


def cgroup_of(pid: int) -> Cgroup:
    """The control groups of a process here."""
    return cgroup_in(read_once(f"/proc/{pid}/cgroup"), mountinfo=read_once("/proc/self/mountinfo"))


def _opened(open_file: OpenFile, paths: Iterable[str]) -> list[TextFile]:
    """The files that exist."""
    files = [open_file(path) for path in paths]
    return [file for file in files if file.error != errno.ENOENT]


def _first_with_kills(open_file: OpenFile, paths: Iterable[str]) -> TextFile:
    """The first file with a count of OOM kills; if there is none, the file with the machine's count."""
    for path in paths:
        file = open_file(path)
        if "oom_kill" in procfs.spaced_table(file.read()):
            return file
        file.close()
    return open_file("/proc/vmstat")
