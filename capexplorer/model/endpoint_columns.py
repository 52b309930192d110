"""Figures of each endpoint as columns with one value per tick, like those of the timeline, for charts of one endpoint.

They have no percentiles: those would have to be computed from the histogram of each second when a log is opened.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

from .events import Sample

ENDPOINTS_MOST = 50
"""Greatest number of endpoints with columns, in order of appearance: each takes 1 MB a day."""

ENDPOINT_COLUMNS = ("throughput_rps", "failures_rps", "mean_ms")
"""Requests and failures per second, mean latency of successes."""

EndpointKey = tuple[str, str]
"""(method, name)."""

_NOTHING = (0.0, 0.0, math.nan)


class EndpointColumns:
    """The columns of all endpoints. In a replay they are shared with later times, and longer than the time that is shown."""

    def __init__(self) -> None:
        self._columns: dict[EndpointKey, tuple[array[float], ...]] = {}
        self._ticks = 0

    def add(self, sample: Sample) -> None:
        """Add the next tick. An endpoint without requests costs nothing: its column is filled up at its next request."""
        duration_s = sample.duration_s
        for tick in sample.endpoints if duration_s > 0 else ():
            columns = self._columns.get((tick.method, tick.name)) or self._new_columns((tick.method, tick.name))
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

    def _new_columns(self, endpoint: EndpointKey) -> tuple[array[float], ...] | None:
        if len(self._columns) >= ENDPOINTS_MOST:
            return None
        columns = self._columns[endpoint] = tuple(array("f", [math.nan]) * self._ticks for _ in ENDPOINT_COLUMNS)
        return columns

    def _fill(self, columns: tuple[array[float], ...]) -> None:
        for column, nothing in zip(columns, _NOTHING, strict=True):
            column.extend([nothing] * (self._ticks - len(column)))

    def of(self, endpoint: EndpointKey) -> Mapping[str, array[float]] | None:
        """The columns of an endpoint by the names of ENDPOINT_COLUMNS, one value per tick; None: it has none."""
        columns = self._columns.get(endpoint)
        if columns is None:
            return None
        missing = self._ticks - len(columns[-1])
        if missing > 0:
            columns = tuple(column + array("f", [nothing]) * missing for column, nothing in zip(columns, _NOTHING, strict=True))
        return dict(zip(ENDPOINT_COLUMNS, columns, strict=True))
