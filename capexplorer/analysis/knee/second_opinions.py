"""Two other knee methods, which confirm a knee but never find one: broken-line regression and Kneedle.

Both find knees in straight lines too, so they are used only after the gates. Both take the running maximum of goodput: a collapse
counts as a plateau.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .capacity_curve import CapacityCurve, Floats

BREAKS = 200
"""Number of break points tried, evenly spaced in log users: 1-2% apart on usual ladders."""


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """G = rate min(N, break) + slope max(0, N - break)."""

    break_users: float
    rate: float
    slope: float


def broken_line(curve: CapacityCurve, *, flat: bool = True) -> BrokenLine:
    """The best fit by weighted least squares through the origin. `flat`: the second part has slope 0."""
    users, goodput = curve.users, np.maximum.accumulate(curve.goodput)
    weights = 1 / np.maximum(curve.error, 1e-9) ** 2
    breaks = np.geomspace(users[0], users[-1], BREAKS)[:, np.newaxis]
    under, over = np.minimum(users, breaks), np.maximum(users - breaks, 0.0)
    aa, ab, bb = (weights * under**2).sum(1), (weights * under * over).sum(1), (weights * over**2).sum(1)
    ag, bg = (weights * under * goodput).sum(1), (weights * over * goodput).sum(1)
    slope = np.zeros(BREAKS)
    if not flat:
        determinant = aa * bb - ab**2
        usable = determinant > 1e-9 * aa * np.maximum(bb, 1e-300)
        slope = np.where(usable, np.maximum((aa * bg - ab * ag) / np.where(usable, determinant, 1.0), 0.0), 0.0)
    rate = (ag - slope * ab) / aa
    missed: Floats = (weights * (goodput - rate[:, np.newaxis] * under - slope[:, np.newaxis] * over) ** 2).sum(1)
    best = int(missed.argmin())
    return BrokenLine(float(breaks[best, 0]), float(rate[best]), float(slope[best]))


def kneedle(curve: CapacityCurve) -> float | None:
    """Users at which the curve is farthest above its own chord (Satopaa et al. 2011, without smoothing); None if it never is."""
    users, goodput = curve.users, np.maximum.accumulate(curve.goodput)
    if users[-1] <= users[0] or goodput[-1] <= goodput[0]:
        return None
    above = (goodput - goodput[0]) / (goodput[-1] - goodput[0]) - (users - users[0]) / (users[-1] - users[0])
    best = int(above.argmax())
    return float(users[best]) if above[best] > 0 else None
