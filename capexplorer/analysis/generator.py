"""Whether the generator was saturated at a level: it is ruled out first, always (CAUSES.md, `generator_cpu_saturated`).

Two of three grounds, since each alone has an innocent explanation: a busy thread that keeps up, a neighbour's burst, a wait that
was not told. What was not measured is no ground and no defence; where nothing was, nothing is said.
"""

from __future__ import annotations

from ..model.events import LevelFigures

BUSY_LEAST = 0.95
"""On-CPU and waiting for a core, of the load thread, together."""

LAG_MOST_MS = 20.0
"""Loop lag p99."""

LITTLE_MOST = 1.15
"""N / (X (R + Z)): users that neither responses nor waits account for."""

GROUNDS_LEAST = 2


def is_saturated(figures: LevelFigures) -> bool | None:
    """Of a settled level. None where neither the load thread's CPU nor its loop lag was measured (imports)."""
    if figures.generator_cpu_ratio is None and figures.loop_lag_p99_ms is None:
        return None
    little = little_ratio(figures)
    return GROUNDS_LEAST <= sum(
        (
            figures.generator_cpu_ratio is not None
            and figures.generator_cpu_ratio + (figures.generator_run_delay_ratio or 0.0) >= BUSY_LEAST,
            figures.loop_lag_p99_ms is not None and figures.loop_lag_p99_ms > LAG_MOST_MS,
            little is not None and little > LITTLE_MOST,
        )
    )


def little_ratio(figures: LevelFigures) -> float | None:
    """N / (X (R + Z)) with Z the mean wait that users chose; None where one of them is not known."""
    if figures.wait_s is None or figures.response_ms is None or not figures.users_mean or not figures.throughput_rps:
        return None
    return figures.users_mean / (figures.throughput_rps * (figures.response_ms / 1000 + figures.wait_s))
