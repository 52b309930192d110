"""The gate: whether at a level more users no longer increase goodput. Unless they do not, no resource is called the bottleneck.

The gate is open if 20% more users brought under 5% more goodput (or in this proportion) and latency rose, or if the level lies
beyond the knee and its latency rose (docs/causes.md). At lower load a busy resource still has spare capacity. "Significantly"
means by a one-sided 95% bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from ...model.intervals import ONE_SIDED_95
from ...model.verdicts import KneeVerdict
from ..knee.detector import is_surely_less
from ..ladder import LadderLevel, expected_on
from ..statistics import BEYOND, MOSTLY, RELEVANT

USERS_MORE = 1.2
"""Least ratio of users to those of the level that it is compared with."""

LATENCY_MORE = 1.1
"""Least ratio of latencies at which latency rose. With flat goodput, 20% more users make the whole cycle 20% longer."""


class Gate(msgspec.Struct, frozen=True):
    """How goodput and latency of a level changed with its additional users."""

    users: float
    users_before: float | None
    """Users of the level that it is compared with; None: there is none."""
    goodput_growth_ratio: float | None
    """Relative growth since that level; 0.05 is 5% more."""
    latency_growth_ratio: float | None
    """The same of mean latency; beyond the knee, since the level with the fewest users."""
    flat: bool
    """Whether goodput hardly grew, by the estimate (RELEVANT) and by the upper bound (MOSTLY)."""
    slower: bool
    """Whether latency significantly rose."""
    beyond_knee: bool
    """Whether the level lies beyond the knee of the verdict."""

    @property
    def stalls(self) -> bool:
        """Whether more users bring no more goodput."""
        return self.flat or self.beyond_knee

    @property
    def is_open(self) -> bool:
        """Whether more users bring no more goodput, and requests take longer."""
        return self.stalls and self.slower

    @property
    def grows(self) -> bool:
        """Whether goodput grew, relatively, by at least half as much as users."""
        growth, before = self.goodput_growth_ratio, self.users_before
        share = growth is not None and before is not None and growth >= MOSTLY * (self.users / before - 1)
        return share and not self.stalls


NO_GATE = Gate(0.0, None, None, None, flat=False, slower=False, beyond_knee=False)
"""The gate of a level that is compared with no other."""


def gate_of(level: LadderLevel, others: Sequence[LadderLevel], knee: KneeVerdict | None) -> Gate:
    """The gate of a level, compared with the level of `others` with the most users that it exceeds by at least 20%.

    `others`: pooled levels that feed the fit. If they show surely more goodput at its users, the service was another one, or has
    not recovered: its load is not the reason, and the gate is closed.
    """
    if _has_lost(level, others):
        return NO_GATE
    under = [other for other in others if other.users * USERS_MORE <= level.users * 1.001 and other.goodput_rps > 0]
    beyond = _is_beyond(level, knee)
    if not under:
        return Gate(level.users, None, None, None, flat=False, slower=False, beyond_knee=beyond)
    before = max(under, key=lambda other: other.users)
    low_load = min(under, key=lambda other: other.users) if beyond else before
    growth = level.goodput_rps / before.goodput_rps - 1
    return Gate(
        users=level.users,
        users_before=before.users,
        goodput_growth_ratio=growth,
        latency_growth_ratio=_latency_growth(level, low_load),
        flat=_is_flat(level, before, growth),
        slower=_is_slower(level, low_load) or _is_slower(level, before),  # few users may have had few requests
        beyond_knee=beyond,
    )


def _has_lost(level: LadderLevel, curve: Sequence[LadderLevel]) -> bool:
    expected = expected_on(curve, level.users) if curve else None
    return expected is not None and is_surely_less(level, *expected)


def _is_beyond(level: LadderLevel, knee: KneeVerdict | None) -> bool:
    if knee is None or knee.users is None or knee.limit == "generator":
        return False
    return (knee.kind == "knee" and level.users >= BEYOND * knee.users) or (
        knee.kind == "at_or_below" and level.users >= knee.users
    )


def _is_flat(level: LadderLevel, before: LadderLevel, growth: float) -> bool:
    more_users = level.users / before.users - 1
    error = (1 + growth) * math.hypot(
        level.goodput_error_rps / max(level.goodput_rps, 1e-9), before.goodput_error_rps / before.goodput_rps
    )
    if level.goodput_rps <= 0:
        error = 0.0
    return growth < RELEVANT * more_users and growth + ONE_SIDED_95 * error < MOSTLY * more_users


def _is_slower(level: LadderLevel, before: LadderLevel) -> bool:
    if level.latency_ms is None or before.latency_ms is None:
        return False
    if level.loop_lag_ms is not None and level.latency_ms - before.latency_ms <= level.loop_lag_ms:
        return False  # latencies may be too long by the generator's loop lag
    error = math.hypot(level.latency_error_ms or 0.0, before.latency_error_ms or 0.0)
    return level.latency_ms - ONE_SIDED_95 * error > LATENCY_MORE * before.latency_ms


def _latency_growth(level: LadderLevel, before: LadderLevel) -> float | None:
    return level.latency_ms / before.latency_ms - 1 if level.latency_ms is not None and before.latency_ms else None
