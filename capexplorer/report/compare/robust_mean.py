"""The weighted mean of changes from level to level, of which some are wild.

Near a knee, and where a service collapses now and then, a whole level of one of two equal runs may be far slower than that of the
other. Its change says nothing of the service, but it widened the error of the mean until a true change was hidden. Huber's
M-estimator (Annals of Mathematical Statistics 35, 1964) bounds the influence of such a value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

CLIPPED_FROM = 1.345
"""Standard deviations from which a value's influence grows no more: with normal errors 95% of the mean's efficiency is kept
(Holland & Welsch, Communications in Statistics 6, 1977)."""

MEDIAN_OF_NORMAL = 0.6745
"""Of the absolute value of a standard normal deviate."""

STEPS = 20
"""Of reweighting. Changes move by less than a thousandth of their error after ten."""


def robust_mean(values: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """(Mean, standard error) of two values or more; weights are inverse variances but for a common factor.

    The error is that of M-estimators (Huber 1981, section 6.3), for any weights: it comes from the scatter of the values alone.
    """
    clipped, mean, bound = list(weights), 0.0, math.inf
    for _ in range(STEPS):
        mean = _mean(values, clipped)
        residuals = _residuals(values, weights, mean)
        scale = median(residuals) / MEDIAN_OF_NORMAL
        if not scale:
            break  # more than half of the values are equal
        bound = CLIPPED_FROM * scale
        clipped = [weight * min(1.0, bound / max(each, bound)) for weight, each in zip(weights, residuals, strict=True)]
    residuals = _residuals(values, weights, mean)
    kept = math.fsum(weight for weight, each in zip(weights, residuals, strict=True) if each <= bound)
    squares = math.fsum((weight * (value - mean)) ** 2 for weight, value in zip(clipped, values, strict=True))
    return mean, math.sqrt(squares * len(values) / (len(values) - 1)) / kept


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(weight * value for weight, value in zip(weights, values, strict=True)) / math.fsum(weights)


def _residuals(values: Sequence[float], weights: Sequence[float], mean: float) -> list[float]:
    """Distances from the mean in units of each value's own error."""
    return [math.sqrt(weight) * abs(value - mean) for weight, value in zip(weights, values, strict=True)]
