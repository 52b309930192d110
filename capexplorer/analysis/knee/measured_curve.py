"""The curve of pooled levels that the knee is read from: goodput by users, with their errors (docs/knee.md, section 3).

Arrays have one element per user count, ascending; rates are per second.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..ladder import RELATIVE_ERROR_FLOOR, LadderLevel
from .think_time import correction

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
    """Goodput that the posterior is of: without the first requests of a ramp's new users, and corrected for the think
    times that a level's users drew (`think_time`)."""
    corrected: Mask
    """Levels at low load whose goodput was corrected for think times."""
    shared_error: float
    """Relative error that all corrected levels share; 0 if none was corrected."""
    selection_bias: Floats
    """Subtracted from goodput before the highest level is chosen; 0 except for short bins of ramps."""


def curve_of(levels: Sequence[LadderLevel]) -> CapacityCurve:
    """The curve of pooled levels. If no level has a standard error, errors are estimated from the curve's roughness."""
    users = np.array([level.users for level in levels])
    goodput = np.array([level.goodput_rps for level in levels])
    error = np.array([level.goodput_error_rps for level in levels])
    if all(level.goodput_se_rps is None for level in levels):
        error = np.maximum(error, roughness(users, goodput) * goodput)
    uncounted = np.array(
        [level.goodput_rps <= 0 and not level.seconds for level in levels]
    )  # a level of a table without a success
    error = np.where(uncounted, np.maximum(error, RELATIVE_ERROR_FLOOR * goodput.max()), error)
    found = correction(levels)
    low = [None] * len(levels) if found is None else found.at_low_load
    selection_bias = np.array([SELECTION_ERRORS if level.is_short_bin else 0.0 for level in levels]) * error
    return CapacityCurve(
        users=users,
        goodput=goodput,
        error=error,
        steady=np.array([level.steady_rps if each is None else each[0] for each, level in zip(low, levels, strict=True)]),
        corrected=np.array([each is not None for each in low]),
        shared_error=0.0 if found is None else found.shared_error,
        selection_bias=selection_bias,
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
