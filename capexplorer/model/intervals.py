"""Interval widths in standard errors, and the number of values that a percentile needs. Each constant is defined only here.

Printed intervals follow two conventions, which `wording.CONVENTIONS` states for the reader; there is no third.
"""

from __future__ import annotations

from .readings import Reading

Z95 = 1.96
"""Half-width of a 95% interval in standard errors: for every `±` and every error bar."""

Z90 = 1.645
"""Half-width of a 90% interval in standard errors: for every printed `[low–high]`."""

ONE_SIDED_95 = 1.64
"""Standard errors of a one-sided 95% bound, for the gates of detectors and the bounds of objectives, which were tuned with
these two decimals."""

PERCENTILE_VALUES_LEAST = {"p50": 20, "p90": 100, "p95": 200, "p99": 1_000, "p99.9": 10_000}
"""Fewest values for each percentile: ten values above it (for the median, ten on either side)."""


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
