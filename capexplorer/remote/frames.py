"""Messages in a stream of bytes: four bytes of length, the most significant first, then the message. Pure."""

from __future__ import annotations

from .protocol import ProtocolError

LENGTH_BYTES = 4
FROM_SCREEN_MOST_BYTES = 64 * 1024
"""The longest message of a screen is a plan of 10,000 characters."""
FROM_RUN_MOST_BYTES = 1024 * 1024
"""The longest message of a run holds its profile's plans, of 256 KiB at most."""


def frame(message: bytes) -> bytes:
    """A message with its length."""
    return len(message).to_bytes(LENGTH_BYTES, "big") + message


class Frames:
    """Bytes in, whole messages out. It keeps less than one message of `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._kept = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are complete with these bytes. Raises ProtocolError for a length beyond the bound."""
        self._kept += data
        found = []
        while (end := self._end()) is not None and len(self._kept) >= end:
            found.append(bytes(self._kept[LENGTH_BYTES:end]))
            del self._kept[:end]
        return found

    def _end(self) -> int | None:
        """Where the message ends that begins the kept bytes; None where not even its length is there."""
        if len(self._kept) < LENGTH_BYTES:
            return None
        length = int.from_bytes(self._kept[:LENGTH_BYTES], "big")
        if length > self._most_bytes:
            raise ProtocolError(f"a message of {length:,} bytes; at most {self._most_bytes:,} are taken")
        return LENGTH_BYTES + length
