"""Failures that began while a level settled, but later than its step explains.

Load that exceeds a limit makes requests fail within a cycle of the users: by then all of them have sent a request under it. A
request that times out was sent earlier than it failed. Requests that begin to fail after that did not begin with the step, even
if the level has no clean settled second to compare them with.
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
    """When they began, and which of the level's settled seconds they are."""

    since_s: float
    first: int
    """Index of the first of them among the settled seconds."""
    at: tuple[int, ...]
    """Where they ended, or began again: ascending indices among the settled seconds."""


def settling_failures(timeline: Timeline, level: Level, settled: Sequence[int]) -> SettlingFailures | None:
    """`settled`: column indices of the level's settled seconds. None: no failures, or they may have begun with the step."""
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
    """The seconds that lie a cycle of all users or more after the last of them started, until the level settled."""
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
    """Until when requests may fail that were sent in the first of `ticks` or earlier. Silence has no such delay."""
    columns = timeline.columns
    failed = [tick for tick in ticks[began:] if columns["failures_rps"][tick]]
    if not failed or not columns["throughput_rps"][ticks[began]]:
        return 0.0
    return started_s(timeline, ticks[0]) + _failed_after_s(timeline, failed)


def _failed_after_s(timeline: Timeline, failed: Sequence[int]) -> float:
    """Mean time after which requests failed in these seconds, of those that were counted."""
    columns = timeline.columns
    count = sum(columns["failures"][tick] for tick in failed)
    return sum(columns["failure_latency_sum_ms"][tick] for tick in failed) / 1000 / count if count else 0.0


def _sent(timeline: Timeline, ticks: Sequence[int], name: str) -> Series:
    """Requests of each second: all that were sent, those of users that were not warm among them."""
    columns = timeline.columns
    return np.array([columns[name][tick] * columns["duration_s"][tick] for tick in ticks])
