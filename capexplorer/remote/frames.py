"""Messages in a stream of bytes: four bytes of length, the most significant first, then the message. Pure."""

from __future__ import annotations

from .protocol import ProtocolError

LENGTH_BYTES = 4
FROM_SCREEN_MOST_BYTES = 64 * 1024
"""Enough for the longest message of a screen, a plan of 10,000 characters."""
FROM_RUN_MOST_BYTES = 1024 * 1024
"""Enough for the longest message of a run, which has the profile's plans: 256 KiB at most."""


def frame(message: bytes) -> bytes:
    """A message with its length."""
    return len(message).to_bytes(LENGTH_BYTES, "big") + message


class Frames:
    """Splits a stream of bytes into messages. Keeps less than one message, of at most `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are complete with these bytes. Raises ProtocolError for a length above `most_bytes`."""
        self._buffer += data
        found = []
        while (end := self._end()) is not None and len(self._buffer) >= end:
            found.append(bytes(self._buffer[LENGTH_BYTES:end]))
            del self._buffer[:end]
        return found

    def _end(self) -> int | None:
        """Offset of the end of the first message in the buffer; None if its length has not arrived."""
        if len(self._buffer) < LENGTH_BYTES:
            return None
        length = int.from_bytes(self._buffer[:LENGTH_BYTES], "big")
        if length > self._most_bytes:
            raise ProtocolError(f"a message of {length:,} bytes; at most {self._most_bytes:,} are taken")
        return LENGTH_BYTES + length
