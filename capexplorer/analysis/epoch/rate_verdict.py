"""The verdict on an epoch's levels of offered rates: capacity, state of each level, objectives, recovery."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence

from ...model.rate_verdicts import RateLevelVerdict, RateObjective, RateVerdict
from ...model.verdicts import EndpointDegradation
from ..knee.first_endpoint import first_endpoint_at_rates
from ..knee.objectives import Name, capacity_at
from ..ladder import LadderLevel
from ..rates.level_state import low_load, on_ladder, state_of
from ..rates.rate_capacity import judge_rates
from ..rates.rate_level import RateLevel, pooled
from .measured_epoch import rate_regime_verdicts
from .measured_rates import RateLadder
from .rate_recovery import recoveries, split


def rate_verdict(ladder: RateLadder, objectives: Mapping[Name, float]) -> RateVerdict | None:
    """The verdict, None if no level of a rate has settled. `objectives`: limit by metric."""
    measured, usable = ladder.rates, ladder.usable
    if not measured:
        return None
    fit, down = split(usable)
    down += [level for _, level in ladder.after_left_out]
    return RateVerdict(
        capacity=judge_rates(fit, [level.offered_per_s for level in measured if level.left_out]),
        levels=tuple(_level_verdicts(ladder, _one_a_level(measured, usable), fit, down)),
        objectives=tuple(found for name, limit in objectives.items() if (found := _objective(fit, name, limit)) is not None),
        recoveries=tuple(recoveries(ladder.timeline, _with_left_out(ladder), fit, down)),
        regimes=rate_regime_verdicts(ladder),
        first_endpoint=_first_endpoint(ladder, fit),
    )


def _first_endpoint(ladder: RateLadder, fit: Sequence[RateLevel]) -> EndpointDegradation | None:
    """The endpoint that degrades first, of levels that did not change inside: figures of endpoints are of whole levels."""
    steps = pooled([level for level in fit if not level.ramp])
    if not steps or state_of(steps[0], low_load(steps)) not in ("kept", "unsure"):
        return None
    parts = {each.level.opened.index for each in ladder.measured if each.is_part}
    used = {level.index for level in fit} - parts
    return first_endpoint_at_rates([level for level in ladder.levels if level.opened.index in used])


def _with_left_out(ladder: RateLadder) -> list[RateLevel]:
    """The usable levels, and those of backlogs of an overload that is left out with that overload, in the order they ran."""
    known = [*ladder.usable, *(level for pair in ladder.after_left_out for level in pair)]
    return [level for level in ladder.rates if level in known]


def _one_a_level(measured: Sequence[RateLevel], usable: Sequence[RateLevel]) -> list[RateLevel]:
    """One element per level: of a level that was cut, the last part that the curve uses, else its last part."""
    by_level: dict[int, RateLevel] = {}
    for each in measured:
        if each in usable or by_level.get(each.index) not in usable:
            by_level[each.index] = each
    return list(by_level.values())


def _level_verdicts(
    ladder: RateLadder, measured: Sequence[RateLevel], fit: Sequence[RateLevel], down: Sequence[RateLevel]
) -> Sequence[RateLevelVerdict]:
    usable, lowered = (
        ladder.usable,
        {each.ladder_level.started_s for each in ladder.measured if each.ladder_level.goodput_disturbed},
    )
    low = low_load(pooled(fit or measured))
    parts = Counter(level.index for level in ladder.rates)
    judged = {each.ladder_level.started_s for each in ladder.judged.measured}
    unused = {level.started_s for level in measured if level.due and not level.left_out and level not in usable} - lowered
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
            is_part=parts[level.index] > 1 and not level.ramp,
            left_out=level not in usable and level not in down and level.due > 0,
            other_service=level.started_s in unused - judged and level not in down,
            unsteady=level.started_s in unused & judged,
        )
        for level in measured
    ]


def _objective(fit: Sequence[RateLevel], name: Name, limit: float) -> RateObjective | None:
    """The greatest rate that keeps an objective, computed as for users: latency is the time from plan, drops count as failures.

    Levels that the generator limited are left out. A level whose queue grows keeps no latency objective: its latency depends on
    how long it lasts.
    """
    low = low_load(pooled(fit)) if fit else None
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
    found = dataclasses.replace(on_ladder(level), failure_ratio=lost / ended if ended else None, requests=ended)
    return dataclasses.replace(found, p95_ms=math.inf, p99_ms=math.inf) if grows else found
