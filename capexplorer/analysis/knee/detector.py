"""The knee detector: pooled levels in, typed verdicts out (docs/knee.md). Pure: the same levels always give the same verdict.

`judge` decides *whether* there is a knee. `crossing` computes where it lies, `limit` what limits it, `confidence` the confidence
in it, `missing_levels` which further levels would help. A wrong mark is worse than none, so every gate compares a one-sided 95%
bound; "significantly" means by that bound.

Choices that were measured to be better than the textbook rule:

- lambda0 is fitted again on levels under 0.7 N*, and the capacity on levels at or over 1.15 N* (median error of N* 3.4% -> 2.3%,
  bias of lambda0 -1.6% -> -0.8% on the same ladders of plain queues).
- The low-load line ends only where one level is significantly under it and the next level is under it too.
- A curve measured only over a narrow span of users is judged by its slope alone.
- A curve whose last three levels are all significantly below the line has bent, even if the last level alone does not show it.
- Tables without standard errors get an error estimated from their roughness.
- The first requests of a ramp's new users are left out of the low-load line.
- Little's law does not blame a generator whose CPU was measured and idle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ...model.verdicts import CapacityVerdict, CurveFit, KneeVerdict, Limit, Verification
from ..ladder import LadderLevel, pooled
from . import usl, verdict_kinds
from .capacity_curve import CapacityCurve, curve_of
from .confidence import LITTLE_MOST, unaccounted_ratio
from .crossing import Crossing, crossing
from .curve_gates import gates_of, is_consistent, is_long_enough
from .latency_knee import latency_knee
from .missing_levels import LEVELS_LEAST, missing
from .waiting_share import saturated_users

NO_GOODPUT_RPS = 1e-6
"""Goodput up to this, about one success in ten days, is none: the service has no curve."""

LADDER_ERROR = 0.06
"""Structural error of N* (sigma of a lognormal factor): what the shape of real queues adds to sampling noise. On 1,200 ladders of
tuning seeds, 5% gave intervals that contain N* in 92%, 6% in 95%, 7% in 96%; on 600 noisy tables without errors 91, 93, 95%."""

AUTOPILOT_ERROR = 0.12
"""The same for the few short levels of an autopilot (docs/knee.md, section 6)."""

LINE_LEAST = 2
"""Levels that "no knee" needs on the low-load line: if all levels but the last were measured while the service warmed up, that
one may be beyond the knee."""

Verify = Callable[[float, Limit | None], Verification]
"""(N*, its limit) -> whether later levels verify it (`verification.verify`)."""


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
    `disputed`: on its return the first level's load had significantly less goodput than before, so no knee is proven.
    """
    ladder = pooled(levels)
    if not ladder or max(level.goodput_rps for level in ladder) <= NO_GOODPUT_RPS:
        return CapacityVerdict(epoch=epoch, missing=missing(ladder, None, None))
    curve = curve_of(ladder)
    found = crossing(curve)
    if len(ladder) < LEVELS_LEAST:
        return CapacityVerdict(epoch=epoch, curve=_lines(curve, found, None), missing=missing(ladder, found, None))
    gates = gates_of(curve, found)
    waiting_users = saturated_users(ladder)
    if waiting_users is not None and not (gates.flat and found.users <= waiting_users):
        knee = verdict_kinds.at_or_below(ladder, found, gates, waiting_users, epoch)
    elif gates.flat and not disputed and is_consistent(ladder, curve, found) and is_long_enough(ladder, found):
        knee, found = verdict_kinds.knee(ladder, curve, found, gates, structural, epoch)
        knee = _verified(knee, found, verify)
    elif gates.bent or gates.flat:
        knee = verdict_kinds.bend(ladder, curve, found, gates, epoch)
        if disputed:
            knee = msgspec.structs.replace(knee, evidence=msgspec.structs.replace(knee.evidence, return_agrees=False))
    elif len(ladder) - found.slower < LINE_LEAST:
        return CapacityVerdict(
            epoch=epoch, curve=_lines(curve, found, None), missing=missing(ladder[found.slower :], found, None)
        )
    else:
        knee = verdict_kinds.no_knee(ladder, curve, found, gates, epoch)
    knee = _unless_unaccounted(knee, ladder)
    if any(level.goodput_disturbed for level in ladder) and sum(not level.goodput_disturbed for level in ladder) < LEVELS_LEAST:
        knee = msgspec.structs.replace(knee, confidence="low")  # other processes affected the low-load line itself
    return CapacityVerdict(
        epoch=epoch,
        knee=knee,
        latency_knee=latency_knee(ladder, found, epoch=epoch),
        curve=_lines(curve, found, knee),
        missing=missing(ladder, found, knee),
    )


def overloaded_from(levels: Sequence[LadderLevel]) -> float | None:
    """Users at the knee or the bend, beyond which the service is overloaded; None without either. Cheap: computes no interval."""
    ladder = pooled(levels)
    if len(ladder) < LEVELS_LEAST or max(level.goodput_rps for level in ladder) <= NO_GOODPUT_RPS:
        return None
    curve = curve_of(ladder)
    found = crossing(curve)
    gates = gates_of(curve, found)
    if gates.flat:
        return found.users
    return verdict_kinds.bend(ladder, curve, found, gates, 0).users if gates.bent else None


def knee_crossing(ladder: Sequence[LadderLevel]) -> Crossing | None:
    """Where the lines of pooled levels meet, if these levels pass the gates of a knee; else None. Cheap: computes no interval."""
    if len(ladder) < LEVELS_LEAST or max(level.goodput_rps for level in ladder) <= NO_GOODPUT_RPS:
        return None
    curve = curve_of(ladder)
    found = crossing(curve)
    return found if gates_of(curve, found).flat else None


def _unless_unaccounted(knee: KneeVerdict, ladder: Sequence[LadderLevel]) -> KneeVerdict:
    """The verdict, with low confidence where by Little's law users or requests are missing from the figures."""
    unaccounted = max(knee.evidence.little_ratio or 1.0, unaccounted_ratio(ladder) or 1.0)
    if unaccounted <= LITTLE_MOST:
        return knee
    evidence = msgspec.structs.replace(knee.evidence, unaccounted_ratio=unaccounted)
    return msgspec.structs.replace(knee, confidence="low", evidence=evidence)


def _verified(knee: KneeVerdict, found: Crossing, verify: Verify | None) -> KneeVerdict:
    """The knee, with the results of the levels that verify it."""
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


def _lines(curve: CapacityCurve, found: Crossing, knee: KneeVerdict | None) -> CurveFit:
    known = knee is not None and knee.capacity_rps is not None
    return CurveFit(
        low_load_rps_per_user=found.rps_per_user,
        low_load_se=found.rps_per_user_error,
        baseline_users=tuple(float(users) for users in curve.users[found.baseline]),
        capacity_rps=found.capacity if known else None,
        capacity_se_rps=found.capacity_error if known else None,
        usl=usl.fit(curve, bent=knee is not None and knee.kind != "no_knee"),
    )
