"""One verdict a kind, with its interval, limit and evidence: a knee, one at or below the lowest level, a bend, or none.

Which of them a ladder gets is decided in `detector`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from ...model.verdicts import KneeEvidence, KneeVerdict
from ..ladder import LadderLevel
from .confidence import KneeGrounds, confidence_of
from .crossing import LINEAR_LIKELY, CapacityCurve, Crossing, efficiency, interval
from .curve_gates import BENT_MOST, Gates
from .limit import REPLIED_LEAST, limit_of, perhaps_generators
from .missing_levels import LEVELS_LEAST
from .peak import peak_of
from .refusals import unevenness, up_to_refusals

AT_OR_BELOW = 1.15
"""Times the users of the lowest level: below this no level under the knee was measured, so the verdict is "at or below"."""

SOFT_SLOPE = 0.1
"""Slope over lambda0: where more than this surely remains beyond the knee, the knee is called soft."""

WIDE = 2.0
"""Ratio of the most to the fewest users from which "no knee" may have more than low confidence."""


def knee(
    ladder: Sequence[LadderLevel],
    curve: CapacityCurve,
    crossed: Crossing,
    gates: Gates,
    structural: float,
    epoch: int,
) -> tuple[KneeVerdict, Crossing]:
    """The knee, and its crossing: `crossed`, unless refusals show that goodput is a lower bound."""
    limit, evidence = limit_of(ladder, crossed)
    peak = peak_of(curve, crossed)
    refuses = limit == "errors" and (evidence.failures_refused_ratio or 0.0) >= REPLIED_LEAST and peak is None
    uneven = unevenness(curve, crossed) if refuses else 0.0
    found = up_to_refusals(ladder, crossed, uneven)
    low, high = (end * found.users / crossed.users for end in interval(curve, crossed, math.hypot(structural, uneven)))
    below = found.users <= AT_OR_BELOW * ladder[0].users
    grounds = KneeGrounds.of(ladder, curve, found, limit, (high - low) / 2 / found.users)
    verdict = KneeVerdict(
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
    return verdict, found


def at_or_below(ladder: Sequence[LadderLevel], found: Crossing, gates: Gates, users: float, epoch: int) -> KneeVerdict:
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


def bend(ladder: Sequence[LadderLevel], curve: CapacityCurve, found: Crossing, gates: Gates, epoch: int) -> KneeVerdict:
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
        peak=peak_of(curve, found),
        limit="generator" if doubtful else None,
        confidence="medium" if gates.surely_bent and len(baseline) > 1 and not doubtful else "low",
        soft=True,
        evidence=_with_gates(KneeEvidence(knee_not_below_users=float(curve.goodput.max() / found.rate)), found, gates),
    )


def no_knee(ladder: Sequence[LadderLevel], found: Crossing, gates: Gates, epoch: int) -> KneeVerdict:
    """How far the line was followed; sure only over a wide span of users."""
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
