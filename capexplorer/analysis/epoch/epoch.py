"""One epoch at one moment: its measured levels, which of them can be judged, and the verdict on its capacity.

An epoch is the service with one set of parameters, also over restarts. Marks, bottlenecks, stop rules, the autopilot and reports
all need the same ladder and the same split into fit and recovery, so both are computed here, once per evaluation. For 24 levels
that costs about 4 ms under the interpreter lock that the load shares (`python -m lab.bench look`).
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from ...model.events import Verdict
from ...model.level import Level
from ...model.load import Users
from ...model.timeline import Timeline
from ...model.verdicts import CapacityVerdict, EndpointDegradation, RateLevelVerdict, RateObjective, RateVerdict, SloVerdict, Why
from ..causes.generator_saturation import is_saturated, time_outside_requests_ms
from ..knee.degradation import Name, capacity_at, first_endpoint, first_endpoint_at_rates
from ..knee.detector import verdict_on
from ..knee.rate_capacity import judge_rates
from ..knee.rate_level import RateLevel, low_load, on_ladder, pooled, state_of
from ..ladder import LadderLevel, measured_of, parts
from .level_seconds import replied_shares
from .measured_epoch import MeasuredEpoch, circumstances, rate_regime_verdicts, regime_verdicts
from .measured_rates import RateLadder, rate_ladder, recoveries, split
from .neighbours import NeighbourCheck, disturbance_of
from .onset import parts_of
from .regime import SECONDS_LEAST

# -- The verdict on an epoch's levels of offered rates: capacity, state of each level, objectives, recovery.


def rate_verdict(ladder: RateLadder, objectives: Mapping[Name, float]) -> RateVerdict | None:
    """The verdict, None if no level of a rate has settled. `objectives`: limit by metric."""
    measured, usable = ladder.rates, ladder.usable
    if not measured:
        return None
    fit, down = split(usable)
    return RateVerdict(
        capacity=judge_rates(fit, [level.offered_per_s for level in measured if level.left_out]),
        levels=tuple(_level_verdicts(ladder, _one_a_level(measured, usable), fit, down)),
        objectives=tuple(found for name, limit in objectives.items() if (found := _objective(fit, name, limit)) is not None),
        recoveries=tuple(recoveries(ladder.timeline, *([each.served for each in levels] for levels in (usable, fit, down)))),
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
    usable = ladder.usable
    lowered = {each.ladder_level.started_s for each in ladder.measured if each.ladder_level.goodput_disturbed}
    judged = {each.ladder_level.started_s for each in ladder.judged.measured}
    low = low_load(pooled(fit or measured))
    parts = Counter(level.index for level in ladder.rates)

    def why(level: RateLevel) -> Why | None:
        if level in usable or not level.due:
            return "recovery" if level in down else None
        if level.left_out or level.started_s in lowered:
            return "disturbed"
        return "unsteady" if level.started_s in judged else "other_service"

    return [
        RateLevelVerdict(
            level=level.index,
            offered_per_s=level.offered_per_s,
            goodput_per_s=level.goodput_per_s,
            goodput_se_per_s=level.goodput_error_per_s,
            state=state_of(level, low) if level.due else "unsure",
            failure_ratio=level.served.failure_ratio,
            beyond_limits_ratio=level.failure_ratio - level.served.failure_ratio,
            dropped_ratio=level.dropped_ratio,
            growth_per_s=level.growth / level.seconds,
            why=why(level),
            is_part=parts[level.index] > 1 and not level.ramp,
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
    level = level.served
    lost = level.failed + level.dropped
    ended = level.succeeded + lost
    found = msgspec.structs.replace(on_ladder(level), failure_ratio=lost / ended if ended else None, requests=ended)
    return msgspec.structs.replace(found, p95_ms=math.inf, p99_ms=math.inf) if grows else found


# -- Levels that saturated a generator with fewer workers: once workers were added, these levels show nothing about the service.


def outgrown_levels(levels: Sequence[Level], outside_requests_ms: float) -> tuple[int, ...]:
    """Ascending indices of levels that saturated fewer workers than a later level has.

    `outside_requests_ms`: the result of `generator_saturation.time_outside_requests_ms`.
    """
    found, most = [], 0
    for level in reversed(levels):
        if level.opened.workers < most and level.figures.settled and is_saturated(level.figures, outside_requests_ms):
            found.append(level.opened.index)
        most = max(most, level.opened.workers)
    return tuple(reversed(found))


OBJECTIVES: tuple[Name, ...] = ("p95_ms", "p99_ms", "failure_ratio")
"""Metrics for which a profile may set an objective."""


# -- the epoch -----------------------------------------------------------------------------------------------------------------


class Epoch(MeasuredEpoch, frozen=True, dict=True):
    """An epoch with its verdict. Build it with `epoch_of`."""

    at_s: float | None = None
    """Time of the verdict, in seconds of the session; None: now."""

    @cached_property
    def verdict(self) -> Verdict | None:
        """The knee, the objectives, and which levels they do not use; None while there is no level to speak of."""
        if not self.judgeable:
            if self.rates is None:
                return None
            return Verdict(
                **self._common_fields(),
                capacity=CapacityVerdict(epoch=self.index),
                disturbed_levels=self.rate_ladder.disturbed,
                left_out_levels=self.rate_ladder.left_out,
            )
        recovery = {level.started_s for level in self.recovery}
        used = {level.started_s for level in self.judgeable}
        disturbed = {level.started_s for level in self.ladder if level.disturbed}
        capacity = verdict_on(self.fit, self.judgeable, circumstances(self, self.judged), later=self.after_step)
        fit = {level.started_s for level in self.fit}
        return Verdict(
            **self._common_fields(),
            capacity=capacity,
            slo=self._objectives(),
            recovery_levels=self._started_in(recovery),
            regimes=regime_verdicts(self, capacity.knee),
            disturbed_levels=(*self._started_in(disturbed), *self.rate_ladder.disturbed),
            left_out_levels=(*self._started_in(disturbed - used), *self.rate_ladder.left_out),
            first_endpoint=first_endpoint(self._whole(fit), capacity),
        )

    def _started_in(self, times_s: set[float]) -> tuple[int, ...]:
        """Indices of the levels of users that began at these times, in seconds of the session."""
        return tuple(level.opened.index for level in self.levels if level.started_s in times_s)

    def _whole(self, times_s: set[float]) -> list[Level]:
        """The levels of users that began at these times and did not change inside: figures of endpoints are of whole levels."""
        parts = {each.level.opened.index for regime in self.regimes for each in regime.measured if each.is_part}
        return [level for level in self.levels if level.started_s in times_s and level.opened.index not in parts]

    def _common_fields(self) -> dict[str, Any]:
        return {
            "t_s": self.timeline.last_s if self.at_s is None else self.at_s,
            "epoch": self.index,
            "rates": self.rates,
        }

    @cached_property
    def rates(self) -> RateVerdict | None:
        """The verdict on the levels of offered rates, which never share a curve with levels of users."""
        return rate_verdict(self.rate_ladder, self._limits)

    @cached_property
    def rate_ladder(self) -> RateLadder:
        """The levels of offered rates, measured."""
        return rate_ladder(self.timeline, self.index, self.all_levels)

    def ladder_of(self, level: Level) -> MeasuredEpoch:
        """The ladder that a level is on: of users, or of offered rates."""
        return self if isinstance(level.load, Users) else self.rate_ladder

    def _objectives(self) -> tuple[SloVerdict, ...]:
        free = [level for level in self.fit if not level.disturbed]
        found = (capacity_at(free, name, limit, epoch=self.index) for name, limit in self._limits.items())
        return tuple(each for each in found if each is not None)

    @property
    def _limits(self) -> dict[Name, float]:
        """The profile's objectives: limit by metric."""
        header = self.timeline.header
        wanted = _table(header.profile, "slo") if header is not None else {}
        return {name: wanted[name] for name in OBJECTIVES if _is_number(wanted.get(name))}


def epochs_of(timeline: Timeline) -> tuple[Epoch, ...]:
    """All epochs that have levels, in ascending order."""
    return tuple(epoch_of(timeline, index) for index in indices(timeline))


def indices(timeline: Timeline) -> list[int]:
    """Indices of the epochs that have levels, ascending."""
    return sorted({level.opened.epoch for level in timeline.levels})


def epoch_of(timeline: Timeline, index: int, levels: Sequence[Level] | None = None, *, at_s: float | None = None) -> Epoch:
    """The epoch with this index, as the timeline has it now, without levels in which stacks were sampled.

    `levels`: if given, only these are used. `at_s`: time of its verdict in seconds of the session, if not now.
    """
    all_levels = timeline.levels if levels is None else levels
    given = [level for level in all_levels if level.opened.epoch == index and not level.opened.is_aside]
    own = tuple(level for level in given if isinstance(level.load, Users))
    counted = [level for level in own if level.closed is not None or level.figures.settled_seconds >= SECONDS_LEAST]
    outside_requests_ms = time_outside_requests_ms(part.figures for level in counted for part in parts(level))
    outgrown = outgrown_levels(counted, outside_requests_ms)
    counted = [level for level in counted if level.opened.index not in outgrown]
    saturated = {
        level.opened.index: is_saturated(level.figures, outside_requests_ms) for level in counted if level.figures.settled
    }
    neighbours = NeighbourCheck.of(timeline, index)
    measured = functools.partial(
        measured_of,
        epoch=index,
        work_is_metric=work_is_metric(timeline),
        saturated={at: known for at, known in saturated.items() if known is not None},
        disturbed=lambda level, part: disturbance_of(neighbours.withheld(part.figures)),
        replied={level.opened.index: shares for level in counted if (shares := replied_shares(timeline, level)) is not None},
        first_requests=timeline.header is not None and timeline.header.source is not None,
    )

    whole = tuple(measured(counted, parts_of=lambda level: parts_of(timeline, level)))
    return Epoch(
        timeline=timeline,
        index=index,
        levels=own,
        outside_requests_ms=outside_requests_ms,
        measured=whole,
        outgrown=outgrown,
        all_levels=tuple(given),
        at_s=at_s,
    )


def work_is_metric(timeline: Timeline) -> bool:
    """Whether goodput is the target's own count of finished work."""
    return timeline.header is not None and bool(_table(timeline.header.profile, "work").get("metric"))


def _table(profile: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = profile.get(name)
    return found if isinstance(found, Mapping) else {}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
