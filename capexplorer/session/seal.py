"""The seal of a line: its number in the log, and a checksum, so that any damage is detected.

    {"type":"note","t_s":3.2,"text":"slower now","line":7,"crc":"90b40950"}

Each line is still one JSON object. `line` is 1 for the header; `crc` is the CRC-32 (that of zlib and gzip, eight hexadecimal
digits) of the line's bytes before `,"crc"`. The numbers show lines that were deleted, duplicated or moved. Each line is checked
by itself, so lines after a damaged one can be read. This module does not depend on the types of events.
"""

from __future__ import annotations

import re
import zlib

FIELDS = ("line", "crc")
"""Names of the two fields; no event may have fields with these names."""
_SEAL = re.compile(rb',"line":([1-9][0-9]{0,14})(,"crc":"([0-9a-f]{8})"\}\r?\n?)\Z')
_LONGEST_SEAL_BYTES = 52


class SealError(ValueError):
    """A line was changed, duplicated or moved since it was written."""


def sealed(line: bytes, number: int) -> bytes:
    """The line with its seal as the last two fields. `line`: a JSON object with at least one field, without line end."""
    body = b'%b,"line":%d' % (line[:-1], number)
    return b'%b,"crc":"%08x"}' % (body, zlib.crc32(body))


def number_of(line: bytes) -> int:
    """The number of a sealed line, with or without line end; takes 2 us. Raises SealError if the line was changed or cut off, or
    has no seal.
    """
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
    """Detects missing, duplicated and moved lines by the numbers of the lines read so far. `last`: number of the last line."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._damaged = 0
        """Number of damaged lines since then, whose numbers are not known."""

    def skip(self) -> None:
        """Count a damaged line."""
        self._damaged += 1

    def take(self, number: int) -> int:
        """Count the next intact line, with its number. Returns the number of lines missing before it, without damaged ones.

        Raises SealError for a line that is duplicated or moved. It must be left out, since events have an order.
        """
        if number <= self._last:
            raise SealError(f"it is line {number} of the recording, duplicated or moved")
        missing = max(0, number - self._last - 1 - self._damaged)
        self._last, self._damaged = number, 0
        return missing
