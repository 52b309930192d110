"""N* (users at the knee) of a service that refuses requests and accepts a number that varies from level to level (docs/knee.md,
section 6).

Where arrivals come in bursts, part of a rate limiter's allowance stays unused. Goodput beyond the knee then differs from level to
level, and is a lower bound of the limit: N* is not below the crossing. It is also not above the first level with refusals. The
geometric mean of both is reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ...model.intervals import ONE_SIDED_95
from ..ladder import LadderLevel
from .capacity_curve import CapacityCurve
from .crossing import Crossing
from .limit import FAILURES_MORE

UNEVEN_LEAST = 0.05
"""Goodput beyond the knee is only a lower bound if it scatters by at least this share beyond its own errors: 0.15 was recorded
behind nginx with a small `burst`."""


def unevenness(curve: CapacityCurve, found: Crossing) -> float:
    """Standard deviation of goodput among levels from N* on, beyond their own errors, as a share of its mean; 0 if it may be
    chance (chi-square test at 5%).
    """
    beyond = curve.users >= found.users
    freedom = int(beyond.sum()) - 1
    if freedom < 1:
        return 0.0
    variance, noise = float(curve.goodput[beyond].var(ddof=1)), float((curve.error[beyond] ** 2).mean())
    if freedom * variance <= noise * _chi_square_95(freedom):
        return 0.0
    return math.sqrt(variance - noise) / float(curve.goodput[beyond].mean())


def _chi_square_95(freedom: int) -> float:
    """The 95% quantile of chi-square, within 3% (Wilson & Hilferty 1931)."""
    return freedom * (1 - 2 / (9 * freedom) + ONE_SIDED_95 * math.sqrt(2 / (9 * freedom))) ** 3


def raised_to_refusals(ladder: Sequence[LadderLevel], found: Crossing, uneven: float) -> Crossing:
    """The crossing, moved half of the way (in log users) to the first level with refusals if goodput is only a lower bound.

    The capacity is not raised above the upper bound of any level's goodput. Its error then includes `uneven`, the result of
    `unevenness`, as the interval of N* does.
    """
    first = next((level.users for level in ladder if (level.failure_ratio or 0.0) >= FAILURES_MORE), found.users)
    if uneven < UNEVEN_LEAST or first <= found.users:
        return found
    most_rps = max(level.goodput_rps + ONE_SIDED_95 * level.goodput_error_rps for level in ladder)
    factor = max(1.0, min(math.sqrt(first / found.users), most_rps / found.capacity))
    error = math.hypot(found.capacity_error, uneven * found.capacity)
    return replace(found, capacity=factor * found.capacity, capacity_error=factor * error)
