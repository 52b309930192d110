"""p-values of differences, and which of many differences are significant together.

The spread of a few batches is known only roughly, so Student's t is used instead of the normal distribution, with Welch's
degrees of freedom for two spreads (Biometrika 34, 1947). Wallace's transformation (Annals of Mathematical Statistics 30, 1959)
converts between t and a normal deviate, with an error below 1% for the degrees of freedom that occur here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import TypeVar

FALSE_MOST = 0.05
"""Level of significance: of each row of a table by itself, and of all claims of a verdict together."""

DEGREES_MOST = 1e6
"""Degrees of freedom at which t does not differ from a normal distribution."""

Key = TypeVar("Key")


def probability(change: float, se: float, degrees: float) -> float:
    """Two-sided p-value: the probability of a change at least as large if nothing differs."""
    if se <= 0:
        return 0.0 if change else 1.0
    squared = min((change / se) ** 2, 1e12)
    normal = math.sqrt(degrees * math.log1p(squared / degrees)) * (8 * degrees + 1) / (8 * degrees + 3)
    return math.erfc(normal / math.sqrt(2))


def threshold(degrees: float, p: float = FALSE_MOST) -> float:
    """The number of standard errors that a change must exceed for a p-value under `p`."""
    normal = NormalDist().inv_cdf(1 - p / 2) * (8 * degrees + 3) / (8 * degrees + 1)
    return math.sqrt(degrees * math.expm1(min(normal**2 / degrees, 500.0)))


def welch(*spreads: tuple[float, float]) -> tuple[float, float]:
    """(standard error, degrees of freedom) of a sum of independent terms, each (standard error, degrees of freedom)."""
    variance = math.fsum(se**2 for se, _ in spreads)
    if variance <= 0:
        return 0.0, DEGREES_MOST
    unsure = math.fsum(se**4 / degrees for se, degrees in spreads)
    return math.sqrt(variance), min(variance**2 / unsure, DEGREES_MOST) if unsure > 0 else DEGREES_MOST


def significant_by_holm(probabilities: Mapping[Key, float], false_most: float) -> frozenset[Key]:
    """The keys that are significant if at most a share `false_most` of whole families may have a false one (Holm, Scand. J.
    Statistics 6, 1979).
    """
    found = []
    for rank, (key, p) in enumerate(sorted(probabilities.items(), key=lambda each: each[1])):
        if p > false_most / (len(probabilities) - rank):
            break
        found.append(key)
    return frozenset(found)
