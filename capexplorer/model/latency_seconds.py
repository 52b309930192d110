"""The latency distribution of each second: counts by bucket on a logarithmic scale, and the p95 of each endpoint.

A timeline does not keep the histograms of seconds. A live screen keeps their counts here (about 100 bytes a second), and 4 bytes
per endpoint; a replay reads a second of the log again when it is needed. Latencies are those of successful requests.
"""

from __future__ import annotations

from . import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
import math
from array import array
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .columns import ENDPOINTS_MOST, EndpointKey
from .events import EndpointTick, Sample
from .histogram import counts_between, merged

PER_DECADE = 24
LOWEST_MS = 0.01
DECADES = 8

EDGES_MS: NDArray[np.float64] = LOWEST_MS * 10.0 ** (np.arange(PER_DECADE * DECADES + 1) / PER_DECADE)
"""Edges of the buckets, shape (BUCKETS + 1,). Latencies beyond them count in the first and the last bucket."""

EDGES_US = 1000 * EDGES_MS
BUCKETS = EDGES_MS.size - 1


class LatencySeconds(Protocol):
    """The latency distribution of each second of a session."""

    def counts(self, tick: int) -> NDArray[np.int64]:
        """Counts by bucket, shape (BUCKETS,), of the tick with this column index; zeros if it is not known."""

    def p95_ms(self, tick: int, endpoint: EndpointKey) -> float:
        """p95 of one endpoint in that tick; NaN if it had no success, or is not known."""


class KeptLatencies:
    """The distributions of a running session, kept in memory."""

    def __init__(self) -> None:
        self._ticks: list[bytes] = []
        self._p95_ms: dict[EndpointKey, array[float]] = {}

    def add(self, sample: Sample) -> None:
        """Add the next tick."""
        for tick in sample.endpoints:
            kept = self._p95_ms.get((tick.method, tick.name))
            if kept is None and len(self._p95_ms) < ENDPOINTS_MOST:
                kept = self._p95_ms[tick.method, tick.name] = array("f")
            if kept is not None:
                kept.extend([math.nan] * (len(self._ticks) - len(kept)))
                kept.append(_p95_ms(tick))
        self._ticks.append(_packed(sample))

    def counts(self, tick: int) -> NDArray[np.int64]:
        """As of `LatencySeconds`."""
        return _unpacked(self._ticks[tick] if 0 <= tick < len(self._ticks) else b"")

    def p95_ms(self, tick: int, endpoint: EndpointKey) -> float:
        """As of `LatencySeconds`."""
        kept = self._p95_ms.get(endpoint, ())
        return kept[tick] if 0 <= tick < len(kept) else math.nan


class ReadLatencies:
    """The distributions of a recording. `read` returns the sample of a tick; each is read and computed once."""

    def __init__(self, read: Callable[[int], Sample]) -> None:
        self._read = read
        self._known: dict[int, bytes] = {}
        self._p95_ms: dict[tuple[int, EndpointKey], float] = {}

    def counts(self, tick: int) -> NDArray[np.int64]:
        """As of `LatencySeconds`."""
        found = self._known.get(tick)
        if found is None:
            found = self._known[tick] = _packed(self._read(tick))
        return _unpacked(found)

    def p95_ms(self, tick: int, endpoint: EndpointKey) -> float:
        """As of `LatencySeconds`."""
        found = self._p95_ms.get((tick, endpoint))
        if found is None:
            of_it = (each for each in self._read(tick).endpoints if (each.method, each.name) == endpoint)
            found = self._p95_ms[tick, endpoint] = next(map(_p95_ms, of_it), math.nan)
        return found


def _p95_ms(tick: EndpointTick) -> float:
    (found,) = merged([tick.latency] if tick.latency else []).percentiles_ms((0.95,))
    return math.nan if found is None else found


def _packed(sample: Sample) -> bytes:
    """The buckets that are not empty: their numbers, one byte each, then their counts, four bytes each."""
    found = counts_between([tick.latency for tick in sample.endpoints if tick.latency], EDGES_US)
    counts = found[1:-1].copy()
    counts[0] += found[0]
    counts[-1] += found[-1]
    filled = np.flatnonzero(counts)
    return filled.astype(np.uint8).tobytes() + counts[filled].astype("<u4").tobytes()


def _unpacked(packed: bytes) -> NDArray[np.int64]:
    counts = np.zeros(BUCKETS, np.int64)
    filled = len(packed) // 5
    counts[np.frombuffer(packed, np.uint8, filled)] = np.frombuffer(packed, "<u4", filled, filled)
    return counts
