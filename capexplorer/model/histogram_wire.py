"""Decodes many encoded histograms to counters at once, without a Python loop over counters: so a level's seconds are merged.

The wire format is HdrHistogram's V2: base64 of (cookie, length, zlib of (40 bytes of header, counts)), counts as zigzag LEB128
with runs of zeros as negative numbers. The hdrhistogram library decodes one in 14 us, most of it for its 23,552 counters; here
one costs 1.5 us. Must not know which values the counters count.
"""

from __future__ import annotations

from . import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
import binascii
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_OUTER_BYTES, _HEADER_BYTES = 8, 40
_OUTER_COOKIE = bytes.fromhex("1c849314")
_LONGEST_COUNT_BYTES = 6
"""Seven bits a byte: counts are below 2**41, so that no sum of them overflows."""
LONGEST_TEXT = 256 * 1024
"""Characters. With all 23,552 counters in use a text has 50,000; a longer one may be a compression bomb."""

Counters = tuple[NDArray[np.int64], NDArray[np.int64]]
"""(indices, counts), of one shape (n,); an index may occur more than once."""


def counters(texts: Sequence[str], header: bytes) -> Counters:
    """The non-zero counters of all `texts`. Raises ValueError for a text in another format or layout.

    `header`: the first 40 bytes of a payload of the layout; the length in it is not compared.
    """
    payloads = [payload for text in texts if (payload := _payload(text, header))]  # an empty histogram has no counts
    if not payloads:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    data = np.frombuffer(b"".join(payloads), np.uint8)
    ends = np.flatnonzero(data < 0x80)
    if not ends.size or ends[-1] != data.size - 1:
        raise ValueError("a count is cut off")
    values = _zigzag(data, ends)
    steps = np.where(values < 0, -values, 1)
    passed = np.cumsum(steps) - steps
    last = np.searchsorted(ends, np.cumsum([len(payload) for payload in payloads]) - 1)
    starts = np.concatenate(([0], last[:-1] + 1))
    jumps = np.zeros(values.size, np.int64)
    jumps[starts] = np.diff(passed[starts], prepend=0)
    indices = passed - np.cumsum(jumps)
    counted = values > 0
    return indices[counted], values[counted]


def _payload(text: str, header: bytes) -> bytes:
    if len(text) > LONGEST_TEXT:
        raise ValueError("not a histogram: too long")
    try:
        outer = binascii.a2b_base64(text)
        if outer[:4] != _OUTER_COOKIE:
            raise ValueError("not a V2 histogram")
        inner = zlib.decompress(outer[_OUTER_BYTES:])
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ValueError(f"not a histogram: {error}") from None
    if inner[:4] != header[:4] or inner[8:_HEADER_BYTES] != header[8:_HEADER_BYTES]:
        raise ValueError("another layout")
    counts = inner[_HEADER_BYTES:]
    if counts and counts[-1] >= 0x80:  # it would run on into the next one
        raise ValueError("a count is cut off")
    return counts


def _zigzag(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max() > _LONGEST_COUNT_BYTES:
        raise ValueError("a count is too long")
    folded = (data[starts] & 0x7F).astype(np.int64)
    for place in range(1, int(lengths.max())):
        longer = np.flatnonzero(lengths > place)
        folded[longer] |= (data[starts[longer] + place] & 0x7F).astype(np.int64) << (7 * place)
    unfolded: NDArray[np.int64] = (folded >> 1) ^ -(folded & 1)
    return unfolded
