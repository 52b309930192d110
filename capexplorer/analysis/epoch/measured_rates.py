"""The settled levels of offered rates of one epoch, with the counts of their iterations.

Levels are cut where the service changed inside them, as levels of users are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from ...model.figures import LevelFigures
from ...model.level import Level
from ...model.load import OfferedFigures, Rate
from ...model.slice import Slice
from ...model.timeline import Timeline
from ...model.verdicts import RateRecovery
from ..causes.generator_saturation import is_saturated
from ..knee.rate_level import SAME_RATE, LowLoad, RateLevel, is_overloaded, low_load, on_ladder, pooled, state_of
from ..ladder import LevelPart, Measured
from ..statistics import COUNT_LEAST, LOST_LEAST, NONE_EXPECTED_MOST, SURE_ERRORS
from .level_seconds import replied_shares, seconds_of_part
from .measured_epoch import MeasuredEpoch, is_invalidated
from .neighbours import NeighbourCheck
from .onset import parts_of, queue_filled
from .regime import FAILING, SECONDS_LEAST

# -- Recovery from overload at offered rates: which levels follow an overload, and whether the service served them as before.

RECOVERED_S = 3
"""The service has recovered if at least so many last seconds of a level have no backlog and no failures."""

NOT_RECOVERED_S = 20
"""It has not recovered if after so many seconds the backlog does not shrink or requests fail."""

IN_FLIGHT_TIMES, IN_FLIGHT_MORE = 2.0, 5.0
"""Iterations in flight are no backlog up to this many times the usual number, plus so many: they vary by their square root and
more."""

FAILING_MORE = 0.1
"""A second fails if its failure ratio is so much above the usual one, and by more than chance: in a second with 20 requests of
which 15% fail usually, 10% more do so one time in seven."""


class Usual(msgspec.Struct, frozen=True):
    """What a second at a rate shows without overload, by the nearest level that was served in full."""

    in_flight: float
    """Most iterations in flight without a backlog."""
    failure_ratio: float = 0.0
    """Share of the iterations that fail."""


class SecondAfter(msgspec.Struct, frozen=True):
    """One second after a step down: iterations in flight at its end, and those that ended in it."""

    in_flight: float
    ended: float
    failed: float = 0.0


def split(levels: Sequence[RateLevel]) -> tuple[list[RateLevel], list[RateLevel]]:
    """(levels that the curve uses, levels of recovery), both in the order they ran.

    A level is *recovery* if its rate is lower than that of the level before it, and that level was not served in full or was
    recovery itself: its backlog still has to be worked off. A level with the lowest rate so far still feeds the curve, unless it
    is a bin of a ramp, which does not wait until the backlog is gone.
    """
    fit: list[RateLevel] = []
    down: list[RateLevel] = []
    for before, level in zip([None, *levels], levels, strict=False):
        covered = level.ramp or any(level.rate_per_s >= known.rate_per_s for known in fit)
        if before is not None and covered and _recovers(before, level, fit, down):
            down.append(level)
        else:
            fit.append(level)
    return fit, down


def _recovers(before: RateLevel, level: RateLevel, fit: Sequence[RateLevel], down: Sequence[RateLevel]) -> bool:
    recovering = bool(down) and down[-1] is before
    if recovering and abs(level.rate_per_s - before.rate_per_s) <= SAME_RATE * before.rate_per_s:
        return True
    low = low_load(pooled([each.served for each in fit]))
    return level.rate_per_s < before.rate_per_s and (recovering or is_overloaded(state_of(before.served, low)))


def recoveries(
    timeline: Timeline, levels: Sequence[RateLevel], fit: Sequence[RateLevel], down: Sequence[RateLevel]
) -> Iterator[RateRecovery]:
    """One result per step down from overload. Ramps down have none, since they have no moment from which to count seconds."""
    for before, level in zip(levels, levels[1:], strict=False):
        if level not in down or before in down or level.ramp:
            continue
        since_s = level.started_s if before.ended_s is None else before.ended_s  # levels between may be too unsteady to be used
        after_s, recovered = recovery(_seconds_after(timeline, since_s, level.ended_s), usual_at(fit, level.rate_per_s))
        yield RateRecovery(
            level=level.index, from_per_s=before.offered_per_s, to_per_s=level.rate_per_s, recovered=recovered, after_s=after_s
        )


def usual_at(fit: Sequence[RateLevel], rate_per_s: float) -> Usual | None:
    """What is usual at this rate, from the nearest level served in full; None without one."""
    low = low_load(pooled(fit)) if fit else None
    kept = [level for level in fit if low is not None and state_of(level, low) == "kept"]
    if not kept:
        return None
    nearest = min(kept, key=lambda level: abs(level.rate_per_s - rate_per_s))
    in_flight = IN_FLIGHT_TIMES * nearest.in_flight * rate_per_s / nearest.rate_per_s + IN_FLIGHT_MORE
    return Usual(in_flight, nearest.failure_ratio)


def recovery(seconds: Sequence[SecondAfter], usual: Usual | None) -> tuple[float | None, bool | None]:
    """(seconds after which backlog and failures were gone for good, whether the service recovered).

    `seconds`: those since the step. None: not known, since the backlog still shrinks, or no level was served in full before. One
    second alone with more in flight is no backlog.
    """
    if usual is None or len(seconds) < RECOVERED_S:
        return None, None
    in_flight = [second.in_flight for second in seconds]
    above = [False, *(flying > usual.in_flight for flying in in_flight), False]
    queues = [now and (before or after) for before, now, after in zip(above, above[1:], above[2:], strict=False)]
    fails = [_fails_at(second, usual.failure_ratio) for second in seconds]
    bad = max((second for second in range(len(queues)) if queues[second] or fails[second]), default=-1)
    if len(queues) - bad > RECOVERED_S:
        return float(bad + 1), True
    half = len(in_flight) // 2
    shrinks = max(in_flight[half:]) < max(in_flight[:half]) and not fails[-1]
    return None, False if len(in_flight) >= NOT_RECOVERED_S and not shrinks else None


def _fails_at(second: SecondAfter, usual_ratio: float) -> bool:
    """Whether surely more fail than usual."""
    error = math.sqrt(second.ended * usual_ratio * (1 - usual_ratio))
    return second.failed - usual_ratio * second.ended > max(FAILING_MORE * second.ended, SURE_ERRORS * error)


def _seconds_after(timeline: Timeline, since_s: float, last_s: float | None) -> list[SecondAfter]:
    """The seconds between these times; None: until now. Failed iterations are what remains of those planned and in flight."""
    columns = timeline.columns
    first = max(timeline.index_at(since_s) + 1, 1)
    ticks = range(first, (timeline.ticks if last_s is None else timeline.index_at(last_s) + 1))
    found = []
    for tick in ticks:
        finished, in_flight = columns["finished"][tick], columns["in_flight"][tick]
        dropped = columns["dropped_per_s"][tick] * columns["duration_s"][tick]
        failed = max(columns["planned"][tick] + columns["in_flight"][tick - 1] - in_flight - finished - dropped, 0.0)
        found.append(SecondAfter(in_flight, finished + failed, failed))
    return found


# -- Ramps of an offered rate: the order of their bins, and how much the change of the rate itself adds to the work in flight.
#
# Bins are made as for ramps of users (`ladder.parts`). The arrivals of each bin were counted, so it is judged like a level: below
# the capacity all arrivals are served, and above it goodput is the capacity, since a growing queue never leaves a server idle.


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
        if offered is not None and offered.finished >= COUNT_LEAST and offered.from_plan_ms.mean is not None
    ]
    time_in_service_s = min(known)[1] if known else 0.0
    return [slope * part.figures.settled_seconds * time_in_service_s for part in bins]


# -- How many iterations in flight are a backlog at the start of an offered rate, by the levels before it.
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


class MeasuredRate(Measured, frozen=True):
    """A settled level of an offered rate, or a part of one. The load of its ladder level, `users`, is iterations a second."""

    rate: RateLevel
    """The counts of its iterations."""


class RateLadder(MeasuredEpoch, frozen=True, dict=True):
    """The levels of offered rates of an epoch."""

    measured: tuple[MeasuredRate, ...]

    @property
    def rates(self) -> list[RateLevel]:
        """The counts of all of them, in the order they ran."""
        return [each.rate for each in self.measured]

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
        return [
            each.rate
            for each in self.measured
            if each.rate.started_s in chosen  # bins of a ramp all have the start of the ramp
            and not each.rate.left_out
            and each.rate.due
            and not each.rate.works_off
            and (not each.ladder_level.goodput_disturbed or state_of(each.rate, LowLoad()) == "kept")
        ]


def rate_ladder(timeline: Timeline, epoch: int, levels: Sequence[Level]) -> RateLadder:
    """The ladder of those `levels` that offered a constant rate and settled, and of the bins of ramps that ended."""
    own = tuple(level for level in levels if isinstance(level.load, Rate))
    counted = [level for level in own if _counts(level)]
    neighbours = NeighbourCheck.of(timeline, epoch)

    return RateLadder(
        timeline,
        index=epoch,
        levels=own,
        outside_requests_ms=0.0,
        measured=tuple(each for level in counted for each in _measured(timeline, neighbours, level, _parts(timeline, level))),
        all_levels=own,
    )


def _counts(level: Level) -> bool:
    """Whether the level is measured: it settled and was long enough, or is a ramp that has ended."""
    if level.opened.ramp:
        return bool(level.closed is not None and level.bins)
    is_whole = level.closed is not None or level.figures.settled_seconds >= SECONDS_LEAST
    return level.figures.offered is not None and level.figures.settled and is_whole


def _parts(timeline: Timeline, level: Level) -> list[LevelPart]:
    """The parts of a level."""
    if level.opened.ramp:
        return chronological(parts_of(timeline, level), slope_of(timeline, level))
    found, ticks = parts_of(timeline, level), timeline.seconds_of(level)
    if level.opened.since_s is not None and ticks and _fails(found[0]) and queue_filled(timeline, level, ticks[0]):
        found = [replace(found[0], after_queue=True), *found[1:]]
    return found


def _fails(part: LevelPart) -> bool:
    return (part.figures.failure_ratio or 0.0) >= FAILING


def _measured(timeline: Timeline, neighbours: NeighbourCheck, level: Level, parts: Sequence[LevelPart]) -> Iterator[MeasuredRate]:
    risen = growth_of_rate(parts, slope_of(timeline, level)) if level.opened.ramp else [0.0] * len(parts)
    for part, grows in zip(parts, risen, strict=True):
        figures, offered = part.figures, part.figures.offered
        if not figures.settled or offered is None or offered.offered_per_s <= 0:
            continue
        withheld = neighbours.withheld(part.figures)
        lowered = withheld is not None and withheld.of_goodput
        left_out = offered.miscounted or is_invalidated(timeline, level)
        rate = _rate_level(timeline, level, part, offered, left_out=left_out, growth_of_rate=grows)
        is_none_expected = not (rate.succeeded or rate.failed) and rate.due <= NONE_EXPECTED_MOST
        if is_none_expected or (rate.ramp and rate.due <= 0):
            continue  # near 0/s: without arrivals, or while few are under way, no goodput is no failure
        lag_ms, disturbed = figures.loop_lag_p99_ms, withheld is not None
        yield MeasuredRate(level, part, on_ladder(rate, loop_lag_ms=lag_ms, disturbed=disturbed, lowered=lowered), rate)


def _rate_level(
    timeline: Timeline, level: Level, part: LevelPart, offered: OfferedFigures, *, left_out: bool, growth_of_rate: float
) -> RateLevel:
    """The counts of one part of a level. `left_out`: it does not describe the service, or its counts cannot be trusted."""
    figures, shares = part.figures, replied_shares(timeline, level) or (None, None)
    dropped = offered.dropped.total - offered.dropped.stopped
    ended = offered.finished + offered.failed + dropped
    tokens_per_s = figures.tokens_per_s if figures.served_rps is None else figures.goodput_tokens_per_s
    return RateLevel(
        index=level.opened.index,
        rate_per_s=offered.offered_per_s,
        seconds=figures.settled_seconds,
        due=max(ended + offered.in_flight - offered.in_flight_before, 0),  # less only if a log has seconds that were not recorded
        succeeded=offered.finished - offered.beyond_limits,
        failed=offered.failed + offered.beyond_limits,
        dropped=dropped,
        beyond_limits=offered.beyond_limits,
        beyond_each=None if figures.served_rps is None else tuple(figures.beyond_limits.items()),
        tokens=None if tokens_per_s is None else tokens_per_s * figures.settled_seconds,
        goodput_se_per_s=offered.finished_se_per_s,
        served_se_per_s=offered.served_se_per_s,
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
