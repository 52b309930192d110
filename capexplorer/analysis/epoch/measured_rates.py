"""Levels of a timeline at offered rates, with their counts: settled ones of one epoch, in the order they ran."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.figures import LevelFigures
from ...model.level import Level
from ...model.offered import OfferedFigures
from ...model.timeline import Timeline
from ..causes.generator_saturation import is_saturated
from ..rates.rate_level import RateLevel
from .failed_replies import replied_shares
from .judgeable import is_invalidated
from .neighbours import NeighbourCheck

SECONDS_LEAST = 5.5
"""Settled seconds from which an open level counts, as of a level of users."""

QUEUED_MOST = 0.1
"""Share of the iterations in flight that may wait for a user before the pool is at its cap: while users start, few do."""


def rate_levels(timeline: Timeline, levels: Sequence[Level]) -> list[RateLevel]:
    """Those of `levels` that offered one rate and settled. Ramps are not judged: their queue is never that of one rate."""
    neighbours = NeighbourCheck.of(timeline)
    found = []
    for level in levels:
        figures, offered = level.figures, level.figures.offered
        is_whole = level.closed is not None or figures.settled_seconds >= SECONDS_LEAST
        if level.offered_per_s is None or level.opened.ramp or offered is None or not (figures.settled and is_whole):
            continue
        withheld = neighbours.withheld(figures)
        left_out = (withheld is not None and withheld.of_goodput) or is_invalidated(timeline, level)
        found.append(_rate_level(timeline, level, figures, offered, left_out))
    return found


def _rate_level(timeline: Timeline, level: Level, figures: LevelFigures, offered: OfferedFigures, left_out: bool) -> RateLevel:
    shares = replied_shares(timeline, level)
    dropped = offered.dropped.total - offered.dropped.stopped
    ended = offered.finished + offered.failed + dropped
    return RateLevel(
        index=level.opened.index,
        rate_per_s=offered.offered_per_s,
        seconds=figures.settled_seconds,
        due=ended + offered.in_flight - offered.in_flight_before,
        succeeded=offered.finished,
        failed=offered.failed,
        dropped=dropped,
        goodput_se_per_s=offered.finished_se_per_s,
        in_flight=offered.in_flight_mean,
        service_ms=figures.latency_ms.mean,
        failed_ms=_failed_ms(figures),
        replied_ratio=shares[0] if shares is not None else None,
        p95_ms=offered.from_plan_ms.p95,
        p99_ms=offered.from_plan_ms.p99,
        at_cap=dropped > 0 or offered.queued_mean > QUEUED_MOST * max(offered.in_flight_mean, 1.0),
        dropped_by_generator=dropped - offered.dropped.target > offered.dropped.target,
        generator_saturated=is_saturated(figures),
        left_out=left_out,
        started_s=level.started_s,
        ended_s=level.ended_s,
    )


def _failed_ms(figures: LevelFigures) -> float | None:
    """Mean latency of failed requests: that of all requests, less that of the successes."""
    if not figures.failures or figures.response_ms is None:
        return None
    succeeded_ms = (figures.latency_ms.mean or 0.0) * (figures.requests - figures.failures)
    return max(figures.response_ms * figures.requests - succeeded_ms, 0.0) / figures.failures
