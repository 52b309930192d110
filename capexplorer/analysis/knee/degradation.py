"""The endpoint that degrades first: its own responses slow down or fail, while those of the others do not.

In a closed system, users that wait for one endpoint call the others less too: goodput falls at all of them, and only latency and
failures show which endpoint it is. Slowdown that all share points to no endpoint: a common queue adds the same time to each, a
shared CPU multiplies each latency by the same factor. So the endpoint must lead both in added time and in growth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Literal

import msgspec

from ...model.figures import LevelEndpoint
from ...model.intervals import ONE_SIDED_95, PERCENTILE_VALUES_LEAST
from ...model.level import Level
from ...model.verdicts import CapacityVerdict, EndpointDegradation, SloVerdict
from ..ladder import RELATIVE_ERROR_FLOOR, LadderLevel, pooled
from ..statistics import COUNT_LEAST, LOST_LEAST, RELEVANT, weighted_mean, wilson

SLOWER_LEAST = 2.0
"""An endpoint has degraded if the lower bound of its latency growth since low load is at least this factor."""

LEAD_LEAST = 3.0
"""The leading endpoint has at least this many times the added latency, the growth or the failures of any other."""

Key = tuple[str, str]
"""Method, name."""


class EndpointFigures(msgspec.Struct, frozen=True):
    """Requests and latency of one endpoint, pooled over one or more levels."""

    requests: int
    failures: int
    mean_ms: float | None
    p95_ms: float | None

    @property
    def failure_ratio(self) -> float:
        """Share of its requests that failed."""
        return self.failures / self.requests

    @property
    def mean_error_ms(self) -> float:
        """Standard error of the mean latency, for exponential latencies and at least RELATIVE_ERROR_FLOOR."""
        successes = self.requests - self.failures
        return (self.mean_ms or 0.0) * max(RELATIVE_ERROR_FLOOR, 1 / math.sqrt(successes) if successes else 1.0)


class EndpointChange(msgspec.Struct, frozen=True):
    """One endpoint at one level against low load."""

    key: Key
    before: EndpointFigures
    after: EndpointFigures

    @property
    def added_ms(self) -> float:
        """Increase of its mean latency."""
        return (self.after.mean_ms or 0.0) - (self.before.mean_ms or 0.0)

    @property
    def added_high_ms(self) -> float:
        """Upper bound of `added_ms`."""
        return self.added_ms + ONE_SIDED_95 * math.hypot(self.after.mean_error_ms, self.before.mean_error_ms)

    @property
    def growth(self) -> float:
        """Mean latency divided by that at low load: a lower bound."""
        now_ms, then_ms = self.after.mean_ms, self.before.mean_ms
        if now_ms is None or not then_ms:
            return 1.0
        low_ms = now_ms - ONE_SIDED_95 * self.after.mean_error_ms
        return low_ms / (then_ms + ONE_SIDED_95 * self.before.mean_error_ms)

    @property
    def failures_more(self) -> float:
        """Failure ratio minus that at low load: a lower bound."""
        now, then = self.after.failure_ratio, self.before.failure_ratio
        error = math.sqrt(now * (1 - now) / self.after.requests + then * (1 - then) / self.before.requests)
        return now - then - ONE_SIDED_95 * error


def first_endpoint(levels: Sequence[Level], capacity: CapacityVerdict) -> EndpointDegradation | None:
    """The endpoint that degrades first, at the lowest load from which it leads at all higher loads; None if there is none, or
    only one endpoint. `levels`: those that the capacity curve was fitted to.
    """
    if capacity.curve is None:
        return None
    baseline = {float(round(users)) for users in capacity.curve.baseline_users}
    return _first([(float(level.users), level) for level in levels], baseline)


def first_endpoint_at_rates(levels: Sequence[Level]) -> EndpointDegradation | None:
    """The same of levels of offered rates; low load is the lowest of their rates."""
    loads = [(level.load.amount, level) for level in levels]
    return _first(loads, {min((per_s for per_s, _ in loads), default=0.0)}, at_rates=True)


def _first(levels: Iterable[tuple[float, Level]], baseline: Set[float], *, at_rates: bool = False) -> EndpointDegradation | None:
    """`levels`: each with its load; `baseline`: the loads that count as low."""
    steps = [(load, level) for load, level in levels if not level.opened.ramp and level.figures.settled]
    low_load = _figures_by_endpoint(_of(steps, baseline))
    loads = sorted({load for load, _ in steps if load > max(baseline, default=0.0)})
    first: tuple[float, EndpointChange, bool] | None = None
    for load in reversed(loads):
        # each latency may be too long by as much as the loop of the generator lags
        lag_ms = max(level.figures.loop_lag_p99_ms or 0.0 for at, level in steps if at == load)
        led = _leader(_changes(low_load, _figures_by_endpoint(_of(steps, {load}))), lag_ms)
        if led is None or (first is not None and led[0].key != first[1].key):
            break
        first = (load, *led)
    return _degradation(*first, at_rates) if first is not None else None


def _of(steps: Iterable[tuple[float, Level]], loads: Set[float]) -> Iterator[LevelEndpoint]:
    """The endpoints of the levels with these loads."""
    return (each for load, level in steps if load in loads for each in level.endpoints)


def _figures_by_endpoint(endpoints: Iterable[LevelEndpoint]) -> dict[Key, EndpointFigures]:
    """Figures of each endpoint over all levels given; latencies are weighted by successes."""
    found: dict[Key, list[LevelEndpoint]] = {}
    for each in endpoints:
        found.setdefault((each.method, each.name), []).append(each)
    return {key: _pooled(parts) for key, parts in found.items()}


def _pooled(parts: Sequence[LevelEndpoint]) -> EndpointFigures:
    requests = sum(each.requests for each in parts)
    failures = sum(min(each.failures, each.requests) for each in parts)  # a damaged log may count more failures than requests
    return EndpointFigures(requests, failures, _mean(parts, "mean"), _mean(parts, "p95"))


def _mean(parts: Sequence[LevelEndpoint], figure: str) -> float | None:
    return weighted_mean((getattr(each.latency_ms, figure), each.requests - each.failures) for each in parts)


def _changes(low_load: dict[Key, EndpointFigures], now: dict[Key, EndpointFigures]) -> list[EndpointChange]:
    return [
        EndpointChange(key, low_load[key], after)
        for key, after in now.items()
        if key in low_load and min(after.requests, low_load[key].requests) >= COUNT_LEAST
    ]


def _leader(changes: Sequence[EndpointChange], lag_ms: float) -> tuple[EndpointChange, bool] | None:
    """(the endpoint that leads all others, whether it leads by failures); None if none leads, or there is no other."""
    if len(changes) < 2:
        return None
    failing = max(changes, key=lambda each: each.failures_more)
    if failing.failures_more >= LOST_LEAST:
        most = max(each.after.failure_ratio - each.before.failure_ratio for each in changes if each is not failing)
        return (failing, True) if failing.failures_more >= LEAD_LEAST * most else None
    slowest = max(changes, key=lambda each: each.added_ms)
    others = [each for each in changes if each is not slowest]
    if slowest.growth < SLOWER_LEAST or slowest.added_ms <= lag_ms:
        return None
    most_ms = max(each.added_high_ms for each in others)
    most_growth = max((each.after.mean_ms or 0.0) / (each.before.mean_ms or math.inf) for each in others)
    leads = slowest.growth >= LEAD_LEAST * most_growth or most_growth <= 1 + RELEVANT
    return (slowest, False) if leads and slowest.added_ms >= LEAD_LEAST * most_ms else None


def _degradation(load: float, change: EndpointChange, by_failures: bool, at_rates: bool) -> EndpointDegradation | None:
    method, name = change.key
    before, after = change.before, change.after
    if by_failures:
        pair: tuple[float | None, float | None] = (before.failure_ratio, after.failure_ratio)
    else:
        pair = (before.p95_ms, after.p95_ms)
    if pair[0] is None or pair[1] is None:
        return None
    return EndpointDegradation(
        method=method,
        name=name,
        users=load,
        column="failures" if by_failures else "latency",
        before=pair[0],
        after=pair[1],
        at_rates=at_rates,
    )


# -- Capacity at an objective: the greatest load that keeps p95, p99 or the failure ratio at or below its limit.
#
# The metric is first made monotonic in users by isotonic regression, so that no single noisy level decides. It is then
# interpolated between the last level that keeps the objective and the first that breaks it. The interval runs from the last level
# that keeps it by its upper bound to the first that breaks it by its lower bound, because interpolation says nothing about the
# curve between two levels.

Name = Literal["p95_ms", "p99_ms", "failure_ratio"]

QUANTILE_ERROR = {"p95_ms": 1.5, "p99_ms": 2.2}
"""Relative standard error of a quantile of n exponential latencies, times sqrt(n): sqrt(p / (1 - p)) / -ln(1 - p)."""

QUANTILE_ERROR_UNKNOWN = 0.10
"""Relative error if the number of requests is not known."""

VALUES_LEAST = {"p95_ms": PERCENTILE_VALUES_LEAST["p95"], "p99_ms": PERCENTILE_VALUES_LEAST["p99"]}
"""With fewer successes a percentile rests on too few values (`thin`)."""


class _Point(msgspec.Struct, frozen=True):
    """The metric at one level, with its 90% bounds; infinite where nothing succeeded."""

    users: float
    goodput_rps: float
    value: float
    low: float
    high: float
    weight: float
    thin: bool


def capacity_at(levels: Sequence[LadderLevel], name: Name, limit: float, *, epoch: int = 0) -> SloVerdict | None:
    """The greatest load that keeps the metric `name` at or below `limit`; None if no level has it.

    `levels`: without those of recovery. `limit`: ms, or a ratio.
    """
    ladder = pooled(levels)
    points = _monotonic([point for level in ladder if (point := _point(level, name)) is not None])
    if not points:
        return None
    keeps = [point for point in points if point.value <= limit]
    if not keeps:
        return SloVerdict(name=name, limit=limit, state="broken", users_high=points[0].users, epoch=epoch, thin=points[0].thin)
    last = keeps[-1]
    if len(keeps) == len(points):
        sure = [point for point in points if point.high <= limit]
        return SloVerdict(
            name=name, limit=limit, state="kept", users=last.users, users_low=sure[-1].users if sure else None,
            goodput_rps=last.goodput_rps, goodput_low_rps=sure[-1].goodput_rps if sure else None, epoch=epoch, thin=last.thin,
        )  # fmt: skip
    return _crossed(points, last, points[len(keeps)], name, limit, epoch)


def _crossed(points: list[_Point], last: _Point, first: _Point, name: Name, limit: float, epoch: int) -> SloVerdict:
    share = _share(last.value, first.value, limit)
    sure = [point for point in points if point.high <= limit and point.users <= last.users]
    broken = [point for point in points if point.low > limit and point.users >= first.users]
    low, high = (sure[-1] if sure else None), (broken[0] if broken else None)
    rates = [point.goodput_rps for point in points if (low or points[0]).users <= point.users <= (high or points[-1]).users]
    return SloVerdict(
        name=name,
        limit=limit,
        state="crossed",
        users=last.users + share * (first.users - last.users),
        users_low=low.users if low else None,
        users_high=high.users if high else None,
        goodput_rps=last.goodput_rps + share * (first.goodput_rps - last.goodput_rps),
        goodput_low_rps=min(rates) if low else None,
        goodput_high_rps=max(rates) if high else None,
        epoch=epoch,
        thin=last.thin or first.thin,
    )


def _share(keeps: float, breaks: float, limit: float) -> float:
    """Where between two levels the metric meets its limit, 0 to 1. Interpolated geometrically where the lower value is above
    zero, since latencies grow exponentially.
    """
    if keeps > 0 and not math.isinf(breaks):
        return math.log(limit / keeps) / math.log(breaks / keeps)
    return 0.0 if math.isinf(breaks) else (limit - keeps) / (breaks - keeps)


def _point(level: LadderLevel, name: Name) -> _Point | None:
    if name == "failure_ratio":
        return _failure_point(level)
    value: float | None = getattr(level, name)
    count = None if level.requests is None else level.requests * (1 - (level.failure_ratio or 0.0))
    if value is None:
        if level.goodput_rps > 0 or level.failure_ratio != 1.0:
            return None
        return _Point(level.users, 0.0, math.inf, math.inf, math.inf, 1.0, False)  # nothing succeeded: no objective is kept
    error = (
        QUANTILE_ERROR_UNKNOWN if count is None else max(RELATIVE_ERROR_FLOOR, QUANTILE_ERROR[name] / math.sqrt(max(count, 1.0)))
    )
    spread = math.exp(ONE_SIDED_95 * error)
    thin = count is not None and count < VALUES_LEAST[name]
    return _Point(level.users, level.goodput_rps, value, value / spread, value * spread, error**-2, thin)


def _failure_point(level: LadderLevel) -> _Point | None:
    if level.failure_ratio is None:
        return None
    if level.requests is None:
        return _Point(level.users, level.goodput_rps, level.failure_ratio, level.failure_ratio, level.failure_ratio, 1.0, False)
    low, high = wilson(level.failure_ratio, level.requests)
    return _Point(level.users, level.goodput_rps, level.failure_ratio, low, high, float(level.requests or 1), False)


def _monotonic(points: list[_Point]) -> list[_Point]:
    """Isotonic regression by pool adjacent violators: values never fall with users, each pool has its weighted mean."""
    pools: list[list[_Point]] = []
    for point in points:
        pools.append([point])
        while len(pools) > 1 and _mean_of(pools[-2]) > _mean_of(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    return [_at(point, pool) for pool in pools for point in pool]


def _at(point: _Point, pool: list[_Point]) -> _Point:
    value = _mean_of(pool)
    if math.isinf(value) or math.isinf(point.value):
        return _Point(point.users, point.goodput_rps, value, value, value, point.weight, point.thin)
    low, high = point.low - point.value, point.high - point.value
    return _Point(point.users, point.goodput_rps, value, value + low, value + high, point.weight, point.thin)


def _mean_of(pool: list[_Point]) -> float:
    if any(math.isinf(point.value) for point in pool):
        return math.inf
    return math.fsum(point.value * point.weight for point in pool) / math.fsum(point.weight for point in pool)
