"""Whether a rate limiter limits the throughput: it refuses requests above its rate, or delays them.

From outside, a limiter that delays looks like one worker with a constant service time: the output rate is constant, requests
queue, and every CPU idles. A bound of operational analysis distinguishes them (Denning & Buzen 1978): a response takes at least
the service demand at the bottleneck, which is 1 / capacity. If responses at low load took less than that, no single worker limits
the throughput, and a limiter is named. If they took longer, both explanations are possible, and both are named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from http import HTTPStatus

import msgspec
from msgspec.structs import replace

from ...model.findings import Readings
from ...model.intervals import ONE_SIDED_95
from ...model.timeline import Timeline
from ...model.verdicts import KneeVerdict
from ..knee.verdict_kinds import BASELINE_SHARE
from ..statistics import BEYOND, COUNT_LEAST, LOST_LEAST, MOSTLY, RELEVANT, chi_square
from . import queue_rules
from .gate import Gate
from .measured_level import REQUESTS_LEAST, Found, MeasuredLevel

# -- How constant the rate of a level's replies is. It is constant if a limiter's clock releases them.
#
# Counts of consecutive bins of seconds are compared with the level's mean rate. Their index of dispersion (variance divided by
# mean; Cox & Lewis 1966, section 4.5) is 1 for Poisson arrivals, the squared coefficient of variation of the service time for one
# saturated worker, and near 0 where a clock or a constant service time sets the pace. The length of each bin is measured, so late
# ticks do not matter.

BINS = 6
"""Number of bins of a level, as for batch means: the longer a bin, the less replies at its edges matter."""

CONSTANT_MOST = 0.1
"""An output is constant if the upper 95% bound of its index of dispersion is at most this. It was 0.02 to 0.04 behind nginx's
`limit_req` in levels of eight seconds (measured)."""


class ReplyRate(msgspec.Struct, frozen=True):
    """Successful replies over the settled seconds of a level."""

    rate_rps: float
    dispersion_high: float
    """Upper 95% bound of the index of dispersion."""
    repeats: bool
    """Whether goodput is the same at all levels well beyond the knee: that of a service that slows down under load is not."""
    fastest_ms: float | None
    """The least median response of levels at low load; None: there is no knee, or no such level."""

    @property
    def is_constant(self) -> bool:
        """Whether replies vary far less than random arrivals and most service times do, and repeat."""
        return self.dispersion_high <= CONSTANT_MOST and self.repeats

    @property
    def is_clocked(self) -> bool:
        """Whether requests at low load took clearly less than the time between two replies at the limit: no constant service
        time explains that, for these grow only a little under load (a lock of 10 ms took 10.4).
        """
        return self.fastest_ms is not None and (1 + RELEVANT) * self.fastest_ms <= 1000 / self.rate_rps

    @property
    def readings(self) -> Readings:
        """What shows how constant it is."""
        return {"output_rps": round(self.rate_rps, 3), "output_dispersion_high": round(self.dispersion_high, 4)}


def reply_rate_of(
    timeline: Timeline, level: MeasuredLevel, levels: Sequence[MeasuredLevel], knee: KneeVerdict | None
) -> ReplyRate | None:
    """The reply rate of a level, compared with all `levels`; None for a bin of a ramp, or with too few seconds or replies."""
    if level.level.opened.ramp:
        return None
    ticks = level.seconds(timeline)
    columns = timeline.columns
    replies = [columns["requests"][tick] - columns["failures"][tick] for tick in ticks]
    seconds = [columns["duration_s"][tick] for tick in ticks]
    if not ticks or not all(map(math.isfinite, (*replies, *seconds))) or sum(replies) <= 0:
        return None
    rate_rps = sum(replies) / sum(seconds)
    seconds_per_bin = max(1, len(ticks) // BINS, math.ceil(COUNT_LEAST * len(ticks) / sum(replies)))
    starts = range(0, len(ticks) - seconds_per_bin + 1, seconds_per_bin)
    if len(starts) < BINS - 1:
        return None
    misses = [sum(replies[at : at + seconds_per_bin]) - rate_rps * sum(seconds[at : at + seconds_per_bin]) for at in starts]
    variance, freedom = math.fsum(miss**2 for miss in misses) / (len(misses) - 1), len(misses) - 1
    mean = sum(replies) / len(ticks) * seconds_per_bin
    return ReplyRate(
        rate_rps=rate_rps,
        dispersion_high=variance / mean * freedom / chi_square(freedom, -ONE_SIDED_95),
        repeats=_repeats(level, levels, knee),
        fastest_ms=_fastest_ms(levels, knee),
    )


def refuses(level: MeasuredLevel, gate: Gate, output: ReplyRate | None) -> Found | None:
    """A limiter that refuses: an idle service refuses requests beyond a rate. A status of 429 is enough; with 503, which has
    other reasons too, the rate of replies must be constant.
    """
    status = level.refused_status
    if status is None or level.failure_ratio < LOST_LEAST or not gate.stalls or not queue_rules.is_idle_while_refusing(level):
        return None
    found: Readings = {"how": "refuses", "status": status, "failure_ratio": level.failure_ratio}
    found |= level.named(*queue_rules.IDLENESS)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Found("rate_limit", found)
    if output is None or not output.is_constant or not output.is_clocked:
        return None
    return Found("rate_limit", found | output.readings, competing=("load_shedding",))


def delays_or_waits(level: MeasuredLevel, gate: Gate, output: ReplyRate | None) -> Found | None:
    """A limiter that delays, or a lock or pool. Where the output is as constant as a limiter's, a lock or pool has the limiter
    as a competing finding.
    """
    waits = queue_rules.lock_or_pool(level, gate)
    latency = level.figures.latency_ms
    if waits is None or output is None or not output.is_constant:
        return waits
    if latency.p50 is None or latency.p95 is None or latency.p95 > (1 + MOSTLY) * latency.p50:
        return waits  # delayed requests all wait in one queue that a clock empties; a pool of four had a wider range
    if output.fastest_ms is None or not output.is_clocked:
        return replace(waits, readings=waits.readings | output.readings, competing=("rate_limit",))
    found: Readings = {
        "how": "delays", **output.readings, "low_load_p50_ms": output.fastest_ms, "p50_ms": latency.p50, "p95_ms": latency.p95,
        **level.named(*queue_rules.IDLENESS),
    }  # fmt: skip
    return Found("rate_limit", found, waits.unavailable, ("lock_or_pool_limit",))


def _repeats(level: MeasuredLevel, levels: Sequence[MeasuredLevel], knee: KneeVerdict | None) -> bool:
    if knee is None or knee.users is None:
        return True
    own_rps, own_error_rps = level.rates.goodput_rps, level.rates.goodput_se_rps or 0.0
    for other in levels:
        if other.users >= BEYOND * knee.users:
            error_rps = own_error_rps + (other.rates.goodput_se_rps or 0.0)
            if abs(other.rates.goodput_rps - own_rps) > max(LOST_LEAST * own_rps, 2 * error_rps):
                return False
    return True


def _fastest_ms(levels: Sequence[MeasuredLevel], knee: KneeVerdict | None) -> float | None:
    if knee is None or knee.kind != "knee" or knee.users is None:
        return None
    most = BASELINE_SHARE * knee.users
    low = (each.figures for each in levels if each.users <= most and each.figures.requests >= REQUESTS_LEAST)
    return min((figures.latency_ms.p50 for figures in low if figures.latency_ms.p50 is not None), default=None)
