"""Whether the users' think time, not the service, sets the throughput.

By Little's law X = N / (R + Z). If Z is most of the cycle and R does not grow, more users bring more throughput: the limit of the
service was not reached.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.findings import Readings
from ...model.verdicts import KneeVerdict
from ..causes.generator_saturation import little_ratio
from .found import Found
from .gate import Gate
from .measured_level import FAILURES_MOST, MeasuredLevel

WAIT_LEAST = 3.0
"""Least ratio of the mean pause between two requests to the mean response time."""

LITTLE_WITHIN = 0.05
"""Greatest relative difference between X and N / (R + Z)."""

REQUESTS_LEAST = 100
"""With fewer requests X and Z are too noisy: with 100 requests at waits of 0.5 to 1.5 s both have an error of 3%."""

FLAT_GROWTH = 0.25
"""R is flat if since the level with the fewest users it grew by at most this share."""

FLAT_OF_CYCLE = 0.05
"""R is flat as well if it grew by at most this share of the cycle: 1 ms more does not matter to users that wait for a second."""


def think_time(level: MeasuredLevel, gate: Gate, levels: Sequence[MeasuredLevel], knee: KneeVerdict | None) -> Found | None:
    """The finding that think time sets the throughput. `levels`: all settled levels with this kind of load.

    Paced users wait less when responses take longer, so their throughput is compared with their pace, and R may grow.
    """
    figures = level.figures
    wait_s, response_ms, little = figures.pause_s, figures.response_ms, little_ratio(figures)
    if wait_s is None or response_ms is None or little is None or figures.requests < REQUESTS_LEAST:
        return None
    throughput = figures.throughput_rps or 0.0
    readings: Readings = {"wait_s": wait_s, "response_ms": response_ms, "throughput_rps": throughput}
    if level.pacing_s is not None:
        paced_rps = level.users / level.pacing_s * (figures.requests_per_task or 1.0)
        is_paced = abs(throughput / paced_rps - 1) <= LITTLE_WITHIN and not gate.flat and level.failure_ratio <= FAILURES_MOST
        return (
            Found("think_time_limited", {**readings, "pacing_s": level.pacing_s, "expected_rps": paced_rps}) if is_paced else None
        )
    waits = wait_s >= WAIT_LEAST * response_ms / 1000 and abs(1 / little - 1) <= LITTLE_WITHIN
    if not waits or gate.flat or _bent(level, knee) or level.failure_ratio > FAILURES_MOST or not _is_flat(level, levels):
        return None
    return Found("think_time_limited", {**readings, "expected_rps": throughput * little})


def _bent(level: MeasuredLevel, knee: KneeVerdict | None) -> bool:
    return knee is not None and knee.kind in ("knee", "at_or_below", "bend") and level.users > (knee.users or 0.0)


def _is_flat(level: MeasuredLevel, others: Sequence[MeasuredLevel]) -> bool:
    """Whether R is the same as at the level with the fewest users."""
    low_load = min(others, key=lambda other: other.users, default=level)
    now_ms, then_ms = level.figures.response_ms, low_load.figures.response_ms
    if now_ms is None or then_ms is None:
        return False
    cycle_ms = now_ms + 1000 * (level.figures.pause_s or 0.0)
    return now_ms - then_ms <= max(FLAT_GROWTH * then_ms, FLAT_OF_CYCLE * cycle_ms)
