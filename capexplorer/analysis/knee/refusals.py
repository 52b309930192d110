"""Where N* lies if the service refuses requests and lets more or less through from level to level (docs/knee.md, section 6).

A rate limiter loses the part of its allowance that clumped arrivals leave unused. Goodput beyond the knee is then uneven, and a
lower bound of the limit: N* is not below the crossing. Nor is it above the first level with refusals. The geometric middle is
reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ..epoch.ladder import LadderLevel
from .crossing import CapacityCurve, Crossing
from .limit import FAILURES_MORE

UNEVEN_LEAST = 0.05
"""Relative scatter of goodput beyond the knee, above its own errors, from which it is a lower bound only: 0.15 was recorded
behind nginx with a small burst."""


def unevenness(curve: CapacityCurve, found: Crossing) -> float:
    """How much goodput differs among the levels from N* on, beyond their own errors, as a share of its mean."""
    beyond = curve.users >= found.users
    if int(beyond.sum()) < 2:
        return 0.0
    excess = float(curve.goodput[beyond].var(ddof=1) - (curve.error[beyond] ** 2).mean())
    return math.sqrt(max(excess, 0.0)) / float(curve.goodput[beyond].mean())


def up_to_refusals(ladder: Sequence[LadderLevel], found: Crossing, uneven: float) -> Crossing:
    """The crossing, moved half of the way (in log users) to the first level with refusals if goodput is a lower bound only."""
    first = next((level.users for level in ladder if (level.failure_ratio or 0.0) >= FAILURES_MORE), found.users)
    if uneven < UNEVEN_LEAST or first <= found.users:
        return found
    factor = math.sqrt(first / found.users)
    return replace(found, capacity=factor * found.capacity, capacity_error=factor * found.capacity_error)
