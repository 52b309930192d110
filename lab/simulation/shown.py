"""Simulated levels as the input of the detector: means over settled seconds with standard errors by batch means.

Only this module depends on both the simulator and the detector's types.
"""

from __future__ import annotations

import numpy as np

from capexplorer.analysis.causes.generator_saturation import BUSY_LEAST
from capexplorer.analysis.ladder import LadderLevel
from capexplorer.model.slice import batch_error

from .ladders import Ladder, ObservedLevel


def shown(ladder: Ladder) -> tuple[LadderLevel, ...]:
    """All levels of the ladder, in the order in which they ran."""
    return tuple(level_of(level, float(index)) for index, level in enumerate(ladder.levels))


def level_of(level: ObservedLevel, started_s: float = 0.0) -> LadderLevel:
    """One level."""
    seconds = len(level.goodput)
    successes, failures = int(level.goodput.sum()), int(level.failures.sum())
    thought_s = np.bincount(level.ended_second, weights=level.think_s, minlength=seconds)
    ended = (level.goodput + level.failures).astype(float)
    sums_ms = np.bincount(level.latency_second, weights=level.latency_ms, minlength=seconds)
    return LadderLevel(
        users=level.users,
        goodput_rps=successes / seconds,
        goodput_se_rps=batch_error([(float(count), 1.0) for count in level.goodput]),
        throughput_rps=(successes + failures) / seconds,
        response_ms=level.response_ms,
        latency_ms=float(level.latency_ms.mean()) if successes else None,
        latency_se_ms=batch_error(list(zip(sums_ms.tolist(), level.goodput.astype(float).tolist(), strict=True))),
        p95_ms=float(np.percentile(level.latency_ms, 95)) if successes else None,
        p99_ms=float(np.percentile(level.latency_ms, 99)) if successes else None,
        failure_ratio=failures / (successes + failures) if successes + failures else None,
        requests=successes + failures,
        seconds=float(seconds),
        wait_s=float(level.think_s.mean()) if successes + failures else None,
        wait_se_s=batch_error(list(zip(thought_s.tolist(), ended.tolist(), strict=True))),
        started_s=started_s,
        generator_saturated=None if level.generator_busy_ratio is None else level.generator_busy_ratio >= BUSY_LEAST,
    )
