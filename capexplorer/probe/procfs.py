"""Files of /proc and /sys that stay open: under EMFILE no file can be opened, but those that are open can still be read.

An open file of a process belongs to that process alone: when it has ended the read fails, even if another process has its pid.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Protocol

_CHUNK_BYTES = 32768

OUT_OF_FDS = frozenset((errno.EMFILE, errno.ENFILE))
"""errno values of files that exist but could not be opened."""


class TextFile(Protocol):
    """A file of /proc or /sys, of this machine or of another one."""

    error: int | None
    """Why it could not be opened (errno), or None."""

    def read(self) -> str | None:
        """Its present text; None where it cannot be read."""

    def close(self) -> None:
        """Close it; it must not be read after that."""


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
        """Its present text; None if it could not be opened, if what it describes is gone, or access is denied."""
        try:
            return b"".join(self._pieces()).decode("utf-8", "replace")
        except OSError:
            return None

    def lines(self) -> Iterator[str]:
        """Its lines, read as the caller iterates: the first lines of a long file are cheap. Raises OSError where `read` returns
        None."""
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
    """The growth of counters since the last call, by the counter's name."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        self._before: dict[Hashable, int] = {}

    def __call__(self, name: Hashable, now: int | None) -> int | None:
        """Growth of `name` to `now`; None at the first call, after a missing value, and if it decreased: then the counter is a
        new one."""
        before = self._before.pop(name, None)
        if now is None:
            return None
        self._before[name] = now
        return None if before is None or now < before else now - before


def per_second(growth: int | None, elapsed_s: float, units: float = 1.0) -> float | None:
    """`growth` per second; `units` in one (1e9 for a growth in nanoseconds). None if it was not measured, or no time has
    passed."""
    return None if growth is None or elapsed_s <= 0 else growth / units / elapsed_s


def complete_sum(values: Sequence[int | None]) -> int | None:
    """The sum; None if one of the values was not measured."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


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
