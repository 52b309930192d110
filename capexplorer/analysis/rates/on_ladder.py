"""A level of an offered rate as a LadderLevel whose load is the rate, so that changes over time, bottlenecks and stop rules are
analysed in one way for users and rates."""

from __future__ import annotations

from ..ladder import LadderLevel
from .level_state import steady_latency_error_ms
from .rate_level import RateLevel


def on_ladder(
    level: RateLevel, *, loop_lag_ms: float | None = None, disturbed: bool = False, lowered: bool = False
) -> LadderLevel:
    """The ladder level: goodput is successful iterations a second, latency their time since their planned start.

    Iterations finished beyond those due belong to an earlier backlog, and are no goodput of this rate. `disturbed`: whether other
    processes disturbed the level. `lowered`: whether they did so much that its goodput is only a lower bound.
    """
    return LadderLevel(
        users=level.rate_per_s,
        goodput_rps=min(level.succeeded, level.due) / level.seconds,
        goodput_se_rps=level.goodput_error_per_s,
        latency_ms=level.from_plan_ms,
        latency_se_ms=level.from_plan_se_ms,
        steady_latency_error_ms=steady_latency_error_ms(level),
        p95_ms=level.p95_ms,
        p99_ms=level.p99_ms,
        failure_ratio=level.failure_ratio if level.succeeded + level.failed else None,
        dropped_ratio=level.dropped_ratio,
        replied_ratio=level.replied_ratio,
        refused_ratio=level.refused_ratio,
        requests=level.succeeded + level.failed,
        seconds=level.seconds,
        started_s=level.started_s,
        ended_s=level.ended_s,
        ramp=level.ramp,
        generator_saturated=level.generator_saturated,
        loop_lag_ms=loop_lag_ms,
        disturbed=disturbed,
        goodput_disturbed=lowered,
    )
