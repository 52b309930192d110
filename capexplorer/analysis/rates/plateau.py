"""The greatest goodput of an offered rate: the mean of the levels beyond the capacity that are near it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...model.intervals import ONE_SIDED_95
from ...model.rate_verdicts import LevelState
from ..knee.crossing import LUCK_ERRORS
from .rate_level import RateLevel

PLATEAU_LEAST = 0.92
"""Of the greatest goodput, as of a ladder of users: the capacity is the mean of the departed levels above it. The greatest alone
would be the luckiest: of 60 M/M/1 services 3 came out 6% high."""

REFUSING_LEAST = 0.97
REFUSING_ERRORS = 2.0
"""The same share of levels that refuse, or standard errors of the difference: with a short queue goodput comes near the capacity
slowly (M/M/4 with 4 places: 0.92 at 1.2, 0.98 at 1.6)."""

PLATEAU_SHARE = 1.15
"""Times the capacity: if levels at or above it are on the plateau, it is their mean alone, as of a ladder of users."""

RAMP_SPEED_ERROR = 0.2
"""Relative error of one second of a ramp above the capacity, which falls with the root of their number: few short bins do not
show how a machine's speed varies over seconds (by 10%, correlated by 0.6: 0.2). Of 63 simulated ramps intervals held the
capacity in 84% without it; 0.1 90%, 0.15 95%, 0.2 98%."""

UNSTEADY_ERRORS = 1.75
"""Standard error by batch means, times that of a Poisson count, from which the goodput of a level is not constant."""

RISES_ERRORS, RISES_LEAST = 2.5, 0.75
"""Standard errors by which goodput rises, and its relative rise over that of the rate, from which failures are a share of all
requests at any load, and no limit: 1 for a dependency that fails half of the time, at most 0.6 for a short queue."""


@dataclass(frozen=True, slots=True)
class JudgedLevel:
    """A level and whether it was served in full."""

    level: RateLevel
    state: LevelState


def plateau(departed: Sequence[JudgedLevel]) -> tuple[float, float]:
    """(goodput, standard error) of the levels near the greatest goodput."""
    best = max((each.level for each in departed), key=without_luck)
    near = [each.level for each in departed if _is_near(each, best)]
    beyond = [level for level in near if level.offered_per_s >= PLATEAU_SHARE * _mean(near)[0]]
    return _mean(beyond or near)


def is_constant(departed: Sequence[JudgedLevel]) -> bool:
    """Whether goodput was constant in each level, as it is beyond a capacity. If the service changed inside one, it was not."""
    return all(_is_constant(each.level) for each in departed)


def _is_constant(level: RateLevel) -> bool:
    if level.ramp or level.goodput_se_per_s is None:
        return True
    return level.goodput_se_per_s * level.seconds <= UNSTEADY_ERRORS * math.sqrt(max(level.succeeded, 1))


def rises_with_rate(departed: Sequence[JudgedLevel]) -> bool:
    """Whether goodput still rises nearly as much as the rate does, from the lowest to the greatest rate."""
    first, last = departed[0].level, departed[-1].level
    if first.ramp or not first.succeeded:
        return False
    risen = last.goodput_per_s - first.goodput_per_s
    is_sure = risen > RISES_ERRORS * math.hypot(first.goodput_error_per_s, last.goodput_error_per_s)
    return is_sure and risen / first.goodput_per_s >= RISES_LEAST * (last.offered_per_s / first.offered_per_s - 1.0)


def _is_near(each: JudgedLevel, best: RateLevel) -> bool:
    level = each.level
    if each.state != "fails":
        return level.goodput_per_s >= PLATEAU_LEAST * without_luck(best)
    error = math.hypot(level.goodput_error_per_s, best.goodput_error_per_s)
    lost = best.goodput_per_s - level.goodput_per_s
    return lost <= max((1 - REFUSING_LEAST) * best.goodput_per_s, REFUSING_ERRORS * error)


def without_luck(level: RateLevel) -> float:
    """Goodput; of a ramp's bin what it surely was, since the highest of many is lucky."""
    return level.goodput_per_s - (LUCK_ERRORS * level.goodput_error_per_s if level.ramp else 0.0)


def _mean(levels: Sequence[RateLevel]) -> tuple[float, float]:
    """(goodput, standard error), weighted by precision; of a ramp's bins by time."""
    if all(level.ramp for level in levels):
        return _mean_of_bins(levels)
    weights = [level.goodput_error_per_s**-2 for level in levels]
    mean = math.fsum(w * level.goodput_per_s for w, level in zip(weights, levels, strict=True)) / math.fsum(weights)
    return mean, math.fsum(weights) ** -0.5


def _mean_of_bins(bins: Sequence[RateLevel]) -> tuple[float, float]:
    """What succeeded in all of their seconds, since a bin's error comes from its own count: precision would favour low bins."""
    seconds = math.fsum(each.seconds for each in bins)
    mean = sum(each.succeeded for each in bins) / seconds
    counted = math.sqrt(math.fsum((each.goodput_error_per_s * each.seconds) ** 2 for each in bins)) / seconds
    return mean, math.hypot(counted, RAMP_SPEED_ERROR / math.sqrt(seconds) * mean)


def least_goodput(best: RateLevel, rate: float, error: float) -> float:
    """Goodput that the best level served in full surely had; 0 where a ramp is too short to tell a collapse from luck."""
    if not best.ramp:
        return best.goodput_per_s - ONE_SIDED_95 * best.goodput_error_per_s
    surely = without_luck(best)
    return 0.0 if rate < surely <= rate + ONE_SIDED_95 * error else surely


def has_ramp(kept: Sequence[RateLevel], departed: Sequence[JudgedLevel]) -> bool:
    """Whether bins of a ramp are among the levels."""
    return any(level.ramp for level in (*kept, *(each.level for each in departed)))
