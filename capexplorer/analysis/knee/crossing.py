"""Where the low-load line meets the capacity line: N* = capacity / lambda0 (docs/knee.md, sections 3, 4).

This is the asymptote crossing of the closed queueing model, Xmax (R0 + Z) (Denning & Buzen 1978; Jain 1991, section 33.6), and
needs no think time. Arrays have one element per user count, ascending; rates are per second. `detector` decides whether there is
a knee.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...model.intervals import ONE_SIDED_95
from ..ladder import RELATIVE_ERROR_FLOOR, LadderLevel
from ..statistics import BEYOND
from .think_time import correction

# -- The curve of pooled levels that the knee is read from: goodput by users, with the errors of each level.
#
# Arrays have one element per user count, ascending; rates are per second.

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SELECTION_ERRORS = 3.0
"""Standard errors subtracted from a short bin of a ramp before the greatest goodput is chosen: the highest of dozens of noisy
bins is high by chance (selection bias). Two bins of 1-3 s at 396/s outweighed a hold of a minute at 317/s."""

ROUGHNESS_LEAST_LEVELS = 5
"""Levels up to the peak from which the noise of a table without errors is estimated from its own roughness."""

ROUGHNESS_MOST = 0.15
"""Greatest relative noise estimated in this way."""


class CapacityCurve(msgspec.Struct, frozen=True):
    """Goodput by users: arrays of one shape, (levels,)."""

    users: Floats
    goodput: Floats
    error: Floats
    """Standard errors of goodput, with a least value (`LadderLevel.goodput_error_rps`)."""
    steady: Floats
    """Goodput that the low-load line is fitted to: without the first requests of a ramp's new users, and corrected for the think
    times that a level's users drew (`think_time`)."""
    steady_error: Floats
    """Standard errors of `steady`, without what all levels share."""
    corrected: Mask
    """Levels at low load whose goodput was corrected for think times."""
    counted_error: Floats
    """Standard errors of goodput, at least those of Poisson counts (`LadderLevel.counted_error_rps`)."""
    shared_error: float
    """Relative error that all corrected levels share; 0 if none was corrected."""
    selection_bias: Floats
    """Subtracted from goodput before the highest level is chosen; 0 except for short bins of ramps."""
    has_own_errors: bool
    """Whether errors were measured; otherwise, as in published tables, they are estimated."""


def curve_of(levels: Sequence[LadderLevel]) -> CapacityCurve:
    """The curve of pooled levels. If no level has a standard error, errors are estimated from the curve's roughness."""
    users = np.array([level.users for level in levels])
    goodput = np.array([level.goodput_rps for level in levels])
    error = np.array([level.goodput_error_rps for level in levels])
    has_own_errors = any(level.goodput_se_rps is not None for level in levels)
    if not has_own_errors:
        error = np.maximum(error, roughness(users, goodput) * goodput)
    uncounted = np.array(
        [level.goodput_rps <= 0 and not level.seconds for level in levels]
    )  # a level of a table without a success
    error = np.where(uncounted, np.maximum(error, RELATIVE_ERROR_FLOOR * goodput.max()), error)
    plain = [(level.steady_rps, own) for level, own in zip(levels, error.tolist(), strict=True)]
    corrected = correction(levels)
    low = [None] * len(plain) if corrected is None else corrected.at_low_load
    steady, steady_error = np.array([each or other for each, other in zip(low, plain, strict=True)]).T
    shared_error = 0.0 if corrected is None else corrected.shared_error
    selection_bias = np.array([SELECTION_ERRORS if level.is_short_bin else 0.0 for level in levels]) * error
    counted_error = np.maximum(error, [level.counted_error_rps for level in levels])
    return CapacityCurve(
        users=users,
        goodput=goodput,
        error=error,
        steady=steady,
        steady_error=steady_error,
        corrected=np.array([each is not None for each in low]),
        counted_error=counted_error,
        shared_error=shared_error,
        selection_bias=selection_bias,
        has_own_errors=has_own_errors,
    )


def roughness(users: Floats, goodput: Floats) -> float:
    """Relative noise of a curve up to its peak, estimated from how far levels lie below the chord of the levels before and after.

    A capacity curve is concave, so without noise no level lies below that chord. Noise moves levels up as often as down.
    """
    top = int(goodput.argmax()) + 1
    if top < ROUGHNESS_LEAST_LEVELS:
        return 0.0
    users, goodput = users[:top], goodput[:top]
    share = (users[1:-1] - users[:-2]) / (users[2:] - users[:-2])
    chord = (1 - share) * goodput[:-2] + share * goodput[2:]
    dips = np.minimum(goodput[1:-1] / np.maximum(chord, 1e-12) - 1, 0) / np.sqrt(1 + share**2 + (1 - share) ** 2)
    return min(ROUGHNESS_MOST, float(np.sqrt(2 * np.mean(dips**2))))


LINEAR_LIKELY = 0.93
"""A level this far under the low-load line has left it, if the gap is LINEAR_ERRORS wide as well (docs/knee.md, section 3). A
fixed bound of 0.85 without errors ended the line at the second level of ladders that begin with one user and twenty requests."""

LINEAR_ERRORS = 2.0
"""Standard errors by which such a level must lie under the line."""

FASTER_ERRORS = 3.0
"""Standard errors by which goodput per user must exceed that of the line so far for its levels, each under LINEAR_LIKELY of it,
to be left out: in one state of a service more users are never served faster, so it was warming up."""

BASELINE_SHARE = 0.7
"""Share of N* above which levels are not used for lambda0, even those on the line. In M/M/1 with long think times the efficiency
at 0.7 N* is 0.97 and at 0.9 N* 0.90; with such levels in the fit lambda0 came out 1-3% low (simulation, tuning seeds)."""

BASELINE_ERROR_MOST = 0.03
"""Relative error of lambda0 that the levels under BASELINE_SHARE must reach by themselves; else all levels on the line count."""

SURELY_LINEAR_SHARE = 0.5
"""Share of N* under which levels are used for lambda0 even if the line seemed to end before them: a few fast requests at the
lowest level can make the line too steep and end it too early."""

SECOND_EFFICIENCY_LEAST = 0.80
"""Efficiency from which the second level joins the lowest one in the baseline, if the baseline would have one level only."""

PLATEAU_LEAST = 0.92
"""Share of the greatest goodput: the capacity is the mean of the levels at or above it (docs/knee.md, section 4)."""

PLATEAU_ERRORS = 2.0
"""Levels within so many standard errors of the greatest goodput belong to the plateau too. On 10 s levels of the tuning seeds
this took the bias of N* from +1.7% to +1.4%."""

PLATEAU_FLOOR = 0.85
"""Share of the greatest goodput below which no level is on the plateau, however large its error. Otherwise levels in which the
service failed for a while gave capacities below that of a clean level."""

PLATEAU_USERS = 0.75
"""Share of the users at the greatest goodput: levels with fewer users never belong to the plateau."""


class Crossing(msgspec.Struct, frozen=True):
    """The low-load line, the capacity line, and where they meet."""

    rps_per_user: float
    """lambda0: goodput per user at low load, the slope of the low-load line."""
    rps_per_user_error: float
    baseline: Mask
    """Levels that lambda0 is fitted to."""
    slower: int
    """How many levels, from the lowest, are left out because the service was significantly slower than at the next ones."""
    linear: int
    """The index of the first level with more users that is off the line."""
    capacity: float
    """Goodput of the capacity line, 1/s."""
    capacity_error: float
    plateau: Mask
    """Levels whose mean is the capacity."""

    @property
    def users(self) -> float:
        """N*."""
        return self.capacity / self.rps_per_user


def crossing(curve: CapacityCurve) -> Crossing:
    """Fit both lines twice: the second time only to levels that are far from the first crossing."""
    on_line = linear_levels(curve)
    index = np.arange(len(curve.users))
    baseline = (on_line.start <= index) & (index < on_line.stop)
    plateau = plateau_levels(curve, curve.goodput)
    first = _fit(curve, baseline, on_line, plateau)
    clear = _below_crossing(curve, baseline, first.users)
    whole = _fit(curve, clear, on_line, plateau)
    beyond = plateau & (curve.users >= BEYOND * first.users)
    further = _fit(curve, clear, on_line, beyond) if beyond.any() else whole
    found = further if further.capacity >= whole.capacity else whole  # else goodput falls there
    return replace(found, capacity=max(found.capacity, float(_surely_measured(curve, curve.goodput))))


def _surely_measured(curve: CapacityCurve, goodput: Floats) -> Floats:
    """The greatest goodput that a level surely had: the capacity is not below it. `goodput`: as for `plateau_levels`."""
    sure: Floats = (goodput - curve.selection_bias - ONE_SIDED_95 * curve.error).max(axis=-1)
    return sure


def _below_crossing(curve: CapacityCurve, baseline: Mask, knee_users: float) -> Mask:
    """Levels on the line that are far below the crossing, if they alone give a precise lambda0; else the whole baseline.

    One level alone is often not typical (a single user has the whole service), so a second level joins it if it is also far
    below the crossing.
    """
    index, lowest = np.arange(len(baseline)), int(baseline.argmax())
    under = (curve.users <= BASELINE_SHARE * knee_users) & (index >= lowest)
    if baseline.sum() == 1 and under[lowest + 1 : lowest + 2].any():
        rates = curve.steady[lowest : lowest + 2] / curve.users[lowest : lowest + 2]
        return under & (index < lowest + (2 if rates[1] >= SECOND_EFFICIENCY_LEAST * rates[0] else 1))
    clear: Mask = (baseline & under) | (under & (curve.users <= SURELY_LINEAR_SHARE * knee_users))
    return clear if _is_precise(curve, clear) else baseline


def _is_precise(curve: CapacityCurve, chosen: Mask) -> bool:
    """Whether these levels alone give lambda0 within BASELINE_ERROR_MOST."""
    if not chosen.any():
        return False
    rate, rate_error = _line(curve, chosen)
    return rate_error <= BASELINE_ERROR_MOST * rate


def linear_levels(curve: CapacityCurve) -> range:
    """The indices of the levels that lie on one line through the origin; at least one.

    The line ends where a level is significantly below it and the next level is below it too: a single dip is not a bend. It
    begins again where a level is significantly above it, by measured errors, and above each of its levels: one after a dip is
    not.
    """
    index, per_user = np.arange(len(curve.users)), curve.steady / curve.users
    start, count = 0, 1
    while count < len(curve.users):
        rate, rate_error = _line(curve, (start <= index) & (index < count))
        error = math.hypot(curve.steady_error[count] / curve.users[count], rate_error)
        if (per_user[count : count + 2] < LINEAR_LIKELY * rate).all() and rate - per_user[count] > LINEAR_ERRORS * error:
            break
        is_faster = (per_user[start:count] < LINEAR_LIKELY * per_user[count]).all()
        counted = math.hypot(curve.counted_error[count] / curve.users[count], rate_error)
        if curve.has_own_errors and is_faster and per_user[count] - rate > FASTER_ERRORS * counted:
            start = count
        count += 1
    return range(start, count)


def plateau_levels(curve: CapacityCurve, goodput: Floats) -> Mask:
    """Which levels belong to the plateau: those near the greatest goodput, or not significantly below it.

    `goodput`: the curve's own, shape (levels,), or resamples of it, shape (resamples, levels). The greatest level alone would be
    too high, since noise helped to select it.
    """
    best = (goodput - curve.selection_bias).argmax(axis=-1)
    greatest = np.take_along_axis(goodput, np.expand_dims(best, -1), -1)
    unsure = PLATEAU_ERRORS * np.hypot(curve.error, curve.error[best][..., np.newaxis])
    near = goodput >= np.minimum(PLATEAU_LEAST * greatest, np.maximum(greatest - unsure, PLATEAU_FLOOR * greatest))
    mask: Mask = near & (curve.users >= PLATEAU_USERS * curve.users[best][..., np.newaxis])
    return mask


def efficiency(curve: CapacityCurve, found: Crossing) -> tuple[Floats, Floats]:
    """E = G / (N lambda0) of each level, and its standard error."""
    share = curve.steady / (curve.users * found.rps_per_user)
    relative = np.hypot(curve.steady_error / np.maximum(curve.steady, 1e-12), found.rps_per_user_error / found.rps_per_user)
    return share, np.maximum(share * relative, curve.steady_error / (curve.users * found.rps_per_user))


def scatter(curve: CapacityCurve, found: Crossing) -> float:
    """Birge ratio of the plateau, at least 1: how many times more its levels scatter than their errors allow. Batch means do not
    show slow noise.
    """
    count = int(found.plateau.sum())
    if count < 2:
        return 1.0
    missed = (curve.goodput[found.plateau] - found.capacity) / curve.error[found.plateau]
    return max(1.0, float(np.sqrt((missed**2).sum() / (count - 1))))


def _fit(curve: CapacityCurve, baseline: Mask, on_line: range, plateau: Mask) -> Crossing:
    rate, rate_error = _line(curve, baseline)
    weights = 1 / curve.error[plateau] ** 2
    capacity = float(weights @ curve.goodput[plateau] / weights.sum())
    rate_error = math.hypot(rate_error, curve.shared_error * rate)
    return Crossing(rate, rate_error, baseline, on_line.start, on_line.stop, capacity, float(weights.sum() ** -0.5), plateau)


def _line(curve: CapacityCurve, chosen: Mask) -> tuple[float, float]:
    """Slope of the weighted least-squares line through the origin, and its standard error without what levels share; goodput per
    user.
    """
    users, weights = curve.users[chosen], 1 / curve.steady_error[chosen] ** 2
    squares = float(weights @ users**2)
    return max(float(weights @ (users * curve.steady[chosen])) / squares, 1e-12), squares**-0.5
