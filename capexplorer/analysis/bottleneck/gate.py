"""The gate: whether more users no longer increase goodput at a level. Without that, no resource is called the bottleneck.

The gate is open if at least 20% more users brought under 5% more goodput while latency rose, or if the level lies beyond the knee
and its latency rose (docs/causes.md). Below the gate a busy resource still has spare capacity. All bounds use standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...model.intervals import ONE_SIDED_95
from ...model.verdicts import KneeVerdict
from ..knee.limit import PAST_KNEE_SHARE
from ..ladder import LadderLevel

USERS_MORE = 1.2
"""Least ratio of users to those of the level that it is compared with."""

GROWTH_SHARE = 0.25
"""Relative growth of goodput over that of users, under which a level is flat: 5% of goodput for 20% of users."""

GROWTH_SURELY = 0.5
"""The upper bound of that ratio must be under this, as for the slope at a knee (docs/knee.md, section 5)."""

LATENCY_MORE = 1.1
"""Least ratio of latencies. With flat goodput, 20% more users make the whole cycle 20% longer."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The gain of a level from its additional users."""

    users: float
    users_before: float | None
    goodput_growth_ratio: float | None
    """Against the level with `users_before`; 0.05 is 5% more."""
    latency_growth_ratio: float | None
    flat: bool
    """Whether more users surely brought hardly any goodput."""
    slower: bool
    """Latency surely rose."""
    beyond_knee: bool

    @property
    def stalls(self) -> bool:
        """More users bring no more goodput."""
        return self.flat or self.beyond_knee

    @property
    def is_open(self) -> bool:
        """More users bring no more goodput, and requests take longer."""
        return self.stalls and self.slower

    @property
    def grows(self) -> bool:
        """Goodput grew by at least half as much as users."""
        growth, before = self.goodput_growth_ratio, self.users_before
        share = growth is not None and before is not None and growth >= GROWTH_SURELY * (self.users / before - 1)
        return share and not self.stalls


NO_GATE = Gate(0.0, None, None, None, flat=False, slower=False, beyond_knee=False)
"""Of a level that is compared with no other."""


def gate_of(level: LadderLevel, others: Sequence[LadderLevel], knee: KneeVerdict | None) -> Gate:
    """`others`: pooled levels that feed the fit. The greatest than which the level has 20% more users is compared with it."""
    under = [other for other in others if other.users * USERS_MORE <= level.users * 1.001 and other.goodput_rps > 0]
    beyond = _is_beyond(level, knee)
    if not under:
        return Gate(level.users, None, None, None, flat=False, slower=False, beyond_knee=beyond)
    before = max(under, key=lambda other: other.users)
    quiet = min(under, key=lambda other: other.users) if beyond else before
    growth = level.goodput_rps / before.goodput_rps - 1
    return Gate(
        users=level.users,
        users_before=before.users,
        goodput_growth_ratio=growth,
        latency_growth_ratio=_latency_growth(level, quiet),
        flat=_is_flat(level, before, growth),
        slower=_is_slower(level, quiet),
        beyond_knee=beyond,
    )


def _is_beyond(level: LadderLevel, knee: KneeVerdict | None) -> bool:
    if knee is None or knee.users is None or knee.limit == "generator":
        return False
    return (knee.kind == "knee" and level.users >= PAST_KNEE_SHARE * knee.users) or (
        knee.kind == "at_or_below" and level.users >= knee.users
    )


def _is_flat(level: LadderLevel, before: LadderLevel, growth: float) -> bool:
    more_users = level.users / before.users - 1
    error = (1 + growth) * math.hypot(
        level.goodput_error_rps / max(level.goodput_rps, 1e-9), before.goodput_error_rps / before.goodput_rps
    )
    if level.goodput_rps <= 0:
        error = 0.0
    return growth < GROWTH_SHARE * more_users and growth + ONE_SIDED_95 * error < GROWTH_SURELY * more_users


def _is_slower(level: LadderLevel, before: LadderLevel) -> bool:
    if level.latency_ms is None or before.latency_ms is None:
        return False
    if level.loop_lag_ms is not None and level.latency_ms - before.latency_ms <= level.loop_lag_ms:
        return False  # the generator's loop lag is the error of every latency
    error = math.hypot(level.latency_error_ms or 0.0, before.latency_error_ms or 0.0)
    return level.latency_ms - ONE_SIDED_95 * error > LATENCY_MORE * before.latency_ms


def _latency_growth(level: LadderLevel, before: LadderLevel) -> float | None:
    return level.latency_ms / before.latency_ms - 1 if level.latency_ms is not None and before.latency_ms else None
