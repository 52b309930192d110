"""Recovery from overload at offered rates: which levels follow an overload, and whether the service served them as before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.rate_verdicts import RateRecovery
from ...model.timeline import Timeline
from ..rates.level_state import is_overloaded, low_load, state_of
from ..rates.rate_level import SAME_RATE, RateLevel, pooled

RECOVERED_S = 3
"""The service has recovered if at least so many last seconds of a level have no backlog and no failures."""

NOT_RECOVERED_S = 20
"""It has not recovered if after so many seconds the backlog does not shrink or requests fail."""

IN_FLIGHT_TIMES, IN_FLIGHT_MORE = 2.0, 5.0
"""Iterations in flight are no backlog up to this many times the usual number, plus so many: they vary by their square root and
more."""

FAILING_MOST = 0.1
"""Greatest failure ratio of a second without overload."""


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


def recoveries(
    timeline: Timeline, levels: Sequence[RateLevel], fit: Sequence[RateLevel], down: Sequence[RateLevel]
) -> Iterator[RateRecovery]:
    """One result per step down from overload. Ramps down have none, since they have no moment from which to count seconds."""
    for before, level in zip(levels, levels[1:], strict=False):
        if level not in down or before in down or level.ramp:
            continue
        since_s = level.started_s if before.ended_s is None else before.ended_s  # levels between may be too unsteady to be used
        after_s, recovered = recovery(*_seconds(timeline, since_s, level.ended_s), usual_in_flight(fit, level.rate_per_s))
        yield RateRecovery(
            level=level.index, from_per_s=before.offered_per_s, to_per_s=level.rate_per_s, recovered=recovered, after_s=after_s
        )


def usual_in_flight(fit: Sequence[RateLevel], rate_per_s: float) -> float | None:
    """Most iterations in flight at this rate without a backlog, from the nearest level served in full; None without one."""
    low = low_load(pooled(fit)) if fit else None
    kept = [level for level in fit if low is not None and state_of(level, low) == "kept"]
    if not kept:
        return None
    nearest = min(kept, key=lambda level: abs(level.rate_per_s - rate_per_s))
    return IN_FLIGHT_TIMES * nearest.in_flight * rate_per_s / nearest.rate_per_s + IN_FLIGHT_MORE


def recovery(in_flight: Sequence[float], failure_ratio: Sequence[float], usual: float | None) -> tuple[float | None, bool | None]:
    """(seconds after which backlog and failures were gone for good, whether the service recovered).

    `in_flight`, `failure_ratio`: one value per second since the step. `usual`: as of `usual_in_flight`. None: not known, since
    the backlog still shrinks, or no level was served in full before. One second alone with more in flight is no backlog.
    """
    if usual is None or len(in_flight) < RECOVERED_S:
        return None, None
    above = [False, *(flying > usual for flying in in_flight), False]
    queues = [now and (before or after) for before, now, after in zip(above, above[1:], above[2:], strict=False)]
    fails = [failing > FAILING_MOST for failing in failure_ratio]
    bad = max((second for second in range(len(queues)) if queues[second] or fails[second]), default=-1)
    if len(queues) - bad > RECOVERED_S:
        return float(bad + 1), True
    half = len(in_flight) // 2
    shrinks = max(in_flight[half:]) < max(in_flight[:half]) and failure_ratio[-1] <= FAILING_MOST
    return None, False if len(in_flight) >= NOT_RECOVERED_S and not shrinks else None


def _seconds(timeline: Timeline, since_s: float, last_s: float | None) -> tuple[list[float], list[float]]:
    """(iterations in flight, failure ratio): one value of each per second between these times; None: until now."""
    columns = timeline.columns
    first = timeline.index_at(since_s) + 1
    ticks = range(first, (timeline.ticks if last_s is None else timeline.index_at(last_s) + 1))
    all_rps, failed_rps = columns["throughput_rps"], columns["failures_rps"]
    ratios = [failed_rps[tick] / all_rps[tick] if all_rps[tick] > 0 else 0.0 for tick in ticks]
    return [columns["in_flight"][tick] for tick in ticks], ratios
