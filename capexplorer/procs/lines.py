"""Lines over a pipe: whole ones from the pieces that arrive, and bytes for a reader that may be slow."""

from __future__ import annotations

import os
from collections.abc import Iterator

PIECE_BYTES = 65_536
"""A pipe's default capacity on Linux."""


class LineSplitter:
    """The whole lines of a stream that arrives in pieces of any length."""

    __slots__ = ("_kept_bytes", "rest")

    def __init__(self, kept_bytes: int | None = None) -> None:
        """`kept_bytes`: longer lines are cut there; None: they have no bound."""
        self.rest = b""
        """The beginning of the next line."""
        self._kept_bytes = kept_bytes

    def add(self, piece: bytes) -> list[bytes]:
        """The lines that end in this piece, without their ends."""
        *lines, self.rest = (self.rest + piece).split(b"\n")
        if self._kept_bytes is not None:
            self.rest = self.rest[: self._kept_bytes]
            lines = [line[: self._kept_bytes] for line in lines]
        return lines

    def end(self) -> list[bytes]:
        """The last line, if the stream ended within one. A new line begins after this."""
        rest, self.rest = self.rest, b""
        return [rest] if rest else []


def lines_of(descriptor: int) -> Iterator[bytes]:
    """The whole lines of a pipe until its end, as they arrive."""
    splitter = LineSplitter()
    while piece := os.read(descriptor, PIECE_BYTES):
        yield from splitter.add(piece)


def write_all(descriptor: int, data: bytes) -> None:
    """Write to a descriptor that may block. Raises OSError."""
    while data:
        data = data[os.write(descriptor, data) :]


class Unsent:
    """Bytes for a descriptor that does not block. A reader that is gone is no error here: they are dropped."""

    __slots__ = ("_bytes", "descriptor")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes)

    def add(self, data: bytes) -> None:
        """Take bytes, which `flush` writes."""
        self._bytes += data

    def flush(self) -> None:
        """Write as much as the descriptor takes now."""
        try:
            while self._bytes:
                del self._bytes[: os.write(self.descriptor, self._bytes)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._bytes.clear()

    def drop(self) -> None:
        """Forget what was not written."""
        self._bytes.clear()
