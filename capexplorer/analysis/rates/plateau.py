"""The plateau: the levels beyond the capacity whose goodput is near the greatest one. Their mean is the capacity as a rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...model.intervals import ONE_SIDED_95
from ...model.rate_verdicts import LevelState
from ..knee.crossing import SELECTION_ERRORS
from .rate_level import RateLevel

PLATEAU_LEAST = 0.92
"""Share of the greatest goodput, as for users (`knee.crossing`): the capacity is the mean of the overloaded levels above it. The
greatest alone would be high by chance: for 3 of 60 M/M/1 services it was 6% too high."""

REFUSING_LEAST = 0.97
REFUSING_ERRORS = 2.0
"""For levels that refuse requests: this share, or a difference of at most so many standard errors. With a short queue goodput
approaches the capacity slowly (M/M/4 with 4 places: 0.92 of it at 1.2 times the capacity, 0.98 at 1.6)."""

SURE_PLATEAU_TIMES = 1.15
"""Times the capacity: if levels at or above this rate are on the plateau, the capacity is their mean alone, as for users."""

RAMP_SPEED_ERROR = 0.2
"""Relative error of one second of a ramp above the capacity; that of n seconds is smaller by sqrt(n). Few short bins do not show
how a machine's speed varies over seconds (10%, with a correlation of 0.6, gives 0.2). On 63 simulated ramps intervals contained
the capacity in 84% without this error, in 90% with 0.1, 95% with 0.15, 98% with 0.2."""

UNSTEADY_ERRORS = 1.75
"""Goodput of a level is not constant if its standard error by batch means is above this many times that of a Poisson count."""

RISES_ERRORS, RISES_LEAST = 2.5, 0.75
"""Failures are no limit, but a share of requests at any load, if goodput rises by so many standard errors, and by this share of
the rise of the rate (both relative): 1 for a dependency that fails half of the time, at most 0.6 for a short queue."""


@dataclass(frozen=True, slots=True)
class JudgedLevel:
    """A level and whether it was served in full."""

    level: RateLevel
    state: LevelState


def plateau(overloaded: Sequence[JudgedLevel]) -> tuple[float, float]:
    """(goodput, standard error) of the plateau, 1/s. `overloaded`: at least one level that was not served in full."""
    best = max((each.level for each in overloaded), key=without_selection_bias)
    near = [each.level for each in overloaded if _is_near(each, best)]
    beyond = [level for level in near if level.offered_per_s >= SURE_PLATEAU_TIMES * _mean(near)[0]]
    return _mean(beyond or near)


def is_constant(overloaded: Sequence[JudgedLevel]) -> bool:
    """Whether goodput was constant over the seconds of each level, as it is beyond a capacity unless the service changes."""
    return all(_is_constant(each.level) for each in overloaded)


def _is_constant(level: RateLevel) -> bool:
    if level.ramp or level.goodput_se_per_s is None:
        return True
    return level.goodput_se_per_s * level.seconds <= UNSTEADY_ERRORS * math.sqrt(max(level.succeeded, 1))


def rises_with_rate(overloaded: Sequence[JudgedLevel]) -> bool:
    """Whether goodput still rises nearly as much as the rate does, from the lowest to the greatest rate. `overloaded`: by rate,
    ascending.
    """
    first, last = overloaded[0].level, overloaded[-1].level
    if first.ramp or not first.succeeded:
        return False
    risen = last.goodput_per_s - first.goodput_per_s
    is_sure = risen > RISES_ERRORS * math.hypot(first.goodput_error_per_s, last.goodput_error_per_s)
    return is_sure and risen / first.goodput_per_s >= RISES_LEAST * (last.offered_per_s / first.offered_per_s - 1.0)


def _is_near(each: JudgedLevel, best: RateLevel) -> bool:
    """Whether the goodput of a level is near that of `best`, the one with the greatest."""
    level = each.level
    if each.state != "fails":
        return level.goodput_per_s >= PLATEAU_LEAST * without_selection_bias(best)
    error = math.hypot(level.goodput_error_per_s, best.goodput_error_per_s)
    lost = best.goodput_per_s - level.goodput_per_s
    return lost <= max((1 - REFUSING_LEAST) * best.goodput_per_s, REFUSING_ERRORS * error)


def without_selection_bias(level: RateLevel) -> float:
    """Goodput; for a bin of a ramp a lower bound, since the highest of many noisy bins is high by chance."""
    return level.goodput_per_s - (SELECTION_ERRORS * level.goodput_error_per_s if level.ramp else 0.0)


def _mean(levels: Sequence[RateLevel]) -> tuple[float, float]:
    """(goodput, standard error): weighted by inverse variance, for bins of a ramp by time."""
    if all(level.ramp for level in levels):
        return _mean_of_bins(levels)
    weights = [level.goodput_error_per_s**-2 for level in levels]
    mean = math.fsum(w * level.goodput_per_s for w, level in zip(weights, levels, strict=True)) / math.fsum(weights)
    return mean, math.fsum(weights) ** -0.5


def _mean_of_bins(bins: Sequence[RateLevel]) -> tuple[float, float]:
    """(goodput over all seconds of the bins, standard error). A bin's error comes from its own count, so weights by inverse
    variance would favour low bins.
    """
    seconds = math.fsum(each.seconds for each in bins)
    mean = sum(each.succeeded for each in bins) / seconds
    counted = math.sqrt(math.fsum((each.goodput_error_per_s * each.seconds) ** 2 for each in bins)) / seconds
    return mean, math.hypot(counted, RAMP_SPEED_ERROR / math.sqrt(seconds) * mean)


def least_goodput(best: RateLevel, rate: float, error: float) -> float:
    """Lower bound of the goodput of `best`, the best level served in full, in 1/s; 0 where a ramp is too short to distinguish a
    collapse from chance. `rate`, `error`: mean goodput of the plateau and its standard error.
    """
    if not best.ramp:
        return best.goodput_per_s - ONE_SIDED_95 * best.goodput_error_per_s
    surely = without_selection_bias(best)
    return 0.0 if rate < surely <= rate + ONE_SIDED_95 * error else surely


def has_ramp(served: Sequence[RateLevel], overloaded: Sequence[JudgedLevel]) -> bool:
    """Whether bins of a ramp are among the levels."""
    return any(level.ramp for level in (*served, *(each.level for each in overloaded)))
