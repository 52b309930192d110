"""Levels as the knee detector takes them: one plain value a user count, from a timeline, a table or a simulator alike.

Decides which levels count (settled, of one epoch) and how levels of one user count are pooled. Does not judge capacity. Which
levels are recovery is decided in `recovery`, because that needs a verdict on the earlier levels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from ...model.figures import LevelFigures
from ...model.level import Level

_Number = TypeVar("_Number", int, float)

RELATIVE_ERROR_FLOOR = 0.02
"""Least relative error of goodput: six batch means are sometimes equal by chance."""

COUNT_ERROR_SHARE = 0.3
"""Least error of a count, in square roots of it: counts of closed systems vary less than Poisson's, but they do vary."""

SHORT_S = 6.0
"""Shorter levels have no batch means and may be shorter than a user's cycle: their counts vary as much as Poisson's."""

SHORT_ERROR = 0.1
"""Relative error of such a level beside its count: the speed of a machine wanders by 3-10% from second to second, and a few
seconds do not average that out."""

FIRST_REQUESTS = 0.6
"""Share of a ramp's new users whose first request adds to the steady rate: by renewal theory half (constant waits) to all
(exponential waits), minus those still in their first response (`responding_share`). Applies only to figures that hold first
requests, such as Locust's histories."""

LATENCY_ERROR_FLOOR = 0.02
"""Least relative error of latency, for the same reason."""

LATENCY_ERROR_UNKNOWN = 0.05
"""Relative error of latency if a table has none: means of published tables repeat within a few percent."""

POOLED_SPREAD_MOST = 5.0
"""Greatest factor (Birge ratio) by which levels of one user count that disagree widen their common error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderLevel:
    """One settled level. Only users and goodput are required; the other fields sharpen the verdict."""

    users: float
    """Actual mean users."""
    goodput_rps: float
    """Finished work, 1/s."""
    goodput_se_rps: float | None = None
    throughput_rps: float | None = None
    """All requests, failures included."""
    response_ms: float | None = None
    """Mean over all requests."""
    latency_ms: float | None = None
    """Mean over successes."""
    latency_se_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    failure_ratio: float | None = None
    replied_ratio: float | None = None
    """Share of the failed requests that got a reply with an HTTP status; None: no failures, or not known."""
    refused_ratio: float | None = None
    """Share of them with a status that refuses: 429, 503."""
    requests: int | None = None
    seconds: float | None = None
    wait_s: float | None = None
    """Mean pause between a user's requests, measured or declared."""
    knows_pauses: bool = False
    """Whether that holds sleeps inside tasks, too: not in older logs."""
    started_s: float = 0.0
    """Seconds of the session; orders the levels."""
    ended_s: float | None = None
    """None: it is open."""
    ramp: bool = False
    """A bin of a ramp, in which the user count changed all the time."""
    arrivals_per_s: float = 0.0
    """New users a second whose first requests are in these figures."""
    generator_saturated: bool | None = None
    loop_lag_ms: float | None = None
    """Delay of the generator's own timers (p99)."""
    held: bool = False
    """Other processes held the CPU that it needed (`neighbours`): its latency is theirs."""
    goodput_held: bool = False
    """So much that its goodput is only a lower bound."""
    work_is_metric: bool = False
    """Goodput is the target's own count, not successful requests."""
    accepted_rps: float | None = None
    """Accepted work, 1/s, if the target reports it separately from finished work."""

    @property
    def goodput_error_rps(self) -> float:
        """Standard error of goodput, not under the floors above; a count is never known better than to one request."""
        if not self.seconds:
            return max(self.goodput_se_rps or 0.0, RELATIVE_ERROR_FLOOR * self.goodput_rps, 1e-9)
        count = self.goodput_rps * self.seconds
        if self.goodput_se_rps is None and self.seconds < SHORT_S:
            return max(math.hypot(math.sqrt(count), SHORT_ERROR * count), 1.0) / self.seconds
        counted = max(COUNT_ERROR_SHARE * math.sqrt(count), 1.0) / self.seconds
        return max(self.goodput_se_rps or 0.0, counted, RELATIVE_ERROR_FLOOR * self.goodput_rps)

    @property
    def is_short_bin(self) -> bool:
        """A part of a ramp that is too short for batch means: high or low by luck."""
        return self.ramp and 0 < (self.seconds or 0.0) < SHORT_S

    @property
    def steady_rps(self) -> float:
        """Goodput without the first requests of users who have just started."""
        first = max(FIRST_REQUESTS - self.responding_share, 0.0) * self.arrivals_per_s
        return max(self.goodput_rps - first * (1 - (self.failure_ratio or 0.0)), 0.0)

    @property
    def responding_share(self) -> float:
        """Share of users who wait for a response, X R / N by Little's law; 0 where that was not measured."""
        return min((self.throughput_rps or 0.0) * (self.response_s or 0.0) / self.users, 1.0)

    @property
    def response_s(self) -> float | None:
        """Mean response time of all requests, in seconds; that of successes if the other is not known."""
        chosen = self.response_ms if self.response_ms is not None else self.latency_ms
        return None if chosen is None else chosen / 1000

    @property
    def latency_error_ms(self) -> float | None:
        """Standard error of the mean latency of successes, floored; None without a latency."""
        if self.latency_ms is None:
            return None
        if self.latency_se_ms is None:
            return max(LATENCY_ERROR_UNKNOWN, 1 / math.sqrt(self.requests) if self.requests else 0.0) * self.latency_ms
        return max(self.latency_se_ms, LATENCY_ERROR_FLOOR * self.latency_ms)


@dataclass(frozen=True, slots=True)
class Part:
    """A whole level, a bin of a ramp, or what lies between two changes inside a level."""

    users: float
    figures: LevelFigures
    started_s: float
    ended_s: float | None
    """None: it is open."""
    began_inside: bool = False
    """A change inside the level began it, not a step."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A settled level, or a part of one, with its rates."""

    level: Level
    part: Part
    rates: LadderLevel

    @property
    def figures(self) -> LevelFigures:
        """Of the part."""
        return self.part.figures


def parts(level: Level) -> list[Part]:
    """A level as one part, a ramp as its bins."""
    found = [(part.users, part.figures) for part in level.bins] if level.opened.ramp else [_whole(level)]
    return [Part(users, figures, level.started_s, level.ended_s) for users, figures in found]


def _whole(level: Level) -> tuple[float, LevelFigures]:
    return level.figures.users_mean or float(level.users), level.figures


def measured_of(
    levels: Iterable[Level],
    *,
    epoch: int = 0,
    work_is_metric: bool = False,
    saturated: Mapping[int, bool] = MappingProxyType({}),
    held: Callable[[LevelFigures], tuple[bool, bool]] = lambda figures: (False, False),
    replied: Mapping[int, tuple[float, float]] = MappingProxyType({}),
    first_requests: bool = False,
    parts_of: Callable[[Level], Sequence[Part]] = parts,
) -> Iterator[Measured]:
    """Settled levels of an epoch in the order they ran, in the parts that `parts_of` makes of them, nothing pooled yet.

    `saturated`: by level index, whether the generator was saturated; a level that is not in it: not known. `held`: whether
    other processes held the CPU that a level needed, and whether its goodput suffered. `replied`: by level index, the shares of
    failed requests that got a reply with any status, and with one that refuses. `first_requests`: figures include users' first
    requests, as those of imported histories do (`header.source` is set).
    """
    for level in levels:
        if level.opened.epoch != epoch:
            continue
        for part in parts_of(level):
            figures = part.figures
            if figures.settled and figures.goodput_rps is not None and part.users > 0:
                is_held, goodput_held = held(figures)
                shares = replied.get(level.opened.index, (None, None))
                rates = ladder_level(
                    part.users,
                    figures,
                    started_s=part.started_s,
                    ended_s=part.ended_s,
                    ramp=level.opened.ramp,
                    arrivals_per_s=level.opened.spawn_rate if first_requests and level.opened.ramp else 0.0,
                    generator_saturated=saturated.get(level.opened.index),
                    held=is_held,
                    goodput_held=goodput_held,
                    replied_ratio=shares[0],
                    refused_ratio=shares[1],
                    work_is_metric=work_is_metric,
                )
                yield Measured(level, part, rates)


def ladder_of(
    levels: Iterable[Level],
    *,
    epoch: int = 0,
    work_is_metric: bool = False,
    saturated: Mapping[int, bool] = MappingProxyType({}),
    first_requests: bool = False,
) -> tuple[LadderLevel, ...]:
    """The rates of `measured_of`."""
    found = measured_of(levels, epoch=epoch, work_is_metric=work_is_metric, saturated=saturated, first_requests=first_requests)
    return tuple(each.rates for each in found)


def ladder_level(users: float, figures: LevelFigures, **known: Any) -> LadderLevel:
    """One settled level whose goodput is known, not pooled; `known`: fields that are not figures."""
    assert figures.goodput_rps is not None
    return LadderLevel(
        users=users,
        goodput_rps=figures.goodput_rps,
        goodput_se_rps=figures.goodput_se_rps,
        throughput_rps=figures.throughput_rps,
        response_ms=figures.response_ms,
        latency_ms=figures.latency_ms.mean,
        latency_se_ms=figures.latency_se_ms,
        p95_ms=figures.latency_ms.p95,
        p99_ms=figures.latency_ms.p99,
        failure_ratio=figures.failure_ratio,
        requests=figures.requests if figures.counted else None,
        seconds=(figures.settled_seconds or None) if figures.counted else None,
        wait_s=figures.pause_s,
        knows_pauses=figures.think_s is not None,
        loop_lag_ms=figures.loop_lag_p99_ms,
        **known,
    )


def pooled(levels: Sequence[LadderLevel]) -> tuple[LadderLevel, ...]:
    """One level a user count, ascending. Levels of one count are pooled by inverse variance; disagreement widens the error."""
    counts: dict[int, list[LadderLevel]] = {}
    for level in levels:
        counts.setdefault(round(level.users) if level.users >= 1 else 1, []).append(level)
    return tuple(_pool(counts[count]) for count in sorted(counts))


def _pool(same: list[LadderLevel]) -> LadderLevel:
    if len(same) == 1:
        return same[0]
    goodput, goodput_se = _weighted([level.goodput_rps for level in same], [level.goodput_error_rps for level in same])
    latency, latency_se = _weighted_known([level.latency_ms for level in same], [level.latency_error_ms for level in same])
    flags = [level.generator_saturated for level in same if level.generator_saturated is not None]
    return replace(
        same[0],
        users=_mean_known([level.users for level in same], same) or same[0].users,
        goodput_rps=goodput,
        goodput_se_rps=goodput_se,
        throughput_rps=_mean_known([level.throughput_rps for level in same], same),
        response_ms=_mean_known([level.response_ms for level in same], same),
        latency_ms=latency,
        latency_se_ms=latency_se,
        p95_ms=_mean_known([level.p95_ms for level in same], same),
        p99_ms=_mean_known([level.p99_ms for level in same], same),
        failure_ratio=_mean_known([level.failure_ratio for level in same], same),
        replied_ratio=_mean_known([level.replied_ratio for level in same], same),
        refused_ratio=_mean_known([level.refused_ratio for level in same], same),
        requests=_sum_known([level.requests for level in same]),
        seconds=_sum_known([level.seconds for level in same]),
        wait_s=_mean_known([level.wait_s for level in same], same),
        knows_pauses=all(level.knows_pauses for level in same),
        ramp=all(level.ramp for level in same),
        generator_saturated=any(flags) if flags else None,
        loop_lag_ms=_mean_known([level.loop_lag_ms for level in same], same),
        held=any(level.held for level in same),
        goodput_held=any(level.goodput_held for level in same),
        accepted_rps=_mean_known([level.accepted_rps for level in same], same),
    )


def _weighted(values: list[float], errors: list[float]) -> tuple[float, float]:
    """Inverse-variance mean and its error, widened where values disagree by more than their errors."""
    weights = [1 / error**2 for error in errors]
    mean = math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)
    chi2 = math.fsum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True)) / (len(values) - 1)
    spread = min(POOLED_SPREAD_MOST, max(1.0, math.sqrt(chi2)))
    return mean, spread / math.sqrt(math.fsum(weights))


def _weighted_known(values: list[float | None], errors: list[float | None]) -> tuple[float | None, float | None]:
    known = [(v, max(e, 1e-9)) for v, e in zip(values, errors, strict=True) if v is not None and e is not None]
    if len(known) < 2:
        return known[0] if known else (None, None)
    return _weighted([v for v, _ in known], [e for _, e in known])


def _mean_known(values: Sequence[float | None], same: Sequence[LadderLevel]) -> float | None:
    """Mean weighted by length, over the levels that have the value; None if none has."""
    known = [(value, level.seconds or 1.0) for value, level in zip(values, same, strict=True) if value is not None]
    return math.fsum(v * w for v, w in known) / math.fsum(w for _, w in known) if known else None


def _sum_known(values: Sequence[_Number | None]) -> _Number | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None
