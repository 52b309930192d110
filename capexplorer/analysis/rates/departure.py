"""Whether one level served in full what was offered, and if not, why not (docs/knee.md, section 18).

The diagonal of goodput over offered rate is known exactly, so nothing is fitted: the arrivals of a level were counted. What did
not succeed failed, was dropped, or is still in flight, and each of the three is compared with its own noise.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...model.intervals import ONE_SIDED_95
from ...model.rate_verdicts import LevelState
from ..knee.objectives import wilson
from .rate_level import RateLevel

GROWTH_ERRORS = 2.6
"""Standard errors by which the growth of work in flight is above zero before a queue is said to grow."""

GROWTH_LEAST = 0.02
"""And share of the offered rate: less is a queue that has not reached its mean yet."""

LOST_LEAST = 0.02
"""Share of iterations that surely fail beyond those of the lowest rate, or of arrivals that are surely dropped."""

KEPT_MOST = 0.15
"""Upper bound of what may be missing from the offered rate at a level that is said to be served in full. About 240 arrivals."""

FAILING_ALWAYS_MOST = 0.2
"""Failure ratio of the lowest rate above which it is not taken for the service's usual one."""

SLOWER_AT_CAP = 3.0
"""Times the service time of the lowest rate that a level at the cap of users must take before the cap is not to blame: with so
many requests in the service all of its servers are busy. Little's law: users / service time at low load is what the pool itself
can do at most."""


@dataclass(frozen=True, slots=True)
class LowLoad:
    """The lowest rate, with which the others are compared."""

    failure_high: float = 0.0
    """Upper bound of its failure ratio; 0 if it fails too often to be the usual one."""
    service_ms: float | None = None


def low_load(lowest: RateLevel) -> LowLoad:
    """Of the level at the lowest rate."""
    if lowest.failure_ratio > FAILING_ALWAYS_MOST or not lowest.failed:
        return LowLoad(0.0, lowest.service_ms)
    return LowLoad(wilson(lowest.failure_ratio, lowest.succeeded + lowest.failed)[1], lowest.service_ms)


def state_of(level: RateLevel, low: LowLoad) -> LevelState:
    """The state of a level. The generator is tested first, always: it is never taken for the service."""
    if level.generator_saturated:
        return "generator"
    departed = _departure(level, low)
    if departed is None:
        return "kept" if _missing_most(level, low) <= KEPT_MOST else "unsure"
    if level.dropped_by_generator or (level.at_cap and not _slower(level, low)):
        return "generator"
    return departed


def is_departed(state: LevelState) -> bool:
    """Whether the service surely did not serve in full what was offered."""
    return state in ("queue_grows", "fails", "dropped")


def _departure(level: RateLevel, low: LowLoad) -> LevelState | None:
    """The greatest of the sure losses; None: there is none."""
    growth_per_s = level.growth / level.seconds
    least_per_s = max(GROWTH_ERRORS * level.growth_error_per_s, GROWTH_LEAST * level.offered_per_s)
    failed_low = wilson(level.failure_ratio, level.succeeded + level.failed)[0] - low.failure_high
    losses: dict[LevelState, float] = {
        "queue_grows": growth_per_s / level.offered_per_s if level.due and growth_per_s > least_per_s else 0.0,
        "fails": failed_low if failed_low > LOST_LEAST else 0.0,
        "dropped": level.dropped_ratio if wilson(level.dropped_ratio, level.due)[0] > LOST_LEAST else 0.0,
    }
    most = max(losses, key=lambda state: losses[state])
    return most if losses[most] else None


def _missing_most(level: RateLevel, low: LowLoad) -> float:
    """Upper bound of the share of arrivals that were not served, beyond the failures of the lowest rate."""
    if not level.due:
        return 1.0
    growth = level.growth / level.seconds + ONE_SIDED_95 * level.growth_error_per_s
    failed = max(level.failure_ratio - low.failure_high, 0.0)
    return max(growth, 0.0) / level.offered_per_s + failed + level.dropped_ratio


def _slower(level: RateLevel, low: LowLoad) -> bool:
    """Whether requests at the cap of users wait in the service, so that the pool is not what limits."""
    known = level.service_ms is not None and low.service_ms is not None
    return known and (level.service_ms or 0.0) >= SLOWER_AT_CAP * (low.service_ms or 0.0)
