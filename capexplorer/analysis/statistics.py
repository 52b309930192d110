"""Statistics: means and medians of figures of which some are not known, bounds of shares and variances, correlated series.

None: not measured. Bounds are one-sided 95% bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..model.intervals import ONE_SIDED_95

Value = TypeVar("Value")

Series = NDArray[np.float64]
"""One value a second, or another step; NaN: not measured."""

CORRELATION_MOST = 0.9
"""Greatest lag-1 correlation of residuals that is assumed: near 1 the standard error would be infinite."""

# -- shares that rules of many kinds compare with

NOTABLE = 0.05
"""A share that is worth notice: of requests that fail, of time that a quota, the hypervisor, a disk or memory takes."""

RELEVANT = 0.25
"""A share that matters for the rest: of requests that wait, of CPU time that a service waited for a core."""

MOSTLY = 0.5
"""At least so much is most of it; a resource that is used less is idle."""

FULL = 0.9
"""Share of a limit from which a resource is used up: readings are means over seconds, and fall between bursts."""

BEYOND = 1.15
"""Times a knee, or another load: from there on a level is beyond it. Nearer to it constant times still show no queue."""

LOST_LEAST = 0.02
"""A share of requests that fail, or of arrivals that are dropped or stay in a queue, that load explains."""

NONE_EXPECTED_MOST = 3.0
"""Where at most so many are expected there may be none by chance: for 3, the probability is 5% (Poisson)."""

COUNT_LEAST = 20
"""So many requests, or other events, are needed to say anything of their number or their times: it is known to a quarter."""

SURE_ERRORS = 2.6
"""95% of equal levels differ by fewer standard errors from six batches (Student's t, five degrees of freedom)."""

# -- values of which some are not known


def measured(**values: Value | None) -> dict[str, Value]:
    """The values that are known, by name."""
    return {name: value for name, value in values.items() if value is not None}


def remainder(whole: float | None, *parts: float | None) -> float | None:
    """The whole minus its parts, at least 0; None without parts, and if the whole or a part is not known."""
    known = all_known(parts)
    return max(0.0, whole - sum(known)) if whole is not None and known else None


def mean_of_known(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are known; None if none is."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def mean_of_all(values: Sequence[float | None]) -> float | None:
    """Mean of all values; None if one is not known."""
    known = all_known(values)
    return fmean(known) if known else None


def median_of_known(values: Sequence[float | None]) -> float | None:
    """Median of the values that are known; None if none is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def upper_median(values: Iterable[float | None]) -> float | None:
    """The middle one of the values that are known, of two the greater: one that was measured. None if none is known."""
    known = sorted(value for value in values if value is not None)
    return known[len(known) // 2] if known else None


def all_known(values: Sequence[float | None]) -> list[float]:
    """All of the values if each is known; else an empty list."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def weighted_mean(values: Iterable[tuple[float | None, float]]) -> float | None:
    """Mean of (value, weight), without values that are not known or have no weight; None if none is left."""
    known = [(value, weight) for value, weight in values if value is not None and weight]
    return math.fsum(v * w for v, w in known) / math.fsum(w for _, w in known) if known else None


def error_of_mean(errors: Iterable[tuple[float | None, float]]) -> float | None:
    """Standard error of a weighted mean, from (error, weight) of what has weight; None if one of these is not known."""
    known = [(error, weight) for error, weight in errors if weight]
    if not known or any(error is None for error, _ in known):
        return None
    return math.hypot(*((error or 0.0) * weight for error, weight in known)) / math.fsum(weight for _, weight in known)


def finite(value: float) -> float | None:
    """The value; None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


# -- bounds


def wilson(share: float, count: int) -> tuple[float, float]:
    """(lower, upper) bound of a share of `count` (Wilson 1927)."""
    if not count:
        return 0.0, 1.0
    z2 = ONE_SIDED_95**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = ONE_SIDED_95 * math.sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return centre - half, centre + half


def chi_square(freedom: int, deviate: float) -> float:
    """The quantile of chi-square that corresponds to a normal deviate, within 3% (Wilson & Hilferty 1931)."""
    part = 2 / (9 * freedom)
    return freedom * (1 - part + deviate * math.sqrt(part)) ** 3


def weighted(values: Sequence[float], errors: Sequence[float]) -> tuple[float, float]:
    """(mean weighted by inverse variance, its standard error times the Birge ratio, which is at least 1)."""
    weights = [1 / error**2 for error in errors]
    mean = math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)
    chi2 = math.fsum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True)) / (len(values) - 1)
    spread = max(1.0, math.sqrt(chi2))
    return mean, spread / math.sqrt(math.fsum(weights))


# -- series


def filled(values: Series) -> Series:
    """The series, where NaN with the value before, at its beginning with the first one that is known; unchanged if none is."""
    known = ~np.isnan(values)
    if known.all() or not known.any():
        return values
    last = np.maximum.accumulate(np.where(known, np.arange(len(values)), int(known.argmax())))
    found: Series = values[last]
    return found


def correlation_of(residual: Series, squares: float, segments: int = 1) -> float:
    """Lag-1 correlation of residuals, from 0 to CORRELATION_MOST, with Kendall's correction of its bias: once a segment, of each
    of which a mean was subtracted. `squares`: sum of the squares of the residuals, above 0.
    """
    found = max(0.0, float(residual[1:] @ residual[:-1]) / squares)
    return min(CORRELATION_MOST, found + segments * (1 + 3 * found) / len(residual))
