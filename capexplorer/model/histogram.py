"""Latencies as an HdrHistogram whose counters numpy accesses: recording, merging and percentiles never loop in Python.

The hdrhistogram library has the counters and the wire format; numpy arrays here share the memory of its counters. The recorder
encodes several histograms a second on a thread that shares the GIL with the load, so nothing here may loop over the 23,552
counters in Python. Must not know endpoints, ticks or levels.
"""

from __future__ import annotations

from . import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
import binascii
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# isort: split
import contextlib
import math
import weakref
from functools import lru_cache
from typing import Any

from hdrh.histogram import HdrHistogram
from numpy.typing import ArrayLike

# -- Decodes many encoded histograms to counters at once, without a Python loop over counters: so a level's seconds are merged.
#
# The wire format is HdrHistogram's V2: base64 of (cookie, length, zlib of (40 bytes of header, counts)), counts as zigzag LEB128
# with runs of zeros as negative numbers. The hdrhistogram library decodes one in 14 us, most of it for its 23,552 counters; here
# one costs 1.5 us. Must not know which values the counters count.

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


LOWEST_US = 1
HIGHEST_US = 3_600_000_000
"""One hour."""
SIGNIFICANT_DIGITS = 3

# The layout that follows: 2,048 counters of 1 us, then each doubling of the value has 1,024 counters of twice the width.
_HALF = 1024
_HALF_BITS = 10


class LatencyHistogram:
    """Counts of latencies, 1 us to 1 h, to three significant digits. Equal when the counts are equal."""

    __slots__ = ("_counts", "_hdr", "count", "max_us", "min_us")

    count: int
    """Values recorded."""
    min_us: int
    max_us: int
    """The least and the greatest value: exact for recorded values, bounds of a counter for decoded ones. Undefined while `count`
    is 0."""

    def __init__(self) -> None:
        self._hdr: Any = HdrHistogram(LOWEST_US, HIGHEST_US, SIGNIFICANT_DIGITS)
        self._hdr.encoder.histogram = weakref.proxy(self._hdr)  # a cycle would keep its 190 KB until the collector runs
        self._counts: NDArray[np.int64] = np.frombuffer(self._hdr.counts, dtype=np.int64)
        self.count, self.min_us, self.max_us = 0, HIGHEST_US, 0

    def record_us(self, values: ArrayLike, counts: ArrayLike = 1) -> int:
        """Record latencies in us (rounded to whole ones), each as often as `counts` says. Returns how many were clamped to 1 us
        or 1 h.
        """
        given = np.atleast_1d(np.asarray(values, dtype=np.float64))
        times = np.broadcast_to(np.asarray(counts, dtype=np.int64), given.shape)
        given, times = given[times > 0], times[times > 0]
        if not given.size:
            return 0
        inside = (given >= LOWEST_US) & (given <= HIGHEST_US)  # False for NaN, which fmax below puts at the lower bound
        whole_us = np.rint(np.fmin(np.fmax(given, LOWEST_US), HIGHEST_US)).astype(np.int64)
        np.add.at(self._counts, _index(whole_us), times)
        self.count += int(times.sum())
        self.min_us = min(self.min_us, int(whole_us.min()))
        self.max_us = max(self.max_us, int(whole_us.max()))
        return int(times[~inside].sum())

    def add(self, other: LatencyHistogram) -> None:
        """Add the values of `other`, as if they had been recorded here."""
        if not other.count:
            return
        used = other._used()
        self._counts[used] += other._counts[used]
        self.count += other.count
        self.min_us = min(self.min_us, other.min_us)
        self.max_us = max(self.max_us, other.max_us)

    def subtract(self, other: LatencyHistogram) -> None:
        """Remove the values of `other`, which was added before. `min_us` and `max_us` become bounds of the remaining counters."""
        self._counts -= other._counts
        self.count -= other.count
        self._bound(np.flatnonzero(self._counts))

    def _bound(self, used: NDArray[np.int64]) -> None:
        """Take the bounds of the counters that are not empty for the least and the greatest value."""
        self.min_us, self.max_us = HIGHEST_US, 0
        if used.size:
            self.min_us, self.max_us = int(_lowest_us(used.min())), min(int(_highest_us(used.max())), HIGHEST_US)

    def percentile_ms(self, q: float) -> float | None:
        """The value at quantile `q` (0 to 1); see `percentiles_ms`."""
        return self.percentiles_ms((q,))[0]

    def percentiles_ms(self, qs: Sequence[float]) -> tuple[float | None, ...]:
        """Values at quantiles `qs` (0 to 1), in ms, by nearest rank: at most 0.1% above the exact value. None if empty.

        Each is the highest value of its counter, as in HdrHistogram, but never above the recorded maximum.
        """
        if not self.count:
            return (None,) * len(qs)
        used = self._used()
        ranks = [_rank(q, self.count) for q in qs]
        indices = np.searchsorted(np.cumsum(self._counts[used]), ranks) + used.start
        return tuple(min(int(value_us), self.max_us) / 1000 for value_us in _highest_us(indices))

    def of_tick(self) -> dict[str, Any]:
        """Its percentiles and its greatest value, by field of a tick."""
        p50_ms, p95_ms, p99_ms = self.percentiles_ms((0.50, 0.95, 0.99))
        return {"p50_ms": p50_ms, "p95_ms": p95_ms, "p99_ms": p99_ms, "max_ms": self.max_ms}

    def counts_between(self, edges_us: ArrayLike) -> NDArray[np.int64]:
        """Number of values below the first edge, between each two edges, and from the last edge on: shape (edges + 1,).

        `edges_us`: ascending. All values of a counter count as its least value, at most 0.1% too low.
        """
        edges = np.asarray(edges_us)
        found = np.zeros(edges.size + 1, np.int64)
        if self.count:
            used = self._used()
            indices = np.flatnonzero(self._counts[used]) + used.start
            np.add.at(found, np.searchsorted(edges, _lowest_us(indices), side="right"), self._counts[indices])
        return found

    @property
    def min_ms(self) -> float | None:
        """The least value; None when empty."""
        return self.min_us / 1000 if self.count else None

    @property
    def max_ms(self) -> float | None:
        """The greatest value; None when empty."""
        return self.max_us / 1000 if self.count else None

    @property
    def variance_ms2(self) -> float:
        """The variance of the values, in ms squared; 0 when empty."""
        if not self.count:
            return 0.0
        used = self._used()
        values = _lowest_us(np.arange(used.start, used.stop)) / 1000.0
        counts = self._counts[used]
        mean = float(values @ counts) / self.count
        return float((values - mean) ** 2 @ counts) / self.count

    def encode(self) -> str:
        """HdrHistogram V2, compressed, base64."""
        self._hdr.total_count = self.count
        self._hdr.max_value = self.max_us
        text: bytes = self._hdr.encode()
        return text.decode("ascii")

    @classmethod
    def decode(cls, *texts: str) -> LatencyHistogram:
        """The sum of texts that `encode` wrote, or another library with this layout. Raises ValueError for other texts."""
        indices, counts = counters(texts, _wire_header())
        whole = cls()
        if indices.size:
            if int(indices.max()) >= whole._counts.size:
                raise ValueError("more counters than this layout has")
            np.add.at(whole._counts, indices, counts)
            whole.count = int(counts.sum())
            whole._bound(indices)
        return whole

    def copy(self) -> LatencyHistogram:
        """An independent copy."""
        twin = LatencyHistogram()
        twin.add(self)
        return twin

    def clear(self) -> None:
        """Remove all values, to record the next second: cheaper than a new histogram (70 us)."""
        self._counts[:] = 0
        self.count = 0
        self.min_us, self.max_us = HIGHEST_US, 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LatencyHistogram):
            return NotImplemented
        return self.count == other.count and np.array_equal(self._counts, other._counts)

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return f"<LatencyHistogram of {self.count} values, {self.min_ms} to {self.max_ms} ms>"

    def _used(self) -> slice:
        """The range of counters from the least to the greatest value."""
        first, last = _index(np.array((self.min_us, self.max_us)))
        return slice(int(first), int(last) + 1)


def merged(texts: Sequence[str]) -> LatencyHistogram:
    """The sum of encoded histograms. Texts that are no histogram of this layout are left out."""
    try:
        return LatencyHistogram.decode(*texts)
    except ValueError:
        whole = LatencyHistogram()
        for text in texts:
            with contextlib.suppress(ValueError):
                whole.add(LatencyHistogram.decode(text))
        return whole


def counts_between(texts: Sequence[str], edges_us: NDArray[np.float64]) -> NDArray[np.int64]:
    """As `merged(texts).counts_between(edges_us)`, in a third of the time."""
    try:
        indices, counts = counters(texts, _wire_header())
    except ValueError:
        return merged(texts).counts_between(edges_us)
    places = np.searchsorted(edges_us, _lowest_us(indices), side="right")
    return np.bincount(places, weights=counts, minlength=edges_us.size + 1).astype(np.int64)


def percentiles_ms(texts: Sequence[str], qs: Sequence[float]) -> tuple[float | None, ...]:
    """As `merged(texts).percentiles_ms(qs)`, in a fifth of the time."""
    try:
        indices, counts = counters(texts, _wire_header())
    except ValueError:
        return merged(texts).percentiles_ms(qs)
    if not indices.size:
        return (None,) * len(qs)
    order = np.argsort(indices, kind="stable")
    upto = np.cumsum(counts[order])
    places = np.searchsorted(upto, [_rank(q, int(upto[-1])) for q in qs])
    return tuple(min(int(value_us), HIGHEST_US) / 1000 for value_us in _highest_us(indices[order][places]))


@lru_cache
def _wire_header() -> bytes:
    """The first 40 bytes inside the compression, which all histograms of this layout have in common."""
    outer = binascii.a2b_base64(LatencyHistogram().encode())
    return zlib.decompress(outer[8:])[:40]


def _rank(q: float, count: int) -> int:
    """Nearest rank, 1 to `count`. Rounded first: 0.07 * 100 is 7.000000000000001, and its rank is 7."""
    return min(max(math.ceil(round(q * count, 6)), 1), count)


def _index(values_us: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counter of each value. The exponent of frexp is the bit length: exact below 2**53, and an hour is below 2**32."""
    bit_length = np.frexp((values_us | (2 * _HALF - 1)).astype(np.float64))[1].astype(np.int64)
    doublings = bit_length - (_HALF_BITS + 1)
    return (doublings << _HALF_BITS) + (values_us >> doublings)


def _lowest_us(indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """The least value of each counter."""
    doublings = _doublings(indices)
    return (indices - (doublings << _HALF_BITS)) << doublings


def _highest_us(indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """The greatest value of each counter."""
    return _lowest_us(indices) + (np.int64(1) << _doublings(indices)) - 1


def _doublings(indices: NDArray[np.int64]) -> NDArray[np.int64]:
    doublings: NDArray[np.int64] = np.maximum((indices >> _HALF_BITS) - 1, 0)
    return doublings


# -- The sum of encoded histograms. Many are decoded at once, when the sum is needed; a sum that is kept takes 1 KB, not 190.

MOST_WAITING = 512
"""Encoded histograms that are kept before they are merged: about 80 KB, and 1 ms to merge."""


class HistogramSum:
    """The sum of histograms, each as a text that `LatencyHistogram.encode` wrote."""

    def __init__(self) -> None:
        self._merged: LatencyHistogram | None = None
        self._waiting: list[str] = []

    def add(self, text: str) -> None:
        """Add one encoded histogram."""
        self._waiting.append(text)
        if len(self._waiting) >= MOST_WAITING:
            _ = self.histogram

    @property
    def histogram(self) -> LatencyHistogram:
        """The sum so far; not a copy: later calls of `add` change it."""
        if self._merged is None:
            self._merged = merged(self._waiting)
        elif self._waiting:
            self._merged.add(merged(self._waiting))
        self._waiting.clear()
        return self._merged

    def copy(self) -> HistogramSum:
        """An independent copy, which is small until its histogram is needed."""
        twin = HistogramSum()
        if self._merged is None and len(self._waiting) <= 1:  # a copy itself, or empty: it stays small
            twin._waiting += self._waiting
        elif self.histogram.count:
            twin._waiting.append(self.histogram.encode())
        return twin
