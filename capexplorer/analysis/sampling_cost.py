"""What the sampling of stacks costs the service: the levels in which it took place, beside levels without it at the same load."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from ..model.events import StacksSampled
from ..model.level import Level
from ..model.load import Load
from ..model.timeline import Timeline


class SamplingCost(msgspec.Struct, frozen=True, kw_only=True):
    """One level with its neighbours. Rates are goodput; at an offered rate finished iterations, and latency is time from plan."""

    level: int
    """Index of the level in which stacks were sampled."""
    load: Load
    per_s: float
    beside_per_s: float
    change_se_ratio: float
    """Standard error of `change_ratio`."""
    p99_ms: float | None
    beside_p99_ms: float | None
    """None: no success."""

    @property
    def change_ratio(self) -> float:
        """Relative change of the rate: -0.02 is 2% less."""
        return self.per_s / self.beside_per_s - 1


def sampling_costs(timeline: Timeline) -> tuple[SamplingCost, ...]:
    """The cost of each sampling that has a neighbour with figures, in their order."""
    found = (sampling_cost(timeline, event) for event in timeline.stacks)
    return tuple(each for each in found if each is not None)


def sampling_cost(timeline: Timeline, event: StacksSampled) -> SamplingCost | None:
    """The cost of one; None: stacks were not sampled, or it and those beside it at its load have too few seconds for an error."""
    at = next((index for index, level in enumerate(timeline.levels) if level.opened.index == event.level), None)
    if at is None or not event.sampled:
        return None
    level = timeline.levels[at]
    near = (*timeline.levels[max(at - 1, 0) : at], *timeline.levels[at + 1 : at + 2])
    beside = [each for each in near if _is_comparable(each, level)]
    if not beside or not level.figures.settled:
        return None
    (per_s, se_per_s), (beside_per_s, beside_se_per_s) = _rate([level]), _rate(beside)
    if not beside_per_s or se_per_s is None or beside_se_per_s is None:
        return None
    return SamplingCost(
        level=event.level,
        load=level.load,
        per_s=per_s,
        beside_per_s=beside_per_s,
        change_se_ratio=math.hypot(se_per_s, beside_se_per_s * per_s / beside_per_s) / beside_per_s,
        p99_ms=_p99_ms([level]),
        beside_p99_ms=_p99_ms(beside),
    )


def _is_comparable(beside: Level, level: Level) -> bool:
    opened, of_level = beside.opened, level.opened
    same = (beside.load, opened.epoch, opened.workers) == (level.load, of_level.epoch, of_level.workers)
    return same and beside.figures.settled and not opened.stacks and not opened.ramp


def _rate(levels: Sequence[Level]) -> tuple[float, float | None]:
    """Mean rate of these levels and its standard error; None: not known."""
    seconds = [level.figures.settled_seconds for level in levels]
    known = [_own_rate(level) for level in levels]
    whole_s = math.fsum(seconds)
    mean = math.fsum(rate * each_s for (rate, _), each_s in zip(known, seconds, strict=True)) / whole_s
    errors = [error for _, error in known if error is not None]
    if len(errors) < len(levels):
        return mean, None
    return mean, math.hypot(*(error * each_s for error, each_s in zip(errors, seconds, strict=True))) / whole_s


def _own_rate(level: Level) -> tuple[float, float | None]:
    offered = level.figures.offered
    if offered is not None:
        return offered.finished_per_s, offered.finished_se_per_s
    return level.figures.goodput_rps or 0.0, level.figures.goodput_se_rps


def _p99_ms(levels: Sequence[Level]) -> float | None:
    whole = levels[0].histogram.copy()
    for level in levels[1:]:
        whole.add(level.histogram)
    return whole.percentile_ms(0.99)
