"""Whether the top of a curve shows that it bent, or is flat, and whether all levels are of one curve: what a knee requires."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...model.intervals import ONE_SIDED_95
from ..ladder import LadderLevel
from .crossing import LINEAR_LIKELY, CapacityCurve, Crossing, Mask, efficiency
from .limit import REPLIED_LEAST

BENT_MOST = 0.85
"""Efficiency of the level with the most users under which the curve has bent (docs/knee.md, section 5)."""

LEAVING_LEVELS = 3
"""A curve also bends if its efficiency is under BENT_MOST by its estimate alone and this many last levels have surely left the
line: tables of noisy measurements bend too."""

FLAT_SLOPE = 0.5
"""Slope at the top level over lambda0, under which the knee lies below that level (docs/knee.md, section 5)."""

FLAT_EFFICIENCY = 0.60
"""Efficiency at the top level under which the knee lies below that level."""

SLOPE_FROM = 0.8
"""The slope at the top is measured from the nearest level at or under this share of its users."""

BEYOND_KNEE = 1.15
"""Of N*: from there on no level is on the low-load line. Nearer a system of constant times still is."""

GAP_MOST = 0.75
"""Of the capacity: what a level between N* and the plateau must reach. A random system makes 0.85 of it just below N*."""

FAILING_MOST = 0.02
"""Failure ratio up to which goodput is that of a closed system (`waiting_share.FAILING_MOST`)."""

BEYOND_S = 6.0
"""Settled seconds that all levels from N* on have together: in fewer the service may have recovered from something else."""

BEYOND_CYCLES = 2.0
"""Mean cycles of their users that they have together: as many as a level settles (`levels.SETTLING_CYCLES`)."""


@dataclass(frozen=True, slots=True)
class Gates:
    """Efficiency and slope at the level with the most users, with the one-sided bounds that the gates compare."""

    efficiency: float
    efficiency_high: float
    leaving_high: float
    """The greatest upper bound of efficiency among the last three levels. Under 0.93, all three have surely left the line."""
    slope: float
    slope_low: float
    slope_high: float
    narrow: bool
    """No level has at most 0.8 of the top level's users. Efficiency cannot show a bend then, so the slope decides."""

    @property
    def surely_bent(self) -> bool:
        """The top level alone has surely left the low-load line."""
        return self.efficiency_high < BENT_MOST or (self.narrow and self.slope_high < FLAT_SLOPE)

    @property
    def bent(self) -> bool:
        """Enough for a provisional mark."""
        return self.surely_bent or (self.efficiency < BENT_MOST and self.leaving_high < LINEAR_LIKELY)

    @property
    def flat(self) -> bool:
        """Enough for a knee: the curve has bent and hardly rises at the top."""
        return self.surely_bent and (self.slope_high < FLAT_SLOPE or self.efficiency_high < FLAT_EFFICIENCY)


def gates_of(curve: CapacityCurve, found: Crossing) -> Gates:
    """The gates at the level with the most users."""
    shares, errors = efficiency(curve, found)
    top = len(curve.users) - 1
    under = [index for index in range(top) if curve.users[index] <= SLOPE_FROM * curve.users[top]]
    base = under[-1] if under else 0
    run = float(curve.users[top] - curve.users[base])
    slope = float(curve.goodput[top] - curve.goodput[base]) / run / found.rate
    error = float((curve.error[top] ** 2 + curve.error[base] ** 2) ** 0.5) / run / found.rate
    return Gates(
        efficiency=float(shares[top]),
        efficiency_high=float(shares[top] + ONE_SIDED_95 * errors[top]),
        leaving_high=float((shares + ONE_SIDED_95 * errors)[-LEAVING_LEVELS:].max()),
        slope=slope,
        slope_low=slope - ONE_SIDED_95 * error,
        slope_high=slope + ONE_SIDED_95 * error,
        narrow=not under,
    )


def is_consistent(ladder: Sequence[LadderLevel], curve: CapacityCurve, found: Crossing) -> bool:
    """Whether all levels fit the two lines. Where they do not, the service was not the same at all of them: nothing is a knee.

    A level well beyond N* is off the low-load line, and between N* and the plateau no level is far below the capacity. A short
    bin of a ramp may be on the line or on the plateau by luck, and what a limiter lets through is uneven.
    """
    shares = efficiency(curve, found)[0] - curve.luck / (curve.users * found.rate)
    beyond = curve.users >= BEYOND_KNEE * found.users
    on_line = beyond & (shares >= LINEAR_LIKELY)
    gaps = (curve.users >= found.users) & (curve.users < curve.users[found.plateau & (curve.luck == 0)].max(initial=0.0))
    gaps &= curve.goodput + ONE_SIDED_95 * curve.error < GAP_MOST * found.capacity
    gaps &= [(level.refused_ratio or 0.0) < REPLIED_LEAST for level in ladder]
    clean = np.array([(level.failure_ratio or 0.0) < FAILING_MOST for level in ladder])
    return not (on_line.any() or gaps.any() or _rises(curve, found, beyond & clean))


def _rises(curve: CapacityCurve, found: Crossing, beyond: Mask) -> bool:
    """Whether goodput surely rises from one level beyond N* to the next with a slope that no plateau has.

    Throughput of one closed system is concave in its users (Dowdy, Eager, Gordon & Saxton, Information Processing Letters 19,
    1984): it does not become flat and then steep again. A service that lost capacity does, on a low-load line of its own. Levels
    that fail are not looked at: clients that give up leave more or less for the others.
    """
    users, goodput, error = curve.users[beyond], curve.goodput[beyond], np.hypot(curve.error, curve.luck)[beyond]
    surely = np.diff(goodput) - ONE_SIDED_95 * np.hypot(error[1:], error[:-1])
    return bool((surely > FLAT_SLOPE * found.rate * np.diff(users)).any())


def is_long_enough(ladder: Sequence[LadderLevel], found: Crossing) -> bool:
    """Whether levels from N* on were measured for BEYOND_S and BEYOND_CYCLES in all. Where lengths are not known, and on a ramp,
    nothing is asked."""
    beyond = [level for level in ladder if level.users >= found.users]
    if not beyond or any(level.ramp or level.seconds is None or level.throughput_rps is None for level in ladder):
        return True
    cycles = math.fsum((level.seconds or 0.0) * (level.throughput_rps or 0.0) / level.users for level in beyond)
    return math.fsum(level.seconds or 0.0 for level in beyond) >= BEYOND_S and cycles >= BEYOND_CYCLES
