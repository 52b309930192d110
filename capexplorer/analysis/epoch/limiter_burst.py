"""Bursts that a rate limiter lets through: goodput above its limit, until it refuses with HTTP 429.

A token bucket saves its allowance while load is low, and a limiter by window refuses only in the rest of each window. Such
refusals begin in the middle of a level without a fault, and the seconds before them show no capacity. A 429 names a limit of load
by definition (RFC 6585, section 4), which a 503 does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...model.level import Level
from ...model.timeline import Timeline
from ..knee.limit import FAILURES_MORE
from ..ladder import JudgedPart, LadderLevel, Measured, parts
from .level_comparison import failure_ratio_of
from .part_figures import refused_status
from .recovery import is_surely_less

LIMITED = 429
"""Too Many Requests."""


def is_limited(timeline: Timeline, level: Level) -> bool:
    """Whether nearly all failed requests of a level of users got a 429."""
    return level.offered_per_s is None and refused_status(timeline, level) == LIMITED


def without_burst(found: Sequence[JudgedPart], level: Level) -> list[JudgedPart]:
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
    refused = [each.rates for each in measured if each.part.limited and failure_ratio_of(each.rates) >= FAILURES_MORE]
    return [each for each in measured if not any(_is_burst(each.rates, later) for later in refused)]


def _is_burst(level: LadderLevel, later: LadderLevel) -> bool:
    is_later = later.started_s > level.started_s and later.users <= level.users
    is_clean = failure_ratio_of(level) < FAILURES_MORE
    return is_later and is_clean and is_surely_less(later, level.goodput_rps, level.goodput_error_rps)
