"""What a tree of processes did in a second: sums over them, from what was read of each, here or on another machine.

Opens nothing: `TargetProbe` reads a tree of this machine by files that stay open, `PartProbe` has a raw reading of its reader. A
counter's first reading is no growth, and a sum is None if one process could not be read, as is
its growth in the reading after that. CPU ratios are in cores.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from ..model.readings import TargetReading
from ..procs.processes import Stat
from .procfs import Growth, Schedule, complete_sum, per_second

K = TypeVar("K", bound=Hashable)

_Key = tuple[int, int]
"""Pid and start time in clock ticks: a pid may be reused by another process."""

_START_TOLERANCE_S = 0.02
"""Start times are in clock ticks of 10 ms, rounded down."""


class ProcessNow(NamedTuple):
    """What was read of one process."""

    stat: Stat
    own_ns: int | None
    """CPU time of its threads; None: not known."""
    fds: int | None
    """Open files; None: not known."""
    fds_limit: int | None
    """None: no limit, or not known."""
    io: Mapping[str, int]
    """/proc/PID/io; empty if access is denied."""


class TreeNow(NamedTuple):
    """What was read of a tree of processes."""

    boot_s: float
    """When, in seconds since boot."""
    processes: Mapping[int, ProcessNow]
    """By pid, parents before children: those that run, and those that have ended and were not waited for."""
    threads: Mapping[tuple[int, int], Schedule]
    """By pid and thread id; empty if they are too many to read."""
    is_whole: bool
    """False: there are processes that could not be read, so sums are unknown."""
    ticks_per_s: int
    page_bytes: int
    group_cpu_ns: int | None = None
    """CPU time of the control group that is the tree's own; it includes processes that nobody has waited for."""


class Used(NamedTuple):
    """CPU time of a process: its own, and that of children that it has waited for. And when it started, in seconds since boot."""

    own_ns: int
    reaped_ns: int
    started_s: float


class Cpu:
    """Growth of the CPU time of a changing set of processes, including those that began and ended between two ticks.

    When a parent waits for a child, all of the child's CPU time is added to the parent's `reaped_ns`. What the child had used at
    the last tick was counted then and is subtracted; the rest is what it used since, or all of it if it began after the last
    tick.
    """

    def __init__(self) -> None:
        self._before: dict[tuple[int, float], Used] | None = None
        self._before_s = 0.0
        self._owed_ns = 0
        """CPU time to subtract at the next tick: of processes that ended after their parent had been read, whose `reaped_ns` will
        include it by then."""

    def grown_ns(self, used: Mapping[int, Used], now_s: float) -> int | None:
        """Growth since the last call; None the first time. Keys are pids; `now_s` is since boot."""
        now = {(pid, each.started_s): each for pid, each in used.items()}  # a pid may be reused by another process
        before, self._before = self._before, now
        before_s, self._before_s = self._before_s, now_s
        if before is None:
            return None
        own_ns = reaped_ns = 0
        for key, each in now.items():
            is_new = each.started_s >= before_s - _START_TOLERANCE_S
            since = before.get(key, Used(0, 0, 0.0) if is_new else each)  # an older one that was just found counts from now on
            own_ns += each.own_ns - since.own_ns
            reaped_ns += each.reaped_ns - since.reaped_ns
        gone_ns = sum(each.own_ns + each.reaped_ns for key, each in before.items() if key not in now)
        counted_ns = min(reaped_ns, gone_ns + self._owed_ns)
        self._owed_ns = min(gone_ns, gone_ns + self._owed_ns - counted_ns)
        return own_ns + reaped_ns - counted_ns


class Schedules:
    """Growth of the scheduling times of threads that come and go, by any key."""

    def __init__(self) -> None:
        self._before: Mapping[Hashable, Schedule] = {}

    def grown(self, now: Mapping[K, Schedule]) -> dict[K, Schedule]:
        """Since the last call, of each thread that was there, too. A CPU time that does not grow although its thread ran is
        stale: it counts as not measured, not as zero."""
        before, self._before = self._before, now  # type: ignore[assignment]
        pairs = ((key, each, before[key]) for key, each in now.items() if key in before)
        found = {key: Schedule(*(new - old for new, old in zip(each, then, strict=True))) for key, each, then in pairs}
        return {key: each for key, each in found.items() if min(each) >= 0 and (each.on_cpu_ns or not each.slices)}


def core_share(thread: Schedule | None, elapsed_s: float) -> float | None:
    """Share of one core. A thread uses at most one; a larger value is jitter between two clocks."""
    share = per_second(thread.on_cpu_ns, elapsed_s, 1e9) if thread else None
    return None if share is None else min(share, 1.0)


class TreeSums:
    """Makes one TargetReading a tick of the same tree."""

    def __init__(self) -> None:
        self._ran: set[_Key] = set()
        self._forget()

    def _forget(self) -> None:
        """Begin again: the next reading is no growth."""
        self._cpu, self._schedules, self._group_growth = Cpu(), Schedules(), Growth()
        self._before: dict[str, Mapping[_Key, int]] = {}
        self._there: set[_Key] | None = None
        """Processes of the last reading, also those that had ended."""
        self._lost_before = False

    def read(self, now: TreeNow, elapsed_s: float, oom_kills: int | None = None) -> TargetReading:
        """The tree over the last `elapsed_s`. `oom_kills`: its control group's, in that time."""
        there = {(pid, each.stat.started_ticks): each for pid, each in now.processes.items()}
        running = {key: each for key, each in there.items() if not each.stat.has_ended}
        faults = self._grown("major_faults", {key: each.stat.major_faults for key, each in running.items()})
        counters = {
            "major_faults_per_s": per_second(sum(faults), elapsed_s) if faults or not running else None,
            "oom_kills": oom_kills,
            "processes_started": None if self._there is None else len(running.keys() - self._ran),
            "processes_ended": len(self._ran - running.keys()) if running or now.is_whole else None,
        }
        if now.is_whole:
            lost = bool((self._there or set()) - there.keys())
            found = self._sums(now, running, elapsed_s, is_settled=not lost and not self._lost_before)
            self._there, self._lost_before = set(there), lost
        else:
            self._forget()
            counters |= {"major_faults_per_s": None, "processes_started": None}
            found = TargetReading(pid=0, fds_limit=_fullest(running)[1])
        self._ran = set(running)
        known = {name: value for name, value in counters.items() if value is not None}
        return msgspec.structs.replace(
            found,
            pid=next(iter(now.processes), 0),
            alive=bool(running),
            unread=tuple(sorted(counters.keys() - known.keys())),
            **known,
        )

    def _grown(self, counter: str, now: Mapping[_Key, int]) -> list[int]:
        """Growth of each process that was there at the last call, too."""
        before, self._before[counter] = self._before.get(counter, {}), now
        return [value - before[key] for key, value in now.items() if before.get(key, value + 1) <= value]

    def _sums(self, now: TreeNow, running: Mapping[_Key, ProcessNow], elapsed_s: float, *, is_settled: bool) -> TargetReading:
        cpu_ns, threads = self._cpu_ns(now), list(self._schedules.grown(now.threads).values())
        is_stale = cpu_ns == 0 and any(each.slices for each in threads)
        read_bytes, written_bytes = (self._disk_bytes(name, running) for name in ("read_bytes", "write_bytes"))
        if not running:
            return TargetReading(pid=0, processes=0)
        fullest, limit = _fullest(running)
        return TargetReading(
            pid=0,
            processes=len(running),
            threads=sum(each.stat.threads for each in running.values()),
            cpu_ratio=None if is_stale else per_second(cpu_ns, elapsed_s, 1e9),
            busiest_thread_ratio=core_share(max(threads, default=None), elapsed_s),
            run_delay_ratio=per_second(sum(each.run_delay_ns for each in threads), elapsed_s, 1e9) if threads else None,
            rss_bytes=sum(each.stat.rss_pages for each in running.values()) * now.page_bytes,
            fds=complete_sum([each.fds for each in running.values()]),
            fds_fullest=fullest,
            fds_limit=limit,
            read_bytes_per_s=per_second(read_bytes, elapsed_s) if is_settled else None,
            written_bytes_per_s=per_second(written_bytes, elapsed_s) if is_settled else None,
        )

    def _cpu_ns(self, now: TreeNow) -> int | None:
        """CPU time of all processes, including ended children."""
        tick_s = 1 / now.ticks_per_s
        used = {
            pid: Used(each.own_ns, round(each.stat.reaped_ticks * tick_s * 1e9), each.stat.started_ticks * tick_s)
            for pid, each in now.processes.items()
            if each.own_ns is not None
        }
        of_tree = self._cpu.grown_ns(used, now.boot_s)
        of_group = self._group_growth(next(iter(now.processes), None), now.group_cpu_ns)
        return of_tree if of_group is None else of_group

    def _disk_bytes(self, name: str, running: Mapping[_Key, ProcessNow]) -> int | None:
        """Read from, or written to, storage. None if access is denied. To be used in no tick in which a process ends, nor in the
        next: its parent inherits its counts."""
        grown = self._grown(name, {key: each.io[name] for key, each in running.items() if name in each.io})
        return sum(grown) if grown and all(name in each.io for each in running.values()) else None


def _fullest(running: Mapping[_Key, ProcessNow]) -> tuple[int | None, int | None]:
    """(open files, limit) of the process nearest to its limit. If those of one are not known, None and the lowest limit."""
    known = [(each.fds, each.fds_limit) for each in running.values() if each.fds is not None]
    if len(known) < len(running) or not known:
        return None, min((each.fds_limit for each in running.values() if each.fds_limit is not None), default=None)
    return max(known, key=lambda pair: (pair[0] / pair[1] if pair[1] else 0.0, pair[0]))
