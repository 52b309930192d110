"""The settled levels of offered rates of one epoch, with the counts of their iterations.

Levels are cut where the service changed inside them, as levels of users are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...model.figures import LevelFigures
from ...model.level import Level
from ...model.load import Rate
from ...model.offered import OfferedFigures
from ...model.slice import Slice
from ...model.timeline import Timeline
from ..causes.generator_saturation import is_saturated
from ..ladder import LevelPart, Measured
from ..rates.level_state import LOST_LEAST, LowLoad, on_ladder, state_of
from ..rates.rate_level import SAME_RATE, RateLevel
from .failing_seconds import FAULTY_MOST, faulty_last_seconds
from .measured_epoch import SECONDS_LEAST, MeasuredEpoch, is_invalidated
from .neighbours import NeighbourCheck, withheld_from
from .onset import cut, halves_of, parts_of, queue_filled
from .part_figures import replied_shares, seconds_of_part
from .rate_recovery import IN_FLIGHT_MORE, IN_FLIGHT_TIMES, after_left_out
from .regime import FAILING

# -- rate ramps ----------------------------------------------------------------------------------------------------------------
# Ramps of an offered rate: the order of their bins, and how much the change of the rate itself adds to the work in flight.
#
# Bins are made as for ramps of users (`ladder.parts`). The arrivals of each bin were counted, so it is judged like a level: below
# the capacity all arrivals are served, and above it goodput is the capacity, since a growing queue never leaves a server idle.


FINISHED_LEAST = 20
"""Finished iterations from which a bin's mean time from plan is used."""


def slope_of(timeline: Timeline, level: Level) -> float:
    """Change of the offered rate per second, in 1/s per second; 0 for a constant rate."""
    rates, times = timeline.columns["offered_per_s"], timeline.columns["t_s"]
    ticks = [tick for tick in timeline.seconds_of(level, settled=False) if rates[tick] == rates[tick]]
    return (rates[ticks[-1]] - rates[ticks[0]]) / (times[ticks[-1]] - times[ticks[0]]) if len(ticks) > 1 else 0.0


def chronological(bins: Sequence[LevelPart], slope: float) -> list[LevelPart]:
    """Bins in the order they ran. `bins`: by ascending rate; `slope`: as of `slope_of`."""
    return list(bins if slope >= 0 else reversed(bins))


def growth_of_rate(bins: Sequence[LevelPart], slope: float) -> list[float]:
    """Growth of the iterations in flight during each bin that the change of the rate alone explains, by Little's law: the change
    of the rate times the mean time from plan at the lowest rate.
    """
    known = [
        (offered.offered_per_s, offered.from_plan_ms.mean / 1000)
        for offered in (part.figures.offered for part in bins)
        if offered is not None and offered.finished >= FINISHED_LEAST and offered.from_plan_ms.mean is not None
    ]
    time_in_service_s = min(known)[1] if known else 0.0
    return [slope * part.figures.settled_seconds * time_in_service_s for part in bins]


# -- rate backlog --------------------------------------------------------------------------------------------------------------
# How many iterations in flight are a backlog at the start of an offered rate, by the levels before it.
#
# By Little's law iterations in flight are the rate times the time from plan. So another rate shows how many a rate needs.


def backlog_above(levels: Iterable[Level], rate_per_s: float, in_flight: int) -> float | None:
    """Iterations in flight above which a service at `rate_per_s` works off a backlog. None: not known, or there is none.

    `levels`: those before, of one epoch. `in_flight`: at the start of this rate. The measure is the nearest rate that is not
    higher, since a higher one may have been overload; without one, the level with the shortest time from plan.
    """
    settled = (level for level in levels if level.load.per_s and not level.opened.ramp and level.figures.settled)
    known = [level.figures.offered for level in settled if level.figures.offered and level.figures.offered.offered_per_s > 0]
    needed_s = [(each.offered_per_s, each.in_flight_mean / each.offered_per_s) for each in known]
    below = [each for each in needed_s if each[0] <= (1 + SAME_RATE) * rate_per_s]
    seconds = max(below)[1] if below else min((each[1] for each in needed_s), default=None)
    if seconds is None:
        return None
    above = IN_FLIGHT_TIMES * seconds * rate_per_s + IN_FLIGHT_MORE
    return above if in_flight > above else None


QUEUED_MOST = 0.1
"""The pool is at its cap if more than this share of the iterations in flight waits for a user; while users start, few do."""


@dataclass(frozen=True)
class RateLadder(MeasuredEpoch):
    """The levels of offered rates of an epoch. Their load is the rate: `users` of their ladder levels is iterations a second."""

    rates: tuple[RateLevel, ...] = ()
    """One for each element of `measured`, with the counts of its iterations."""

    @property
    def comparable(self) -> list[Measured]:
        """Without the backlog of an overload that is left out: the levels of a regime do not explain it."""
        backlog = [level for _, level in self.after_left_out]
        excluded = {id(each) for each, rate in self._pairs if rate in backlog}
        return [each for each in super().comparable if id(each) not in excluded]

    @cached_property
    def after_left_out(self) -> list[tuple[RateLevel, RateLevel]]:
        """Each level with a backlog of an overload that is left out, after that overload."""
        usable = {id(each) for each in super().comparable}
        left_out = [rate for each, rate in self._pairs if rate.left_out or id(each) not in usable]
        return after_left_out(self.rates, left_out)

    @property
    def disturbed(self) -> tuple[int, ...]:
        """Indices of levels that other processes disturbed."""
        return tuple(dict.fromkeys(each.level.opened.index for each in self.measured if each.ladder_level.disturbed))

    @property
    def left_out(self) -> tuple[int, ...]:
        """Indices of the disturbed levels that do not describe the service."""
        used = {rate.index for rate in self.usable}
        return tuple(index for index in self.disturbed if index not in used)

    @property
    def usable(self) -> list[RateLevel]:
        """Elements of `rates` that describe the service in the judged regime, in the order they ran.

        A level whose goodput other processes lowered is used only if it was served in full.
        """
        chosen = {level.started_s for level in self.judged.steady}
        described = [
            (each, rate) for each, rate in self._pairs if rate.started_s in chosen and not rate.left_out and rate.due
        ]  # bins of a ramp all have the start of the ramp
        return [
            rate for each, rate in described if not each.ladder_level.goodput_disturbed or state_of(rate, LowLoad()) == "kept"
        ]

    @property
    def _pairs(self) -> list[tuple[Measured, RateLevel]]:
        return list(zip(self.measured, self.rates, strict=True))


def rate_ladder(timeline: Timeline, epoch: int, levels: Sequence[Level]) -> RateLadder:
    """The ladder of those `levels` that offered a constant rate and settled, and of the bins of ramps that ended."""
    own = tuple(level for level in levels if isinstance(level.load, Rate))
    counted = [level for level in own if _counts(level)]
    neighbours = NeighbourCheck.of(timeline)

    def measured(level: Level, parts: Callable[[Timeline, Level], list[LevelPart]]) -> Iterator[tuple[Measured, RateLevel]]:
        return _measured(timeline, neighbours, level, parts(timeline, level))

    def halves(each: Measured) -> tuple[Measured, ...]:
        return () if each.is_part else tuple(found for found, _ in measured(each.level, halves_of))

    pairs = [pair for level in counted for pair in measured(level, _parts)]
    return RateLadder(
        timeline,
        index=epoch,
        levels=own,
        outside_requests_ms=0.0,
        measured=tuple(found for found, _ in pairs),
        halves=halves,
        all_levels=own,
        rates=tuple(rate for _, rate in pairs),
    )


def _counts(level: Level) -> bool:
    """Whether the level is measured: it settled and was long enough, or is a ramp that has ended."""
    if level.opened.ramp:
        return bool(level.closed is not None and level.bins)
    is_whole = level.closed is not None or level.figures.settled_seconds >= SECONDS_LEAST
    return level.figures.offered is not None and level.figures.settled and is_whole


def _parts(timeline: Timeline, level: Level) -> list[LevelPart]:
    """The parts of a level. Without its last seconds if a fault began only in them: they belong to the next level."""
    if level.opened.ramp:
        return chronological(parts_of(timeline, level), slope_of(timeline, level))
    found, ticks = parts_of(timeline, level), timeline.seconds_of(level)
    if level.opened.since_s is not None and ticks and _fails(found[0]) and queue_filled(timeline, level, ticks[0]):
        found = [replace(found[0], after_queue=True), *found[1:]]
    if level.closed is None or len(found) > 1 or len(ticks) < 2 * FAULTY_MOST:
        return found
    columns = [timeline.columns[name] for name in ("requests", "failures", "finished", "in_flight")]
    faulty = faulty_last_seconds(*(np.array([column[tick] for tick in ticks]) for column in columns))
    return cut(timeline, level, [len(ticks) - faulty])[:1] if 0 < faulty <= FAULTY_MOST else found


def _fails(part: LevelPart) -> bool:
    return (part.figures.failure_ratio or 0.0) >= FAILING


def _measured(
    timeline: Timeline, neighbours: NeighbourCheck, level: Level, parts: Sequence[LevelPart]
) -> Iterator[tuple[Measured, RateLevel]]:
    risen = growth_of_rate(parts, slope_of(timeline, level)) if level.opened.ramp else [0.0] * len(parts)
    for part, grows in zip(parts, risen, strict=True):
        figures, offered = part.figures, part.figures.offered
        if not figures.settled or offered is None or offered.offered_per_s <= 0:
            continue
        withheld = withheld_from(neighbours, timeline, level, part)
        lowered = withheld is not None and withheld.of_goodput
        left_out = offered.miscounted or is_invalidated(timeline, level)
        rate = _rate_level(timeline, level, part, offered, left_out=left_out, growth_of_rate=grows)
        if rate.ramp and rate.due <= 0:
            continue  # near 0/s: without arrivals a bin has no goodput, which is no failure
        lag_ms = figures.loop_lag_p99_ms
        yield Measured(level, part, on_ladder(rate, loop_lag_ms=lag_ms, disturbed=withheld is not None, lowered=lowered)), rate


def _rate_level(
    timeline: Timeline, level: Level, part: LevelPart, offered: OfferedFigures, *, left_out: bool, growth_of_rate: float
) -> RateLevel:
    """The counts of one part of a level. `left_out`: it does not describe the service, or its counts cannot be trusted."""
    figures, shares = part.figures, replied_shares(timeline, level) or (None, None)
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
        replied_ratio=shares[0],
        refused_ratio=shares[1],
        from_plan_ms=offered.from_plan_ms.mean,
        from_plan_se_ms=_from_plan_se_ms(timeline, level, part),
        p95_ms=offered.from_plan_ms.p95,
        p99_ms=offered.from_plan_ms.p99,
        at_cap=dropped > LOST_LEAST * ended or offered.queued_mean > QUEUED_MOST * max(offered.in_flight_mean, 1.0),
        dropped_by_generator=dropped - offered.dropped.target,
        generator_saturated=is_saturated(figures),
        left_out=left_out,
        ramp=level.opened.ramp,
        growth_of_rate=growth_of_rate,
        started_s=part.started_s,
        ended_s=part.ended_s,
    )


def _from_plan_se_ms(timeline: Timeline, level: Level, part: LevelPart) -> float | None:
    """Standard error of the mean time from plan, by batch means; None for a ramp, and with too few seconds."""
    if level.opened.ramp:
        return None
    ticks = seconds_of_part(timeline, level, part.started_s, part.ended_s)
    return Slice(timeline.columns, ticks).batch_error("from_plan_sum_ms", "finished")


def _failed_ms(figures: LevelFigures) -> float | None:
    """Mean latency of failed requests, from the sums of all requests and of the successes; None without failures."""
    if not figures.failures or figures.response_ms is None:
        return None
    succeeded_ms = (figures.latency_ms.mean or 0.0) * (figures.requests - figures.failures)
    return max(figures.response_ms * figures.requests - succeeded_ms, 0.0) / figures.failures
