"""Whether two builds differ, by paired differences that are looked at after every pair.

A pair is a block of each, one after the other. Its difference is that of two logarithms, so a mean of 0.05 is a change of 5%. The
order of the blocks is random, and each two pairs have both orders. So if the builds are equal, the differences are symmetric
about 0, whatever the noise of the machine is, and what comes first or drifts makes the interval wider, not wrong.

Whether their mean is m is tested by the Bayes factor of their t statistic, with a normal prior of variance g for the effect in
units of the standard deviation, and the right-Haar prior on that deviation:

    E = (1 + n g)^(-1/2) ((1 + t²/nu) / (1 + t²/((1 + n g) nu)))^((nu + 1) / 2)   t = sqrt(n) (mean - m) / sd,  nu = n - 1

If the mean is m, E reaches 1 / a at any time with a probability of at most a (Ville's inequality, which holds for this E under
optional stopping: Hendriksen, de Heide & Grünwald, Bayesian Analysis 16, 2021; also Wang & Ramdas, Anytime-valid t-tests, 2024).
So the interval of all m with E < 1 / a holds at all times together: one may look after every pair, and stop when one likes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

PRIOR_VARIANCE = 4.0
"""g: a change of 5% where differences of pairs scatter by 2.5%. From 2 to 8 the interval of 6 to 20 pairs is up to 5% wider."""


class MeanDifference(msgspec.Struct, frozen=True):
    """The mean of the differences so far, with its interval of the confidence sequence; infinite while there are too few."""

    count: int
    mean: float
    low: float
    high: float


def mean_difference(differences: Sequence[float], error: float) -> MeanDifference:
    """The mean of at least one difference. `error`: probability with which the interval ever leaves out the true mean."""
    count = len(differences)
    mean = math.fsum(differences) / count
    ones = 1 + count * PRIOR_VARIANCE
    ratio = (math.sqrt(ones) / error) ** (2 / count)
    if count < 2 or ratio >= ones:
        return MeanDifference(count, mean, -math.inf, math.inf)
    squares = math.fsum((each - mean) ** 2 for each in differences)
    half = math.sqrt(squares * (ratio - 1) / (1 - ratio / ones) / count)
    return MeanDifference(count, mean, mean - half, mean + half)


Change = Literal["lower", "higher", "equal", "undecided"]
"""`equal`: less than the smallest change that matters; `lower` and `higher`: there is a change, and it may matter."""


def change(found: MeanDifference, least: float) -> Change:
    """What the interval decides. `least`: the smallest relative change that matters.

    An interval within ±`least` is equal even if it leaves out 0: a difference that is known to be small is not looked for.
    """
    if math.log1p(-least) < found.low and found.high < math.log1p(least):
        return "equal"
    return "lower" if found.high < 0 else "higher" if found.low > 0 else "undecided"
