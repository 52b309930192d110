"""Saturation of a ramp by response times: X R against N (Little's law).

Where users hardly think, X R is nearly N: almost all of them wait for a response. The cycle of a user is then R + Z with
Z = N / X - R, and the efficiency against low load is (R0 + Z) / (R + Z). A mean response time over the requests of a few seconds
is known far better than their count, so it shows saturation where short bins of a ramp cannot by their counts. Early bins hold
the quick responses first, which makes R0 too small; so goodput a user must fall as well, from the middle of the ramp to its top.
The verdict is "at or below".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...model.intervals import ONE_SIDED_95
from ..ladder import SHORT_ERROR, LadderLevel

WAITING_LEAST = 0.85
"""Share of users at the top who wait for a response, from which think time is small."""

FAILING_MOST = 0.02
"""Failure ratio at the top above which response times are those of failures too."""

LOW_SHARE = 3
"""R0 is the mean of the lowest third of the levels."""


SATURATED_MOST = 0.6
"""Efficiency at the top whose upper bound must be under this; then the knee is at or below the first level under LEFT_MOST."""

LEFT_MOST = 0.85


def saturated_users(ladder: Sequence[LadderLevel]) -> float | None:
    """Users at or below which the knee surely lies, if response times show one. None without ramps, or if they are
    inconclusive.
    """
    top = ladder[-1]
    low = [level for level in ladder[: len(ladder) // LOW_SHARE] if level.response_s and level.requests]
    if not low or not any(level.ramp for level in ladder) or (top.failure_ratio or 0.0) > FAILING_MOST:
        return None
    if top.response_s is None or not top.throughput_rps or top.goodput_rps <= 0 or top.responding_share < WAITING_LEAST:
        return None
    think_s = max(top.users / top.throughput_rps - top.response_s, 0.0)
    requests = sum(level.requests or 0 for level in low)
    mean_s = math.fsum((level.response_s or 0.0) * (level.requests or 0) for level in low) / requests
    cycle_s = mean_s * (1 + ONE_SIDED_95 / math.sqrt(requests)) + think_s

    def efficiency_high(index: int) -> float:
        near = ladder[max(index - 1, 0) : index + 2]  # with its neighbours: a bin alone has few requests
        count = sum(level.requests or 0 for level in near)
        spent_s = math.fsum((level.response_s or 0.0) * (level.requests or 0) for level in near)
        shortest_s = spent_s / count * max(1 - ONE_SIDED_95 / math.sqrt(count), 0.0) if count else 0.0
        return cycle_s / max(shortest_s + think_s, 1e-9)

    if efficiency_high(len(ladder) - 1) >= SATURATED_MOST or _against_middle(ladder) >= LEFT_MOST:
        return None
    return next(level.users for index, level in enumerate(ladder) if efficiency_high(index) < LEFT_MOST)


def _against_middle(ladder: Sequence[LadderLevel]) -> float:
    """Upper bound of goodput a user at the top over that in the middle third, whose bins are late rather than early."""
    top, middle = ladder[-1], ladder[len(ladder) // 3 : 2 * len(ladder) // 3]
    successes = math.fsum(level.goodput_rps * (level.seconds or 0.0) for level in middle)
    if successes <= 0:
        return math.inf
    rate = successes / math.fsum(level.users * (level.seconds or 0.0) for level in middle)
    error = math.hypot(1 / math.sqrt(successes), SHORT_ERROR / math.sqrt(len(middle)), top.goodput_error_rps / top.goodput_rps)
    return top.goodput_rps / top.users / rate * (1 + ONE_SIDED_95 * error)
