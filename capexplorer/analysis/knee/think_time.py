"""Goodput at low load, corrected for the think times that its users happened to draw (docs/knee.md, section 3).

Think times are random, and goodput at low load follows them: five users with exponential think times of 0.5 s make about 90
requests in ten seconds, and the mean of 90 such times varies by 10%. The mean over all levels is known much better, and think
times do not depend on the load. So goodput X of a level with response time R and think time Z is corrected to the common
think time Z0, X (R + Z) / (R + Z0): a control variate (Lavenberg, Moeller & Welch 1982; Law & Kelton, section 11.4). Little's
law, N = X (R + Z), gives both the factor and the error that remains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..ladder import RELATIVE_ERROR_FLOOR, LadderLevel

HOMOGENEOUS_MOST = 4.0
"""Standard deviations of chi-square by which the think times of levels may differ more than their errors explain; beyond that
they depend on the load, as with `constant_throughput`, and nothing is corrected."""

LEVELS_LEAST = 3
"""Levels whose think times are compared: with fewer, a dependence on the load is not seen."""


@dataclass(frozen=True, slots=True)
class CommonThinkTime:
    """The think time per request of all users, at any load."""

    mean_s: float
    error_s: float
    """Standard error of the mean."""
    variation: float
    """Coefficient of variation of single think times: 1 for exponential ones."""


def common_think_time(levels: Sequence[LadderLevel]) -> CommonThinkTime | None:
    """The think time that these levels have in common; None if it was not measured, is constant, or differs between levels."""
    known = [
        (level.requests, level.wait_s, level.wait_se_s)
        for level in levels
        if level.requests and level.wait_s and level.wait_se_s is not None and not level.ramp
    ]
    if len(known) < LEVELS_LEAST:
        return None
    count = sum(requests for requests, _, _ in known)
    mean_s = math.fsum(requests * wait_s for requests, wait_s, _ in known) / count
    variance = math.fsum(requests * error_s**2 for requests, _, error_s in known) / len(known)
    if variance <= 0:
        return None
    chi2, free = math.fsum(requests * (wait_s - mean_s) ** 2 for requests, wait_s, _ in known) / variance, len(known) - 1
    if chi2 > free + HOMOGENEOUS_MOST * math.sqrt(2 * free):
        return None
    return CommonThinkTime(mean_s, math.sqrt(variance / count), math.sqrt(variance) / mean_s)


def corrected(level: LadderLevel, common: CommonThinkTime) -> tuple[float, float] | None:
    """(goodput of a level on the low-load line, its standard error), 1/s; None where that would not make the error smaller."""
    response_s, think_s, error_ms = level.response_s, level.wait_s, level.latency_error_ms
    if level.ramp or not level.seconds or response_s is None or think_s is None or error_ms is None:
        return None
    cycle_s = response_s + common.mean_s
    parts = (_cut_off_s(common) * math.sqrt(2 / level.users) / level.seconds, error_ms / 1000 / cycle_s, common.error_s / cycle_s)
    rate = level.steady_rps * (response_s + think_s) / cycle_s
    error = max(math.hypot(*parts), RELATIVE_ERROR_FLOOR) * rate
    return (rate, error) if error < level.goodput_error_rps else None


def _cut_off_s(common: CommonThinkTime) -> float:
    """Standard deviation of the part of a think time that a level's first or last moment cuts off: Z/sqrt(12) of a constant one,
    Z of an exponential one, and between them in proportion to the variance.
    """
    return common.mean_s * math.sqrt((1 + 11 * min(common.variation, 1.0) ** 2) / 12)
