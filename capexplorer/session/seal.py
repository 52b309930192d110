"""The seal of a line (schema 2): its number in the log, and a checksum, so that damage anywhere is seen.

    {"type":"note","t_s":3.2,"text":"slower now","line":7,"crc":"90b40950"}

Each line stays one JSON object. `line` counts from 1, the header; `crc` is the CRC-32 (as zlib and gzip have it, eight
hexadecimal digits) of the line's bytes before `,"crc"`. The numbers show lines that were deleted, duplicated or moved. Each line
is checked by itself, so the line after a damaged one stays readable. Must not know events.
"""

from __future__ import annotations

import re
import zlib

FIELDS = ("line", "crc")
"""No event may have fields of these names."""
_SEAL = re.compile(rb',"line":([1-9][0-9]{0,14})(,"crc":"([0-9a-f]{8})"\}\r?\n?)\Z')
_LONGEST_SEAL_BYTES = 52


class SealError(ValueError):
    """A line that was changed since it was written."""


def sealed(line: bytes, number: int) -> bytes:
    """A JSON object with at least one field, and its seal as its last two fields."""
    body = b'%b,"line":%d' % (line[:-1], number)
    return b'%b,"crc":"%08x"}' % (body, zlib.crc32(body))


def number_of(line: bytes) -> int:
    """The line's number, with or without its line end. Raises SealError when it was changed or cut, or has no seal. 2 us."""
    seal = _seal_of(line)
    if seal is None:
        raise SealError("damaged: it does not end with its number and checksum")
    number, tail, written = seal.groups()
    found = zlib.crc32(line[: -len(tail)])
    if found != int(written, 16):
        raise SealError(f"damaged: its checksum is {written.decode()}, its content gives {found:08x}")
    return int(number)


def has_seal(line: bytes) -> bool:
    """Whether a line ends as sealed ones do, intact or not."""
    return _seal_of(line) is not None


def _seal_of(line: bytes) -> re.Match[bytes] | None:
    return _SEAL.search(line, max(0, len(line) - _LONGEST_SEAL_BYTES))


class Numbering:
    """Number of the next line, by the numbers of the lines read so far."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._damaged = 0
        """Number of lines since then whose number could not be read."""

    def skip(self) -> None:
        """A damaged line."""
        self._damaged += 1

    def take(self, number: int) -> int:
        """The next good line. Returns how many are missing before it, beyond those that were damaged.

        Raises SealError for a line that stood before: doubled or moved. It must be left out, since events have an order.
        """
        if number <= self._last:
            raise SealError(f"it is line {number} of the recording, doubled or out of its place")
        missing = max(0, number - self._last - 1 - self._damaged)
        self._last, self._damaged = number, 0
        return missing
