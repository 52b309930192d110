"""Failures that began while a level settled, but later than its step explains.

Load that exceeds a limit makes requests fail within one cycle of the users, since by then all of them have sent a request under
it; a request that times out fails later than it was sent. Failures that begin after that did not begin with the step, even if the
level has no clean settled second for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...model.level import Level
from ...model.timeline import Timeline
from .failing_seconds import BUSY_PERCENTILE, CLEAN_MOST, SIDE_LEAST, failing_changes
from .shifts import Series
from .splitting import started_s


@dataclass(frozen=True, slots=True)
class SettlingFailures:
    """When failures began while a level settled, and which of its settled seconds are failing."""

    since_s: float
    """When they began, in seconds of the session."""
    first: int
    """Index of the first failing second among the settled seconds."""
    at: tuple[int, ...]
    """Where failures ended, or began again: ascending indices among the settled seconds."""


def settling_failures(timeline: Timeline, level: Level, settled: Sequence[int]) -> SettlingFailures | None:
    """Failures that began while the level settled; None if there are none, or they may have begun with its step.

    `settled`: column indices of the level's settled seconds.
    """
    before = _before(timeline, level, settled)
    if not before:
        return None
    ticks = [*before, *settled]
    requests, failures = (_sent(timeline, ticks, name) for name in ("throughput_rps", "failures_rps"))
    changes = failing_changes(requests, failures)
    early = [at for at in changes if at < len(before) + SIDE_LEAST]
    if len(early) != 1 or not _is_clean(requests, failures, early[0]):
        return None
    began, later = early[0], changes[1:]
    since_s = started_s(timeline, ticks[began])
    if since_s < _caused_by_step_until_s(timeline, ticks, began):
        return None
    return SettlingFailures(since_s, max(0, began - len(before)), tuple(at - len(before) for at in later))


def _is_clean(requests: Series, failures: Series, until: int) -> bool:
    return float(failures[:until].sum()) <= CLEAN_MOST * float(requests[:until].sum())


def _before(timeline: Timeline, level: Level, settled: Sequence[int]) -> list[int]:
    """Column indices of the seconds from one mean cycle after the last user's start until the level settled."""
    columns = timeline.columns
    ticks = [tick for tick in timeline.seconds_of(level, settled=False) if settled and tick < settled[0]]
    if not ticks:
        return []
    complete = next((at for at, tick in enumerate(ticks) if columns["users"][tick] >= columns["wanted"][tick]), len(ticks))
    usual_rps = float(np.percentile(_sent(timeline, [*ticks, *settled], "throughput_rps"), BUSY_PERCENTILE))
    if not usual_rps or complete == len(ticks):
        return []
    from_s = columns["t_s"][ticks[complete]] + level.users / usual_rps
    return [tick for tick in ticks if started_s(timeline, tick) >= from_s]


def _caused_by_step_until_s(timeline: Timeline, ticks: Sequence[int], began: int) -> float:
    """Until when failures may be of requests sent in the first of `ticks` or before; 0 if the service did not reply at all when
    failures began. Seconds of the session.
    """
    columns = timeline.columns
    failed = [tick for tick in ticks[began:] if columns["failures_rps"][tick]]
    if not failed or not columns["throughput_rps"][ticks[began]]:
        return 0.0
    return started_s(timeline, ticks[0]) + _failed_after_s(timeline, failed)


def _failed_after_s(timeline: Timeline, failed: Sequence[int]) -> float:
    """Mean time from start to failure of the requests that failed in these seconds; s."""
    columns = timeline.columns
    count = sum(columns["failures"][tick] for tick in failed)
    return sum(columns["failure_latency_sum_ms"][tick] for tick in failed) / 1000 / count if count else 0.0


def _sent(timeline: Timeline, ticks: Sequence[int], name: str) -> Series:
    """The rate in column `name` as a count per second, users that were not warm included."""
    columns = timeline.columns
    return np.array([columns[name][tick] * columns["duration_s"][tick] for tick in ticks])
