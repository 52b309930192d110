"""Percentiles of a latency, in ms."""

from __future__ import annotations

from .readings import Reading


class Latency(Reading, frozen=True, kw_only=True):
    """Latency of successes in ms. None: no value."""

    min: float | None = None
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    p999: float | None = None
    max: float | None = None
