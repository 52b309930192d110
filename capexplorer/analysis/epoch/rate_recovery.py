"""Recovery from overload at offered rates: which levels follow an overload, and whether the service served them as before."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ...model.rate_verdicts import RateRecovery
from ...model.timeline import Timeline
from ..rates.level_state import LowLoad, is_overloaded, low_load, state_of
from ..rates.rate_level import SAME_RATE, RateLevel, pooled

RECOVERED_S = 3
"""The service has recovered if at least so many last seconds of a level have no backlog and no failures."""

NOT_RECOVERED_S = 20
"""It has not recovered if after so many seconds the backlog does not shrink or requests fail."""

IN_FLIGHT_TIMES, IN_FLIGHT_MORE = 2.0, 5.0
"""Iterations in flight are no backlog up to this many times the usual number, plus so many: they vary by their square root and
more."""

FAILING_MORE = 0.1
"""A second fails if its failure ratio is so much above the usual one."""

FAILING_ERRORS = 3.0
"""It must also be so many standard errors of a random count above it: in a second with 20 requests of which 15% fail usually, 10%
more do so one time in seven."""


@dataclass(frozen=True, slots=True)
class Usual:
    """What a second at a rate shows without overload, by the nearest level that was served in full."""

    in_flight: float
    """Most iterations in flight without a backlog."""
    failure_ratio: float = 0.0
    """Share of the iterations that fail."""


@dataclass(frozen=True, slots=True)
class SecondAfter:
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
    low = low_load(pooled(fit))
    return level.rate_per_s < before.rate_per_s and (recovering or is_overloaded(state_of(before, low)))


def after_left_out(levels: Sequence[RateLevel], left_out: Collection[RateLevel]) -> list[tuple[RateLevel, RateLevel]]:
    """(overload that is left out, level that was not served in full after it), for each level of a lower rate from then on until
    one is served: its backlog is not a fault of the service, even below all other rates. `levels`: all, in the order they ran.
    """
    found: list[tuple[RateLevel, RateLevel]] = []
    above: RateLevel | None = None
    for level in levels:
        is_lost = level.due > 0 and state_of(level, LowLoad()) not in ("kept", "unsure")
        if above is not None and is_lost and level.rate_per_s < (1 - SAME_RATE) * above.rate_per_s:
            found.append((above, level))
        else:
            above = level if is_lost and level in left_out else None
    return found


def recoveries(
    timeline: Timeline, levels: Sequence[RateLevel], fit: Sequence[RateLevel], down: Sequence[RateLevel]
) -> Iterator[RateRecovery]:
    """One result per step down from overload. Ramps down have none, since they have no moment from which to count seconds."""
    for before, level in zip(levels, levels[1:], strict=False):
        if level not in down or before in down or level.ramp:
            continue
        since_s = level.started_s if before.ended_s is None else before.ended_s  # levels between may be too unsteady to be used
        after_s, recovered = recovery(_seconds(timeline, since_s, level.ended_s), usual_at(fit, level.rate_per_s))
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
    fails = [_fails(second, usual.failure_ratio) for second in seconds]
    bad = max((second for second in range(len(queues)) if queues[second] or fails[second]), default=-1)
    if len(queues) - bad > RECOVERED_S:
        return float(bad + 1), True
    half = len(in_flight) // 2
    shrinks = max(in_flight[half:]) < max(in_flight[:half]) and not fails[-1]
    return None, False if len(in_flight) >= NOT_RECOVERED_S and not shrinks else None


def _fails(second: SecondAfter, usual_ratio: float) -> bool:
    """Whether surely more fail than usual."""
    error = math.sqrt(second.ended * usual_ratio * (1 - usual_ratio))
    return second.failed - usual_ratio * second.ended > max(FAILING_MORE * second.ended, FAILING_ERRORS * error)


def _seconds(timeline: Timeline, since_s: float, last_s: float | None) -> list[SecondAfter]:
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
