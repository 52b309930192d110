"""One settled level at an offered rate: what was due, and what became of it. Must not judge it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..ladder import RELATIVE_ERROR_FLOOR, SHORT_ERROR, SHORT_S

RATE_SAME = 0.02
"""Relative distance of offered rates that are one load: Poisson counts of a few thousand arrivals differ by that."""

BIN_ARRIVALS = 240
"""Arrivals of a ramp's bin, from which it is judged alone; others are pooled with their neighbours. So many show that a rate is
served in full (`departure.KEPT_MOST`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLevel:
    """Counts are iterations of the settled seconds. `due` = succeeded + failed + dropped + growth."""

    index: int = 0
    rate_per_s: float
    """The rate that was asked for; `offered_per_s` is what arrived."""
    seconds: float
    due: int
    succeeded: int
    failed: int = 0
    dropped: int = 0
    goodput_se_per_s: float | None = None
    """By batch means; None: not known."""
    in_flight: float = 0.0
    """Mean number of iterations that waited or ran."""
    service_ms: float | None = None
    """Mean time from start to end of those that succeeded."""
    failed_ms: float | None = None
    """The same of those that failed."""
    replied_ratio: float | None = None
    refused_ratio: float | None = None
    """Shares of the failures that are replies: with any HTTP status, with one that refuses. None: no failures, or not known."""
    from_plan_ms: float | None = None
    from_plan_se_ms: float | None = None
    """Mean time from plan of those that succeeded, and its standard error by batch means."""
    p95_ms: float | None = None
    """Percentiles of the time from plan, of those that succeeded."""
    p99_ms: float | None = None
    at_cap: bool = False
    """Arrivals found no idle user, and the generator may start no more users."""
    dropped_by_generator: bool = False
    """Most of what was dropped is the generator's: its pool is too small for the rate, or its schedule is late."""
    generator_saturated: bool | None = None
    left_out: bool = False
    """A failure of generator, host or network disturbed it, or its iterations were miscounted."""
    ramp: bool = False
    """A bin of a ramp, in which the rate changed all the time."""
    growth_of_rate: float = 0.0
    """Of a ramp's bin: by how many the iterations in flight grow since the rate does (Little's law)."""
    started_s: float = 0.0
    ended_s: float | None = None

    @property
    def growth(self) -> float:
        """By how many the iterations in flight grew, those that wait for a user included; without what a ramp's rate explains."""
        return self.due - self.succeeded - self.failed - self.dropped - self.growth_of_rate

    @property
    def offered_per_s(self) -> float:
        """Arrivals due a second."""
        return self.due / self.seconds

    @property
    def goodput_per_s(self) -> float:
        """Iterations that succeeded a second."""
        return self.succeeded / self.seconds

    @property
    def goodput_error_per_s(self) -> float:
        """Standard error of goodput as a measure of what the service can do: at least that of a Poisson count, since arrivals are
        Poisson; at least one iteration, and 2%. A short bin has no batch means, and the error of a short level of users."""
        counted = math.sqrt(max(self.succeeded, 1)) / self.seconds
        if self.goodput_se_per_s is None and self.seconds < SHORT_S:
            return math.hypot(counted, SHORT_ERROR * self.goodput_per_s)
        return max(self.goodput_se_per_s or 0.0, counted, RELATIVE_ERROR_FLOOR * self.goodput_per_s)

    @property
    def growth_error_per_s(self) -> float:
        """Standard error of the growth a second, as of a random walk that steps up with each arrival and down with each end.

        A stationary queue varies less, since it comes back; near its capacity a queue is that random walk.
        """
        return math.sqrt(self.due + self.succeeded + self.failed + 1) / self.seconds

    @property
    def failure_ratio(self) -> float:
        """Of the iterations that ended."""
        ended = self.succeeded + self.failed
        return self.failed / ended if ended else 0.0

    @property
    def dropped_ratio(self) -> float:
        """Of the arrivals that were due."""
        return self.dropped / self.due if self.due else 0.0


def pooled(levels: Sequence[RateLevel]) -> list[RateLevel]:
    """Levels by rate, ascending. Levels that were asked for the same rate are one, with the sums of their counts; so are
    neighbouring bins of a ramp that have few arrivals."""
    groups: list[list[RateLevel]] = []
    for level in sorted(levels, key=lambda each: each.rate_per_s):
        if groups and (level.rate_per_s <= (1 + RATE_SAME) * groups[-1][0].rate_per_s or _adjoins(groups[-1], level)):
            groups[-1].append(level)
        else:
            groups.append([level])
    return [group[0] if len(group) == 1 else _one(group) for group in groups]


def _adjoins(group: Sequence[RateLevel], level: RateLevel) -> bool:
    """Whether a bin follows bins of ramps that are too few to be judged."""
    are_bins = level.ramp and all(each.ramp for each in group)
    is_enough = sum(each.due for each in group) >= BIN_ARRIVALS and math.fsum(each.seconds for each in group) >= SHORT_S
    return are_bins and not is_enough


def _one(group: Sequence[RateLevel]) -> RateLevel:
    """The latency percentiles are the worst of the group: sums cannot be made of percentiles."""
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
        service_ms=_mean([(level.service_ms, level.succeeded) for level in group]),
        failed_ms=_mean([(level.failed_ms, level.failed) for level in group]),
        replied_ratio=_mean([(level.replied_ratio, level.failed) for level in group]),
        p95_ms=max((level.p95_ms for level in group if level.p95_ms is not None), default=None),
        p99_ms=max((level.p99_ms for level in group if level.p99_ms is not None), default=None),
        at_cap=any(level.at_cap for level in group),
        ramp=all(level.ramp for level in group),
        growth_of_rate=math.fsum(level.growth_of_rate for level in group),
        dropped_by_generator=any(level.dropped_by_generator for level in group),
        generator_saturated=any(known) if known else None,
    )


def _mean(values: Sequence[tuple[float | None, int]]) -> float | None:
    known = [(value, count) for value, count in values if value is not None and count]
    return math.fsum(value * count for value, count in known) / sum(count for _, count in known) if known else None
