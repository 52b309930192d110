"""A level at an offered rate as a level of a ladder, whose load is the rate: so both axes have one analysis of changes in time,
of bottlenecks and of stop rules."""

from __future__ import annotations

from ..ladder import LadderLevel
from .rate_level import RateLevel


def on_ladder(
    level: RateLevel, *, loop_lag_ms: float | None = None, disturbed: bool = False, lowered: bool = False
) -> LadderLevel:
    """Goodput is finished iterations, latency their time from plan, failures those of iterations that ended.

    What was finished beyond what was due is the rest of an earlier backlog, and no goodput of this rate. `disturbed`, `lowered`:
    other processes disturbed it, and so much that its goodput is only a lower bound.
    """
    return LadderLevel(
        users=level.rate_per_s,
        goodput_rps=min(level.succeeded, level.due) / level.seconds,
        goodput_se_rps=level.goodput_error_per_s,
        latency_ms=level.from_plan_ms,
        latency_se_ms=level.from_plan_se_ms,
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
