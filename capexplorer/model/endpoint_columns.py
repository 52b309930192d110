"""Each endpoint's seconds as columns, in step with those of the timeline, so that one endpoint can be drawn over time.

Percentiles of a second are not among them: they would have to be computed from each second's histogram as a log is opened.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

from .events import Sample

ENDPOINTS_MOST = 50
"""Endpoints with columns, in order of appearance: a day takes 1 MB for each."""

ENDPOINT_COLUMNS = ("throughput_rps", "failures_rps", "mean_ms")

EndpointKey = tuple[str, str]
"""(method, name)."""

_NOTHING = (0.0, 0.0, math.nan)


class EndpointColumns:
    """`add` each sample in order. As those of a timeline, columns may be longer than the moment that is shown."""

    def __init__(self) -> None:
        self._columns: dict[EndpointKey, tuple[array[float], ...]] = {}
        self._ticks = 0

    def add(self, sample: Sample) -> None:
        """One more second. A day's log has 86,400: an endpoint without requests is filled up when it comes again."""
        duration_s = sample.duration_s
        for tick in sample.endpoints if duration_s > 0 else ():
            columns = self._columns.get((tick.method, tick.name)) or self._begun((tick.method, tick.name))
            if columns is None:
                continue
            throughput, failures, mean = columns
            if len(mean) < self._ticks:
                self._fill(columns)
            successes = tick.requests - tick.failures
            throughput.append(tick.requests / duration_s)
            failures.append(tick.failures / duration_s)
            mean.append(tick.latency_sum_ms / successes if successes else math.nan)
        self._ticks += 1

    def _begun(self, endpoint: EndpointKey) -> tuple[array[float], ...] | None:
        if len(self._columns) >= ENDPOINTS_MOST:
            return None
        columns = self._columns[endpoint] = tuple(array("f", [math.nan]) * self._ticks for _ in ENDPOINT_COLUMNS)
        return columns

    def _fill(self, columns: tuple[array[float], ...]) -> None:
        for column, nothing in zip(columns, _NOTHING, strict=True):
            column.extend([nothing] * (self._ticks - len(column)))

    def of(self, endpoint: EndpointKey) -> Mapping[str, array[float]] | None:
        """Its columns by name: requests and failures a second, mean latency of successes in ms; None: it has none."""
        columns = self._columns.get(endpoint)
        if columns is None:
            return None
        missing = self._ticks - len(columns[-1])
        if missing > 0:
            columns = tuple(column + array("f", [nothing]) * missing for column, nothing in zip(columns, _NOTHING, strict=True))
        return dict(zip(ENDPOINT_COLUMNS, columns, strict=True))
