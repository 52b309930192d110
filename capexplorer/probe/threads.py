"""Readings of threads from their schedstat: time on a core, time runnable but waiting for a core, number of time slices.

A CPU time that does not grow although its thread ran is stale: it counts as not measured, not as zero.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping

from . import parse
from .procfs import OUT_OF_FDS, Growth, KeptFile, per_second

_THREADS_MOST = 512
"""Threads of a target whose files are kept open; fewer if that would take more than an eighth of this process's descriptors."""


class Thread:
    """One thread, by its open schedstat file."""

    def __init__(self, path: str) -> None:
        self._file = KeptFile(path)
        self._growth = Growth()
        self.gone = False

    @property
    def waits_for_fd(self) -> bool:
        """Whether it could not be opened since no descriptor was left."""
        return self._file.waits_for_fd

    def read(self) -> parse.Schedule | None:
        """Growth since the last call; None at the first call, and if the thread has ended or the value is stale."""
        text = self._file.read()
        self.gone = text is None
        now = parse.schedstat(text) or (None, None, None)
        on_cpu_ns, run_delay_ns, slices = (self._growth(index, value) for index, value in enumerate(now))
        if on_cpu_ns is None or run_delay_ns is None or slices is None or (slices > 0 and on_cpu_ns == 0):
            return None
        return parse.Schedule(on_cpu_ns, run_delay_ns, slices)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Threads:
    """All threads of a changing set of processes."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], Thread] = {}
        self._most = min(_THREADS_MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 8)

    def read(self, counts: Mapping[int, int]) -> list[parse.Schedule] | None:
        """Growth of each thread that was there at the last call, too; `counts`: number of threads by pid.

        None: there are too many to keep open, or they cannot be listed or opened.
        """
        there: set[tuple[int, int]] = set()
        for pid, count in counts.items():
            listed = self._listed(pid, count)
            if listed is None:
                return None
            there |= listed
        for key in self._kept.keys() - there:
            self._kept.pop(key).close()
        if len(there) > self._most:
            return None
        for pid, tid in there - self._kept.keys():
            self._kept[pid, tid] = Thread(f"/proc/{pid}/task/{tid}/schedstat")
        grown = {key: thread.read() for key, thread in self._kept.items()}
        if any(thread.waits_for_fd for thread in self._kept.values()):
            return None
        for key in [key for key, thread in self._kept.items() if thread.gone]:  # ended since it was listed
            self._kept.pop(key).close()
        return [each for each in grown.values() if each is not None]

    def _listed(self, pid: int, count: int) -> set[tuple[int, int]] | None:
        """(pid, tid) of a process's threads. If no descriptor is left to list them, the open ones are used if their number is
        right."""
        try:
            return {(pid, int(tid)) for tid in os.listdir(f"/proc/{pid}/task")}
        except OSError as error:
            held = {key for key in self._kept if key[0] == pid}
            return held if error.errno in OUT_OF_FDS and len(held) == count else None

    def close(self) -> None:
        """Close all files."""
        for thread in self._kept.values():
            thread.close()


def core_share(thread: parse.Schedule | None, elapsed_s: float) -> float | None:
    """Share of one core. A thread uses at most one; a larger value is jitter between two clocks."""
    share = per_second(thread.on_cpu_ns, elapsed_s, 1e9) if thread else None
    return None if share is None else min(share, 1.0)
