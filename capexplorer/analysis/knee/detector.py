"""The knee detector: pooled levels in, typed verdicts out (docs/knee.md). Pure: the same levels always give the same verdict.

`judge` decides *whether* there is a knee. `crossing` computes where it lies, `limit` what limits it, `confidence` how sure it
is, `missing_levels` which further levels would help. A wrong mark is worse than none, so every gate compares a one-sided bound.

Choices that were measured to be better than the textbook rule: lambda0 is fitted again on levels under 0.7 N*, and the capacity
on levels at or over 1.15 N* (median error of N* 3.4% -> 2.3%, bias of lambda0 -1.6% -> -0.8% on the same ladders of plain
queues). The low-load line ends only where one level is surely under it and the next level is under it too. A curve measured only
over a narrow span of users is judged by its slope alone. A curve whose last three levels have all surely left the line bends,
even if the last level alone does not show it. Tables without standard errors get the error of their own roughness. The first
requests of a ramp's new users are left out of the low-load line. Little's law does not blame a generator that was measured and
was idle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from ...model.intervals import ONE_SIDED_95
from ...model.verdicts import CapacityVerdict, CurveFit, KneeEvidence, KneeVerdict, Limit, Peak, Verification
from ..epoch.ladder import LadderLevel, pooled
from . import usl
from .confidence import LITTLE_MOST, KneeGrounds, confidence_of, unaccounted_ratio
from .crossing import (
    LINEAR_LIKELY,
    CapacityCurve,
    Crossing,
    crossing,
    curve_of,
    efficiency,
    interval,
    scatter,
)
from .latency_knee import latency_knee
from .limit import REPLIED_LEAST, limit_of, perhaps_generators
from .missing_levels import LEVELS_LEAST, missing
from .refusals import unevenness, up_to_refusals
from .waiting_share import saturated_users

NOTHING_RPS = 1e-6
"""Less than one success in ten days: the service finishes nothing, so it has no curve."""

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

AT_OR_BELOW = 1.15
"""Times the users of the lowest level: below this no level under the knee was measured, so the verdict is "at or below"."""

BEYOND_KNEE = 1.15
"""Of N*: from there on no level is on the low-load line. Nearer a system of constant times still is."""

GAP_MOST = 0.75
"""Of the capacity: what a level between N* and the plateau must reach. A random system makes 0.85 of it just below N*."""

SOFT_SLOPE = 0.1
"""Slope over lambda0: where more than this surely remains beyond the knee, the knee is called soft."""

LADDER_ERROR = 0.06
"""Structural error of N*, lognormal: what the form of real queues adds to sampling noise. On 1,200 ladders of
tuning seeds 5% covered 92%, 6% 95%, 7% 96%, on 600 noisy tables without errors 91, 93 and 95%."""

AUTOPILOT_ERROR = 0.12
"""The same for the few short levels of an autopilot (docs/knee.md, section 6)."""

WIDE = 2.0
"""Ratio of the most to the fewest users from which "no knee" may have more than low confidence."""

PEAK_ERRORS = 2.5
"""Standard errors by which the last level must lie under the capacity, and PEAK_ERRORS_BEFORE for the level before it."""

PEAK_ERRORS_BEFORE = 0.5

PEAK_ERRORS_ALONE = 4.0
"""Standard errors by which the last level must lie under the capacity if the level before it does not."""

PEAK_FALL = 0.05
"""Share of the capacity by which the last level must lie under it: a smaller fall is not reported."""

COLLAPSE = 0.5
"""Share of goodput lost beyond which a fall is called a collapse."""


Verify = Callable[[float, Limit | None], Verification]
"""(N*, its limit) -> whether later levels verify it (`verification.verify`)."""


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


def judge(
    levels: Sequence[LadderLevel],
    *,
    epoch: int = 0,
    structural: float = LADDER_ERROR,
    verify: Verify | None = None,
    disputed: bool = False,
) -> CapacityVerdict:
    """The verdict on the capacity of one epoch. The caller leaves recovery levels out (`epoch.recovery`).

    `verify` is called for a knee. The knee stays provisional until it is verified; its confidence is low if it is contradicted.
    `disputed`: the first level's load made surely less when it came back, so no knee is proven.
    """
    ladder = pooled(levels)
    if not ladder or max(level.goodput_rps for level in ladder) <= NOTHING_RPS:
        return CapacityVerdict(epoch=epoch, missing=missing(ladder, None, None))
    curve = curve_of(ladder)
    found = crossing(curve)
    if len(ladder) < LEVELS_LEAST:
        return CapacityVerdict(epoch=epoch, curve=_lines(curve, found, None), missing=missing(ladder, found, None))
    gates = gates_of(curve, found)
    waiting_users = saturated_users(ladder)
    if waiting_users is not None and not (gates.flat and found.users <= waiting_users):
        knee = _at_or_below(ladder, found, gates, waiting_users, epoch)
    elif gates.flat and not disputed and is_consistent(ladder, curve, found):
        knee, found = _knee(ladder, curve, found, gates, structural, epoch)
        knee = _verified(knee, found, verify)
    elif gates.bent or gates.flat:
        knee = _bend(ladder, curve, found, gates, epoch)
        if disputed:
            knee = msgspec.structs.replace(knee, evidence=msgspec.structs.replace(knee.evidence, return_agrees=False))
    else:
        knee = _none(ladder, found, gates, epoch)
    knee = _unless_unaccounted(knee, ladder)
    if any(level.goodput_held for level in ladder) and sum(not level.goodput_held for level in ladder) < LEVELS_LEAST:
        knee = msgspec.structs.replace(knee, confidence="low")  # other processes had a hand in the line itself
    return CapacityVerdict(
        epoch=epoch,
        knee=knee,
        latency_knee=latency_knee(ladder, found, epoch=epoch),
        curve=_lines(curve, found, knee),
        missing=missing(ladder, found, knee),
    )


def _unless_unaccounted(knee: KneeVerdict, ladder: Sequence[LadderLevel]) -> KneeVerdict:
    """The verdict, which is not sure where Little's law says that users or requests are missing from the figures."""
    unaccounted = max(knee.evidence.little_ratio or 1.0, unaccounted_ratio(ladder) or 1.0)
    if unaccounted <= LITTLE_MOST:
        return knee
    evidence = msgspec.structs.replace(knee.evidence, unaccounted_ratio=unaccounted)
    return msgspec.structs.replace(knee, confidence="low", evidence=evidence)


def overloaded_from(levels: Sequence[LadderLevel]) -> float | None:
    """Users at the knee or the bend, beyond which the service is overloaded; None without either. Cheap: computes no interval."""
    ladder = pooled(levels)
    if len(ladder) < LEVELS_LEAST or max(level.goodput_rps for level in ladder) <= NOTHING_RPS:
        return None
    curve = curve_of(ladder)
    found = crossing(curve)
    gates = gates_of(curve, found)
    if gates.flat:
        return found.users
    return _bend(ladder, curve, found, gates, 0).users if gates.bent else None


def is_consistent(ladder: Sequence[LadderLevel], curve: CapacityCurve, found: Crossing) -> bool:
    """Whether all levels fit the two lines. Where they do not, the service was not the same at all of them: nothing is a knee.

    A level well beyond N* is off the low-load line, and between N* and the plateau no level is far below the capacity. A short
    bin of a ramp may be on the line by luck, and what a limiter lets through is uneven.
    """
    shares = efficiency(curve, found)[0] - curve.luck / (curve.users * found.rate)
    beyond = curve.users >= BEYOND_KNEE * found.users
    on_line = beyond & (shares >= LINEAR_LIKELY)
    gaps = beyond & (curve.users < curve.users[found.plateau].max())
    gaps &= curve.goodput + ONE_SIDED_95 * curve.error < GAP_MOST * found.capacity
    gaps &= [(level.refused_ratio or 0.0) < REPLIED_LEAST for level in ladder]
    return not on_line.any() and not gaps.any()


def knee_crossing(ladder: Sequence[LadderLevel]) -> Crossing | None:
    """Where the lines of pooled levels meet, if these levels tell a knee; else None. Cheap: computes no interval."""
    if len(ladder) < LEVELS_LEAST or max(level.goodput_rps for level in ladder) <= NOTHING_RPS:
        return None
    curve = curve_of(ladder)
    found = crossing(curve)
    return found if gates_of(curve, found).flat else None


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


def _knee(
    ladder: Sequence[LadderLevel],
    curve: CapacityCurve,
    crossed: Crossing,
    gates: Gates,
    structural: float,
    epoch: int,
) -> tuple[KneeVerdict, Crossing]:
    """The knee, and its crossing: `crossed`, unless refusals show that goodput is a lower bound."""
    limit, evidence = limit_of(ladder, crossed)
    peak = _peak(curve, crossed)
    refuses = limit == "errors" and (evidence.failures_refused_ratio or 0.0) >= REPLIED_LEAST and peak is None
    uneven = unevenness(curve, crossed) if refuses else 0.0
    found = up_to_refusals(ladder, crossed, uneven)
    low, high = (end * found.users / crossed.users for end in interval(curve, crossed, math.hypot(structural, uneven)))
    below = found.users <= AT_OR_BELOW * ladder[0].users
    grounds = KneeGrounds.of(ladder, curve, found, limit, (high - low) / 2 / found.users)
    knee = KneeVerdict(
        kind="at_or_below" if below else "knee",
        epoch=epoch,
        users=ladder[0].users if below else found.users,
        users_low=None if below else low,
        users_high=max(high, ladder[0].users) if below else high,
        capacity_rps=found.capacity,
        peak=peak,
        limit=limit,
        confidence="low" if below else confidence_of(grounds),
        soft=peak is None and gates.slope_low > SOFT_SLOPE,
        evidence=grounds.added_to(_with_gates(evidence, found, gates)),
    )
    return knee, found


def _at_or_below(ladder: Sequence[LadderLevel], found: Crossing, gates: Gates, users: float, epoch: int) -> KneeVerdict:
    """A ramp whose users wait for responses from these users on, while its counts place no knee below."""
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


def _verified(knee: KneeVerdict, found: Crossing, verify: Verify | None) -> KneeVerdict:
    """The knee, with what later levels say about it."""
    if verify is None or knee.kind != "knee":
        return knee
    verification = verify(found.users, knee.limit)
    agrees = {step.name: step.agrees for step in verification.steps}
    evidence = msgspec.structs.replace(
        knee.evidence,
        soak_agrees=agrees["soak"],
        beyond_agrees=agrees["beyond"],
        return_agrees=agrees["return_to_first"],
    )
    return msgspec.structs.replace(
        knee,
        provisional=verification.state != "verified",
        verification=verification,
        confidence="low" if verification.state == "contradicted" else knee.confidence,
        evidence=evidence,
    )


def _bend(ladder: Sequence[LadderLevel], curve: CapacityCurve, found: Crossing, gates: Gates, epoch: int) -> KneeVerdict:
    """The last level on the low-load line. A knee found later cannot lie below greatest goodput / lambda0."""
    shares, _ = efficiency(curve, found)
    last = int(np.flatnonzero(shares >= LINEAR_LIKELY)[-1])
    baseline = [level for level, chosen in zip(ladder, found.baseline, strict=True) if chosen]
    doubtful = perhaps_generators(list(ladder[last + 1 :]), baseline)
    return KneeVerdict(
        kind="bend",
        epoch=epoch,
        users=ladder[last].users,
        users_low=ladder[max(last - 1, 0)].users,
        users_high=ladder[min(last + 1, len(ladder) - 1)].users,
        peak=_peak(curve, found),
        limit="generator" if doubtful else None,
        confidence="medium" if gates.surely_bent and len(baseline) > 1 and not doubtful else "low",
        soft=True,
        evidence=_with_gates(KneeEvidence(knee_not_below_users=float(curve.goodput.max() / found.rate)), found, gates),
    )


def _none(ladder: Sequence[LadderLevel], found: Crossing, gates: Gates, epoch: int) -> KneeVerdict:
    wide = ladder[-1].users >= WIDE * ladder[0].users
    sure = wide and 2 * gates.efficiency - gates.efficiency_high > BENT_MOST
    return KneeVerdict(
        kind="no_knee",
        epoch=epoch,
        users=ladder[-1].users,
        confidence="high" if sure and len(ladder) > LEVELS_LEAST else "medium" if sure else "low",
        evidence=_with_gates(KneeEvidence(), found, gates),
    )


def _with_gates(evidence: KneeEvidence, found: Crossing, gates: Gates) -> KneeEvidence:
    return msgspec.structs.replace(
        evidence,
        low_load_rps_per_user=found.rate,
        baseline_levels=int(found.baseline.sum()),
        top_efficiency=gates.efficiency,
        top_slope=gates.slope,
    )


def _peak(curve: CapacityCurve, found: Crossing) -> Peak | None:
    """The greatest goodput, if goodput surely falls after it; else None.

    The last level is compared with the mean of the plateau, because the greatest of many equal levels is high by luck.
    """
    best, last = int(curve.goodput.argmax()), len(curve.goodput) - 1
    if best == last:
        return None
    falls = found.capacity - curve.goodput[best + 1 :]
    errors = np.hypot(found.capacity_error, curve.error[best + 1 :]) * scatter(curve, found)
    alone = falls[-1] > PEAK_ERRORS_ALONE * errors[-1]
    trend = falls[-1] > PEAK_ERRORS * errors[-1] and (best == last - 1 or falls[-2] > PEAK_ERRORS_BEFORE * errors[-2])
    if not (alone or trend) or falls[-1] < PEAK_FALL * found.capacity:
        return None
    share = 1 - float(curve.goodput[best + 1 :].min() / curve.goodput[best])
    return Peak(
        users=float(curve.users[best]),
        goodput_rps=float(curve.goodput[best]),
        shape="collapse" if share > COLLAPSE else "retrograde",
        fall_ratio=share,
    )


def _lines(curve: CapacityCurve, found: Crossing, knee: KneeVerdict | None) -> CurveFit:
    known = knee is not None and knee.capacity_rps is not None
    return CurveFit(
        low_load_rps_per_user=found.rate,
        low_load_se=found.rate_error,
        baseline_users=tuple(float(users) for users in curve.users[found.baseline]),
        capacity_rps=found.capacity if known else None,
        capacity_se_rps=found.capacity_error if known else None,
        usl=usl.fit(curve, bent=knee is not None and knee.kind != "no_knee"),
    )
