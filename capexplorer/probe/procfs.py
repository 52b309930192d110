"""Files of /proc and /sys that stay open: under EMFILE nothing new can be opened, but what is open can still be read.

A kept file of a process belongs to that process alone: when it is gone the read fails, even if its pid lives on as another's.
"""

from __future__ import annotations

import os
from collections.abc import Hashable

_CHUNK_BYTES = 32768


class KeptFile:
    """One file, opened once and read whole at every call."""

    __slots__ = ("_fd", "error")

    def __init__(self, path: str) -> None:
        self.error: int | None = None
        """Why it could not be opened (errno), or None."""
        self._fd: int | None = None
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            self.error = error.errno

    def read(self) -> str | None:
        """Its text now; None when it could not be opened, or what it told of is gone or denied."""
        if self._fd is None:
            return None
        parts = []
        offset = 0
        try:
            while part := os.pread(self._fd, _CHUNK_BYTES, offset):  # /proc gives some files a page at a time
                parts.append(part)
                offset += len(part)
        except OSError:
            return None
        return b"".join(parts).decode("utf-8", "replace")

    def close(self) -> None:
        """Give the descriptor back. May be called twice."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class Growth:
    """Counters by name, each told as its growth since the last call."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        self._before: dict[Hashable, int] = {}

    def __call__(self, name: Hashable, now: int | None) -> int | None:
        """Growth of `name`; None the first time, after a gap, and when it ran backwards (another counter, not this one)."""
        before = self._before.pop(name, None)
        if now is None:
            return None
        self._before[name] = now
        return None if before is None or now < before else now - before


def per_second(growth: int | None, elapsed_s: float, units: float = 1.0) -> float | None:
    """`growth` over the tick, a second; `units` a whole (1e9 when it is nanoseconds). None when either was not measured."""
    return None if growth is None or elapsed_s <= 0 else growth / units / elapsed_s


def read_once(path: str) -> str | None:
    """The text of a file that is needed once; None when it cannot be read."""
    file = KeptFile(path)
    try:
        return file.read()
    finally:
        file.close()


def numbers(path: str) -> list[int]:
    """The whole numbers in a small file such as those of /proc/sys; empty when it cannot be read."""
    return [int(word) for word in (read_once(path) or "").split() if word.lstrip("-").isdigit()]
