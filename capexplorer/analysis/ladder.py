"""Levels as the knee detector takes them: one plain value per level, whether from a timeline, a table or a simulator.

Decides which levels count (settled, of one epoch) and how levels of one user count are pooled; does not judge capacity. Which
levels are recovery from overload is decided in `knee.detector.split`, because that needs a verdict on the earlier levels.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from ..model.figures import LevelFigures
from ..model.level import Level
from ..model.stages import LimitName
from .statistics import error_of_mean, weighted, weighted_mean

# -- Little's law: users are those inside the service, X R, and those that pause, X Z. What is left of them is lost time.

CYCLES_LEAST = 3.0
"""Cycles of its users from which the law is applied to a level: in a shorter window only the fast requests have ended, and those
in flight make a stalled service look like time lost in the generator."""


def requests_inside(throughput_rps: float, response_ms: float) -> float:
    """Mean number of requests inside the service, N = X R."""
    return throughput_rps * response_ms / 1000


class Little(msgspec.Struct, frozen=True):
    """Users, and how many of them responses and pauses account for; over several levels or seconds, both times seconds."""

    users: float
    accounted: float

    @classmethod
    def of(cls, users: float, throughput_rps: float, response_s: float, pause_s: float) -> Little:
        """By X (R + Z)."""
        return cls(users, throughput_rps * (response_s + pause_s))

    def __add__(self, other: Little) -> Little:
        return Little(self.users + other.users, self.accounted + other.accounted)

    def __mul__(self, seconds: float) -> Little:
        return Little(self.users * seconds, self.accounted * seconds)

    @property
    def ratio(self) -> float:
        """Users divided by those accounted for: significantly above 1, time is lost outside responses and pauses."""
        return self.users / self.accounted

    @property
    def share(self) -> float:
        """The share of the users' time that is accounted for."""
        return self.accounted / self.users


# -- One settled level: its rates with their errors, and what is known of how they were measured.

RELATIVE_ERROR_FLOOR = 0.02
"""Least relative standard error of goodput and of latency: six batch means are sometimes equal by chance."""

COUNT_ERROR_SHARE = 0.3
"""Least standard error of a count, as a share of its square root: counts of closed systems vary less than Poisson counts, but
they do vary."""

SHORT_S = 6.0
"""Levels with fewer seconds have no batch means and may be shorter than a user's cycle: their counts vary like Poisson counts."""

SHORT_ERROR = 0.1
"""Relative standard error of such a short level in addition to that of its count: the speed of a machine varies by 3-10% from
second to second, and a few seconds do not average that out."""

FIRST_REQUESTS = 0.6
"""Share of a ramp's new users whose first request adds to the steady rate: by renewal theory half (constant waits) to all
(exponential waits), minus those still in their first response (`responding_share`). Applies only to figures that hold first
requests, such as Locust's histories."""

LATENCY_ERROR_UNKNOWN = 0.05
"""Relative error of latency if a table has none: means of published tables repeat within a few percent."""


EQUAL_WAITS_MOST = 0.1
"""Coefficient of variation of waits up to which users keep their places in time: requests that end in one second and are followed
by their wait in the next make 0.07 of equal ones; of waits between half and 1.5 times a mean it is 0.29."""


class LadderLevel(msgspec.Struct, frozen=True, kw_only=True):
    """One settled level. Only users and goodput are required; the other fields make the verdict more precise. None: not known."""

    users: float
    """The load: mean number of running users; at offered rates (`knee.rate_level.on_ladder`), iterations a second."""
    goodput_rps: float
    """Finished work, 1/s; irrespective of limits on a single request, which do not tell whether the service changed."""
    goodput_se_rps: float | None = None
    """Standard error by batch means."""
    served_rps: float | None = None
    served_se_rps: float | None = None
    within_limits_rps: float | None = None
    within_limits_se_rps: float | None = None
    """All of it, and the requests within these limits, of which one is the goodput of this view; None: there are no limits."""
    beyond_limits: tuple[tuple[LimitName, float], ...] | None = None
    """The shares of successes beyond the limits; None: there are none."""
    tokens_per_s: float | None = None
    """Tokens, or events, of what is goodput; None: there are no streams."""
    beyond_limits_ratio: float = 0.0
    """Of `failure_ratio` the part that did not fail, but exceeded a limit; 0 unless this is `within_limits`."""
    throughput_rps: float | None = None
    """All requests, failures included."""
    response_ms: float | None = None
    """Mean over all requests."""
    latency_ms: float | None = None
    """Mean over successes."""
    latency_se_ms: float | None = None
    steady_latency_error_ms: float | None = None
    """Standard error of the latency at an offered rate. None: it is a level of users, or its queue was not in a steady state."""
    p95_ms: float | None = None
    p99_ms: float | None = None
    failure_ratio: float | None = None
    dropped_ratio: float = 0.0
    """Share of the arrivals at an offered rate that were dropped."""
    replied_ratio: float | None = None
    """Share of the failed requests that got a reply with an HTTP status; None: no failures, or not known."""
    refused_ratio: float | None = None
    """Share of the failed requests whose status refuses them: 429, 503."""
    requests: int | None = None
    """Number of requests in the settled seconds, failures included."""
    seconds: float | None = None
    """Settled seconds."""
    wait_s: float | None = None
    """Mean pause between a user's requests, measured or declared."""
    wait_se_s: float | None = None
    """Standard error of `wait_s`; None if it was declared, or does not include sleeps."""
    wait_includes_sleeps: bool = False
    """Whether `wait_s` includes sleeps inside tasks; it does not in older logs."""
    started_s: float = 0.0
    """Start, in seconds of the session; orders the levels."""
    ended_s: float | None = None
    """End, in seconds of the session; None while the level is open."""
    ramp: bool = False
    """A bin of a ramp, in which the user count changed all the time."""
    arrivals_per_s: float = 0.0
    """New users a second whose first requests are included in these figures."""
    generator_saturated: bool | None = None
    loop_lag_ms: float | None = None
    """Delay of the generator's own timers (p99)."""
    disturbed: bool = False
    """Whether other processes used CPU that the level needed: its latency then includes their effect."""
    goodput_disturbed: bool = False
    """Whether they used so much that the level's goodput is only a lower bound."""
    work_is_metric: bool = False
    """Goodput is the target's own count, not successful requests."""
    accepted_rps: float | None = None
    """Accepted work, 1/s, if the target reports it separately from finished work."""

    @property
    def within_limits(self) -> LadderLevel:
        """The level where only requests within limits are goodput, and those beyond them count as failed."""
        if self.within_limits_rps is None or self.served_rps is None:
            return self
        failed = (self.failure_ratio or 0.0) - self.beyond_limits_ratio
        beyond = (1 - failed) * (1 - self.within_limits_rps / self.served_rps) if self.served_rps else 0.0
        return replace(
            self,
            goodput_rps=self.within_limits_rps,
            goodput_se_rps=self.within_limits_se_rps,
            failure_ratio=failed + beyond,
            beyond_limits_ratio=beyond,
        )

    @property
    def served(self) -> LadderLevel:
        """The level irrespective of limits, the other view."""
        if self.served_rps is None:
            return self
        return replace(
            self,
            goodput_rps=self.served_rps,
            goodput_se_rps=self.served_se_rps,
            failure_ratio=None if self.failure_ratio is None else self.failure_ratio - self.beyond_limits_ratio,
            beyond_limits_ratio=0.0,
        )

    @property
    def goodput_error_rps(self) -> float:
        """Standard error of goodput, 1/s: at least RELATIVE_ERROR_FLOOR of it, and one request."""
        if not self.seconds:
            return max(self.goodput_se_rps or 0.0, RELATIVE_ERROR_FLOOR * self.goodput_rps, 1e-9)
        count = self.goodput_rps * self.seconds
        if self.goodput_se_rps is None and self.seconds < SHORT_S:
            return max(math.hypot(math.sqrt(count), SHORT_ERROR * count), 1.0) / self.seconds
        counted = max(COUNT_ERROR_SHARE * math.sqrt(count), 1.0) / self.seconds
        return max(self.goodput_se_rps or 0.0, counted, RELATIVE_ERROR_FLOOR * self.goodput_rps)

    @property
    def failure_error(self) -> float:
        """Standard error of the failure ratio: each request is one observation; where users wait equally long, each user. These
        keep their places in time: who is refused once may be refused in each cycle, and at the same load fewer or more of them
        the next time.
        """
        ratio, requests = self.failure_ratio or 0.0, self.requests or 1
        deviation_s = math.inf if self.wait_se_s is None else self.wait_se_s * math.sqrt(requests)
        count = self.users if deviation_s <= EQUAL_WAITS_MOST * (self.wait_s or 0.0) else requests
        return math.sqrt(ratio * (1 - ratio) / max(count, 1))

    @property
    def counted_error_rps(self) -> float:
        """Standard error of goodput, 1/s: at least that of a Poisson count. Counts of a few seconds may be equal by chance."""
        return max(self.goodput_error_rps, math.sqrt(self.goodput_rps / self.seconds) if self.seconds else 0.0)

    @property
    def is_short_bin(self) -> bool:
        """Whether it is a bin of a ramp that is too short for batch means, so that chance can make it high or low."""
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
        """Standard error of the mean latency of successes, at least RELATIVE_ERROR_FLOOR of it; None without a latency."""
        if self.latency_ms is None:
            return None
        if self.latency_se_ms is None:
            return max(LATENCY_ERROR_UNKNOWN, 1 / math.sqrt(self.requests) if self.requests else 0.0) * self.latency_ms
        return max(self.latency_se_ms, RELATIVE_ERROR_FLOOR * self.latency_ms)


# -- Settled levels of one epoch of a timeline, or the segments of them that are judged apart, as ladder levels; not pooled.


class LevelPart(msgspec.Struct, frozen=True):
    """What is judged as one: a whole level, a bin of a ramp, or the seconds between two changes inside a level."""

    users: float
    figures: LevelFigures
    started_s: float
    ended_s: float | None
    """End, in seconds of the session; None while it is open."""
    began_inside: bool = False
    """Whether it began with a change inside the level, not with a step of load."""
    after_queue: bool = False
    """Whether replies had become slow just before it, as while a queue fills. Known at offered rates only."""
    limited: bool = False
    """Whether a rate limiter refused its failed requests (`epoch.onset`)."""


class Measured(msgspec.Struct, frozen=True):
    """A settled level, or a part of one, with its ladder level."""

    level: Level
    part: LevelPart
    ladder_level: LadderLevel

    @property
    def figures(self) -> LevelFigures:
        """Figures of the part."""
        return self.part.figures

    @property
    def is_part(self) -> bool:
        """Whether the level changed inside, and this is only a part of it."""
        return self.part.began_inside or self.part.ended_s != self.level.ended_s


def parts(level: Level) -> list[LevelPart]:
    """The level as one part, or the bins of a ramp."""
    found = [(part.users, part.figures) for part in level.bins] if level.opened.ramp else [_whole(level)]
    return [LevelPart(users, figures, level.started_s, level.ended_s) for users, figures in found]


def _whole(level: Level) -> tuple[float, LevelFigures]:
    return level.figures.users_mean or float(level.users), level.figures


def measured_of(
    levels: Iterable[Level],
    *,
    epoch: int = 0,
    work_is_metric: bool = False,
    saturated: Mapping[int, bool] = MappingProxyType({}),
    disturbed: Callable[[Level, LevelPart], tuple[bool, bool]] = lambda level, part: (False, False),
    replied: Mapping[int, tuple[float, float]] = MappingProxyType({}),
    first_requests: bool = False,
    parts_of: Callable[[Level], Sequence[LevelPart]] = parts,
) -> Iterator[Measured]:
    """Settled levels of an epoch in the order they ran, divided into parts by `parts_of`; not pooled.

    `work_is_metric`: goodput is the target's own count of work, not successful requests.
    `saturated`: by level index, whether the generator was saturated; not known for levels that are missing.
    `disturbed`: (whether other processes used CPU that the part needed, whether its goodput is only a lower bound).
    `replied`: by level index, the shares of failed requests that got a reply: (with any status, with one that refuses).
    `first_requests`: figures include users' first requests, as in imported histories (`header.source` is set).
    """
    for level in levels:
        if level.opened.epoch != epoch:
            continue
        for part in parts_of(level):
            figures = part.figures
            if figures.settled and figures.goodput_rps is not None and part.users > 0:
                is_disturbed, goodput_disturbed = disturbed(level, part)
                shares = replied.get(level.opened.index, (None, None))
                rates = ladder_level(
                    part.users,
                    figures,
                    started_s=part.started_s,
                    ended_s=part.ended_s,
                    ramp=level.opened.ramp,
                    arrivals_per_s=level.opened.spawn_rate if first_requests and level.opened.ramp else 0.0,
                    generator_saturated=saturated.get(level.opened.index),
                    disturbed=is_disturbed,
                    goodput_disturbed=goodput_disturbed,
                    replied_ratio=shares[0],
                    refused_ratio=shares[1],
                    work_is_metric=work_is_metric,
                )
                yield Measured(level, part, rates)


def ladder_level(users: float, figures: LevelFigures, **known: Any) -> LadderLevel:
    """The ladder level of settled figures with goodput. `known`: fields of LadderLevel that are not in the figures."""
    assert figures.goodput_rps is not None
    is_limited = figures.served_rps is not None
    return LadderLevel(
        users=users,
        goodput_rps=figures.goodput_rps if figures.served_rps is None else figures.served_rps,
        goodput_se_rps=figures.served_se_rps if is_limited else figures.goodput_se_rps,
        served_rps=figures.served_rps,
        served_se_rps=figures.served_se_rps,
        within_limits_rps=figures.goodput_rps if is_limited else None,
        within_limits_se_rps=figures.goodput_se_rps if is_limited else None,
        beyond_limits=tuple(figures.beyond_limits.items()) if is_limited else None,
        tokens_per_s=figures.goodput_tokens_per_s if is_limited else figures.tokens_per_s,
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
        wait_se_s=figures.think_se_s,
        wait_includes_sleeps=figures.think_s is not None,
        loop_lag_ms=figures.loop_lag_p99_ms,
        **known,
    )


# -- Pools levels of one user count into one level.

_Number = TypeVar("_Number", int, float)


def pooled(levels: Sequence[LadderLevel]) -> tuple[LadderLevel, ...]:
    """One level per user count, ascending. Goodput and latency are means weighted by inverse variance; where levels of one count
    disagree by more than their errors, the common error grows.
    """
    counts: dict[int, list[LadderLevel]] = {}
    for level in levels:
        counts.setdefault(round(level.users) if level.users >= 1 else 1, []).append(level)
    return tuple(_pool(counts[count]) for count in sorted(counts))


USERS_SAME = 0.1
"""User counts that differ by at most this share are the same load."""


def expected_goodput(levels: Sequence[LadderLevel], users: float) -> tuple[float, float] | None:
    """(goodput of these levels at a load, its standard error): interpolated; below the lowest level in proportion to users; None
    beyond the highest level.
    """
    return expected_on(pooled(levels), users)


def expected_on(curve: Sequence[LadderLevel], users: float) -> tuple[float, float] | None:
    """As `expected_goodput`, for levels that are pooled already."""
    at = [level.users for level in curve]
    if users > at[-1] * (1 + USERS_SAME):
        return None
    if users < at[0]:
        return curve[0].goodput_rps * users / at[0], curve[0].goodput_error_rps * users / at[0]
    above = bisect_left(at, users)
    near = curve[max(above - 1, 0) : above + 1]
    near_users = [level.users for level in near]
    rate = float(np.interp(users, near_users, [level.goodput_rps for level in near]))
    return rate, float(np.interp(users, near_users, [level.goodput_error_rps for level in near]))


def _pool(same: list[LadderLevel]) -> LadderLevel:
    if len(same) == 1:
        return same[0]
    goodput_rps, errors = [level.goodput_rps for level in same], [level.goodput_error_rps for level in same]
    goodput, goodput_se = weighted(goodput_rps, errors)
    latency, latency_se = _weighted_known([level.latency_ms for level in same], [level.latency_error_ms for level in same])
    flags = [level.generator_saturated for level in same if level.generator_saturated is not None]
    return replace(
        same[0],
        users=_mean_known([level.users for level in same], same) or same[0].users,
        goodput_rps=goodput,
        goodput_se_rps=goodput_se,
        served_rps=_mean_known([level.served_rps for level in same], same),
        served_se_rps=error_of_mean((level.served_se_rps, level.seconds or 1.0) for level in same),
        within_limits_rps=_mean_known([level.within_limits_rps for level in same], same),
        within_limits_se_rps=error_of_mean((level.within_limits_se_rps, level.seconds or 1.0) for level in same),
        beyond_limits=_mean_beyond(same),
        tokens_per_s=_mean_known([level.tokens_per_s for level in same], same),
        beyond_limits_ratio=_mean_known([level.beyond_limits_ratio for level in same], same) or 0.0,
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
        wait_se_s=error_of_mean((level.wait_se_s, level.seconds or 1.0) for level in same),
        wait_includes_sleeps=all(level.wait_includes_sleeps for level in same),
        ramp=all(level.ramp for level in same),
        generator_saturated=any(flags) if flags else None,
        loop_lag_ms=_mean_known([level.loop_lag_ms for level in same], same),
        disturbed=any(level.disturbed for level in same),
        goodput_disturbed=any(level.goodput_disturbed for level in same),
        accepted_rps=_mean_known([level.accepted_rps for level in same], same),
    )


def _mean_beyond(same: Sequence[LadderLevel]) -> tuple[tuple[LimitName, float], ...] | None:
    """The mean share beyond each limit; None if one of the levels has no limits."""
    known = [(dict(level.beyond_limits), level.requests or 1) for level in same if level.beyond_limits is not None]
    if len(known) < len(same):
        return None
    names = dict.fromkeys(name for shares, _ in known for name in shares)
    return tuple((name, weighted_mean((shares.get(name, 0.0), count) for shares, count in known) or 0.0) for name in names)


def _weighted_known(values: list[float | None], errors: list[float | None]) -> tuple[float | None, float | None]:
    known = [(v, max(e, 1e-9)) for v, e in zip(values, errors, strict=True) if v is not None and e is not None]
    if len(known) < 2:
        return known[0] if known else (None, None)
    return weighted([v for v, _ in known], [e for _, e in known])


def _mean_known(values: Sequence[float | None], same: Sequence[LadderLevel]) -> float | None:
    """Mean over the levels that have the value, weighted by their seconds; None if none has it."""
    return weighted_mean((value, level.seconds or 1.0) for value, level in zip(values, same, strict=True))


def _sum_known(values: Sequence[_Number | None]) -> _Number | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None
