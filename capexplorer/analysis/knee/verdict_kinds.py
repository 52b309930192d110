"""One function per kind of verdict, with its interval, limit and evidence: knee, at or below the lowest level, bend, no knee.

`detector` decides which of them a ladder gets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np

from ...model.intervals import ONE_SIDED_95
from ...model.verdicts import KneeEvidence, KneeVerdict, Peak
from ..ladder import LadderLevel
from .capacity_curve import CapacityCurve
from .confidence import ConfidenceFigures, confidence_of
from .crossing import LINEAR_LIKELY, Crossing, efficiency, interval, scatter
from .curve_gates import BENT_MOST, Gates
from .limit import FAILURES_MORE, REPLIED_LEAST, limit_of, may_be_generator
from .missing_levels import LEVELS_LEAST

# -- peak ----------------------------------------------------------------------------------------------------------------------
# The greatest goodput, where goodput falls significantly after it.


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


# -- refusals ------------------------------------------------------------------------------------------------------------------
# N* (users at the knee) of a service that refuses requests and accepts a number that varies from level to level (docs/knee.md,
# section 6).
#
# Where arrivals come in bursts, part of a rate limiter's allowance stays unused. Goodput beyond the knee then differs from level
# to level, and is a lower bound of the limit: N* is not below the crossing. It is also not above the first level with refusals.
# The geometric mean of both is reported.


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


AT_OR_BELOW = 1.15
"""A knee under this many times the users of the lowest level has no measured level below it: the verdict is "at or below"."""

SOFT_SLOPE = 0.1
"""A knee is soft if the slope beyond it, divided by lambda0, is significantly above this."""

WIDE_RATIO = 2.0
""""No knee" has more than low confidence only if the most users are at least this many times the fewest."""


def knee(
    ladder: Sequence[LadderLevel],
    curve: CapacityCurve,
    crossed: Crossing,
    gates: Gates,
    structural: float,
    epoch: int,
) -> tuple[KneeVerdict, Crossing]:
    """The knee, or "at or below", and its crossing: `crossed`, or a higher one where refusals make goodput a lower bound."""
    limit, evidence = limit_of(ladder, crossed)
    peak = peak_of(curve, crossed)
    refuses = limit == "errors" and (evidence.failures_refused_ratio or 0.0) >= REPLIED_LEAST and peak is None
    uneven = unevenness(curve, crossed) if refuses else 0.0
    found = raised_to_refusals(ladder, crossed, uneven)
    low, high = (end * found.users / crossed.users for end in interval(curve, crossed, math.hypot(structural, uneven)))
    lowest_users = ladder[found.slower].users
    below = found.users <= AT_OR_BELOW * lowest_users
    figures = ConfidenceFigures.of(ladder, curve, found, limit, (high - low) / 2 / found.users)
    verdict = KneeVerdict(
        kind="at_or_below" if below else "knee",
        epoch=epoch,
        users=lowest_users if below else found.users,
        users_low=None if below else low,
        users_high=max(high, lowest_users) if below else high,
        capacity_rps=found.capacity,
        peak=peak,
        limit=limit,
        confidence="low" if below else confidence_of(figures),
        soft=peak is None and gates.slope_low > SOFT_SLOPE,
        evidence=figures.added_to(_with_gates(evidence, found, gates)),
    )
    return verdict, found


def at_or_below(ladder: Sequence[LadderLevel], found: Crossing, gates: Gates, users: float, epoch: int) -> KneeVerdict:
    """The verdict on a ramp whose response times show saturation at `users` (`waiting_share`), while its goodput shows no knee
    below that.
    """
    limit, evidence = limit_of(ladder, found)
    return KneeVerdict(
        kind="at_or_below",
        epoch=epoch,
        users=users,
        users_high=users,
        capacity_rps=found.capacity,
        limit=limit,
        confidence="low",
        evidence=_with_gates(evidence, found, gates),
    )


def bend(ladder: Sequence[LadderLevel], curve: CapacityCurve, found: Crossing, gates: Gates, epoch: int) -> KneeVerdict:
    """A bend, at the last level on the low-load line. A knee found later cannot lie below greatest goodput / lambda0."""
    shares, _ = efficiency(curve, found)
    last = int(np.flatnonzero(shares >= LINEAR_LIKELY)[-1])
    baseline = [level for level, chosen in zip(ladder, found.baseline, strict=True) if chosen]
    doubtful = may_be_generator(list(ladder[last + 1 :]), baseline)
    is_bound = not found.slower or len(baseline) > 1  # a lone level after a warm-up may be near the capacity itself
    not_below = float(curve.goodput.max() / found.rps_per_user) if is_bound else None
    return KneeVerdict(
        kind="bend",
        epoch=epoch,
        users=ladder[last].users,
        users_low=ladder[max(last - 1, 0)].users,
        users_high=ladder[min(last + 1, len(ladder) - 1)].users,
        peak=peak_of(curve, found),
        limit="generator" if doubtful else None,
        confidence="medium" if gates.surely_bent and len(baseline) > 1 and not doubtful else "low",
        soft=True,
        evidence=_with_gates(KneeEvidence(knee_not_below_users=not_below), found, gates),
    )


def no_knee(ladder: Sequence[LadderLevel], curve: CapacityCurve, found: Crossing, gates: Gates, epoch: int) -> KneeVerdict:
    """No knee up to the last level on the low-load line; more than low confidence only over a wide span of users.

    Levels left out of the low-load line as slower show nothing of the service that the top level measured.
    """
    shares, _ = efficiency(curve, found)
    last = int(np.flatnonzero(shares >= LINEAR_LIKELY)[-1])
    used = ladder[found.slower : last + 1]
    wide = used[-1].users >= WIDE_RATIO * used[0].users
    sure = wide and 2 * gates.efficiency - gates.efficiency_high > BENT_MOST
    top_users = ladder[-1].users if last < len(ladder) - 1 else None
    return KneeVerdict(
        kind="no_knee",
        epoch=epoch,
        users=used[-1].users,
        confidence="high" if sure and len(used) > LEVELS_LEAST else "medium" if sure else "low",
        evidence=_with_gates(KneeEvidence(top_users=top_users), found, gates),
    )


def _with_gates(evidence: KneeEvidence, found: Crossing, gates: Gates) -> KneeEvidence:
    return msgspec.structs.replace(
        evidence,
        low_load_rps_per_user=found.rps_per_user,
        baseline_levels=int(found.baseline.sum()),
        slower_levels=found.slower or None,
        top_efficiency=gates.efficiency,
        top_slope=gates.slope,
    )
