"""Goodput at low load without the chance of think times that its users happened to draw (docs/knee.md, section 3).

Think times are random, and goodput at low load follows them: five users with exponential think times of 0.5 s make about 90
requests in ten seconds, and the mean of 90 such times varies by 10%. The mean Z0 over all levels is known much better, and think
times do not depend on the load. By Little's law goodput is N / (R + Z); replacing the level's own Z by Z0 is a control variate
(Lavenberg, Moeller & Welch 1982; Law & Kelton, section 11.4). Time that is neither response nor think time, such as that of user
code, is the same share of a cycle in all levels at low load, and stays in their goodput.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from ..ladder import RELATIVE_ERROR_FLOOR, LadderLevel, Little
from ..statistics import LOST_LEAST

HOMOGENEOUS_MOST = 4.0
"""Standard deviations of chi-square by which the think times of levels may differ more than their errors explain; beyond that
they depend on the load, as with `constant_throughput`, and nothing is corrected."""

LEVELS_LEAST = 3
"""Levels whose think times are compared: with fewer, a dependence on the load is not seen."""

ROUNDING = 1e-9
"""Relative standard deviation up to which think times are constant: sums of equal times differ by rounding."""

LOW_LOAD_MOST = 1.1
"""Times the shortest cycle R + Z0: levels up to it are at low load, and show which share of a cycle is accounted for."""

SHARED_ERROR_MOST = 0.1
"""Relative error that all corrected levels share, above which none is corrected."""

UNACCOUNTED_MOST, CHANCE_MOST = 0.02, 2.0
"""Levels lose time if less of their users' time is accounted for than at low load, by more than UNACCOUNTED_MOST and so many
standard errors, as where a generator is the limit. They are not corrected."""


class Correction(msgspec.Struct, frozen=True):
    """Goodput of levels for the mean think time of all, 1/s, with its standard error; None: a level is left as it is."""

    at_low_load: tuple[tuple[float, float] | None, ...]
    """Not for levels whose goodput follows the service instead of the think times."""
    shared_error: float
    """Relative error of all corrected rates together, which no number of levels makes smaller."""


class CommonThinkTime(msgspec.Struct, frozen=True):
    """The think time per request of all users, at any load."""

    mean_s: float
    error_s: float
    """Standard error of the mean."""
    variation: float
    """Coefficient of variation of single think times: 1 for exponential ones."""

    @property
    def cut_off_s(self) -> float:
        """Standard deviation of the part of a think time that a level's first or last moment cuts off: Z / sqrt(12) of a constant
        one, Z of an exponential one, and between them in proportion to the variance.
        """
        return self.mean_s * math.sqrt((1 + 11 * min(self.variation, 1.0) ** 2) / 12)


def correction(levels: Sequence[LadderLevel]) -> Correction | None:
    """The correction of these levels; None if think times were not measured, are constant, or differ between levels."""
    common = common_think_time(levels)
    known = [None if common is None else _Cycle.of(level, common) for level in levels]
    cycles = [each for each in known if each is not None]
    if common is None or not cycles:
        return None
    longest_s = LOW_LOAD_MOST * min(each.cycle_s for each in cycles)
    accounted = _accounted_at_low_load([each for each in cycles if each.cycle_s <= longest_s])
    shared_error = math.hypot(accounted.error, LOW_LOAD_MOST * common.error_s / longest_s)
    if shared_error > SHARED_ERROR_MOST:
        return None
    low = [each if each is not None and each.cycle_s <= longest_s else None for each in known]
    rates = tuple(None if each is None else each.corrected(accounted) for each in low)
    return Correction(rates, shared_error) if any(rates) else None


def at_common_think_time(levels: Sequence[LadderLevel]) -> list[LadderLevel]:
    """The levels, with corrected goodput at low load: what they show of the service, as in a comparison of two of them."""
    found = correction(levels)
    if found is None:
        return list(levels)
    return [
        level if rate is None else replace(level, goodput_rps=rate[0], goodput_se_rps=rate[1])
        for level, rate in zip(levels, found.at_low_load, strict=True)
    ]


def common_think_time(levels: Sequence[LadderLevel]) -> CommonThinkTime | None:
    """The think time that these levels have in common; None if it was not measured, is constant, or differs between levels."""
    known = [
        (level.requests, level.wait_s, level.wait_se_s)
        for level in levels
        if level.requests and level.wait_s and level.wait_se_s is not None and not level.ramp
    ]
    if len(known) < LEVELS_LEAST:
        return None
    count = sum(requests for requests, _, _ in known)
    mean_s = math.fsum(requests * wait_s for requests, wait_s, _ in known) / count
    variance = math.fsum(requests * error_s**2 for requests, _, error_s in known) / len(known)
    if variance <= (ROUNDING * mean_s) ** 2:
        return None
    chi2, free = math.fsum(requests * (wait_s - mean_s) ** 2 for requests, wait_s, _ in known) / variance, len(known) - 1
    if chi2 > free + HOMOGENEOUS_MOST * math.sqrt(2 * free):
        return None
    return CommonThinkTime(mean_s, math.sqrt(variance / count), math.sqrt(variance) / mean_s)


class _Accounted(msgspec.Struct, frozen=True):
    """How much of their users' time the responses and think times of some levels account for."""

    little: Little
    """Over the seconds of the levels."""
    users: float
    cut_off_s: float
    """As in `CommonThinkTime`."""

    @property
    def error(self) -> float:
        """Standard error of the share, from the think times that the ends of the levels cut off."""
        return self.cut_off_s * math.sqrt(2 * self.users) / self.little.users

    def with_level(self, other: _Accounted) -> _Accounted:
        """Over one more level."""
        return _Accounted(self.little + other.little, self.users + other.users, self.cut_off_s)

    def exceeds(self, other: _Accounted) -> bool:
        """Whether `other` loses time that this one does not."""
        chance = CHANCE_MOST * math.hypot(self.error, other.error)
        return other.little.share < min(self.little.share, 1.0) * (1 - UNACCOUNTED_MOST - chance)


def _accounted_at_low_load(cycles: Sequence[_Cycle]) -> _Accounted:
    """Over the levels with the fewest users, up to the first one that loses time, as with a generator that is the limit."""
    first, *others = sorted(cycles, key=lambda each: each.level.users)
    low = first.accounted
    for each in others:
        if low.exceeds(each.accounted):
            break
        low = low.with_level(each.accounted)
    return low


class _Cycle(msgspec.Struct, frozen=True):
    """The cycle of a level's users."""

    level: LadderLevel
    cycle_s: float
    """R + Z0: its response time and the common think time."""
    error_s: float
    """Standard error of its response time."""
    accounted: _Accounted

    @classmethod
    def of(cls, level: LadderLevel, common: CommonThinkTime) -> _Cycle | None:
        """None if the level is a bin of a ramp, requests fail, or its figures are not known."""
        response_s, error_ms, rate = level.response_s, level.latency_error_ms, level.throughput_rps
        if level.ramp or (level.failure_ratio or 0.0) > LOST_LEAST or not level.seconds or not rate:
            return None
        if response_s is None or error_ms is None or level.wait_s is None:
            return None
        little = Little.of(level.users, rate, response_s, level.wait_s) * level.seconds
        accounted = _Accounted(little, level.users, common.cut_off_s)
        return cls(level, response_s + common.mean_s, error_ms / 1000, accounted)

    @property
    def work_share(self) -> float:
        """Goodput per request. Levels of one user count are pooled with other weights for goodput than for throughput, so where
        goodput is successful requests their share is exact."""
        level = self.level
        counted = level.goodput_rps / (level.throughput_rps or 1.0)
        return counted if level.work_is_metric else 1 - (level.failure_ratio or 0.0)

    def corrected(self, at_low_load: _Accounted) -> tuple[float, float] | None:
        """(goodput for the common think time, its own standard error), 1/s; None where that is not more precise, or time is lost
        that was accounted for at low load.
        """
        if at_low_load.exceeds(self.accounted):
            return None
        rate = self.work_share * at_low_load.little.share * self.level.users / self.cycle_s
        error = max(self.error_s / self.cycle_s, RELATIVE_ERROR_FLOOR) * rate
        return (rate, error) if error < self.level.goodput_error_rps else None
