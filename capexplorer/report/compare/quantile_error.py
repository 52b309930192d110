"""Standard error of a percentile, from its histogram alone.

The ranks n q +- 1.96 sqrt(n q (1 - q)) hold the true quantile in 95 of 100 cases, whatever the distribution (David & Nagaraja,
Order Statistics, section 7.1), if requests were independent. They are not: so n is divided by the design effect, by how much the
batch means of mean latency vary more than independent requests would.
"""

from __future__ import annotations

import math

from ...model.histogram import LatencyHistogram
from ...model.intervals import Z95

_SLICES = tuple((index + 0.5) / 500 for index in range(500))
"""Quantiles by whose values the variance is taken: the histogram's counters stay its own."""


def design_effect(histogram: LatencyHistogram, mean_se_ms: float | None) -> float | None:
    """Variance of the mean by batch means over that of independent requests, at least 1; None when either is not known."""
    if mean_se_ms is None or histogram.count < 2:
        return None
    values = [value or 0.0 for value in histogram.percentiles_ms(_SLICES)]
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / len(values)
    return max(1.0, mean_se_ms**2 * histogram.count / variance) if variance > 0 else 1.0


def quantile_error(histogram: LatencyHistogram, q: float, effect: float) -> float | None:
    """In ms; None when the ranks leave the sample: too few values to say."""
    if not histogram.count:
        return None
    half = Z95 * math.sqrt(q * (1 - q) * effect / histogram.count)
    if q - half <= 0 or q + half >= 1:
        return None
    low, high = histogram.percentiles_ms((q - half, q + half))
    return None if low is None or high is None else (high - low) / (2 * Z95)
