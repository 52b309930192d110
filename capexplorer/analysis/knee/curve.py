"""How likely each number of users is to be the knee: levels against a grid of curves of closed queues (docs/knee.md, section 5).

A curve is lambda0 N* g(N / N*): lambda0 goodput per user at low load, N* the knee, g one of SIZES times FALLS shapes. The shapes
are those of one server whose users think (M/M/1//N, exact), from a service that bends over all loads to one that is linear up to
its knee: where each user stands for k users, queues of N* / k users also have the forms of other distributions and of several
servers. Beyond the knee goodput may fall. The likelihood takes lambda0 in closed form, so what remains is a distribution over
N*: its quantiles are the interval, and the share of it below the most users is how sure it is that the knee was reached.

Arrays have one element per level, ascending by users.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..ladder import LadderLevel

if TYPE_CHECKING:
    from .measured_curve import CapacityCurve

Floats = NDArray[np.float64]

# -- the shapes

SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
"""Knees, in users, of the queues whose shapes are tried, beside the one that is linear up to its knee."""

FALLS = ((0.0, 1), (0.2, 1), (1.0, 1), (0.3, 2), (3.0, 2), (3.0, 4), (30.0, 2))
"""(f, e): goodput at N users beyond N* is divided by 1 + f (N / N* - 1)^e. The first one does not fall, and has half of the prior
probability."""

SERVERS_LEAST = 3.0
"""A shape is less likely a priori, in proportion, if each of its users stands for more than this many: real queues bend over a
range of users of about the square root of N*."""

_STEP, _LOWEST, _HIGHEST = 0.005, -6.0, 3.0
"""The grid of log(N / N*) of the shapes: below it they are linear, above it constant."""


class _Shapes(msgspec.Struct, frozen=True):
    efficiency: Floats
    """g(t) / t without a fall, shape (grid, shapes)."""
    log_peak: Floats
    """Log of the greatest g, shape (falls, shapes): below 0 where goodput falls before it reaches 1."""


@lru_cache(maxsize=1)
def shapes() -> _Shapes:
    """The shapes of all sizes and falls."""
    share = np.exp(np.arange(_LOWEST, _HIGHEST, _STEP))
    served = np.array([*(_of_queue(size, share) for size in SIZES), np.minimum(share, 1.0)])
    peak = (_falls(share)[:, np.newaxis] * served).max(axis=-1)
    return _Shapes(np.ascontiguousarray((served / share).T), np.log(peak))


def _of_queue(size: int, share: Floats) -> Floats:
    """Throughput of M/M/1//N over its capacity at these shares of a knee of `size` users: 1 minus Erlang's loss formula, since
    the queue is empty as often as `size` - 1 lines all speak.
    """
    empty = [1.0]
    for users in range(1, math.ceil(share[-1] * size) + 1):
        offered = (size - 1) * empty[-1]
        empty.append(offered / (users + offered))
    return 1.0 - np.interp(share * size, np.arange(len(empty)), empty)


def _falls(share: Floats) -> Floats:
    """The factor of each fall at these shares of N*, shape (..., users); of shape (..., falls, users)."""
    beyond = np.maximum(share - 1.0, 0.0)
    return 1.0 / (1.0 + np.stack([strength * beyond**power for strength, power in FALLS], axis=-2))


# -- the errors of levels

POOLED_BATCHES, BATCHES = 5.0, 5.0
"""The variance of a level has the weight of the five degrees of freedom of its batches, that of all levels together the same:
six batches are sometimes equal by chance."""

EDGE = 0.5
"""Standard error of a level's count in requests, since it begins and ends within a cycle of its users."""

SLOW_NOISE_S = 8.0
"""Seconds that divided by those of a level are the share by which its variance is greater than its batches show: a machine's
speed changes over seconds, so batches of a short level are alike. Of 125 validation sessions by users intervals held 95% with 12
and 92% with 8, and were a tenth narrower; of 189 by rate 94% and 93%. With 5 a capacity is false."""

SHAPE_ERROR = 0.01
"""Relative error of a level because no shape is exact."""

LOST_ERROR = 0.3
"""Share of what goodput has fallen below the greatest at fewer users that is added to the error: falls have many forms."""

RAMP_ERROR = 0.03
"""Relative error of N* on a ramp with short bins: its users are never in their steady state. Of 23 ramps intervals held 23 with
0.06, 22 with 0.03, and were a fifth narrower."""

FALLEN_ERRORS = 4.0
"""Standard errors by which goodput must have fallen for N* to lie surely below that level."""

FREEDOM = 8.0
"""Degrees of freedom of the t distribution of all errors together: how well their size is known."""


def batch_variance(goodput: Floats, errors: Floats, seconds: Floats, most: Floats | float = math.inf) -> Floats:
    """Variance of each level's goodput by its standard error of batch means; NaN where that or its seconds are NaN. `most`: what
    is known of its relative variance otherwise.
    """
    counts = np.maximum(goodput * seconds, 1.0)
    dispersion = (errors * seconds) ** 2 / counts  # 1 for a Poisson count
    typical = np.nanmean(dispersion) if np.isfinite(dispersion).any() else math.nan
    counted = (BATCHES * dispersion + POOLED_BATCHES * typical) / (BATCHES + POOLED_BATCHES) * counts
    found: Floats = (np.minimum(counted, most * counts**2) + EDGE**2) * (1 + SLOW_NOISE_S / seconds) / seconds**2
    return found


def _counted_variance(ladder: Sequence[LadderLevel], curve: CapacityCurve) -> Floats:
    """Of each level's goodput, by its batches or its count."""
    errors = np.array([math.nan if level.goodput_se_rps is None else level.goodput_se_rps for level in ladder])
    seconds = np.array([level.seconds or math.nan for level in ladder])
    by_latency = np.where(curve.corrected, [_cycle_variance(level) for level in ladder], math.inf)
    variance = batch_variance(curve.goodput, errors, seconds, by_latency)
    return np.where(np.isfinite(variance), variance, curve.error**2)


def _cycle_variance(level: LadderLevel) -> float:
    """Relative variance of a cycle of which the response time alone is random."""
    if level.latency_se_ms is None or not level.throughput_rps:
        return math.inf
    return (level.latency_se_ms / 1000 * level.throughput_rps / level.users) ** 2


# -- the posterior

COARSE = 0.06
"""Step of log N* at which likely knees are looked for."""

BELOW, ABOVE = 0.3, 1.2
"""Knees are tried from this far below the lowest level to this far above the highest one, in log users."""

POINTS = 80
"""Knees that are then tried between those that are at all likely."""

UNLIKELY = 1e-4
"""Probability of all that lies below or above these."""


class LoadChances(msgspec.Struct, frozen=True):
    """How likely each load is to be the one beyond which goodput does not grow."""

    log_load: Floats
    """Ascending, evenly spaced."""
    chances: Floats
    """Probabilities; their sum is 1."""

    @classmethod
    def of(cls, log_loads: Floats, chances: Floats, step: float) -> LoadChances:
        """Of loads in any order, some of them equal."""
        least = float(log_loads.min())
        at = np.rint((log_loads - least) / step).astype(int)
        found = np.bincount(at.ravel(), weights=chances.ravel()).astype(float)
        return cls(np.linspace(least, least + step * (len(found) - 1), len(found)), found / found.sum())

    def quantile(self, chance: float) -> float:
        """The load below which it lies with this probability."""
        within = np.cumsum(self.chances) - self.chances / 2
        return float(np.exp(np.interp(chance, within, self.log_load)))

    @property
    def median(self) -> float:
        """As likely too high as too low."""
        return self.quantile(0.5)

    @property
    def interval(self) -> tuple[float, float]:
        """The 90% interval."""
        return self.quantile(0.05), self.quantile(0.95)

    @property
    def half_width(self) -> float:
        """Half of that interval, as a share of the median."""
        low, high = self.interval
        return (high - low) / 2 / self.median

    def chance_below(self, load: float) -> float:
        """The probability that it is at most so much."""
        return float(self.chances[self.log_load <= math.log(load)].sum())

    def blurred(self, error: float) -> LoadChances:
        """With a further relative error."""
        step = float(self.log_load[1] - self.log_load[0])
        if error < step / 2:
            return self
        reach = math.ceil(4 * error / step)
        offsets = step * np.arange(-reach, reach + 1)
        weights = np.exp(-0.5 * (offsets / error) ** 2)
        chances = np.convolve(self.chances, weights / weights.sum())
        return LoadChances(self.log_load[0] - step * reach + step * np.arange(len(chances)), chances)


class Knees(LoadChances, frozen=True):
    """How likely each number of users is to be N*."""

    rps_per_user: float
    rps_per_user_error: float
    """lambda0, in the mean, and its standard error."""
    capacity_error: float
    """Relative standard error of the greatest goodput."""


class _Levels(msgspec.Struct, frozen=True):
    log_users: Floats
    goodput: Floats
    weight: Floats
    """1 / variance."""
    most: float
    """Log users that N* is at most: there goodput has surely fallen below that of fewer users."""

    @classmethod
    def of(cls, ladder: Sequence[LadderLevel], curve: CapacityCurve) -> _Levels:
        counted = _counted_variance(ladder, curve)
        log_users, goodput = np.log(curve.users), curve.steady
        best = int((goodput - curve.selection_bias).argmax())
        lost = np.where(np.arange(len(goodput)) > best, np.maximum(goodput[best] - goodput, 0.0), 0.0)
        fallen = lost > FALLEN_ERRORS * np.sqrt(counted + counted[best])
        variance = counted + (SHAPE_ERROR * goodput) ** 2 + (LOST_ERROR * lost) ** 2
        return cls(log_users, goodput, 1.0 / variance, float(log_users[fallen].min(initial=math.inf)))


def knees_of(ladder: Sequence[LadderLevel], curve: CapacityCurve) -> Knees:
    """The posterior over N*, from pooled levels, of which one has goodput, and their curve."""
    levels = _Levels.of(ladder, curve)
    fine = _likely(levels)
    posterior, rates, squares = _posterior(levels, fine)
    log_knees = fine[:, np.newaxis, np.newaxis] + shapes().log_peak
    found = LoadChances.of(log_knees, posterior, float(fine[1] - fine[0]))
    found = found.blurred(math.hypot(curve.shared_error, RAMP_ERROR if curve.selection_bias.any() else 0.0))
    rate, capacity = float((posterior * rates).sum()), rates * np.exp(log_knees)
    own, greatest = float((posterior / squares).sum()), float((posterior * capacity).sum())
    return Knees(
        found.log_load,
        found.chances,
        rps_per_user=rate,
        rps_per_user_error=math.sqrt(float((posterior * (rates - rate) ** 2).sum()) + own + (curve.shared_error * rate) ** 2),
        capacity_error=math.sqrt(float((posterior * (capacity / greatest - 1) ** 2).sum()) + own / rate**2),
    )


def expected(ladder: Sequence[LadderLevel], curve: CapacityCurve, log_users: Floats) -> Floats:
    """Goodput at these users in the mean over all curves; arguments as of `knees_of`."""
    levels = _Levels.of(ladder, curve)
    fine = _likely(levels)
    chances, rates, _ = _posterior(levels, fine)
    flat, falls = served(log_users, fine)  # of shape (knees, users, shapes), (knees, falls, users)
    found: Floats = np.einsum("kfs,kfu,kus->u", chances * rates, falls, flat)
    return found


CANDIDATES = 48
"""Loads that are compared as the next level, evenly spaced in log users from half of the lowest level to twice the highest."""

NEW_LEVEL_ERROR = 0.03
"""Relative error of such a level."""


def telling_users(ladder: Sequence[LadderLevel], curve: CapacityCurve) -> float:
    """Users of the level that would narrow the interval most: its goodput would reduce the variance of log N* by the square of
    their covariance, divided by the variance of the goodput, that of its noise included.
    """
    levels = _Levels.of(ladder, curve)
    fine = _likely(levels)
    chances, rates, *_ = _posterior(levels, fine)
    log_users = np.linspace(levels.log_users[0] - math.log(2), levels.log_users[-1] + math.log(2), CANDIDATES)
    flat, falls = served(log_users, fine)
    goodput = rates[:, :, np.newaxis] * falls[..., np.newaxis] * flat[:, np.newaxis]
    weights = chances[:, :, np.newaxis]  # both of shape (knees, falls, users, shapes)
    knees = (fine[:, np.newaxis, np.newaxis] + shapes().log_peak)[:, :, np.newaxis]
    mean, knee = (weights * goodput).sum(axis=(0, 1, 3)), float((weights * knees).sum())
    moved = goodput - mean[:, np.newaxis]
    covariance = (weights * moved * (knees - knee)).sum(axis=(0, 1, 3))
    variance = (weights * moved**2).sum(axis=(0, 1, 3)) + (NEW_LEVEL_ERROR * mean) ** 2
    return float(np.exp(log_users[int((covariance**2 / variance).argmax())]))


def _likely(levels: _Levels) -> Floats:
    return likely(lambda log_knees: _posterior(levels, log_knees)[0], levels.log_users[0], levels.log_users[-1])


def likely(chances_of: Callable[[Floats], Floats], log_least: float, log_most: float) -> Floats:
    """Evenly spaced logs of all loads that are at all likely, those of the levels being between `log_least` and `log_most`.
    `chances_of`: from such logs to the probability of each curve, of which they are the first axis.
    """
    coarse = np.arange(log_least - BELOW, log_most + ABOVE, COARSE)
    within = np.cumsum(chances_of(coarse).sum(axis=(1, 2)))
    low, high = (int(np.searchsorted(within, end)) for end in (UNLIKELY, 1.0 - UNLIKELY))
    return np.linspace(coarse[low] - COARSE, coarse[min(high, len(coarse) - 1)] + COARSE, POINTS)


def _posterior(levels: _Levels, log_knees: Floats) -> tuple[Floats, Floats, Floats]:
    """(probability, lambda0, 1 / its variance) of each curve, of shape (knees, falls, shapes)."""
    flat, falls = served(levels.log_users, log_knees)
    # of the weighted least squares of goodput on the curve: products of both, squares of the curve
    products = falls @ (flat * (levels.weight * levels.goodput)[:, np.newaxis])
    squares = falls**2 @ (flat**2 * levels.weight[:, np.newaxis])
    rates = products / squares
    missed = np.maximum(levels.weight @ levels.goodput**2 - products * rates, 0.0)
    count = len(levels.goodput)
    log_likely = -(FREEDOM + count) / 2 * np.log1p(missed / FREEDOM) - np.log(rates * np.sqrt(squares))
    users_each = np.exp(log_knees)[:, np.newaxis, np.newaxis] / np.array([*SIZES, math.inf])
    prior = np.array([0.5, *[0.5 / (len(FALLS) - 1)] * (len(FALLS) - 1)])
    log_likely += np.log(prior)[:, np.newaxis] - np.log(np.maximum(users_each / SERVERS_LEAST, 1.0))
    log_likely[log_knees > levels.most] = -math.inf
    chances = np.exp(log_likely - log_likely.max())
    return chances / chances.sum(), rates, squares


def served(log_loads: Floats, log_knees: Floats) -> tuple[Floats, Floats]:
    """(goodput over lambda0 without a fall, shape (knees, loads, shapes); the factor of each fall, (knees, falls, loads))."""
    log_share = log_loads - log_knees[:, np.newaxis]
    share = np.exp(log_share)
    known = shapes()
    at = np.clip((log_share - _LOWEST) / _STEP, 0.0, len(known.efficiency) - 1.001)
    index, part = at.astype(int), (at % 1.0)[..., np.newaxis]
    efficiency = (1 - part) * known.efficiency[index] + part * known.efficiency[index + 1]
    flat = np.minimum(efficiency * share[..., np.newaxis], 1.0) * np.exp(log_knees)[:, np.newaxis, np.newaxis]
    return flat, _falls(share)
