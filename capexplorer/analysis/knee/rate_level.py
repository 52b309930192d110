"""One settled level at an offered rate: the arrivals that were due, what became of them, whether it was served in full; and the
same as a LadderLevel."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from ...model.intervals import ONE_SIDED_95
from ...model.stages import LimitName
from ...model.verdicts import LevelState
from ..ladder import RELATIVE_ERROR_FLOOR, SHORT_ERROR, SHORT_S, LadderLevel, requests_inside
from ..statistics import BEYOND, LOST_LEAST, RELEVANT, SURE_ERRORS, error_of_mean, weighted_mean, wilson

SAME_RATE = 0.02
"""Offered rates that differ by at most this share are one load: Poisson counts of a few thousand arrivals differ as much."""

BIN_ARRIVALS = 240
"""Bins of a ramp with fewer arrivals are pooled with the next ones. So many are needed to show that a rate is served in full
(`UNSERVED_MOST`)."""


class RateLevel(msgspec.Struct, frozen=True, kw_only=True):
    """One level, or a bin of a ramp. Counts are iterations in its settled seconds; `due` = succeeded + failed + dropped +
    growth.
    """

    index: int = 0
    """Index of the level in its session."""
    rate_per_s: float
    """The rate that was set; `offered_per_s` is the rate that arrived."""
    seconds: float
    """Settled seconds."""
    due: int
    """Arrivals."""
    succeeded: int
    failed: int = 0
    dropped: int = 0
    beyond_limits: int = 0
    """Of `failed` those that finished, with a request beyond a limit on a single request."""
    beyond_each: tuple[tuple[LimitName, float], ...] | None = None
    """The shares of successful requests beyond each of these limits; None: there are none."""
    tokens: float | None = None
    """Tokens, or events, of what is goodput; None: there are no streams."""
    goodput_se_per_s: float | None = None
    """Standard error of goodput by batch means; None: not known."""
    served_se_per_s: float | None = None
    """The same with those beyond limits."""
    in_flight: float = 0.0
    """Mean number of iterations that waited for a user or ran."""
    service_ms: float | None = None
    """Mean time from start to end of those that succeeded."""
    failed_ms: float | None = None
    """Mean time from start to end of those that failed."""
    replied_ratio: float | None = None
    refused_ratio: float | None = None
    """Shares of the failures that are replies: with any HTTP status, with one that refuses. None: no failures, or not known."""
    from_plan_ms: float | None = None
    from_plan_se_ms: float | None = None
    """Mean time from planned start to end of those that succeeded, and its standard error by batch means."""
    p95_ms: float | None = None
    """Percentiles of the same time."""
    p99_ms: float | None = None
    at_cap: bool = False
    """Whether so many arrivals found no idle user that the pool may limit the level."""
    dropped_by_generator: int = 0
    """Drops that the generator caused: its pool is too small for the rate, its users still start, or its schedule is late."""
    generator_saturated: bool | None = None
    left_out: bool = False
    """Whether it does not describe the service: generator, host or network failed, or iterations were miscounted."""
    ramp: bool = False
    """A bin of a ramp, in which the rate changed all the time."""
    growth_of_rate: float = 0.0
    """For a bin of a ramp: how much the iterations in flight grow because the rate grows (Little's law)."""
    started_s: float = 0.0
    ended_s: float | None = None

    @property
    def served(self) -> RateLevel:
        """The level irrespective of limits on a single request, which do not tell whether the service changed."""
        if not self.beyond_limits:
            return self
        return replace(
            self,
            succeeded=self.succeeded + self.beyond_limits,
            failed=self.failed - self.beyond_limits,
            beyond_limits=0,
            goodput_se_per_s=self.served_se_per_s,
        )

    @property
    def growth(self) -> float:
        """How much the iterations in flight grew, those waiting for a user included, without `growth_of_rate`."""
        return self.due - self.succeeded - self.failed - self.dropped - self.growth_of_rate

    @property
    def offered_per_s(self) -> float:
        """Arrivals due per second."""
        return self.due / self.seconds

    @property
    def received_per_s(self) -> float:
        """Arrivals due per second without those that the generator dropped."""
        return (self.due - self.dropped_by_generator) / self.seconds

    @property
    def goodput_per_s(self) -> float:
        """Successful iterations per second."""
        return self.succeeded / self.seconds

    @property
    def goodput_error_per_s(self) -> float:
        """Standard error of goodput, 1/s: at least that of a Poisson count, since arrivals are Poisson, and RELATIVE_ERROR_FLOOR.

        Levels under SHORT_S have no batch means; theirs includes SHORT_ERROR, as for levels of users.
        """
        counted = math.sqrt(max(self.succeeded, 1)) / self.seconds
        if self.goodput_se_per_s is None and self.seconds < SHORT_S:
            return math.hypot(counted, SHORT_ERROR * self.goodput_per_s)
        return max(self.goodput_se_per_s or 0.0, counted, RELATIVE_ERROR_FLOOR * self.goodput_per_s)

    @property
    def works_off(self) -> bool:
        """Whether requests beyond a limit may be those of an earlier backlog, which shrinks with 95%."""
        return self.beyond_limits > 0 and -self.growth / self.seconds > ONE_SIDED_95 * self.growth_error_per_s

    @property
    def growth_error_per_s(self) -> float:
        """Standard error of growth per second: that of a random walk, one step up per arrival and one down per completion.

        Near its capacity a queue is such a random walk; further below it varies less.
        """
        return math.sqrt(self.due + self.succeeded + self.failed + 1) / self.seconds

    @property
    def failure_ratio(self) -> float:
        """Share of the ended iterations that failed."""
        ended = self.succeeded + self.failed
        return self.failed / ended if ended else 0.0

    @property
    def dropped_ratio(self) -> float:
        """Share of the arrivals that were dropped."""
        return self.dropped / self.due if self.due else 0.0


def pooled(levels: Sequence[RateLevel]) -> list[RateLevel]:
    """Levels by ascending rate. Levels of the same set rate become one with the sums of their counts; so do adjacent bins of a
    ramp with few arrivals.
    """
    groups: list[list[RateLevel]] = []
    for level in sorted(levels, key=lambda each: each.rate_per_s):
        if groups and (level.rate_per_s <= (1 + SAME_RATE) * groups[-1][0].rate_per_s or _adjoins(groups[-1], level)):
            groups[-1].append(level)
        else:
            groups.append([level])
    return [group[0] if len(group) == 1 else _one(group) for group in groups]


def _adjoins(group: Sequence[RateLevel], level: RateLevel) -> bool:
    """Whether `level` is a bin of a ramp, as those of `group` are, which have too few arrivals or seconds to be judged alone."""
    are_bins = level.ramp and all(each.ramp for each in group)
    is_enough = sum(each.due for each in group) >= BIN_ARRIVALS and math.fsum(each.seconds for each in group) >= SHORT_S
    return are_bins and not is_enough


def _one(group: Sequence[RateLevel]) -> RateLevel:
    """The levels of a group as one. Percentiles are the greatest of the group, since percentiles cannot be averaged."""
    seconds = math.fsum(level.seconds for level in group)
    known = [level.generator_saturated for level in group if level.generator_saturated is not None]
    return replace(
        group[0],
        rate_per_s=math.fsum(level.rate_per_s * level.seconds for level in group) / seconds,
        seconds=seconds,
        due=sum(level.due for level in group),
        succeeded=sum(level.succeeded for level in group),
        failed=sum(level.failed for level in group),
        dropped=sum(level.dropped for level in group),
        beyond_limits=sum(level.beyond_limits for level in group),
        beyond_each=_mean_beyond(group),
        tokens=math.fsum(tokens) if (tokens := [level.tokens for level in group if level.tokens is not None]) else None,
        goodput_se_per_s=_error_of_sum([(level.goodput_se_per_s, level.seconds) for level in group]),
        served_se_per_s=_error_of_sum([(level.served_se_per_s, level.seconds) for level in group]),
        in_flight=math.fsum(level.in_flight * level.seconds for level in group) / seconds,
        service_ms=weighted_mean([(level.service_ms, level.succeeded) for level in group]),
        failed_ms=weighted_mean([(level.failed_ms, level.failed) for level in group]),
        replied_ratio=weighted_mean([(level.replied_ratio, level.failed) for level in group]),
        refused_ratio=weighted_mean([(level.refused_ratio, level.failed) for level in group]),
        from_plan_ms=weighted_mean([(level.from_plan_ms, level.succeeded) for level in group]),
        from_plan_se_ms=error_of_mean([(level.from_plan_se_ms, level.succeeded) for level in group]),
        p95_ms=max((level.p95_ms for level in group if level.p95_ms is not None), default=None),
        p99_ms=max((level.p99_ms for level in group if level.p99_ms is not None), default=None),
        at_cap=any(level.at_cap for level in group),
        ramp=all(level.ramp for level in group),
        growth_of_rate=math.fsum(level.growth_of_rate for level in group),
        dropped_by_generator=sum(level.dropped_by_generator for level in group),
        generator_saturated=any(known) if known else None,
    )


def _error_of_sum(errors: Sequence[tuple[float | None, float]]) -> float | None:
    """The standard error of a rate over levels of such errors and seconds; None if one is not known."""
    squares = [(error * seconds) ** 2 for error, seconds in errors if error is not None]
    return math.sqrt(math.fsum(squares)) / math.fsum(s for _, s in errors) if len(squares) == len(errors) else None


def _mean_beyond(group: Sequence[RateLevel]) -> tuple[tuple[LimitName, float], ...] | None:
    known = [(dict(level.beyond_each), level.succeeded + level.beyond_limits) for level in group if level.beyond_each is not None]
    if len(known) < len(group):
        return None
    names = dict.fromkeys(name for shares, _ in known for name in shares)
    return tuple((name, weighted_mean([(shares.get(name, 0.0), count) for shares, count in known]) or 0.0) for name in names)


# -- Whether the service completed all arrivals of a level at an offered rate ("served in full"), and if not, why (docs/knee.md,
# section 18).
#
# Nothing is fitted: the arrivals of a level were counted. Those that did not succeed failed, were dropped, or are still in
# flight, and each of these losses is compared with its own noise. Bounds are one-sided 95% bounds.

UNSERVED_MOST = 0.15
"""A level is served in full only if the upper bound of the share of arrivals not served is at most this: it takes about 240
arrivals."""

SLOWER_AT_CAP = 3.0
"""Where the pool has as many users as it may have, the service limits the level, and not the pool, if service time is at least
this many times that at the lowest rate: then all of its servers are busy. By Little's law a pool can start at most users /
service time iterations a second."""


LOSES_REQUESTS: tuple[LevelState, ...] = ("fails", "beyond_limits")
"""Iterations end without being goodput: requests fail, or exceed a limit on a single request."""


class LowLoad(msgspec.Struct, frozen=True):
    """Figures at the lowest rate, with which the other levels are compared."""

    failure_high: float = 0.0
    """Upper bound of its failure ratio; 0 if nothing fails, or if the failures are not known to be usual at all rates."""
    service_ms: float | None = None
    """Mean service time; None if not known."""


def low_load(ladder: Sequence[RateLevel]) -> LowLoad:
    """The figures of the lowest rate. `ladder`: at least one level, pooled, by ascending rate.

    Its failures count as usual only if a higher rate confirms that they do not grow with load: a service that refuses what is
    more than its capacity, and refuses 16% at the lowest rate, refuses 27% at 1.15 times that rate.
    """
    lowest = ladder[0]
    if lowest.failure_ratio > RELEVANT or not lowest.failed:
        return LowLoad(0.0, lowest.service_ms)
    usual_most = failure_bounds(lowest)[1]
    higher = [level for level in ladder if level.due and level.offered_per_s >= BEYOND * lowest.offered_per_s]
    is_confirmed = any(_fails_no_more(level, lowest) for level in higher)
    return LowLoad(usual_most if is_confirmed else 0.0, lowest.service_ms)


def _fails_no_more(level: RateLevel, lowest: RateLevel) -> bool:
    """Whether no larger share fails at a higher rate, and surely less than if all beyond the goodput of the lowest were refused:
    a level with few arrivals shows neither.
    """
    lower, upper = failure_bounds(level)
    return lower - failure_bounds(lowest)[1] <= LOST_LEAST and upper < 1 - lowest.goodput_per_s / level.offered_per_s


def state_of(level: RateLevel, low: LowLoad) -> LevelState:
    """The state of a level. The generator is tested first, so that its limit is never taken for that of the service: whether its
    load thread was saturated, it dropped as much as the service lost, or its pool was at its cap.
    """
    if level.generator_saturated:
        return "generator"
    losses = _losses(level, low)
    if not any(losses.values()) and not _surely_drops(level):
        return "kept" if _missing_most(level, low) <= UNSERVED_MOST else "unsure"
    if level.dropped_by_generator >= math.fsum(losses.values()) * level.due:
        return "generator"
    greatest = max(losses, key=lambda state: losses[state])
    if greatest not in LOSES_REQUESTS and level.at_cap and not slower(level, low):
        return "generator"
    return greatest


def is_overloaded(state: LevelState) -> bool:
    """Whether the level was not served in full."""
    return state in ("queue_grows", "dropped", *LOSES_REQUESTS)


def _losses(level: RateLevel, low: LowLoad) -> dict[LevelState, float]:
    """The share of the arrivals that the service lost, by the state that it names; 0 if it is not surely above its threshold."""
    growth_per_s = level.growth / level.seconds
    least_per_s = max(SURE_ERRORS * level.growth_error_per_s, LOST_LEAST * level.offered_per_s)
    failed_low = failure_bounds(level.served if level.works_off else level)[0] - low.failure_high
    dropped_by_target = (level.dropped - level.dropped_by_generator) / level.due if _surely_drops(level) else 0.0
    return {
        "queue_grows": growth_per_s / level.offered_per_s if level.due and growth_per_s > least_per_s else 0.0,
        "beyond_limits" if 2 * level.beyond_limits > level.failed else "fails": failed_low if failed_low > LOST_LEAST else 0.0,
        "dropped": dropped_by_target,
    }


def _surely_drops(level: RateLevel) -> bool:
    return wilson(level.dropped_ratio, level.due)[0] > LOST_LEAST


def failure_bounds(level: RateLevel) -> tuple[float, float]:
    """(lower, upper) bound of the failure ratio."""
    return wilson(level.failure_ratio, level.succeeded + level.failed)


def _missing_most(level: RateLevel, low: LowLoad) -> float:
    """Upper bound of the share of arrivals that were not served, beyond the failures of the lowest rate: that of a sum, since the
    errors of growth, failures and drops are independent.
    """
    if not level.due:
        return 1.0
    growth = level.growth / level.due
    growth_most = max(growth + ONE_SIDED_95 * level.growth_error_per_s / level.offered_per_s, 0.0)  # below 0: an earlier backlog
    growth = max(growth, 0.0)
    errors = (
        growth_most - growth,
        failure_bounds(level)[1] - level.failure_ratio,
        wilson(level.dropped_ratio, level.due)[1] - level.dropped_ratio,
    )
    return growth + max(level.failure_ratio - low.failure_high, 0.0) + level.dropped_ratio + math.hypot(*errors)


def slower(level: RateLevel, low: LowLoad) -> bool:
    """Whether requests wait in the service although the pool has no more users: then the service is the limit, not the pool."""
    known = level.service_ms is not None and low.service_ms is not None
    return known and (level.service_ms or 0.0) >= SLOWER_AT_CAP * (low.service_ms or 0.0)


# -- The error with which a level of an offered rate measures its mean time from plan (from when an iteration is due to its end).
#
# By this error levels of one rate can be compared.


def steady_latency_error_ms(level: RateLevel) -> float | None:
    """Standard error of the mean time from plan; None: the queue was not in a steady state, or the generator limited it.

    Seconds of a queue are dependent, the more so near its capacity, and a level is too short to show how much. So the error is at
    least that of an M/M/1 queue with as many iterations in flight, L: of n of them the mean has the relative variance
    2 (1 + rho) (1 + L)^2 / n (Whitt, Planning Queueing Simulations, 1989), at most 4 (1 + L)^2 / n. Batch means show what
    varies more.
    """
    if level.from_plan_ms is None or not level.succeeded or _is_of_generator(level):
        return None
    in_flight = requests_inside(level.goodput_per_s, level.from_plan_ms)
    if not _is_steady(level, in_flight):
        return None
    of_queue_ms = 2 * (1 + in_flight) / math.sqrt(level.succeeded) * level.from_plan_ms
    return max(of_queue_ms, level.from_plan_se_ms or 0.0)


def _is_steady(level: RateLevel, in_flight: float) -> bool:
    """Whether nearly all was served, and the work in flight at both ends differs by no more than two moments of an M/M/1 queue,
    in which it has the variance L (1 + L): the rest of a backlog shrinks by more.
    """
    drift_most = SURE_ERRORS * math.sqrt(2 * in_flight * (1 + in_flight))
    is_served = level.failed + level.dropped <= LOST_LEAST * level.due
    return not level.ramp and is_served and abs(level.growth) <= drift_most


def _is_of_generator(level: RateLevel) -> bool:
    """Whether iterations waited for the generator, not for the service. Arrivals are dropped only while as many as arrive in a
    second wait for a user, which a mean time from plan shows.
    """
    return level.left_out or level.dropped > 0 or level.at_cap or bool(level.generator_saturated)


# -- A level of an offered rate as a LadderLevel whose load is the rate, so that changes over time, bottlenecks and stop rules are
# analysed in one way for users and rates.


def on_ladder(
    level: RateLevel, *, loop_lag_ms: float | None = None, disturbed: bool = False, lowered: bool = False
) -> LadderLevel:
    """The ladder level: goodput is successful iterations a second, irrespective of limits on a single request, latency their time
    since their planned start.

    Iterations finished beyond those due belong to an earlier backlog, and are no goodput of this rate. `disturbed`: whether other
    processes disturbed the level. `lowered`: whether they did so much that its goodput is only a lower bound.
    """
    level = level.served
    return LadderLevel(
        users=level.rate_per_s,
        goodput_rps=min(level.succeeded, level.due) / level.seconds,
        goodput_se_rps=level.goodput_error_per_s,
        latency_ms=level.from_plan_ms,
        latency_se_ms=level.from_plan_se_ms,
        steady_latency_error_ms=steady_latency_error_ms(level),
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
