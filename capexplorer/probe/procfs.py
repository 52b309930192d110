"""Files of /proc and /sys that stay open: under EMFILE nothing new can be opened, but what is open can still be read.

A kept file of a process belongs to that process alone: when it is gone the read fails, even if its pid lives on as another's.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Hashable, Iterator
from typing import Protocol

_CHUNK_BYTES = 32768

OUT_OF_FDS = frozenset((errno.EMFILE, errno.ENFILE))
"""errno values of files that exist but could not be opened."""


class TextFile(Protocol):
    """A file of /proc or /sys, of this machine or of another one."""

    error: int | None
    """Why it could not be opened (errno), or None."""

    def read(self) -> str | None:
        """Its text now; None where it cannot be read."""

    def close(self) -> None:
        """Nothing more is read."""


OpenFile = Callable[[str], TextFile]


class KeptFile:
    """One file, opened once and read at every call. If no descriptor was left to open it, the next call tries again."""

    __slots__ = ("_fd", "_path", "error")

    def __init__(self, path: str) -> None:
        self.error: int | None = None
        """Why it could not be opened (errno), or None."""
        self._path = path
        self._fd: int | None = None
        self._open()

    def _open(self) -> None:
        try:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            self.error = None
        except OSError as error:
            self.error = error.errno

    @property
    def waits_for_fd(self) -> bool:
        """Whether it could not be opened because no descriptor was free."""
        return self.error in OUT_OF_FDS

    def read(self) -> str | None:
        """Its text now; None when it could not be opened, or what it describes is gone or denied."""
        try:
            return b"".join(self._pieces()).decode("utf-8", "replace")
        except OSError:
            return None

    def lines(self) -> Iterator[str]:
        """Its lines, read as they are asked for: of a long file its first ones are cheap. OSError where `read` gives None."""
        rest = b""
        for piece in self._pieces():
            *whole, rest = (rest + piece).split(b"\n")
            yield from (line.decode("utf-8", "replace") for line in whole)

    def _pieces(self) -> Iterator[bytes]:
        if self.waits_for_fd:
            self._open()
        if self._fd is None:
            raise OSError(self.error or errno.EBADF, "not open")
        offset = 0
        while piece := os.pread(self._fd, _CHUNK_BYTES, offset):  # /proc gives some files a page at a time
            yield piece
            offset += len(piece)

    def close(self) -> None:
        """Close the descriptor. May be called twice."""
        self.error = None
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class Growth:
    """Counters by name, each as its growth since the last call."""

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
