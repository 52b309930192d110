"""One settled level at an offered rate: the arrivals that were due, and what became of them. `level_state` judges it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..ladder import RELATIVE_ERROR_FLOOR, SHORT_ERROR, SHORT_S
from ..statistics import weighted_mean

SAME_RATE = 0.02
"""Offered rates that differ by at most this share are one load: Poisson counts of a few thousand arrivals differ as much."""

BIN_ARRIVALS = 240
"""Bins of a ramp with fewer arrivals are pooled with the next ones. So many are needed to show that a rate is served in full
(`level_state.UNSERVED_MOST`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLevel:
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
    goodput_se_per_s: float | None = None
    """Standard error of goodput by batch means; None: not known."""
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
    squares = [(level.goodput_se_per_s * level.seconds) ** 2 for level in group if level.goodput_se_per_s is not None]
    known = [level.generator_saturated for level in group if level.generator_saturated is not None]
    return replace(
        group[0],
        rate_per_s=math.fsum(level.rate_per_s * level.seconds for level in group) / seconds,
        seconds=seconds,
        due=sum(level.due for level in group),
        succeeded=sum(level.succeeded for level in group),
        failed=sum(level.failed for level in group),
        dropped=sum(level.dropped for level in group),
        goodput_se_per_s=math.sqrt(math.fsum(squares)) / seconds if len(squares) == len(group) else None,
        in_flight=math.fsum(level.in_flight * level.seconds for level in group) / seconds,
        service_ms=weighted_mean([(level.service_ms, level.succeeded) for level in group]),
        failed_ms=weighted_mean([(level.failed_ms, level.failed) for level in group]),
        replied_ratio=weighted_mean([(level.replied_ratio, level.failed) for level in group]),
        refused_ratio=weighted_mean([(level.refused_ratio, level.failed) for level in group]),
        from_plan_ms=weighted_mean([(level.from_plan_ms, level.succeeded) for level in group]),
        from_plan_se_ms=_error_of_mean([(level.from_plan_se_ms, level.succeeded) for level in group]),
        p95_ms=max((level.p95_ms for level in group if level.p95_ms is not None), default=None),
        p99_ms=max((level.p99_ms for level in group if level.p99_ms is not None), default=None),
        at_cap=any(level.at_cap for level in group),
        ramp=all(level.ramp for level in group),
        growth_of_rate=math.fsum(level.growth_of_rate for level in group),
        dropped_by_generator=sum(level.dropped_by_generator for level in group),
        generator_saturated=any(known) if known else None,
    )


def _error_of_mean(errors: Sequence[tuple[float | None, int]]) -> float | None:
    """Standard error of the mean of groups, from that of each group's mean and its count; None if one is not known."""
    known = [(error, count) for error, count in errors if error is not None and count]
    counted = sum(count for _, count in errors)
    if not known or sum(count for _, count in known) < counted:
        return None
    return math.hypot(*(error * count for error, count in known)) / counted
