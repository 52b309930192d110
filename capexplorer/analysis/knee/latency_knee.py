"""The latency knee: the load from which mean latency stays raised, whether or not throughput has a knee (docs/knee.md, section
12).

It is a mark of its own kind and not evidence of a knee: a threshold on latency finds throughput knees badly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.grades import Confidence
from ...model.intervals import ONE_SIDED_95
from ...model.verdicts import KneeEvidence, KneeVerdict
from ..ladder import LadderLevel
from .crossing import Crossing

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
