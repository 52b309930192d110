"""The knee detector: pooled levels in, typed verdicts out (docs/knee.md). Pure: the same levels always give the same verdict.

`judge` decides *whether* there is a knee. `crossing` computes where it lies, `limit` what limits it, `confidence` the confidence
in it, `missing` which further levels would help. A wrong mark is worse than none, so every gate compares a one-sided 95%
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

import itertools
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ...model.intervals import ONE_SIDED_95
from ...model.verdicts import CapacityVerdict, Confidence, CurveFit, KneeEvidence, KneeVerdict, Missing, UslFit
from ..ladder import LadderLevel, pooled
from . import verdict_kinds
from .crossing import CapacityCurve, Crossing, Floats
from .curve_gates import KneeLines, is_consistent, is_long_enough
from .think_time import saturated_users
from .verdict_kinds import NOTHING_ELSE, Checks, Circumstances, missing

# -- The latency knee: the load from which mean latency stays raised, whether or not throughput has a knee (docs/knee.md, section
# 12).
#
# It is a mark of its own kind and not evidence of a knee: a threshold on latency finds throughput knees badly.

RISE = 1.5
"""Latency has risen above this many times R0, the mean latency at low load."""

LEVELS_IN_A_ROW = 2
"""Consecutive levels that must each be significantly above that."""

LEVELS_TOGETHER = 3
"""Enough as well: at least this many levels up to the top, each above it by its estimate, and significantly above it together.
Stalls can make every single level too uncertain."""

BASELINE_DIVISOR = 3
"""R0 is measured at the lowest third of the baseline: if throughput never bends, every level is baseline."""


def latency_knee(levels: Sequence[LadderLevel], found: Crossing, *, epoch: int = 0) -> KneeVerdict | None:
    """The first of two consecutive levels whose mean latency is significantly above 1.5 R0; None when there is none.

    Levels that saturated the generator are left out: it adds latency of its own (nginx under 20 users: 2.9 of 3.2 ms). So are
    those that other processes disturbed, and slower levels below the low-load line (`Crossing.slower`).
    """
    judged = (level for level in levels[found.slower :] if not (level.generator_saturated or level.disturbed))
    known = [level for level in judged if level.latency_ms]  # 0 ms is no latency
    base = known[: max(2, math.ceil((found.linear - found.slower) / BASELINE_DIVISOR))]
    if len(known) <= len(base):
        return None
    low_load_ms, low_load_error_ms = _mean(base)
    if not low_load_ms:  # underflowed to zero
        return None
    bound_ms, bound_error_ms = RISE * low_load_ms, RISE * low_load_error_ms
    risen = [_surely_above([level], bound_ms, bound_error_ms) for level in known]
    for index in range(1, len(known) - LEVELS_IN_A_ROW + 1):
        above = [(level.latency_ms or 0.0) > bound_ms for level in known[index:]]
        stays = len(above) >= LEVELS_TOGETHER and all(above) and _surely_above(known[index:], bound_ms, bound_error_ms)
        if stays or all(risen[index : index + LEVELS_IN_A_ROW]):
            sure = next((at for at in range(index, len(known)) if risen[at]), len(known) - 1)
            return _verdict(known, index, sure, low_load_ms, all(above), epoch)
    return None


def _verdict(known: list[LadderLevel], index: int, sure: int, low_load_ms: float, stays: bool, epoch: int) -> KneeVerdict:
    """`sure`: index of the first level that is significantly above 1.5 R0 by itself. `stays`: all later levels are above it."""
    level = known[index]
    confidence: Confidence = "low" if not stays else "medium" if level.ramp or index < 2 else "high"
    return KneeVerdict(
        kind="latency_knee",
        epoch=epoch,
        users=level.users,
        users_low=known[index - 1].users,
        users_high=known[sure].users,
        confidence=confidence,
        evidence=KneeEvidence(
            latency_ms=level.latency_ms or 0.0,
            low_load_latency_ms=low_load_ms,
            ratio=(level.latency_ms or 0.0) / low_load_ms,
        ),
    )


def _surely_above(levels: list[LadderLevel], bound_ms: float, bound_error_ms: float) -> bool:
    mean_ms, error_ms = _mean(levels)
    return mean_ms - ONE_SIDED_95 * math.hypot(error_ms, bound_error_ms) > bound_ms


def _mean(levels: list[LadderLevel]) -> tuple[float, float]:
    """Mean latency, weighted by inverse relative variance, and its standard error; ms."""
    known = [(level.latency_ms or 0.0, level.latency_error_ms or 1e-9) for level in levels]
    weights = [max(value / error, 1e-9) ** 2 for value, error in known]
    mean = math.fsum(w * value for w, (value, _) in zip(weights, known, strict=True)) / math.fsum(weights)
    return mean, mean / math.sqrt(math.fsum(weights))


# -- The Universal Scalability Law fitted to a curve: contention, coherency and the law's peak, which is not a knee.
#
# The peak is off by 1.5 N* in the median (docs/knee.md). N / X is linear in 1, N - 1 and N (N - 1), so the fit is one small
# least-squares problem (Gunther, Guerrilla Capacity Planning, chapter 5, weighted by relative error).

GOODPUT_SHARE_LEAST = 1e-6
"""Share of the greatest goodput at or below which levels are left out, since N / X would be near infinite."""

FIT_LEVELS_LEAST = 6
"""With fewer levels the fit is shown greyed out."""

FIT_LEAST = 0.9
"""R squared under which the law does not describe the curve (a collapse, a lack of ports)."""


def fit(curve: CapacityCurve, *, bent: bool) -> UslFit | None:
    """The fit over levels with goodput; None if there are fewer than three. `bent`: whether a bend was found."""
    has_goodput = curve.goodput > GOODPUT_SHARE_LEAST * curve.goodput.max()
    users, goodput, error = curve.users[has_goodput], curve.goodput[has_goodput], curve.error[has_goodput]
    if len(users) < 3:
        return None
    best = min(_candidates(users, goodput, error), key=lambda candidate: candidate[0], default=None)
    if best is None:
        return None
    _, (whole, contention, coherency) = best
    rate, sigma, kappa = 1 / whole, contention / whole, coherency / whole
    fitted = rate * users / (1 + sigma * (users - 1) + kappa * users * (users - 1))
    spread = float(((goodput - goodput.mean()) ** 2).sum())
    r_squared = 1 - float(((goodput - fitted) ** 2).sum()) / spread if spread > 0 else 0.0
    peak_users = math.sqrt((1 - sigma) / kappa) if kappa > 0 and sigma < 1 else None
    peak_rps = _law(peak_users, rate, sigma, kappa) if peak_users is not None else rate / sigma if sigma > 0 else None
    return UslFit(
        lambda_rps=rate,
        sigma=sigma,
        kappa=kappa,
        peak_users=peak_users,
        peak_rps=peak_rps,
        r_squared=r_squared,
        unreliable_why=_unreliable_why(len(users), bent, r_squared),
    )


def _law(users: float, rate: float, sigma: float, kappa: float) -> float:
    return rate * users / (1 + sigma * (users - 1) + kappa * users * (users - 1))


def _unreliable_why(levels: int, bent: bool, r_squared: float) -> Literal["few_levels", "no_bend", "poor_fit"] | None:
    if levels < FIT_LEVELS_LEAST:
        return "few_levels"
    if not bent:
        return "no_bend"
    return "poor_fit" if r_squared < FIT_LEAST else None


def _candidates(users: Floats, goodput: Floats, error: Floats) -> list[tuple[float, tuple[float, float, float]]]:
    """(squared error, coefficients) for each choice of terms whose coefficients are all at least 0."""
    wanted = users / goodput
    weight = goodput / error / wanted  # 1 / standard error of N / X
    terms = np.stack([np.ones_like(users), users - 1, users * (users - 1)])
    found = []
    for with_sigma, with_kappa in itertools.product((True, False), repeat=2):
        chosen = [True, with_sigma, with_kappa]
        solved = np.linalg.lstsq((terms[chosen] * weight).T, wanted * weight, rcond=None)[0]
        coefficients = np.zeros(3)
        coefficients[chosen] = solved
        if coefficients[0] > 0 and coefficients.min() >= 0:
            missed = float((((coefficients @ terms) - wanted) ** 2 * weight**2).sum())
            found.append((missed, (float(coefficients[0]), float(coefficients[1]), float(coefficients[2]))))
    return found


LINE_LEAST = 2
"""Levels that "no knee" needs on the low-load line: if all levels but the last were measured while the service warmed up, that
one may be beyond the knee."""


def judge(
    levels: Sequence[LadderLevel],
    known: Circumstances = NOTHING_ELSE,
    *,
    checks: Checks = ((), ()),
    disputed: bool = False,
) -> CapacityVerdict:
    """The verdict on the capacity of one epoch. The caller leaves recovery levels out (`epoch.recovery`).

    `checks`: levels that may verify a knee; without them it stays provisional. `disputed`: on its return the first level's load
    had significantly less goodput than before, so no knee is proven.
    """
    lines = KneeLines.of(levels)
    if lines is None:
        return CapacityVerdict(epoch=known.epoch, missing=_missing(pooled(levels), None, None, known))
    knee, found = _knee(lines, known, checks, disputed) if lines.is_enough else (None, lines.crossing)
    ladder = lines.ladder[found.slower :] if knee is None and lines.is_enough else lines.ladder
    return CapacityVerdict(
        epoch=known.epoch,
        knee=knee,
        latency_knee=None if knee is None else latency_knee(ladder, found, epoch=known.epoch),
        curve=_lines(lines.curve, found, knee),
        missing=_missing(ladder, found, knee, known),
    )


def _knee(lines: KneeLines, known: Circumstances, checks: Checks, disputed: bool) -> tuple[KneeVerdict | None, Crossing]:
    """The verdict on the knee, and where its lines meet; None: too few levels are left on the low-load line for one."""
    ladder, found, gates = lines.ladder, lines.crossing, lines.gates
    waiting_users = saturated_users(ladder)
    if waiting_users is not None and not (gates.flat and found.users <= waiting_users):
        return verdict_kinds.at_or_below(lines, known, waiting_users), found
    if gates.flat and not disputed and is_consistent(lines) and is_long_enough(lines):
        return verdict_kinds.knee(lines, known, checks)
    if gates.bent or gates.flat:
        return verdict_kinds.bend(lines, known, disputed=disputed), found
    if len(ladder) - found.slower < LINE_LEAST:
        return None, found
    return verdict_kinds.no_knee(lines, known), found


def _missing(
    ladder: Sequence[LadderLevel], found: Crossing | None, knee: KneeVerdict | None, known: Circumstances
) -> tuple[Missing, ...]:
    """The further levels that would help, the most useful first."""
    lacking = known.levels_lacking if knee is not None else 0
    wanted = (Missing(kind="levels", count=lacking),) if lacking else missing(ladder, found, knee)
    if known.return_users is None:
        return wanted
    return (Missing(kind="return_to_clean", users_below=known.return_users), *wanted)


def _lines(curve: CapacityCurve, found: Crossing, knee: KneeVerdict | None) -> CurveFit:
    known = knee is not None and knee.capacity_rps is not None
    return CurveFit(
        low_load_rps_per_user=found.rps_per_user,
        low_load_se=found.rps_per_user_error,
        baseline_users=tuple(float(users) for users in curve.users[found.baseline]),
        capacity_rps=found.capacity if known else None,
        capacity_se_rps=found.capacity_error if known else None,
        usl=fit(curve, bent=knee is not None and knee.kind != "no_knee"),
    )
