"""Threads, by their schedstat: time on a core, time in wait for one, how often they ran.

A counter that stands still although its thread was given the core is stale: not measured, not zero.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable

from . import parse
from .procfs import Growth, KeptFile, per_second

_KEPT = 512
"""Threads of a target that are held open, if an eighth of our own descriptors allows for it."""


class Thread:
    """One thread, held by its open file."""

    def __init__(self, path: str) -> None:
        self._file = KeptFile(path)
        self._growth = Growth()
        self.gone = False

    def read(self) -> parse.Schedule | None:
        """Growth since the last call; None the first time, and when it is gone or stale."""
        text = self._file.read()
        self.gone = text is None
        now = parse.schedstat(text) or (None, None, None)
        on_cpu_ns, run_delay_ns, slices = (self._growth(index, value) for index, value in enumerate(now))
        if on_cpu_ns is None or run_delay_ns is None or slices is None or (slices > 0 and on_cpu_ns == 0):
            return None
        return parse.Schedule(on_cpu_ns, run_delay_ns, slices)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


class Threads:
    """All threads of some processes; they come and go."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], Thread] = {}
        self._most = min(_KEPT, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 8)

    def read(self, pids: Iterable[int]) -> list[parse.Schedule] | None:
        """Growth of each thread that was there at the last call too. None: too many to hold, or they cannot be listed."""
        try:
            there = {(pid, int(tid)) for pid in pids for tid in os.listdir(f"/proc/{pid}/task")}
        except OSError:
            return None
        for key in self._kept.keys() - there:
            self._kept.pop(key).close()
        if len(there) > self._most:
            return None
        for pid, tid in there - self._kept.keys():
            self._kept[pid, tid] = Thread(f"/proc/{pid}/task/{tid}/schedstat")
        grown = {key: thread.read() for key, thread in self._kept.items()}
        for key in [key for key, thread in self._kept.items() if thread.gone]:  # ended since, or its id is another's now
            self._kept.pop(key).close()
        return [each for each in grown.values() if each is not None]

    def close(self) -> None:
        """Give all files back."""
        for thread in self._kept.values():
            thread.close()


def core_share(thread: parse.Schedule | None, elapsed_s: float) -> float | None:
    """Share of one core. A thread has at most one: what is over is the jitter between two clocks."""
    share = per_second(thread.on_cpu_ns, elapsed_s, 1e9) if thread else None
    return None if share is None else min(share, 1.0)
