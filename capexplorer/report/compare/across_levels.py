"""The change of a figure over all common user counts of a pair, and how consistent it is.

The scatter of the change between levels contains all noise that lasts longer than a second and shorter than a run, also the part
that batches within a level do not show. So it is the only error estimate for the target's CPU, whose noise is slow (garbage
collection, processes that share caches). It also makes many small equal changes of latency significant together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from .difference import LEAST_RATIO, RUN_TO_RUN
from .estimates import Estimate
from .robust_mean import robust_mean
from .significance import DEGREES_MOST, FALSE_MOST, probability, threshold, welch

LEVELS_LEAST = 3
"""Fewest common user counts from which scatter is computed."""

MISSED_MOST = 0.1
"""Share of true changes of the detectable size that may be missed."""

WHOLE_RUN_SHARE = 0.5
"""Share of the variation between equal runs (RUN_TO_RUN) that is common to all levels of a run. The rest is slow noise of single
levels, which the scatter between levels contains already."""


@dataclass(frozen=True, slots=True)
class OverallChange:
    """A figure's mean change over all user counts in common, on a logarithmic scale."""

    figure: str
    levels: int
    log_ratio: float
    se: float
    degrees: float
    beyond_knee: bool = False
    """Whether it covers only user counts at or beyond the greatest knee."""
    claimed: bool = False
    """Whether the verdict claims it: it is significant among all tests of the comparison (`claims`)."""
    detectable: float | None = None
    """The smallest relative change that this comparison finds in nine of ten cases; None: not tested."""

    @property
    def ratio(self) -> float:
        """The change relative to `before`."""
        return math.expm1(self.log_ratio)

    @property
    def noise(self) -> float:
        """The relative change that must be exceeded for significance."""
        return math.expm1(min(self.se * threshold(self.degrees), 50.0))

    @property
    def p(self) -> float:
        """p-value: the probability of a change at least as large if nothing differs."""
        return probability(self.log_ratio, self.se, self.degrees)

    def found_from(self, false_most: float) -> float:
        """The relative change that gives a p-value under `false_most` in nine of ten cases (minimum detectable effect: Bloom,
        Evaluation Review 19, 1995).
        """
        errors = threshold(self.degrees, false_most) + threshold(self.degrees, 2 * MISSED_MOST)
        return max(math.expm1(min(self.se * errors, 50.0)), LEAST_RATIO)

    @property
    def counts(self) -> bool:
        """Whether it is significant and more than LEAST_RATIO."""
        return self.p < FALSE_MOST and abs(self.ratio) > LEAST_RATIO


Pairs = Sequence[tuple[Estimate, Estimate]]
"""(before, after) at each common user count."""


def overall_change(figure: str, pairs: Pairs) -> OverallChange | None:
    """The weighted mean change over all levels. None if fewer than LEVELS_LEAST levels have the figure with an error on both
    sides.

    Levels are weighted by their precision, but none by more than twice the median level's weight, since errors of single levels
    are rough. The influence of outliers is bounded (`robust_mean`). The error is the scatter of the levels around their mean
    for any weights, so errors within levels that are too small do no harm.
    """
    measured = [(before, after) for before, after in pairs if _is_known(before) and _is_known(after)]
    if len(measured) < LEVELS_LEAST:
        return None
    logs = _logs(measured)
    variances = [math.fsum(_relative(each) ** 2 for each in pair) for pair in measured]
    typical = median(variances)
    weights = [1 / (variance + typical) if typical > 0 else 1.0 for variance in variances]
    mean, scatter = robust_mean(logs, weights)
    run = math.sqrt(2) * WHOLE_RUN_SHARE * RUN_TO_RUN[figure]
    se, degrees = welch((scatter, len(logs) - 1), (run, DEGREES_MOST))
    return OverallChange(figure, len(logs), mean, se, degrees)


def service_time_change(
    users: Sequence[int], mean: Pairs, goodput: Pairs, least_knee: float, greatest_knee: float
) -> OverallChange | None:
    """The change of the service time of a request, with one estimate from each level of `users`.

    Below both knees the estimate is the mean latency. Beyond both it is the reciprocal of goodput, the service demand of the
    bottleneck (D = U/X with U = 1; Denning & Buzen, Computing Surveys 10, 1978). A service that is 10% slower shows 10% in
    both, while its latency grows by 10% at low load and by 40% near the knee, a scatter that hid true changes. Levels between
    the two knees are left out. None under the same condition as in `overall_change`.
    """
    below = [pair for count, pair in zip(users, mean, strict=True) if count < least_knee]
    beyond = [pair for count, pair in zip(users, goodput, strict=True) if count >= greatest_knee]
    return overall_change("service_time", [*below, *((_reciprocal(before), _reciprocal(after)) for before, after in beyond)])


def _reciprocal(estimate: Estimate) -> Estimate:
    if not estimate.value:
        return replace(estimate, value=None)
    se = None if estimate.se is None else estimate.se / estimate.value**2
    return replace(estimate, value=1 / estimate.value, se=se)


def with_scatter(pairs: Pairs) -> list[tuple[Estimate, Estimate]]:
    """The same estimates with errors from the scatter of the change between levels; unknown with fewer than LEVELS_LEAST
    levels.
    """
    logs = _logs(pairs)
    if len(logs) < LEVELS_LEAST:
        return [(replace(before, se=None), replace(after, se=None)) for before, after in pairs]
    _, scatter = _mean(logs)
    return [(_scattered(before, scatter, len(logs)), _scattered(after, scatter, len(logs))) for before, after in pairs]


def _scattered(estimate: Estimate, scatter: float, levels: int) -> Estimate:
    """The estimate with half of the scatter's variance. Both sides together have `levels` - 1 degrees of freedom."""
    if not estimate.value:
        return replace(estimate, se=None)
    return replace(estimate, se=scatter / math.sqrt(2) * estimate.value, degrees=(levels - 1) / 2)


def _logs(pairs: Pairs) -> list[float]:
    return [math.log(after.value / before.value) for before, after in pairs if before.value and after.value]


def _mean(logs: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation."""
    mean = math.fsum(logs) / len(logs)
    return mean, math.sqrt(math.fsum((each - mean) ** 2 for each in logs) / (len(logs) - 1))


def _is_known(estimate: Estimate) -> bool:
    return bool(estimate.value) and estimate.se is not None


def _relative(estimate: Estimate) -> float:
    return (estimate.se or 0.0) / (estimate.value or math.inf)
