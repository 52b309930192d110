"""Where the low-load line meets the capacity line: N* = capacity / lambda0, with its interval (docs/knee.md, sections 3, 4, 6).

This is the asymptote crossing of the closed queueing model, Xmax (R0 + Z) (Denning & Buzen 1978; Jain 1991, section 33.6), and
needs no think time. Arrays hold one element a user count, ascending. `detector` decides whether there is a knee.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ladder import RELATIVE_ERROR_FLOOR, LadderLevel

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

LINEAR_LIKELY = 0.93
"""A level this far under the low-load line has left it, if the gap is LINEAR_ERRORS wide as well (docs/knee.md, section 3). A
fixed bound of 0.85 without errors ended the line at the second level of ladders that begin with one user and twenty requests."""

LINEAR_ERRORS = 2.0

BASELINE_SHARE = 0.7
"""Of N*: levels above it are not used for lambda0, even those on the line. In M/M/1 with much thinking E(0.7 N*) is 0.97 and
E(0.9 N*) is 0.90; with these levels in the line lambda0 came out 1-3% low (simulation, tuning seeds)."""

BASELINE_ERROR_MOST = 0.03
"""Relative error of lambda0 that the levels under BASELINE_SHARE must reach by themselves; else all levels on the line count."""

SURELY_LINEAR_SHARE = 0.5
"""Of N*: levels under it are used for lambda0 even if the line seemed to end before them: a few fast requests at the lowest level
can make the line too steep and end it too early."""

SECOND_LEAST = 0.80
"""Efficiency from which the second level joins the lowest one in the baseline, if the baseline would have one level only."""

PLATEAU_LEAST = 0.92
"""Of the greatest goodput: the capacity is the mean of the levels at or above it (docs/knee.md, section 4)."""

PLATEAU_ERRORS = 2.0
"""Levels within so many standard errors of the greatest goodput belong to the plateau too. On 10 s levels of the tuning seeds
this took the bias of N* from +1.7% to +1.4%."""

LUCK_ERRORS = 3.0
"""Standard errors by which a short bin of a ramp must exceed all others to have the greatest goodput: the highest of dozens of
bins is high by luck. Two bins of 1-3 s at 396/s outweighed a hold of a minute at 317/s."""

PLATEAU_SURELY = 0.85
"""Of the greatest goodput: below it no level is on the plateau, however large its error. Otherwise levels in which the service
failed for a while gave capacities below that of a clean level."""

PLATEAU_USERS = 0.75
"""Of the users at the greatest goodput: levels with fewer users never belong to the plateau."""

PLATEAU_SHARE = 1.15
"""Of N*: if the plateau has levels at or above it, the capacity is their mean alone. Just under the crossing a random system
reaches only 0.85-0.95 of its capacity (simulation, tuning seeds)."""

BOOTSTRAPS = 300
"""Resamples for the interval of N* (docs/knee.md, section 6)."""

INTERVAL = (5.0, 95.0)
"""Percentiles of a 90% interval."""

RAMP_ERROR = 0.12
"""Structural error of N* on a ramp with short bins, beside that of its queue: users of a ramp are never in their steady state."""

ROUGHNESS_LEAST_LEVELS = 5
"""Levels up to the peak from which the noise of a table without errors is estimated from its own roughness."""

ROUGHNESS_MOST = 0.15


@dataclass(frozen=True, slots=True)
class CapacityCurve:
    """Goodput over users."""

    users: Floats
    goodput: Floats
    error: Floats
    """Standard errors of goodput, floored."""
    steady: Floats
    """Goodput without the first requests of a ramp's new users. The low-load line is fitted to it."""
    luck: Floats
    """Subtracted from goodput before the highest is chosen; 0 except for short bins of ramps."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """The low-load line, the capacity line, and where they meet."""

    rate: float
    """lambda0: goodput a user at low load."""
    rate_error: float
    baseline: Mask
    """Levels that lambda0 is fitted to."""
    linear: int
    """How many levels, from the lowest, lie on the line: the index of the first level off it."""
    capacity: float
    capacity_error: float
    plateau: Mask

    @property
    def users(self) -> float:
        """N*."""
        return self.capacity / self.rate


def curve_of(levels: Sequence[LadderLevel]) -> CapacityCurve:
    """Arrays of pooled levels. If no level has a standard error, it is estimated from the curve's roughness."""
    users = np.array([level.users for level in levels])
    goodput = np.array([level.goodput_rps for level in levels])
    error = np.array([level.goodput_error_rps for level in levels])
    if all(level.goodput_se_rps is None for level in levels):
        error = np.maximum(error, roughness(users, goodput) * goodput)
    uncounted = np.array([level.goodput_rps <= 0 and not level.seconds for level in levels])  # a table's level without success
    error = np.where(uncounted, np.maximum(error, RELATIVE_ERROR_FLOOR * goodput.max()), error)
    steady = np.array([level.steady_rps for level in levels])
    luck = np.array([LUCK_ERRORS if level.is_short_bin else 0.0 for level in levels]) * error
    return CapacityCurve(users, goodput, error, steady, luck)


def roughness(users: Floats, goodput: Floats) -> float:
    """Relative noise of a curve up to its peak, from how far levels dip under the chord of their neighbours.

    A capacity curve is concave, so without noise no level lies below that chord; noise puts levels above and below alike.
    """
    top = int(goodput.argmax()) + 1
    if top < ROUGHNESS_LEAST_LEVELS:
        return 0.0
    users, goodput = users[:top], goodput[:top]
    share = (users[1:-1] - users[:-2]) / (users[2:] - users[:-2])
    chord = (1 - share) * goodput[:-2] + share * goodput[2:]
    dips = np.minimum(goodput[1:-1] / np.maximum(chord, 1e-12) - 1, 0) / np.sqrt(1 + share**2 + (1 - share) ** 2)
    return min(ROUGHNESS_MOST, float(np.sqrt(2 * np.mean(dips**2))))


def crossing(curve: CapacityCurve) -> Crossing:
    """Fit both lines twice: the second time only to levels that are far from the first crossing."""
    linear = linear_levels(curve)
    baseline = np.arange(len(curve.users)) < linear
    plateau = plateau_levels(curve, curve.goodput)
    first = _fit(curve, baseline, linear, plateau)
    clear = _clear(curve, baseline, first.users)
    whole = _fit(curve, clear, linear, plateau)
    beyond = plateau & (curve.users >= PLATEAU_SHARE * first.users)
    if not beyond.any():
        return whole
    further = _fit(curve, clear, linear, beyond)
    return further if further.capacity >= whole.capacity else whole  # else goodput falls there


def _clear(curve: CapacityCurve, baseline: Mask, knee_users: float) -> Mask:
    """Levels on the line that are far below the crossing, if they alone give a precise lambda0; else the whole baseline.

    One level alone is often untypical (a first user has the whole service), so the second joins it if it is far below too.
    """
    under = curve.users <= BASELINE_SHARE * knee_users
    if baseline.sum() == 1 and len(under) > 1 and under[1]:
        share = curve.steady[1] / curve.users[1] / max(curve.steady[0] / curve.users[0], 1e-12)
        return under & (np.arange(len(under)) < (2 if share >= SECOND_LEAST else 1))
    clear: Mask = (baseline & under) | (curve.users <= SURELY_LINEAR_SHARE * knee_users)
    return clear if _sure(curve, clear) else baseline


def _sure(curve: CapacityCurve, chosen: Mask) -> bool:
    """Whether these levels alone give lambda0 within BASELINE_ERROR_MOST."""
    if not chosen.any():
        return False
    rate, rate_error = _line(curve, chosen)
    return rate_error <= BASELINE_ERROR_MOST * rate


def linear_levels(curve: CapacityCurve) -> int:
    """How many levels, from the lowest, lie on one line through the origin; at least one.

    The line ends where a level is surely below it and the next level is below it too: a single dip is not a bend.
    """
    count = 1
    while count < len(curve.users):
        rate, rate_error = _line(curve, np.arange(len(curve.users)) < count)
        own = curve.steady[count : count + 2] / curve.users[count : count + 2]
        error = math.hypot(curve.error[count] / curve.users[count], rate_error)
        if (own < LINEAR_LIKELY * rate).all() and rate - own[0] > LINEAR_ERRORS * error:
            break
        count += 1
    return count


def plateau_levels(curve: CapacityCurve, goodput: Floats) -> Mask:
    """Which levels belong to the plateau. `goodput`: the curve's, or resamples of it with shape (..., levels).

    Those near the greatest goodput or not surely under it: the greatest alone is too high, since noise selected it.
    """
    best = (goodput - curve.luck).argmax(axis=-1)
    greatest = np.take_along_axis(goodput, np.expand_dims(best, -1), -1)
    unsure = PLATEAU_ERRORS * np.hypot(curve.error, curve.error[best][..., np.newaxis])
    near = goodput >= np.minimum(PLATEAU_LEAST * greatest, np.maximum(greatest - unsure, PLATEAU_SURELY * greatest))
    mask: Mask = near & (curve.users >= PLATEAU_USERS * curve.users[best][..., np.newaxis])
    return mask


def efficiency(curve: CapacityCurve, found: Crossing) -> tuple[Floats, Floats]:
    """E = G / (N lambda0) of each level, and its standard error."""
    share = curve.steady / (curve.users * found.rate)
    relative = np.hypot(curve.error / np.maximum(curve.goodput, 1e-12), found.rate_error / found.rate)
    return share, np.maximum(share * relative, curve.error / (curve.users * found.rate))


def interval(curve: CapacityCurve, found: Crossing, structural: float) -> tuple[float, float]:
    """90% interval of N*: bootstraps of goodput times a lognormal structural error. Deterministic: seeded by the data.

    On a curve with short bins of a ramp the plateau is chosen by luck, and resamples are luckier still. There the resamples are
    reflected at the estimate, which takes their bias off (basic bootstrap; Davison & Hinkley 1997, section 5.2.1).
    """
    rng = np.random.default_rng(zlib.crc32(np.concatenate([curve.users, curve.goodput, curve.error]).tobytes()))
    goodput = np.maximum(curve.goodput + curve.error * rng.standard_normal((BOOTSTRAPS, len(curve.users))), 0.0)
    weight = np.where(found.baseline, curve.users / curve.error**2, 0.0)
    rates = np.maximum((goodput - curve.goodput + curve.steady) @ weight / (curve.users @ weight), 1e-12)
    resampled = _capacities(curve, found, goodput) / rates
    if curve.luck.any():
        resampled = found.users**2 / np.maximum(resampled, 1e-12)
        structural = math.hypot(structural, RAMP_ERROR)
    low, high = np.percentile(resampled * rng.lognormal(0.0, structural, BOOTSTRAPS), INTERVAL)
    return float(min(low, found.users)), float(max(high, found.users))


def scatter(curve: CapacityCurve, found: Crossing) -> float:
    """How many times a plateau varies more than their errors allow (Birge ratio), at least 1: batch means miss slow noise."""
    count = int(found.plateau.sum())
    if count < 2:
        return 1.0
    missed = (curve.goodput[found.plateau] - found.capacity) / curve.error[found.plateau]
    return max(1.0, float(np.sqrt((missed**2).sum() / (count - 1))))


def _capacities(curve: CapacityCurve, found: Crossing, goodput: Floats) -> Floats:
    """Capacity of each resampled curve, from the levels on that curve's own plateau."""
    likely = plateau_levels(curve, goodput)
    chosen = likely & (curve.users >= curve.users[found.plateau].min())
    chosen = np.where(chosen.any(axis=1, keepdims=True), chosen, likely)
    weights = np.where(chosen, 1 / curve.error**2, 0.0)
    capacities: Floats = (weights * goodput).sum(axis=1) / weights.sum(axis=1)
    return capacities


def _fit(curve: CapacityCurve, baseline: Mask, linear: int, plateau: Mask) -> Crossing:
    rate, rate_error = _line(curve, baseline)
    weights = 1 / curve.error[plateau] ** 2
    capacity = float(weights @ curve.goodput[plateau] / weights.sum())
    return Crossing(rate, rate_error, baseline, linear, capacity, float(weights.sum() ** -0.5), plateau)


def _line(curve: CapacityCurve, chosen: Mask) -> tuple[float, float]:
    """Weighted least squares through the origin: slope and its error."""
    users, weights = curve.users[chosen], 1 / curve.error[chosen] ** 2
    squares = float(weights @ users**2)
    return max(float(weights @ (users * curve.steady[chosen])) / squares, 1e-12), squares**-0.5
