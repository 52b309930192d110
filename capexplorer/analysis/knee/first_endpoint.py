"""The endpoint that degrades first: its own responses slow down or fail, while those of the others do not.

Users of a closed system that wait for one endpoint call all others less: goodput falls evenly, and only latency and failures
show which endpoint it is. Two forms of common slowdown name no endpoint: one queue for all adds the same time to each, and a
shared CPU multiplies each latency by the same factor. So the endpoint must lead both in added time and in growth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...model.figures import LevelEndpoint
from ...model.intervals import ONE_SIDED_95
from ...model.level import Level
from ...model.verdicts import CapacityVerdict, EndpointDegradation

REQUESTS_LEAST = 20
"""Requests of an endpoint at a level from which it is judged."""

SLOWER_LEAST = 2.0
"""Growth of an endpoint's mean latency against low load from which it has degraded."""

LEAD_LEAST = 3.0
"""How many times the added latency, the growth or the failures of any other endpoint the leading one has."""

STAYS_MOST = 1.3
"""Growth of an endpoint's mean latency with which it is as fast as before."""

FAILURES_MORE = 0.02
"""Failure ratio above that of low load from which an endpoint has degraded."""

ERROR_LEAST = 0.03
"""Least relative error of a mean latency: latencies within a level are correlated."""

Key = tuple[str, str]
"""Method, name."""


@dataclass(frozen=True, slots=True)
class Served:
    """One endpoint over one or more levels."""

    requests: int
    failures: int
    mean_ms: float | None
    p95_ms: float | None

    @property
    def failure_ratio(self) -> float:
        """Of all its requests."""
        return self.failures / self.requests

    @property
    def mean_error_ms(self) -> float:
        """Standard error of the mean, as of exponential latencies."""
        successes = self.requests - self.failures
        return (self.mean_ms or 0.0) * max(ERROR_LEAST, 1 / math.sqrt(successes) if successes else 1.0)


@dataclass(frozen=True, slots=True)
class EndpointChange:
    """One endpoint at one level against low load."""

    key: Key
    before: Served
    after: Served

    @property
    def added_ms(self) -> float:
        """Growth of its mean latency."""
        return (self.after.mean_ms or 0.0) - (self.before.mean_ms or 0.0)

    @property
    def added_high_ms(self) -> float:
        """Its upper bound."""
        return self.added_ms + ONE_SIDED_95 * math.hypot(self.after.mean_error_ms, self.before.mean_error_ms)

    @property
    def growth(self) -> float:
        """How many times its mean latency at low load it surely has: a lower bound."""
        now_ms, then_ms = self.after.mean_ms, self.before.mean_ms
        if now_ms is None or not then_ms:
            return 1.0
        low_ms = now_ms - ONE_SIDED_95 * self.after.mean_error_ms
        return low_ms / (then_ms + ONE_SIDED_95 * self.before.mean_error_ms)

    @property
    def failures_more(self) -> float:
        """Failure ratio above low load: a lower bound."""
        now, then = self.after.failure_ratio, self.before.failure_ratio
        error = math.sqrt(now * (1 - now) / self.after.requests + then * (1 - then) / self.before.requests)
        return now - then - ONE_SIDED_95 * error


def first_endpoint(levels: Sequence[Level], capacity: CapacityVerdict) -> EndpointDegradation | None:
    """`levels`: those that feed the fit. None with one endpoint alone, or where none leads all others."""
    if capacity.curve is None:
        return None
    baseline = {round(users) for users in capacity.curve.baseline_users}
    steps = [level for level in levels if not level.opened.ramp and level.figures.settled]
    quiet = _served(each for level in steps if level.users in baseline for each in level.endpoints)
    counts = sorted({level.users for level in steps if level.users > max(baseline, default=0)})
    first: tuple[int, EndpointChange, bool] | None = None
    for users in reversed(counts):  # the same one must lead at all higher loads, so where none leads at the top none does
        led = _leader(_changes(quiet, steps, users), _lag_ms(steps, users))
        if led is None or (first is not None and led[0].key != first[1].key):
            break
        first = (users, *led)
    return _departure(*first) if first is not None else None


def _served(endpoints: Iterable[LevelEndpoint]) -> dict[Key, Served]:
    """By endpoint, over all levels given; latencies weighted by successes."""
    found: dict[Key, list[LevelEndpoint]] = {}
    for each in endpoints:
        found.setdefault((each.method, each.name), []).append(each)
    return {key: _pooled(parts) for key, parts in found.items()}


def _pooled(parts: Sequence[LevelEndpoint]) -> Served:
    requests, failures = sum(each.requests for each in parts), sum(each.failures for each in parts)
    return Served(requests, failures, _mean(parts, "mean"), _mean(parts, "p95"))


def _mean(parts: Sequence[LevelEndpoint], figure: str) -> float | None:
    known = [(getattr(each.latency_ms, figure), each.requests - each.failures) for each in parts]
    weighed = [(value, weight) for value, weight in known if value is not None and weight]
    return math.fsum(v * w for v, w in weighed) / sum(w for _, w in weighed) if weighed else None


def _changes(quiet: dict[Key, Served], steps: Sequence[Level], users: int) -> list[EndpointChange]:
    now = _served(each for level in steps if level.users == users for each in level.endpoints)
    return [
        EndpointChange(key, quiet[key], after)
        for key, after in now.items()
        if key in quiet and min(after.requests, quiet[key].requests) >= REQUESTS_LEAST
    ]


def _lag_ms(steps: Sequence[Level], users: int) -> float:
    """Greatest loop lag of these levels: the error of every latency."""
    return max((level.figures.loop_lag_p99_ms or 0.0 for level in steps if level.users == users), default=0.0)


def _leader(changes: Sequence[EndpointChange], lag_ms: float) -> tuple[EndpointChange, bool] | None:
    """The endpoint that leads all others, and whether by its failures; None if there is none, or no other to compare with."""
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
    leads = slowest.growth >= LEAD_LEAST * most_growth or most_growth <= STAYS_MOST
    return (slowest, False) if leads and slowest.added_ms >= LEAD_LEAST * most_ms else None


def _departure(users: int, change: EndpointChange, by_failures: bool) -> EndpointDegradation | None:
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
        users=float(users),
        column="failures" if by_failures else "latency",
        before=pair[0],
        after=pair[1],
    )
