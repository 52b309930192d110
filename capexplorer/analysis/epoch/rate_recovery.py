"""Recovery on the axis of offered rates: levels that follow overload, and whether the service served them as before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.rate_verdicts import RateRecovery
from ...model.timeline import Timeline
from ..ladder import LadderLevel
from ..rates.departure import is_departed, low_load, state_of
from ..rates.rate_level import RATE_SAME, RateLevel
from .recovery import recovery_of


def split(levels: Sequence[RateLevel]) -> tuple[list[RateLevel], list[RateLevel]]:
    """(levels that the curve uses, levels of recovery), both in the order they ran.

    A level is *recovery* if its rate is lower than that of the level before it, and that one was not served in full or was
    recovery itself: its backlog is still worked off. One that is lower than all before it still counts.
    """
    fit: list[RateLevel] = []
    down: list[RateLevel] = []
    for before, level in zip([None, *levels], levels, strict=False):
        covered = any(level.rate_per_s >= known.rate_per_s for known in fit)
        if before is not None and covered and _recovers(before, level, fit, down):
            down.append(level)
        else:
            fit.append(level)
    return fit, down


def _recovers(before: RateLevel, level: RateLevel, fit: Sequence[RateLevel], down: Sequence[RateLevel]) -> bool:
    recovering = bool(down) and down[-1] is before
    if recovering and abs(level.rate_per_s - before.rate_per_s) <= RATE_SAME * before.rate_per_s:
        return True
    low = low_load(min(fit, key=lambda known: known.rate_per_s))
    return level.rate_per_s < before.rate_per_s and (recovering or is_departed(state_of(before, low)))


def recoveries(
    timeline: Timeline, levels: Sequence[RateLevel], fit: Sequence[RateLevel], down: Sequence[RateLevel]
) -> Iterator[RateRecovery]:
    """One for each step down from overload."""
    for before, level in zip(levels, levels[1:], strict=False):
        if level not in down or before in down:
            continue
        known = [_as_load(each) for each in fit if each.started_s < level.started_s]
        found = recovery_of(known, before.offered_per_s, level.rate_per_s, *_seconds(timeline, level))
        yield RateRecovery(
            level=level.index,
            from_per_s=before.offered_per_s,
            to_per_s=level.rate_per_s,
            recovered=found.recovered,
            after_s=found.after_s,
        )


def _as_load(level: RateLevel) -> LadderLevel:
    """Goodput and service time by load, which is the offered rate here."""
    return LadderLevel(users=level.offered_per_s, goodput_rps=level.goodput_per_s, latency_ms=level.service_ms)


def _seconds(timeline: Timeline, level: RateLevel) -> tuple[list[float], list[float], list[float]]:
    """Finished iterations, mean service time in ms and loop lag p99 of each second since the level began."""
    columns = timeline.columns
    first, last_s = timeline.index_at(level.started_s) + 1, level.ended_s
    ticks = range(first, (timeline.ticks if last_s is None else timeline.index_at(last_s) + 1))
    successes = [columns["requests"][tick] - columns["failures"][tick] for tick in ticks]
    sums_ms = [columns["latency_sum_ms"][tick] for tick in ticks]
    means_ms = [total / count if count > 0 else float("nan") for total, count in zip(sums_ms, successes, strict=True)]
    return [columns["finished_per_s"][tick] for tick in ticks], means_ms, [columns["loop_lag_p99_ms"][tick] for tick in ticks]
