"""The confidence in a knee (docs/knee.md, section 9): seven conditions, counted. All met: high; one missing: medium; else low.

Where Little's law does not hold, users or requests are missing from the figures, and confidence is low whatever conditions are
met.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ...model.grades import Confidence
from ...model.verdicts import KneeVerdict, Limit, Missing, Verification
from ..ladder import LadderLevel
from ..littles_law import CYCLES_LEAST, Little
from ..statistics import upper_median
from .crossing import CapacityCurve, Crossing, Floats, plateau_levels
from .curve_gates import LEVELS_LEAST, KneeLines
from .limit import Figures

# -- second opinions -----------------------------------------------------------------------------------------------------------
# Two other knee methods, which confirm a knee but never find one: broken-line regression and Kneedle.
#
# Both find knees in straight lines too, so they are used only after the gates. Both take the running maximum of goodput: a
# collapse counts as a plateau.


BREAKS = 200
"""Number of break points tried, evenly spaced in log users: 1-2% apart on usual ladders."""


def broken_line(curve: CapacityCurve) -> float:
    """Users at the break of G = rate min(N, break), the best fit by weighted least squares."""
    users, goodput = curve.users, np.maximum.accumulate(curve.goodput)
    weights = 1 / np.maximum(curve.error, 1e-9) ** 2
    breaks = np.geomspace(users[0], users[-1], BREAKS)[:, np.newaxis]
    under = np.minimum(users, breaks)
    rate = (weights * under * goodput).sum(1) / (weights * under**2).sum(1)
    missed: Floats = (weights * (goodput - rate[:, np.newaxis] * under) ** 2).sum(1)
    return float(breaks[int(missed.argmin()), 0])


def kneedle(curve: CapacityCurve) -> float | None:
    """Users at which the curve is farthest above its own chord (Satopaa et al. 2011, without smoothing); None if it never is."""
    users, goodput = curve.users, np.maximum.accumulate(curve.goodput)
    if users[-1] <= users[0] or goodput[-1] <= goodput[0]:
        return None
    above = (goodput - goodput[0]) / (goodput[-1] - goodput[0]) - (users - users[0]) / (users[-1] - users[0])
    best = int(above.argmax())
    return float(users[best]) if above[best] > 0 else None


BASELINE_LEVELS = 3
BASELINE_SHARE = 0.8
"""At least so many levels of the low-load line, at or below this share of N*."""
BEYOND_LEVELS = 2
BEYOND_SHARE = 1.15
"""At least so many levels at or above this share of N*."""
PLATEAU_LEVELS = 2
"""At least so many levels on the plateau: if one level is high and the next, at twice the users, has collapsed, the capacity
between them was not measured."""
HALF_WIDTH_MOST = 0.17
"""Half-width of the interval of N*, as a share of N*."""
AGREE_MOST = 0.35
"""Relative distance within which a second method agrees (docs/knee.md, section 9)."""
LITTLE_MOST = 1.3
"""Users divided by those that responses and pauses account for: above this no verdict has more than low confidence."""
CLIENT_TIME_MOST_MS = 10.0
"""Time per request that the client and user code may spend outside responses and pauses: HttpUser takes 3 ms."""


Doubt = Literal["unaccounted", "disturbed", "contradicted"]
"""Why no verdict on these levels has more than low confidence, whatever conditions are met: by Little's law users or requests are
missing from the figures; other processes affected the low-load line itself; a later level contradicts the knee."""


def doubts(lines: KneeLines, little_ratio: float | None, verification: Verification | None) -> tuple[Doubt, ...]:
    """The doubts about a verdict. `little_ratio`: as in `KneeEvidence`, if it is known beyond the knee."""
    disturbed = sum(level.goodput_disturbed for level in lines.ladder)
    found: dict[Doubt, bool] = {
        "unaccounted": unaccounted(lines.ladder, little_ratio) is not None,
        "disturbed": 0 < disturbed and len(lines.ladder) - disturbed < LEVELS_LEAST,
        "contradicted": verification is not None and verification.state == "contradicted",
    }
    return tuple(doubt for doubt, holds in found.items() if holds)


def confidence_of(lines: KneeLines, found: Crossing, limit: Limit, half_width_ratio: float) -> tuple[Confidence, Figures]:
    """The confidence in a knee without doubts, and the figures that it is computed from: high if every condition is met, medium
    if one is missing, else low. A ramp gives medium at most. Only for curves that passed the gates: the second methods have none.
    """
    curve = lines.curve
    second_users = broken_line(curve)
    other = kneedle(curve)
    if other is not None and abs(other - found.users) < abs(second_users - found.users):
        second_users = other
    baseline_levels = int((curve.users[found.slower : found.linear] <= BASELINE_SHARE * found.users).sum())
    beyond_levels = int((curve.users >= BEYOND_SHARE * found.users).sum())
    unmet = sum(
        (
            baseline_levels < BASELINE_LEVELS,
            baseline_levels < 2,  # a lone level may itself be saturated: counts twice
            beyond_levels < BEYOND_LEVELS,
            int(plateau_levels(curve, curve.goodput).sum()) < PLATEAU_LEVELS,
            half_width_ratio >= HALF_WIDTH_MOST,
            limit == "unknown",
            abs(second_users - found.users) > AGREE_MOST * found.users,
        )
    )
    is_ramp = any(level.ramp for level in lines.ladder)
    grade: Confidence = "low" if unmet > 1 else "medium" if unmet or is_ramp else "high"
    return grade, {
        "levels_below": baseline_levels,
        "levels_beyond": beyond_levels,
        "half_width_ratio": half_width_ratio,
        "second_detector_users": second_users,
    }


def unaccounted(ladder: Sequence[LadderLevel], little_ratio: float | None = None) -> float | None:
    """Users divided by those that responses and pauses account for, at the median level or beyond the knee (`little_ratio`), if
    that is above LITTLE_MOST; else None.
    """
    ratio = max(little_ratio or 1.0, unaccounted_ratio(ladder) or 1.0)
    return ratio if ratio > LITTLE_MOST else None


def unaccounted_ratio(ladder: Sequence[LadderLevel]) -> float | None:
    """N / (X (R + Z)) at the median level, Z the pauses that users chose and CLIENT_TIME_MOST_MS; None where not all pauses are
    known.
    """
    return upper_median(map(_little_ratio, ladder))


def _little_ratio(level: LadderLevel) -> float | None:
    if not level.throughput_rps or not level.response_s or level.wait_s is None or not level.wait_includes_sleeps:
        return None
    if level.requests is not None and level.requests < CYCLES_LEAST * level.users:
        return None
    pause_s = level.wait_s + CLIENT_TIME_MOST_MS / 1000
    return max(Little.of(level.users, level.throughput_rps, level.response_s, pause_s).ratio, 1.0)


# -- missing levels ------------------------------------------------------------------------------------------------------------
# The further levels that would make a verdict more precise, as typed values, the most useful first. `wording` has the
# sentences.


GAP_MOST = 1.6
"""If the level above the knee has more than this many times the users of the level below it, a level between would help."""

HIGHER_RATIO = 1.5
"""The next level to try while the curve does not bend has this many times the most users so far."""

Advice = tuple[Missing, ...]


def missing(ladder: Sequence[LadderLevel], found: Crossing | None, knee: KneeVerdict | None) -> Advice:
    """Further levels, the most useful first; empty if none would help. `found`, `knee`: None if not computed yet."""
    if len(ladder) < LEVELS_LEAST or found is None:
        return (Missing(kind="levels", count=max(1, LEVELS_LEAST - len(ladder))),)
    if knee is None or knee.kind == "no_knee":
        return (Missing(kind="higher_levels", users_above=ladder[-1].users * HIGHER_RATIO),)
    if knee.kind == "at_or_below":
        return _lower(BASELINE_LEVELS, BASELINE_SHARE * ladder[found.slower].users)
    if knee.kind == "bend":
        return _under(ladder, found.users, found) + (Missing(kind="higher_levels", count=2, users_above=ladder[-1].users),)
    return _for_knee(ladder, found, knee)


def _for_knee(ladder: Sequence[LadderLevel], found: Crossing, knee: KneeVerdict) -> Advice:
    wanted = list(_under(ladder, found.users, found))
    beyond = sum(level.users >= BEYOND_SHARE * found.users for level in ladder)
    if beyond < BEYOND_LEVELS:
        wanted.append(Missing(kind="higher_levels", count=BEYOND_LEVELS - beyond, users_above=BEYOND_SHARE * found.users))
    around = [level.users for level in ladder]
    for low, high in zip(around, around[1:], strict=False):
        if low < found.users <= high and high > GAP_MOST * low:
            wanted.append(Missing(kind="between_levels", users_above=low, users_below=high))
    if not wanted and (knee.evidence.half_width_ratio or 0.0) >= HALF_WIDTH_MOST:
        wanted.append(Missing(kind="longer_levels"))
    if not wanted and knee.verification is not None:
        wanted += [
            Missing(kind=step.name, seconds=step.least_s, users_below=float(step.users), users_above=float(step.users))
            for step in knee.verification.open_steps
        ]
    return tuple(wanted)


def _under(ladder: Sequence[LadderLevel], knee_users: float, found: Crossing) -> Advice:
    bound = BASELINE_SHARE * knee_users
    measured = sum(level.users <= bound for level in ladder[found.slower : found.linear])
    return _lower(min(BASELINE_LEVELS, int(bound)) - measured, bound)


def _lower(count: int, bound: float) -> Advice:
    """So many levels of at most `bound` users: no more than there are whole numbers, and none below one user."""
    count = min(count, int(bound))
    return (Missing(kind="lower_levels", count=count, users_below=bound),) if count > 0 else ()
