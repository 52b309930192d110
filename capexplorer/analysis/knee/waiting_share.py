"""Saturation of a ramp by response times: X R against N (Little's law).

Where think time is short, X R is nearly N: almost all users wait for a response. The cycle of a user is R + Z with
Z = N / X - R, and the efficiency against low load is (R0 + Z) / (R + Z). The mean response time of a few seconds is known far
better than their number of requests, so it shows saturation where the counts of a ramp's short bins cannot. In early bins only
the quick responses have ended, which makes R0 too small; so goodput per user must also fall from the middle of the ramp to its
top. The verdict is "at or below".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.intervals import ONE_SIDED_95
from ..ladder import SHORT_ERROR, LadderLevel

WAITING_LEAST = 0.85
"""Think time is short if at least this share of the users at the top waits for a response."""

FAILING_MOST = 0.02
"""Failure ratio above which nothing is concluded from response times: they are then also those of failures."""

LOW_LOAD_DIVISOR = 3
"""R0 is the mean of the lowest third of the levels."""

SATURATED_MOST = 0.6
"""The service is saturated at the top if the upper bound of its efficiency is below this."""

LEFT_MOST = 0.85
"""The knee is then at or below the first level whose upper bound of efficiency is below this."""


def saturated_users(ladder: Sequence[LadderLevel]) -> float | None:
    """Users at or below which the knee lies, by the bounds of response times; None without ramps, or where response times do
    not show saturation.
    """
    top = ladder[-1]
    low = [level for level in ladder[: len(ladder) // LOW_LOAD_DIVISOR] if level.response_s and level.requests]
    if not low or not any(level.ramp for level in ladder) or (top.failure_ratio or 0.0) > FAILING_MOST:
        return None
    if top.response_s is None or not top.throughput_rps or top.goodput_rps <= 0 or top.responding_share < WAITING_LEAST:
        return None
    think_s = max(top.users / top.throughput_rps - top.response_s, 0.0)
    requests = sum(level.requests or 0 for level in low)
    mean_s = math.fsum((level.response_s or 0.0) * (level.requests or 0) for level in low) / requests
    cycle_s = mean_s * (1 + ONE_SIDED_95 / math.sqrt(requests)) + think_s

    def efficiency_high(index: int) -> float:
        near = ladder[max(index - 1, 0) : index + 2]  # with the bins before and after: one bin has few requests
        count = sum(level.requests or 0 for level in near)
        spent_s = math.fsum((level.response_s or 0.0) * (level.requests or 0) for level in near)
        shortest_s = spent_s / count * max(1 - ONE_SIDED_95 / math.sqrt(count), 0.0) if count else 0.0
        return cycle_s / max(shortest_s + think_s, 1e-9)

    if efficiency_high(len(ladder) - 1) >= SATURATED_MOST or _against_middle(ladder) >= LEFT_MOST:
        return None
    return next(level.users for index, level in enumerate(ladder) if efficiency_high(index) < LEFT_MOST)


def _against_middle(ladder: Sequence[LadderLevel]) -> float:
    """Upper bound of goodput per user at the top, divided by that in the middle third of the levels."""
    top, middle = ladder[-1], ladder[len(ladder) // 3 : 2 * len(ladder) // 3]
    successes = math.fsum(level.goodput_rps * (level.seconds or 0.0) for level in middle)
    if successes <= 0:
        return math.inf
    rate = successes / math.fsum(level.users * (level.seconds or 0.0) for level in middle)
    error = math.hypot(1 / math.sqrt(successes), SHORT_ERROR / math.sqrt(len(middle)), top.goodput_error_rps / top.goodput_rps)
    return top.goodput_rps / top.users / rate * (1 + ONE_SIDED_95 * error)
