"""Pools levels of one user count into one level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from .ladder_level import LadderLevel

_Number = TypeVar("_Number", int, float)

POOLED_SPREAD_MOST = 5.0
"""Greatest factor (Birge ratio) by which the common standard error grows where levels of one user count disagree."""


def pooled(levels: Sequence[LadderLevel]) -> tuple[LadderLevel, ...]:
    """One level per user count, ascending. Goodput and latency are means weighted by inverse variance; where levels of one count
    disagree by more than their errors, the common error grows.
    """
    counts: dict[int, list[LadderLevel]] = {}
    for level in levels:
        counts.setdefault(round(level.users) if level.users >= 1 else 1, []).append(level)
    return tuple(_pool(counts[count]) for count in sorted(counts))


def _pool(same: list[LadderLevel]) -> LadderLevel:
    if len(same) == 1:
        return same[0]
    goodput, goodput_se = _weighted([level.goodput_rps for level in same], [level.goodput_error_rps for level in same])
    latency, latency_se = _weighted_known([level.latency_ms for level in same], [level.latency_error_ms for level in same])
    flags = [level.generator_saturated for level in same if level.generator_saturated is not None]
    return replace(
        same[0],
        users=_mean_known([level.users for level in same], same) or same[0].users,
        goodput_rps=goodput,
        goodput_se_rps=goodput_se,
        throughput_rps=_mean_known([level.throughput_rps for level in same], same),
        response_ms=_mean_known([level.response_ms for level in same], same),
        latency_ms=latency,
        latency_se_ms=latency_se,
        p95_ms=_mean_known([level.p95_ms for level in same], same),
        p99_ms=_mean_known([level.p99_ms for level in same], same),
        failure_ratio=_mean_known([level.failure_ratio for level in same], same),
        replied_ratio=_mean_known([level.replied_ratio for level in same], same),
        refused_ratio=_mean_known([level.refused_ratio for level in same], same),
        requests=_sum_known([level.requests for level in same]),
        seconds=_sum_known([level.seconds for level in same]),
        wait_s=_mean_known([level.wait_s for level in same], same),
        wait_se_s=_error_of_mean(same),
        wait_includes_sleeps=all(level.wait_includes_sleeps for level in same),
        ramp=all(level.ramp for level in same),
        generator_saturated=any(flags) if flags else None,
        loop_lag_ms=_mean_known([level.loop_lag_ms for level in same], same),
        disturbed=any(level.disturbed for level in same),
        goodput_disturbed=any(level.goodput_disturbed for level in same),
        accepted_rps=_mean_known([level.accepted_rps for level in same], same),
    )


def _weighted(values: list[float], errors: list[float]) -> tuple[float, float]:
    """(mean weighted by inverse variance, its standard error times the Birge ratio, which is between 1 and
    POOLED_SPREAD_MOST).
    """
    weights = [1 / error**2 for error in errors]
    mean = math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)
    chi2 = math.fsum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True)) / (len(values) - 1)
    spread = min(POOLED_SPREAD_MOST, max(1.0, math.sqrt(chi2)))
    return mean, spread / math.sqrt(math.fsum(weights))


def _weighted_known(values: list[float | None], errors: list[float | None]) -> tuple[float | None, float | None]:
    known = [(v, max(e, 1e-9)) for v, e in zip(values, errors, strict=True) if v is not None and e is not None]
    if len(known) < 2:
        return known[0] if known else (None, None)
    return _weighted([v for v, _ in known], [e for _, e in known])


def _mean_known(values: Sequence[float | None], same: Sequence[LadderLevel]) -> float | None:
    """Mean over the levels that have the value, weighted by their seconds; None if none has it."""
    known = [(value, level.seconds or 1.0) for value, level in zip(values, same, strict=True) if value is not None]
    return math.fsum(v * w for v, w in known) / math.fsum(w for _, w in known) if known else None


def _error_of_mean(same: Sequence[LadderLevel]) -> float | None:
    """Standard error of the mean wait that `_mean_known` gives; None if a level's is not known."""
    errors = [(level.wait_se_s, level.seconds or 1.0) for level in same]
    if any(error is None for error, _ in errors):
        return None
    return math.hypot(*((error or 0.0) * weight for error, weight in errors)) / math.fsum(weight for _, weight in errors)


def _sum_known(values: Sequence[_Number | None]) -> _Number | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None
