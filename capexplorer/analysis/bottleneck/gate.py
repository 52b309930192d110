"""Whether a level has more users than the service turns into work: the gate before any resource is called the bottleneck.

At least 20% more users brought under 5% more goodput while latency rose (CAUSES.md), or the level lies beyond the knee and its
latency rose. A busy resource below the gate is not a bottleneck: it still has work to give. LevelJudgement with standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...model.intervals import ONE_SIDED_95
from ...model.verdicts import KneeVerdict
from ..epoch.ladder import LadderLevel
from ..knee.limit import BEYOND_SHARE

USERS_MORE = 1.2
"""Times the users of the level that is compared with."""

GROWTH_SHARE = 0.25
"""Of what the users grew by: 5% of goodput for 20% of users (CAUSES.md), and the same share for greater steps."""

GROWTH_SURELY = 0.5
"""What the upper bound of that share must be under, as for a knee's slope (KNEE.md, step 4)."""

LATENCY_MORE = 1.1
"""Times the lower level's latency. Where goodput stays flat, 20% more users make the whole cycle 20% longer."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What a level got for its additional users."""

    users: float
    users_before: float | None
    goodput_growth_ratio: float | None
    """Of goodput, against the level before; 0.05: 5% more."""
    latency_growth_ratio: float | None
    flat: bool
    """More users surely brought nothing to speak of."""
    slower: bool
    """Latency surely rose."""
    beyond_knee: bool

    @property
    def stalls(self) -> bool:
        """No more work for more users."""
        return self.flat or self.beyond_knee

    @property
    def is_open(self) -> bool:
        """No more work for more users, and they wait longer."""
        return self.stalls and self.slower

    @property
    def grows(self) -> bool:
        """More users brought at least half of their share."""
        growth, before = self.goodput_growth_ratio, self.users_before
        share = growth is not None and before is not None and growth >= GROWTH_SURELY * (self.users / before - 1)
        return share and not self.stalls


def gate_of(level: LadderLevel, others: Sequence[LadderLevel], knee: KneeVerdict | None) -> Gate:
    """`others`: pooled levels of the epoch that feed the fit. The one compared with has the most users that are 20% fewer."""
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
    return (knee.kind == "knee" and level.users >= BEYOND_SHARE * knee.users) or (
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
        return False  # the generator's own lateness is the error bar on every latency
    error = math.hypot(level.latency_error_ms or 0.0, before.latency_error_ms or 0.0)
    return level.latency_ms - ONE_SIDED_95 * error > LATENCY_MORE * before.latency_ms


def _latency_growth(level: LadderLevel, before: LadderLevel) -> float | None:
    return level.latency_ms / before.latency_ms - 1 if level.latency_ms is not None and before.latency_ms else None
