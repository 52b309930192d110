"""The greatest goodput, where goodput falls significantly after it."""

from __future__ import annotations

import numpy as np

from ...model.verdicts import Peak
from .capacity_curve import CapacityCurve
from .crossing import Crossing, scatter

PEAK_ERRORS = 2.5
"""Standard errors by which the last level must lie below the capacity."""

PEAK_ERRORS_BEFORE = 0.5
"""Standard errors by which the level before it must lie below the capacity too."""

PEAK_ERRORS_ALONE = 4.0
"""Standard errors by which the last level must lie under the capacity if the level before it does not."""

PEAK_FALL = 0.05
"""Share of the capacity by which the last level must lie under it: a smaller fall is not reported."""

COLLAPSE = 0.5
"""Share of goodput lost beyond which a fall is called a collapse."""


def peak_of(curve: CapacityCurve, found: Crossing) -> Peak | None:
    """The greatest goodput, if goodput falls significantly after it; else None.

    The last level is compared with the mean of the plateau, because the greatest of many equal levels is high by chance.
    """
    best, last = int(curve.goodput.argmax()), len(curve.goodput) - 1
    if best == last:
        return None
    falls = found.capacity - curve.goodput[best + 1 :]
    errors = np.hypot(found.capacity_error, curve.error[best + 1 :]) * scatter(curve, found)
    alone = falls[-1] > PEAK_ERRORS_ALONE * errors[-1]
    before = (
        best == last - 1 or falls[-2] + curve.selection_bias[-2] > PEAK_ERRORS_BEFORE * errors[-2]
    )  # a short bin is high by chance
    trend = falls[-1] > PEAK_ERRORS * errors[-1] and before
    if not (alone or trend) or falls[-1] < PEAK_FALL * found.capacity:
        return None
    share = 1 - float(curve.goodput[best + 1 :].min() / curve.goodput[best])
    return Peak(
        users=float(curve.users[best]),
        goodput_rps=float(curve.goodput[best]),
        shape="collapse" if share > COLLAPSE else "retrograde",
        fall_ratio=share,
    )
