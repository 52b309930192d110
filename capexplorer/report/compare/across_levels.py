"""The change of a figure over all common user counts of a pair, and how consistent it is.

The scatter of the change between levels contains all noise that lasts longer than a second and shorter than a run, also the part
that batches within a level do not show. So it is the only error estimate for the target's CPU, whose noise is slow (garbage
collection, processes that share caches). It also makes many small equal changes of latency significant together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import msgspec
from msgspec.structs import replace

from .difference import FIGURES, INTERVAL_OUTSIDE, LEAST_RATIO, RUN_TO_RUN
from .estimates import DEGREES_MOST, FALSE_MOST, Estimate, counted_error, probability, threshold, welch

# -- robust mean ---------------------------------------------------------------------------------------------------------------
# The weighted mean of the changes at several levels, robust against outliers.
#
# Near a knee, or if a service collapses now and then, one level may be far slower in one of two equal runs. Such an outlier does
# not describe the service, but would widen the error of the mean so that a true change is hidden. Huber's M-estimator (Annals of
# Mathematical Statistics 35, 1964) bounds its influence.


CLIPPED_FROM = 1.345
"""Standard deviations beyond which a value's influence does not grow; for normal errors this has 95% of the mean's
efficiency (Holland & Welsch, Communications in Statistics 6, 1977)."""

MEDIAN_OF_NORMAL = 0.6745
"""Median of the absolute value of a standard normal deviate."""

STEPS = 20
"""Steps of reweighting. After ten the mean moves by less than a thousandth of its error."""


def robust_mean(values: Sequence[float], weights: Sequence[float]) -> tuple[float, float, float]:
    """(mean, its standard error, degrees of freedom of that) of at least two values. Weights are inverse variances up to a common
    factor.

    The error is that of M-estimators (Huber 1981, section 6.3) for any weights: it is computed only from the scatter of the
    values. With few values the clipping hides a part of that scatter: Huber's factor (section 7.6) corrects the error, and a
    clipped value gives no degree of freedom. Without both, 7% of means of five equal normal values were significant at 3.5%.
    """
    clipped, mean, bound = list(weights), 0.0, math.inf
    for _ in range(STEPS):
        mean = _weighted_mean(values, clipped)
        residuals = _residuals(values, weights, mean)
        scale = median(residuals) / MEDIAN_OF_NORMAL
        if not scale:
            break  # more than half of the values are equal
        bound = CLIPPED_FROM * scale
        clipped = [weight * min(1.0, bound / max(each, bound)) for weight, each in zip(weights, residuals, strict=True)]
    residuals = _residuals(values, weights, mean)
    kept = [weight for weight, each in zip(weights, residuals, strict=True) if each <= bound]
    squares = math.fsum((weight * (value - mean)) ** 2 for weight, value in zip(clipped, values, strict=True))
    error = math.sqrt(squares * len(values) / (len(values) - 1)) / math.fsum(kept)
    correction = 1 + (1 / len(kept) - 1 / len(values))
    return mean, error * correction, max(len(kept) - 1, 1)


def _weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(weight * value for weight, value in zip(weights, values, strict=True)) / math.fsum(weights)


def _residuals(values: Sequence[float], weights: Sequence[float], mean: float) -> list[float]:
    """Distances from the mean in units of each value's own error."""
    return [math.sqrt(weight) * abs(value - mean) for weight, value in zip(weights, values, strict=True)]


LEVELS_LEAST = 3
"""Fewest common user counts from which scatter is computed."""

LATENCY_LEVELS_LEAST = 2
"""Fewest levels for a mean change of latency: one is a row of the table."""

LEAST_VARIANCE = 1e-12
"""Least variance of a change, so that a level whose batches are equal by chance has a finite weight."""

MISSED_MOST = 0.1
"""Share of true changes of the detectable size that may be missed."""

CONTINUITY = 0.5
"""Failures by which an excess is reduced: counts are whole numbers, and few of them are no normal distribution (Yates 1934)."""

WHOLE_RUN_SHARE = 0.5
"""Share of the variation between equal runs (RUN_TO_RUN) that is common to all levels of a run. The rest is slow noise of single
levels, which the scatter between levels contains already."""


class OverallChange(msgspec.Struct, frozen=True):
    """A figure's mean change over all user counts in common, on a logarithmic scale."""

    figure: str
    levels: int
    log_ratio: float
    se: float
    degrees: float
    beyond: int = 0
    """How many of the levels are at or beyond the greatest knee."""
    means: tuple[float, float] | None = None
    """For shares of failed requests: their means before and after, of which `log_ratio` is that of the shares that succeeded."""
    claimed: bool = False
    """Whether the verdict claims it: it is significant among all tests of the comparison (`pairing`)."""
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
    def interval(self) -> tuple[float, float]:
        """The 90% interval of `ratio`."""
        half = min(self.se * threshold(self.degrees, INTERVAL_OUTSIDE), 50.0)
        return math.expm1(self.log_ratio - half), math.expm1(self.log_ratio + half)

    @property
    def better(self) -> bool:
        """Whether `after` is better, if the change is claimed."""
        side = 1 if self.means is not None else FIGURES[self.figure].better
        return self.log_ratio * side > 0

    @property
    def says_nothing(self) -> bool:
        """Whether not even a doubling would be found: levels are too few, or differ too much."""
        return not self.claimed and max(self.detectable or 0.0, self.noise) > 1

    @property
    def counts(self) -> bool:
        """Whether it is significant and more than LEAST_RATIO; a share of failed requests has no least change."""
        return self.p < FALSE_MOST and (abs(self.ratio) > LEAST_RATIO or self.means is not None)


Pairs = Sequence[tuple[Estimate, Estimate]]
"""(before, after) at each common user count."""

Shares = Sequence[tuple[int, Estimate]]
"""(users, share of failed requests) at each level of a session."""


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
    mean, scatter, scatter_degrees = robust_mean(logs, _weights(measured))
    run = math.sqrt(2) * WHOLE_RUN_SHARE * RUN_TO_RUN.get(figure, 0.0)
    se, degrees = welch((scatter, scatter_degrees), (run, DEGREES_MOST))
    return OverallChange(figure, len(logs), mean, se, degrees)


def _weights(pairs: Pairs) -> list[float]:
    variances = list(map(_variance, pairs))
    typical = median(variances)
    return [1 / (variance + typical) if typical > 0 else 1.0 for variance in variances]


def _variance(pair: tuple[Estimate, Estimate]) -> float:
    """Of the change of both on a logarithmic scale."""
    return math.fsum(_relative(each) ** 2 for each in pair)


def latency_change(figure: str, pairs: Pairs) -> OverallChange | None:
    """The mean change of a latency over levels below the limit, where it depends little on the load, so that two levels show it
    already. None if fewer have it with an error on both sides.

    With so few levels scatter alone is hardly an error, so it is that of the levels (`_by_errors`).
    """
    measured = [(before, after) for before, after in pairs if _is_known(before) and _is_known(after)]
    if len(measured) < LATENCY_LEVELS_LEAST:
        return None
    return _by_errors(figure, measured, math.sqrt(2) * RUN_TO_RUN[figure])


def failure_change(before: Shares, after: Shares) -> OverallChange | None:
    """The change of the share of failed requests. None if requests fail at fewer than LEVELS_LEAST levels, or none succeeds.

    Equal user counts would leave out most levels, since a search for the knee goes to other counts once requests fail. Failures
    grow with the load, so the session that fails more is compared with levels of the other at an equal or a greater load.
    Mantel & Haenszel's test (J. National Cancer Institute 22, 1959) adds up the excess of counted failures at all of them.
    """
    more, fewer = _excess(before, after), _excess(after, before)
    found = max((each for each in (more, fewer) if each is not None), key=lambda each: each.excess / each.error, default=None)
    if found is None or math.fsum(found.shares) >= 2:
        return None
    certain = max(abs(found.excess) - CONTINUITY, 0.0) / found.requests * math.copysign(1, found.excess)
    sign, means = (1, found.shares) if found is more else (-1, found.shares[::-1])
    succeeding = 1 - math.fsum(means) / 2
    error = found.error / found.requests / succeeding
    return OverallChange("failure_ratio", found.levels, -sign * certain / succeeding, error, DEGREES_MOST, means=means)


class _Excess(msgspec.Struct, frozen=True):
    """Failures of a session beyond those that it would have with the other's share, at the other's equal or greater loads."""

    levels: int
    requests: float
    """Requests of both, weighted as in the mean difference of the shares (Mantel & Haenszel)."""
    excess: float
    error: float
    shares: tuple[float, float]
    """The shares of the other one and of this one."""


def _excess(other: Shares, own: Shares) -> _Excess | None:
    """The excess of `own` over `other`. Its error is that of counted failures, widened to their bursts within levels, and to the
    scatter between levels (Birge 1932).
    """
    rows, lowest = list[tuple[float, float, float, float]](), 0
    for users, theirs in sorted(other, key=lambda each: each[0]):
        ours = [one for count, one in own if lowest < count <= users and one.requests]
        if theirs.requests and ours:
            rows.append(_row(theirs, ours))
            lowest = users
    failing = [row for row in rows if row[2] > 0]
    if len(failing) < LEVELS_LEAST:
        return None
    weight, excess = (math.fsum(row[at] for row in rows) for at in (0, 1))
    variance = max(math.fsum(row[2] for row in rows), 1.0)
    scatter = math.fsum((each - row_weight * excess / weight) ** 2 / its for row_weight, each, its, _ in failing)
    share = math.fsum(row[0] * row[3] for row in rows) / weight
    return _Excess(
        len(rows),
        weight,
        excess,
        math.sqrt(variance * max(1.0, scatter / (len(failing) - 1))),
        (share, max(share + excess / weight, 0.0)),
    )


def _row(theirs: Estimate, ours: Sequence[Estimate]) -> tuple[float, float, float, float]:
    """(weight, excess of `ours`, its variance, share of `theirs`) of one level and the others' levels up to it. The variance is
    hypergeometric, times that of bursts.
    """
    every = [theirs, *ours]
    requests, failed = sum(one.requests for one in every), math.fsum(map(_failed, every))
    weight = theirs.requests * (requests - theirs.requests) / requests
    bursts = math.fsum(one.requests * _bursts(one) for one in every) / requests
    variance = weight * failed * (requests - failed) / (requests * (requests - 1))
    return (
        weight,
        math.fsum(map(_failed, ours)) - (requests - theirs.requests) * failed / requests,
        variance * bursts,
        theirs.value or 0.0,
    )


def _failed(share: Estimate) -> float:
    return share.requests * (share.value or 0.0)


def _bursts(share: Estimate) -> float:
    """By how much the variance exceeds that of failures that are independent of each other."""
    return 1.0 if share.se is None else max(1.0, share.se / counted_error(_failed(share), share.requests)) ** 2


def _by_errors(figure: str, pairs: Pairs, run: float) -> OverallChange:
    """The mean change weighted by inverse variances, which include `run`, the variation between equal runs. Its error is that of
    the levels (Welch 1947), widened to their scatter (Birge 1932).
    """
    logs, weights = _logs(pairs), [1 / max(_variance(pair) + run**2, LEAST_VARIANCE) for pair in pairs]
    mean, whole = _weighted_mean(logs, weights), math.fsum(weights)
    errors = [(weight / whole * _relative(one), one.degrees) for weight, pair in zip(weights, pairs, strict=True) for one in pair]
    se, degrees = welch(*errors, (run, DEGREES_MOST))
    scatter = math.fsum(weight * (each - mean) ** 2 for weight, each in zip(weights, logs, strict=True)) / (len(logs) - 1)
    return OverallChange(figure, len(logs), mean, se * max(1.0, math.sqrt(scatter)), degrees)


def service_time_change(mean_below: Pairs, goodput_beyond: Pairs) -> OverallChange | None:
    """The change of the service time of a request, with one estimate from each level below both knees and from both on.

    Below them the estimate is the mean latency. Beyond them it is the reciprocal of goodput, the service demand of the bottleneck
    (D = U/X with U = 1; Denning & Buzen, Computing Surveys 10, 1978). A service that is 10% slower shows 10% in both, while its
    latency grows by 10% at low load and by 40% near the knee, a scatter that hid true changes. None under the same condition as
    in `overall_change`.
    """
    demands = [(_reciprocal(before), _reciprocal(after)) for before, after in goodput_beyond]
    found = overall_change("service_time", [*mean_below, *demands])
    return found and replace(found, beyond=sum(_is_known(before) and _is_known(after) for before, after in demands))


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
    mean = math.fsum(logs) / len(logs)
    scatter = math.sqrt(math.fsum((each - mean) ** 2 for each in logs) / (len(logs) - 1))
    return [(_scattered(before, scatter, len(logs)), _scattered(after, scatter, len(logs))) for before, after in pairs]


def _scattered(estimate: Estimate, scatter: float, levels: int) -> Estimate:
    """The estimate with half of the scatter's variance. Both sides together have `levels` - 1 degrees of freedom."""
    if not estimate.value:
        return replace(estimate, se=None)
    return replace(estimate, se=scatter / math.sqrt(2) * estimate.value, degrees=(levels - 1) / 2)


def _logs(pairs: Pairs) -> list[float]:
    return [math.log(after.value / before.value) for before, after in pairs if before.value and after.value]


# -- level noise ---------------------------------------------------------------------------------------------------------------
# Widens the errors of a figure if it varies more between levels than its batches of seconds show.
#
# Batches of a third of a level do not contain noise that lasts as long as the level, and few batches give a rough error: at
# levels of 10 s, 8% of the rows of mean latency differed between equal runs. The change between two sessions varies slowly with
# users, so the difference of the changes at adjacent user counts is noise (successive differences; von Neumann, Annals of
# Mathematical Statistics 12, 1941). The median of their squares, relative to those expected from the errors, gives one factor by
# which all errors of the figure are widened, and never narrowed (Birge, Physical Review 40, 1932). A jump at one user count, or a
# change that grows with users, hardly affects the median.


ADJACENT_LEAST = 4
"""Least number of common user counts: three differences or fewer show nothing."""

MEDIAN_OF_CHI_SQUARE = 0.4549
"""Median of the chi-square distribution with one degree of freedom, i.e. of a squared standard normal deviate."""


def widened(figure: str, pairs: Pairs) -> Pairs:
    """The estimates (before, after), by ascending users, with errors widened to the scatter of adjacent levels."""
    known = [pair for pair in pairs if all(each.value and each.se for each in pair)]
    if len(known) < ADJACENT_LEAST:
        return pairs
    run = 2 * RUN_TO_RUN.get(figure, 0.0) ** 2
    changes = zip(_logs(known), map(_variance, known), strict=True)
    squares = [(one - other) ** 2 / (its + others + 2 * run) for (one, its), (other, others) in pairwise(changes)]
    factor = max(1.0, math.sqrt(median(squares) / MEDIAN_OF_CHI_SQUARE))
    return [(_wider(before, factor), _wider(after, factor)) for before, after in pairs]


def _wider(estimate: Estimate, factor: float) -> Estimate:
    return estimate if estimate.se is None else replace(estimate, se=factor * estimate.se)


# -- parts of these


def _is_known(estimate: Estimate) -> bool:
    return bool(estimate.value) and estimate.se is not None


def _relative(estimate: Estimate) -> float:
    return (estimate.se or 0.0) / (estimate.value or math.inf)
