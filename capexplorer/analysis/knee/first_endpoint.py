"""The endpoint that degrades first: its own responses slow down or fail, while those of the others do not.

In a closed system, users that wait for one endpoint call the others less too: goodput falls at all of them, and only latency and
failures show which endpoint it is. Slowdown that all share points to no endpoint: a common queue adds the same time to each, a
shared CPU multiplies each latency by the same factor. So the endpoint must lead both in added time and in growth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from ...model.figures import LevelEndpoint
from ...model.intervals import ONE_SIDED_95
from ...model.level import Level
from ...model.verdicts import CapacityVerdict, EndpointDegradation
from ..statistics import weighted_mean

REQUESTS_LEAST = 20
"""An endpoint is judged at a level from this many requests on."""

SLOWER_LEAST = 2.0
"""An endpoint has degraded if the lower bound of its latency growth since low load is at least this factor."""

LEAD_LEAST = 3.0
"""The leading endpoint has at least this many times the added latency, the growth or the failures of any other."""

UNCHANGED_MOST = 1.3
"""An endpoint whose mean latency grew by at most this factor counts as unchanged."""

FAILURES_MORE = 0.02
"""An endpoint has degraded if the lower bound of the increase of its failure ratio (absolute) is at least this."""

ERROR_LEAST = 0.03
"""Least relative error of a mean latency: latencies within a level are correlated."""

Key = tuple[str, str]
"""Method, name."""


@dataclass(frozen=True, slots=True)
class EndpointFigures:
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
        """Standard error of the mean latency, for exponential latencies and at least ERROR_LEAST."""
        successes = self.requests - self.failures
        return (self.mean_ms or 0.0) * max(ERROR_LEAST, 1 / math.sqrt(successes) if successes else 1.0)


@dataclass(frozen=True, slots=True)
class EndpointChange:
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
        if key in low_load and min(after.requests, low_load[key].requests) >= REQUESTS_LEAST
    ]


def _leader(changes: Sequence[EndpointChange], lag_ms: float) -> tuple[EndpointChange, bool] | None:
    """(the endpoint that leads all others, whether it leads by failures); None if none leads, or there is no other."""
    if len(changes) < 2:
        return None
    failing = max(changes, key=lambda each: each.failures_more)
    if failing.failures_more >= FAILURES_MORE:
        most = max(each.after.failure_ratio - each.before.failure_ratio for each in changes if each is not failing)
        return (failing, True) if failing.failures_more >= LEAD_LEAST * most else None
    slowest = max(changes, key=lambda each: each.added_ms)
    others = [each for each in changes if each is not slowest]
    if slowest.growth < SLOWER_LEAST or slowest.added_ms <= lag_ms:
        return None
    most_ms = max(each.added_high_ms for each in others)
    most_growth = max((each.after.mean_ms or 0.0) / (each.before.mean_ms or math.inf) for each in others)
    leads = slowest.growth >= LEAD_LEAST * most_growth or most_growth <= UNCHANGED_MOST
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
