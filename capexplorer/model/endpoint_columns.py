"""Each endpoint's seconds as columns, in step with those of the timeline, so that one endpoint can be drawn over time.

Percentiles of a second are not among them: they would have to be computed from each second's histogram as a log is opened.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

from .events import EndpointTick, Sample

ENDPOINTS_MOST = 50
"""Endpoints with columns, in order of appearance: a day takes 1 MB for each."""

ENDPOINT_COLUMNS = ("throughput_rps", "failures_rps", "mean_ms")

EndpointKey = tuple[str, str]
"""(method, name)."""

_NOTHING: Mapping[str, float] = {"throughput_rps": 0.0, "failures_rps": 0.0, "mean_ms": math.nan}


class EndpointColumns:
    """`add` each sample in order. As those of a timeline, columns may be longer than the moment that is shown."""

    def __init__(self) -> None:
        self._columns: dict[EndpointKey, dict[str, array[float]]] = {}
        self._ticks = 0

    def add(self, sample: Sample) -> None:
        """One more second."""
        there = {(tick.method, tick.name): tick for tick in sample.endpoints}
        for key in there:
            if key not in self._columns and len(self._columns) < ENDPOINTS_MOST:
                self._columns[key] = {name: array("f", [math.nan]) * self._ticks for name in ENDPOINT_COLUMNS}
        for key, columns in self._columns.items():
            values = _values(there.get(key), sample.duration_s)
            for name, column in columns.items():
                column.append(values[name])
        self._ticks += 1

    def of(self, endpoint: EndpointKey) -> Mapping[str, array[float]] | None:
        """Its columns by name: requests and failures a second, mean latency of successes in ms; None: it has none."""
        return self._columns.get(endpoint)


def _values(tick: EndpointTick | None, duration_s: float) -> Mapping[str, float]:
    if tick is None or duration_s <= 0:
        return _NOTHING
    successes = tick.requests - tick.failures
    return {
        "throughput_rps": tick.requests / duration_s,
        "failures_rps": tick.failures / duration_s,
        "mean_ms": tick.latency_sum_ms / successes if successes else math.nan,
    }
