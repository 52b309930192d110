"""The parts of a level: before and after each second at which the service changed (`segments`).

`shifts` splits long levels live and needs ten seconds on each side. A level of a fast plan has nine seconds in total, and a
service that dies in its middle must not look like a slow one. So the seconds of every level are searched, and its parts judged
separately (`regimes`). Only columns are read, so live, replayed and imported sessions are cut at the same seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
from msgspec.structs import replace

from ...model.level import Level
from ...model.load import Rate, Users
from ...model.timeline import Timeline
from ..knee.detector import is_surely_less
from ..ladder import LadderLevel, LevelPart, Measured, parts
from ..statistics import LOST_LEAST, NOTABLE
from .level_seconds import (
    part_figures,
    refused_status,
)
from .regime import failure_ratio_of
from .segments import changes_of
from .shifts import searched, silent_after, started_s

# -- Bursts that a rate limiter lets through: goodput above its limit, until it refuses with HTTP 429.
#
# A token bucket saves its allowance while load is low, and a limiter by window refuses only in the rest of each window. Such
# refusals begin in the middle of a level without a fault, and the seconds before them show no capacity. A 429 names a limit of
# load by definition (RFC 6585, section 4), which a 503 does not.

LIMITED = 429
"""Too Many Requests."""


def is_limited(timeline: Timeline, level: Level) -> bool:
    """Whether nearly all failed requests of a level of users got a 429."""
    return isinstance(level.load, Users) and refused_status(timeline, level) == LIMITED


def without_burst(found: Sequence[LevelPart], level: Level) -> list[LevelPart]:
    """The parts of a level that a limiter refused: the last one if it refused from there on, else the whole level, over whose
    windows its goodput is the limit.
    """
    is_used_up = len(found) == 2 and (found[0].figures.failure_ratio or 0.0) < (found[1].figures.failure_ratio or 0.0)
    kept = [replace(found[1], started_s=level.started_s, began_inside=False)] if is_used_up else parts(level)
    return [replace(part, limited=True) for part in kept]


def without_burst_levels(measured: Sequence[Measured]) -> list[Measured]:
    """The levels without those that a saved allowance let through: clean ones with surely more goodput than a later level that
    was refused at no more users.
    """
    refused = [each.ladder_level for each in measured if each.part.limited and failure_ratio_of(each.ladder_level) >= LOST_LEAST]
    return [each for each in measured if not any(_is_burst(each.ladder_level, later) for later in refused)]


def _is_burst(level: LadderLevel, later: LadderLevel) -> bool:
    is_later = later.started_s > level.started_s and later.users <= level.users
    is_clean = failure_ratio_of(level) < LOST_LEAST
    return is_later and is_clean and is_surely_less(later, level.goodput_rps, level.goodput_error_rps)


TRANSIENT_S = 10.0
"""If a service gets better within so many seconds after a step, it has only settled: users who start together may all time out at
first."""

QUEUE_S, SLOWER = 3, 2.0
"""A queue had filled up if, within so many seconds before or after failures began, the time from plan was this many times the
lower quartile of the seconds before that. While a queue grows evenly its median is half of the latest value."""


def parts_of(timeline: Timeline, level: Level) -> list[LevelPart]:
    """The parts of a level in the order they ran: a single one if nothing changed inside it, or the bins of a ramp."""
    if level.opened.ramp:
        return parts(level)
    at = _changes_of(timeline, level)
    if is_limited(timeline, level):
        return without_burst(cut(timeline, level, at), level)
    return _after_transient(cut(timeline, level, at), level) if at else parts(level)


def _after_transient(found: list[LevelPart], level: Level) -> list[LevelPart]:
    """The parts without a first one, right after the step, that is worse than the next: that was the step's transient."""
    head, *rest = found
    is_early = bool(rest) and rest[0].started_s - level.started_s <= TRANSIENT_S and level.opened.since_s is None
    if not is_early or (head.figures.goodput_rps or 0.0) >= (rest[0].figures.goodput_rps or 0.0):
        return found
    return _after_transient([replace(rest[0], started_s=level.started_s, began_inside=False), *rest[1:]], level)


def cut(timeline: Timeline, level: Level, at: Sequence[int]) -> list[LevelPart]:
    """The level's parts, cut at these indices of its settled seconds."""
    ticks = timeline.seconds_of(level)
    times = [level.started_s, *(started_s(timeline, ticks[index]) for index in at)]
    ends: list[float | None] = [*times[1:], level.ended_s]
    found = []
    for (first, last), began_s, ended_s in zip(pairwise([0, *at, len(ticks)]), times, ends, strict=True):
        figures = part_figures(timeline, level, ticks[first:last])
        users = figures.users_mean or float(level.users)
        after_queue = first > 0 and isinstance(level.load, Rate) and queue_filled(timeline, level, ticks[first])
        found.append(LevelPart(users, figures, began_s, ended_s, began_inside=first > 0, after_queue=after_queue))
    return found


def queue_filled(timeline: Timeline, level: Level, at: int) -> bool:
    """Whether replies around the tick `at` took much longer than before since the last step, or failures had come and gone.

    Near the capacity of an open system the queue varies widely until clients give up, and the remaining successes are slow too. A
    service that dies is as quick and clean as ever until then, and so are its last replies.
    """
    columns, seconds = timeline.columns, _seconds_since_step(timeline, level)
    ticks, later = [tick for tick in seconds if tick < at], [tick for tick in seconds if at <= tick < at + QUEUE_S]
    if any(columns["failures_rps"][tick] > NOTABLE * columns["throughput_rps"][tick] for tick in ticks[:-1]):
        return True
    known, after = (
        [columns["from_plan_sum_ms"][tick] / columns["finished"][tick] for tick in part if columns["finished"][tick]]
        for part in (ticks, later)
    )
    if len(known) <= QUEUE_S:
        return False
    return max(known[-QUEUE_S:] + after) > SLOWER * float(np.percentile(known[:-QUEUE_S], 25))


def _seconds_since_step(timeline: Timeline, level: Level) -> list[int]:
    """Column indices of all seconds of a level, and of those before it at the same load from which it was split."""
    found = list(timeline.seconds_of(level, settled=False))
    for earlier in reversed(timeline.levels[: timeline.levels.index(level)]):
        if level.opened.since_s is None:
            break
        found, level = [*timeline.seconds_of(earlier, settled=False), *found], earlier
    return found


_known: WeakKeyDictionary[Level, tuple[tuple[int, int], Sequence[int]]] = WeakKeyDictionary()
"""Results by level, with the numbers of settled seconds, and of silent ones after them, that they are of: an epoch is judged many
times as it grows."""


def _changes_of(timeline: Timeline, level: Level) -> Sequence[int]:
    """At which of its settled seconds a level changed: ascending indices among them."""
    ticks = timeline.seconds_of(level)
    of, known = (len(ticks), silent_after(timeline, ticks)), _known.get(level)
    if known is None or known[0] != of:
        seconds = replace(searched(timeline, level, ticks), latency_ms=None)
        known = _known[level] = of, [change.at for change in changes_of(seconds)]
    return known[1]
