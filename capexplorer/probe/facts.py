"""Facts about the machine, read once for the session's header. The probes read values that change each second."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable

from ..model.events import HostFacts
from . import procfs
from .ports import ephemeral_range
from .procfs import numbers, read_once

NO_LIMIT_BYTES = 1 << 60
"""From here on a limit means none: version 1 of cgroups shows "no limit" as a number near 2**63."""


def host_facts() -> HostFacts:
    """This machine, as this process sees it: its network namespace, its cgroup, its limits."""
    ports = ephemeral_range()
    return HostFacts(
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
        cgroup_cpus=cgroup_cpus(read_once("/proc/self/cgroup")),
        cgroup_memory_bytes=_cgroup_memory_bytes(),
    )


def fastest_link(folder: str) -> float | None:
    """Bytes a second in one direction. Loopback, links that are down and virtual links report no speed, or -1 Mb/s."""
    speeds = [procfs.integer(read_once(f"{folder}/{name}/speed")) for name in _listed(folder)]
    return max((mbit * 1e6 / 8 for mbit in speeds if mbit is not None and mbit > 0), default=None)


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def cpu_model(cpuinfo: str | None) -> str | None:
    """The first core's name; None where the architecture gives none."""
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo or "", re.MULTILINE)
    return found[1] if found else None


def cpus_of_quota(cpu_max: str | None) -> float | None:
    """`cpu.max` of cgroup v2: quota and period in us. None for `max`."""
    words = (cpu_max or "").split()
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0].isdigit() else None


def cgroup_folders(proc_cgroup: str | None, controller: str = "cpu") -> list[str]:
    """Folders of a process's control groups for a controller, its own first, then all above it. From /proc/PID/cgroup."""
    folders = []
    for line in (proc_cgroup or "").splitlines():
        _, controllers, path = line.split(":", 2)
        roots = {"": ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]}.get(controllers, [])
        if controller in controllers.split(","):
            roots = [f"/sys/fs/cgroup/{controllers}", f"/sys/fs/cgroup/{controller}"]
        parts = [part for part in path.split("/") if part]
        folders += ["/".join([root, *parts[:depth]]) for root in roots for depth in range(len(parts), -1, -1)]
    return folders


def cgroup_cpus(proc_cgroup: str | None, read: Callable[[str], str | None] = read_once) -> float | None:
    """The lowest CPU quota, in cores, of a process's control groups; None without a quota. `read`: text of a file by its path."""
    quotas = []
    for folder in cgroup_folders(proc_cgroup):
        period = read(f"{folder}/cpu.cfs_period_us")
        version_1 = f"{read(f'{folder}/cpu.cfs_quota_us')} {period}" if period else None
        quotas += [cpus_of_quota(read(f"{folder}/cpu.max")), cpus_of_quota(version_1)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _cgroup_memory_bytes() -> int | None:
    """The lowest memory limit of this process's control groups; None without a limit."""
    limits = []
    for folder in cgroup_folders(read_once("/proc/self/cgroup"), "memory"):
        limits += numbers(f"{folder}/memory.max") + numbers(f"{folder}/memory.limit_in_bytes")
    return min((limit for limit in limits if limit < NO_LIMIT_BYTES), default=None)


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
