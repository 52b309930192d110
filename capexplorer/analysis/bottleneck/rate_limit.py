"""Whether a rate limiter limits the throughput: it refuses requests above its rate, or delays them.

From outside, a limiter that delays looks like one worker with a constant service time: the output is constant, requests
queue, and every CPU idles. A bound of operational analysis distinguishes them (Denning & Buzen 1978): a response takes at least
the service demand at the bottleneck, which is 1 / capacity. If responses at low load took surely less than that, no worker
and no pool has this capacity, and a limiter is named. If they took longer, both explanations are possible, and both are
named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...model.findings import Readings
from ...model.verdicts import KneeVerdict
from . import queue_rules
from .found import Found
from .gate import Gate
from .measured_level import MeasuredLevel
from .reply_rate import ReplyRate

TOO_MANY_REQUESTS = 429

REFUSED_LEAST = 0.02
"""Share of requests refused, from which the limit is at work."""

FASTER_MOST = 0.8
"""Of 1 / capacity: a median response at low load below this rules a constant service time out. Service times grow a little under
load (a lock of 10 ms took 10.4)."""

LOW_LOAD_SHARE = 0.8
"""Of N*: levels up to there show the response at low load."""

REQUESTS_LEAST = 100
"""Requests of a level whose median response counts."""

NARROW_MOST = 1.5
"""p95 over p50 of delayed requests: they wait in one queue for a clock."""

SATURATED_SHARE = 1.3
"""Of N*: levels from there on are at the limit all the time. At 1.13 N* a limit of 50/s gave 49.3 (measured)."""

EQUAL_MOST = 0.01
"""Relative difference between the rates of two levels at the limit, or two standard errors if these are more."""

ROUND = (1.0, 1.2, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.5, 8.0, 10.0)
"""Rates that people configure, times a power of ten."""

ROUND_MOST = 0.003
"""Relative distance to such a rate, at most: one rate in 16 is so near to one by chance, a second or a minute."""


def refuses(
    level: MeasuredLevel, gate: Gate, levels: Sequence[MeasuredLevel], knee: KneeVerdict | None, output: ReplyRate | None
) -> Found | None:
    """Requests beyond the rate are refused by a service that idles. 429 means just that; 503 has other reasons, too."""
    status = level.refused_status
    if status is None or level.failure_ratio < REFUSED_LEAST or not gate.stalls or not queue_rules.is_at_ease(level):
        return None
    found: Readings = {"how": "refuses", "status": status, "failure_ratio": level.failure_ratio, **queue_rules.idleness(level)}
    if status == TOO_MANY_REQUESTS:
        return Found("rate_limit", found)
    clocked = output is not None and output.is_constant and _same_at_all_levels(level, levels, knee)
    if output is None or not clocked or not _is_faster(_fastest_ms(levels, knee), output):
        return None
    return Found("rate_limit", {**found, **_constancy(output)}, competing=("load_shedding",))


def delays_or_waits(
    level: MeasuredLevel, gate: Gate, levels: Sequence[MeasuredLevel], knee: KneeVerdict | None, output: ReplyRate | None
) -> Found | None:
    """A limiter that delays, or a lock or pool; the latter names the limiter as its rival where the output is as constant."""
    waits = queue_rules.lock_or_pool(level, gate)
    if waits is None or output is None or not output.is_constant or not _same_at_all_levels(level, levels, knee):
        return waits
    fastest_ms, latency = _fastest_ms(levels, knee), level.figures.latency_ms
    if latency.p50 is None or latency.p95 is None or latency.p95 > NARROW_MOST * latency.p50:
        return waits
    if fastest_ms is None or not _is_faster(fastest_ms, output):
        return replace(waits, readings={**waits.readings, **_constancy(output)}, competing=("rate_limit",))
    found: Readings = {
        "how": "delays", **_constancy(output), "low_load_p50_ms": fastest_ms, "p50_ms": latency.p50, "p95_ms": latency.p95,
        **queue_rules.idleness(level),
    }  # fmt: skip
    return Found("rate_limit", found, waits.unavailable, () if _is_round(output) else ("lock_or_pool_limit",))


def _same_at_all_levels(level: MeasuredLevel, levels: Sequence[MeasuredLevel], knee: KneeVerdict | None) -> bool:
    """Whether all levels beyond the knee have this level's rate: what slows down under load has not."""
    if knee is None or knee.users is None:
        return True
    own_rps, own_error_rps = level.rates.goodput_rps, level.rates.goodput_se_rps or 0.0
    for other in levels:
        if other.users >= SATURATED_SHARE * knee.users:
            error_rps = own_error_rps + (other.rates.goodput_se_rps or 0.0)
            if abs(other.rates.goodput_rps - own_rps) > max(EQUAL_MOST * own_rps, 2 * error_rps):
                return False
    return True


def _fastest_ms(levels: Sequence[MeasuredLevel], knee: KneeVerdict | None) -> float | None:
    """The least median response of levels at low load."""
    if knee is None or knee.kind != "knee" or knee.users is None:
        return None
    most = LOW_LOAD_SHARE * knee.users
    low = (each.figures for each in levels if each.users <= most and each.figures.requests >= REQUESTS_LEAST)
    return min((figures.latency_ms.p50 for figures in low if figures.latency_ms.p50 is not None), default=None)


def _is_faster(fastest_ms: float | None, output: ReplyRate) -> bool:
    """Whether requests at low load took surely less than the time between two replies at the limit."""
    return fastest_ms is not None and fastest_ms <= FASTER_MOST * 1000 / output.rate_rps


def _constancy(output: ReplyRate) -> Readings:
    return {"output_rps": round(output.rate_rps, 3), "output_dispersion_high": round(output.dispersion_high, 4)}


def _is_round(output: ReplyRate) -> bool:
    """Whether the rate is near one that people configure, a second or a minute, and is known well enough to say so."""
    return 2 * output.error_rps <= EQUAL_MOST * output.rate_rps and any(
        abs(_mantissa(rate) / round_ - 1) <= ROUND_MOST for rate in (output.rate_rps, output.rate_rps * 60) for round_ in ROUND
    )


def _mantissa(value: float) -> float:
    """Between 1 and 10."""
    return float(f"{value:.12e}".partition("e")[0])
