"""How constant the rate of a level's replies is. It is constant if a limiter's clock releases them.

Counts of consecutive bins of seconds are compared with the level's mean rate. Their index of dispersion (variance divided by
mean; Cox & Lewis 1966, section 4.5) is 1 for Poisson arrivals, the squared coefficient of variation of the service time for one
saturated worker, and near 0 where a clock or a constant service time sets the pace. The length of each bin is measured, so late
ticks do not matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...model.intervals import ONE_SIDED_95
from ...model.timeline import Timeline
from .measured_level import MeasuredLevel

BINS = 6
"""Number of bins of a level, as for batch means: the longer a bin, the less replies at its edges matter."""

BINS_LEAST = 5
"""With fewer bins no dispersion is computed."""

BIN_COUNT_LEAST = 20.0
"""Least mean number of replies in a bin: with fewer, rounding to whole numbers alone gives a dispersion of a tenth."""

CONSTANT_MOST = 0.1
"""An output is constant if the upper 95% bound of its index of dispersion is at most this. It was 0.02 to 0.04 behind nginx's
`limit_req` in levels of eight seconds (measured)."""


@dataclass(frozen=True, slots=True)
class ReplyRate:
    """Successful replies over the settled seconds of a level."""

    rate_rps: float
    error_rps: float
    """Standard error of the rate, from the bins."""
    dispersion_high: float
    """Upper 95% bound of the index of dispersion."""

    @property
    def is_constant(self) -> bool:
        """Whether replies vary far less than random arrivals and most service times do."""
        return self.dispersion_high <= CONSTANT_MOST


def reply_rate_of(timeline: Timeline, level: MeasuredLevel) -> ReplyRate | None:
    """The reply rate of a level; None for a bin of a ramp, or with too few seconds or replies."""
    if level.level.opened.ramp:
        return None
    ticks = level.seconds(timeline)
    columns = timeline.columns
    replies = [columns["requests"][tick] - columns["failures"][tick] for tick in ticks]
    seconds = [columns["duration_s"][tick] for tick in ticks]
    if not ticks or not all(map(math.isfinite, (*replies, *seconds))) or sum(replies) <= 0:
        return None
    rate_rps = sum(replies) / sum(seconds)
    seconds_per_bin = max(1, len(ticks) // BINS, math.ceil(BIN_COUNT_LEAST * len(ticks) / sum(replies)))
    starts = range(0, len(ticks) - seconds_per_bin + 1, seconds_per_bin)
    if len(starts) < BINS_LEAST:
        return None
    misses = [sum(replies[at : at + seconds_per_bin]) - rate_rps * sum(seconds[at : at + seconds_per_bin]) for at in starts]
    variance, freedom = math.fsum(miss**2 for miss in misses) / (len(misses) - 1), len(misses) - 1
    mean = sum(replies) / len(ticks) * seconds_per_bin
    return ReplyRate(
        rate_rps=rate_rps,
        error_rps=math.sqrt(variance * len(misses)) / sum(seconds),
        dispersion_high=variance / mean * freedom / chi_square_low(freedom),
    )


def chi_square_low(freedom: int) -> float:
    """The 5th percentile of chi-square, by Wilson & Hilferty (1931): within 2% from four degrees of freedom on."""
    part = 2 / (9 * freedom)
    return freedom * (1 - part - ONE_SIDED_95 * math.sqrt(part)) ** 3
