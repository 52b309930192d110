"""The probes for systems without /proc (macOS, Windows): values from psutil, None for the rest. Never used on Linux."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import msgspec
import psutil

from ..model.readings import GeneratorReading, HostReading, NeighboursReading, PortsReading, TargetReading, TcpReading
from .machine import fds_limit
from .neighbours import cores_of_others
from .procfs import Growth, complete_sum, per_second

T = TypeVar("T")

_NEVER_MEASURED = ("major_faults_per_s", "oom_kills")
_TARGET_COUNTERS = (*_NEVER_MEASURED, "processes_ended", "processes_started")

_TCP_COUNTERS = tuple(field.name for field in msgspec.structs.fields(TcpReading) if field.type is int)
_PAGE_BYTES = 4096
"""psutil reports bytes where the kernel counts pages."""


def _or_none(read: Callable[[], T]) -> T | None:
    """What `read` returns; None if access is denied, the process is gone, or the platform does not support it."""
    try:
        return read()
    except (psutil.Error, OSError, AttributeError, NotImplementedError):
        return None


def _open_files(process: Any) -> int | None:
    """Open descriptors. None on Windows, whose handles have no limit to compare with."""
    return _or_none(lambda: int(process.num_fds()))


def _cpu_ns(process: Any) -> int | None:
    times = _or_none(process.cpu_times)
    return None if times is None else round((times.user + times.system) * 1e9)


class _NothingOpen:
    def close(self) -> None:
        """Nothing to close."""


class GeneratorProbe(_NothingOpen):
    """This process as a whole: no threads."""

    def __init__(self, load_tid: int | None, screen_tid: int | None, pump_tid: int | None) -> None:
        self._process = psutil.Process()
        self._growth = Growth()

    def read(self, elapsed_s: float) -> GeneratorReading:
        """The generator over the last `elapsed_s`."""
        memory = _or_none(self._process.memory_info)
        return GeneratorReading(
            process_cpu_ratio=per_second(self._growth("cpu", time.process_time_ns()), elapsed_s, 1e9),
            rss_bytes=memory.rss if memory else None,
            fds=_open_files(self._process),
            fds_limit=fds_limit(),
        )


class TargetProbe(_NothingOpen):
    """A target and its descendants. CPU time of children that end is lost."""

    def __init__(self, pid: int, port: int | None = None) -> None:
        self.pid = pid
        self.port = port
        self._root = _or_none(lambda: psutil.Process(pid))
        self._growth = Growth()
        self._before: set[Any] | None = None

    @property
    def pids(self) -> Collection[int]:
        """Process ids of the tree, as of the latest reading."""
        return {process.pid for process in self._before or ()} | {self.pid}

    def read(self, elapsed_s: float, accept_queue: tuple[int, int | None] | None = None) -> TargetReading:
        """The tree over the last `elapsed_s`."""
        root = self._root
        if root is None or not root.is_running() or _or_none(root.status) == psutil.STATUS_ZOMBIE:
            return TargetReading(pid=self.pid, alive=False, unread=_TARGET_COUNTERS)
        tree = [root, *(_or_none(lambda: root.children(recursive=True)) or [])]
        before, self._before = self._before, set(tree)
        return TargetReading(
            pid=self.pid,
            unread=_TARGET_COUNTERS if before is None else _NEVER_MEASURED,
            processes_started=len(self._before - before) if before is not None else 0,
            processes_ended=len(before - self._before) if before is not None else 0,
            disk_free_bytes=_disk_free_bytes(root),
            processes=len(tree),
            threads=_or_none(lambda: sum(process.num_threads() for process in tree)),
            cpu_ratio=self._cpu_ratio(tree, elapsed_s),
            rss_bytes=complete_sum([_rss_bytes(process) for process in tree]),
            fds=complete_sum([_open_files(process) for process in tree]),
        )

    def _cpu_ratio(self, tree: Sequence[Any], elapsed_s: float) -> float | None:
        """CPU use, in cores, of the processes that were there at the last call, too."""
        grown = [growth for process in tree if (growth := self._growth(process, _cpu_ns(process))) is not None]
        return per_second(sum(grown), elapsed_s, 1e9) if grown else None


def _rss_bytes(process: Any) -> int | None:
    memory = _or_none(process.memory_info)
    return None if memory is None else int(memory.rss)


def _disk_free_bytes(process: Any) -> int | None:
    """Free space on the file system of its working folder."""
    cwd = _or_none(process.cwd)
    return _or_none(lambda: int(psutil.disk_usage(cwd).free)) if cwd else None


class HostProbe(_NothingOpen):
    """The machine."""

    def __init__(self) -> None:
        self._growth = Growth()

    def read(self, elapsed_s: float) -> HostReading:
        """The host over the last `elapsed_s`."""
        memory = psutil.virtual_memory()
        net = _or_none(psutil.net_io_counters)
        swapped = _or_none(lambda: int(psutil.swap_memory().sin))
        swapped_in = per_second(self._growth("swapped in", swapped), elapsed_s, _PAGE_BYTES)
        return HostReading(
            swapped_in_per_s=swapped_in or 0.0,
            unread=() if swapped_in is not None else ("swapped_in_per_s",),
            cpu_ratio=self._cores(psutil.cpu_count()),
            load_average_1m=_or_none(lambda: float(psutil.getloadavg()[0])),
            memory_used_bytes=memory.total - memory.available,
            received_bytes_per_s=per_second(self._growth("received", net.bytes_recv if net else None), elapsed_s),
            sent_bytes_per_s=per_second(self._growth("sent", net.bytes_sent if net else None), elapsed_s),
        )

    def _cores(self, cpus: int | None) -> float | None:
        times = psutil.cpu_times()
        idle = self._growth("idle", round((times.idle + getattr(times, "iowait", 0.0)) * 1e6))
        total = self._growth("total", round(sum(times) * 1e6))
        return None if idle is None or not total or cpus is None else max(0.0, (1 - idle / total) * cpus)


class NeighboursProbe:
    """Other processes together; their names are not looked up here."""

    def read(self, busy: float | None, ours: Sequence[float | None], pids: Sequence[int | None]) -> NeighboursReading:
        """The host's busy cores minus `ours`."""
        return NeighboursReading(cpu_ratio=cores_of_others(busy, ours))


class PortsProbe(_NothingOpen):
    """Not measured here: the ephemeral range has no portable source, and psutil's connections need root on macOS."""

    def read(self, elapsed_s: float, dump_now: bool = False) -> PortsReading:
        """Nothing."""
        return PortsReading()


class TcpProbe(_NothingOpen):
    """Not measured here."""

    def watch(self, pid: int | None, port: int | None = None) -> None:
        """Nothing to switch."""

    def read(self, elapsed_s: float = 1.0) -> TcpReading:
        """Nothing."""
        return TcpReading(unread=_TCP_COUNTERS)

    def listen_queue(self, port: int) -> tuple[int, int | None] | None:
        """Nothing."""
        return None
