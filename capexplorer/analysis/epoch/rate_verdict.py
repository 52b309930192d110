"""The verdict on an epoch's levels of offered rates: capacity, state of each level, objectives, recovery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ...model.level import Level
from ...model.rate_verdicts import RateLevelVerdict, RateObjective, RateVerdict
from ...model.timeline import Timeline
from ..knee.objectives import Name, capacity_at
from ..ladder import LadderLevel
from ..rates.departure import low_load, state_of
from ..rates.rate_capacity import judge
from ..rates.rate_level import RateLevel
from .measured_rates import rate_levels
from .rate_recovery import recoveries, split


def rate_verdict(timeline: Timeline, levels: Sequence[Level], objectives: Mapping[Name, float]) -> RateVerdict | None:
    """By the levels of one epoch, those of users among them; None: no level of a rate has settled."""
    measured = rate_levels(timeline, levels)
    if not measured:
        return None
    usable = [level for level in measured if not level.left_out and level.due]
    fit, down = split(usable)
    capacity = judge(fit)
    most = capacity.kept_per_s if capacity is not None else None
    disturbed = any(level.left_out and level.offered_per_s > (most or 0.0) for level in measured)
    if capacity is not None and capacity.kind == "keeps_up" and disturbed:
        capacity = replace(capacity, limit="generator")
    return RateVerdict(
        capacity=capacity,
        levels=tuple(_level_verdicts(measured, fit, down)),
        objectives=tuple(found for name, limit in objectives.items() if (found := _objective(fit, name, limit)) is not None),
        recoveries=tuple(recoveries(timeline, usable, fit, down)),
    )


def _level_verdicts(
    measured: Sequence[RateLevel], fit: Sequence[RateLevel], down: Sequence[RateLevel]
) -> Sequence[RateLevelVerdict]:
    low = low_load(min(fit or measured, key=lambda level: level.rate_per_s))
    return [
        RateLevelVerdict(
            level=level.index,
            offered_per_s=level.offered_per_s,
            goodput_per_s=level.goodput_per_s,
            goodput_se_per_s=level.goodput_error_per_s,
            state=state_of(level, low) if level.due else "unsure",
            failure_ratio=level.failure_ratio,
            dropped_ratio=level.dropped_ratio,
            growth_per_s=level.growth / level.seconds,
            recovery=level in down,
            left_out=level.left_out,
        )
        for level in measured
    ]


def _objective(fit: Sequence[RateLevel], name: Name, limit: float) -> RateObjective | None:
    """As of levels of users, with the offered rate as the load, the time from plan as latency, and what was dropped as failed.

    Levels that the generator limited say nothing about the service. A level of a growing queue keeps no latency objective, since
    its latency is that of its length.
    """
    low = low_load(min(fit, key=lambda level: level.rate_per_s)) if fit else None
    if low is None:
        return None
    states = [(level, state_of(level, low)) for level in fit]
    levels = [_as_load(level, grows=state == "queue_grows") for level, state in states if state != "generator"]
    found = capacity_at(levels, name, limit)
    if found is None:
        return None
    return RateObjective(
        name=name,
        limit=limit,
        state=found.state,
        per_s=found.users,
        low_per_s=found.users_low,
        high_per_s=found.users_high,
        thin=found.thin,
    )


def _as_load(level: RateLevel, grows: bool) -> LadderLevel:
    lost = level.failed + level.dropped
    ended = level.succeeded + lost
    known: dict[str, Any] = {} if grows else {"p95_ms": level.p95_ms, "p99_ms": level.p99_ms}
    if grows:
        known = dict.fromkeys(("p95_ms", "p99_ms"), float("inf"))
    return LadderLevel(
        users=level.offered_per_s,
        goodput_rps=level.goodput_per_s,
        goodput_se_rps=level.goodput_se_per_s,
        failure_ratio=lost / ended if ended else None,
        requests=ended,
        seconds=level.seconds,
        **known,
    )
