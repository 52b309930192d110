"""Marks about the capacity of an epoch: knees, recoveries, and levels whose goodput or latency shifted.

Pure and stateless: the same timeline gives the same marks, live and over a saved session. `mark_publisher` decides which of
them are new or changed, and `wording` has their sentences.

A `no_knee` verdict makes no mark. A bend that becomes a knee keeps its key, for example `knee:epoch0`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Literal

from ..model.events import Mark, Verdict
from ..model.findings import (
    CURVE_FINDINGS,
    AnyFinding,
    AtOrBelow,
    Bend,
    Knee,
    LatencyKnee,
    MarkKind,
    RateCapacityFinding,
    RateRecovered,
    Recovered,
    Shift,
    kind_of,
)
from ..model.grades import Confidence, Severity
from ..model.level import Level
from ..model.level_use import level_use
from ..model.timeline import Timeline
from ..model.verdicts import Recovery
from .epoch.epoch import Epoch
from .epoch.recovery import recovery_of
from .epoch.shifts import goodput_and_latency, missed_shifts


def keys(epoch: Epoch) -> frozenset[str]:
    """Keys of all marks that `of_verdict` and `recoveries` may make for an epoch."""
    recovered = (f"{kind}:level{level.opened.index}" for level in epoch.all_levels for kind in ("recovery", "rate_recovery"))
    curves = (f"{kind}:epoch{epoch.index}" for kind in ("knee", "latency_knee", "rate_capacity"))
    return frozenset((*curves, *recovered))


Since = dict[tuple[str, MarkKind], float]
"""Times of marks by their key and kind, in seconds of the session."""


def of_verdict(found: Verdict, since: Since | None = None) -> Iterator[Mark]:
    """Marks of one epoch's verdict: on its levels of users, then on its levels of offered rates. `since`: their times, if these
    are not that of the verdict.
    """
    yield from _knees(found, since or {})
    yield from _rates(found, since or {})


def _knees(found: Verdict, since: Since) -> Iterator[Mark]:
    """Marks of the verdict on users: a knee, "at or below" or a bend share one key; a latency knee has another."""
    knee, capacity = found.capacity.knee, found.capacity
    if knee is not None and knee.kind != "no_knee":
        error = capacity.curve.capacity_se_rps if capacity.curve is not None and knee.capacity_rps is not None else None
        finding = CURVE_FINDINGS[knee.kind](verdict=knee, capacity_se_rps=error, missing=capacity.missing)
        yield _curve_mark(found, since, f"knee:epoch{found.epoch}", finding)
    if capacity.latency_knee is not None:
        finding = LatencyKnee(verdict=capacity.latency_knee)
        yield _curve_mark(found, since, f"latency_knee:epoch{found.epoch}", finding)


def _rates(found: Verdict, since: Since) -> Iterator[Mark]:
    """Marks of the verdict on offered rates: the capacity or a bound of it, and each recovery from overload."""
    capacity = found.rates.capacity if found.rates is not None else None
    if capacity is not None and capacity.kind != "keeps_up":
        severity: Severity = "info" if capacity.kind == "departs" else "warning"
        finding = RateCapacityFinding(capacity=capacity)
        yield _mark(found, since, f"rate_capacity:epoch{found.epoch}", finding, severity, confidence=capacity.confidence)
    for each in found.rates.recoveries if found.rates is not None else ():
        if each.recovered is not None:
            severity = "info" if each.recovered else "error"
            yield _mark(found, since, f"rate_recovery:level{each.level}", RateRecovered(recovery=each), severity)


def _curve_mark(found: Verdict, since: Since, key: str, finding: Knee | AtOrBelow | Bend | LatencyKnee) -> Mark:
    own = finding.verdict
    severity: Severity = "warning" if own.kind in ("knee", "at_or_below") else "info"
    return _mark(found, since, key, finding, severity, users=own.users, confidence=own.confidence)


def _mark(
    found: Verdict,
    since: Since,
    key: str,
    finding: AnyFinding,
    severity: Severity,
    *,
    users: float | None = None,
    confidence: Confidence | None = None,
) -> Mark:
    return Mark(
        t_s=since.get((key, kind_of(finding)), found.t_s),
        key=key,
        state="open",
        finding=finding,
        epoch=found.epoch,
        users=users,
        severity=severity,
        confidence=confidence,
    )


def shifts(timeline: Timeline) -> Iterator[Mark]:
    """Shifts that opened a level, and shifts inside closed levels that were not split: imported sessions, and those of earlier
    versions.
    """
    yield from shifts_that_open_levels(timeline)
    for level in timeline.levels:
        for at_s, found in missed_shifts(timeline, level) if level.closed is not None else ():
            key = f"shift:level{level.opened.index}@{at_s:.0f}"
            yield _shift(level, key, at_s, max(at_s, level.opened.t_s), found.column, found.before, found.after)


def shifts_that_open_levels(timeline: Timeline) -> Iterator[Mark]:
    """Shifts that opened a level: the live run had found them, and split the level there."""
    for before, level in zip(timeline.levels, timeline.levels[1:], strict=False):
        if level.opened.since_s is not None:
            yield _shift_between(timeline, before, level)


def _shift_between(timeline: Timeline, before: Level, level: Level) -> Mark:
    """The shift between two levels: the mean of all seconds before it, and of the seconds after it until it was found."""
    since = [tick for tick in timeline.seconds_of(level) if tick < level.opened_index]
    was, now = (goodput_and_latency(timeline, ticks) for ticks in (timeline.seconds_of(before), since))
    goodput, latency_ms = ((_mean(then), _mean(after)) for then, after in zip(was, now, strict=True))
    shifted: Literal["goodput", "latency"] = level.opened.shifted or "goodput"
    then, after = goodput if shifted == "goodput" else latency_ms
    return _shift(level, f"shift:level{level.opened.index}", level.started_s, level.opened.t_s, shifted, then, after)


def _shift(
    level: Level, key: str, at_s: float, found_s: float, column: Literal["goodput", "latency"], before: float, after: float
) -> Mark:
    finding = Shift(at_s=at_s, level=level.opened.index, column=column, before=_finite(before), after=_finite(after))
    worse = finding.rose == (column == "latency")
    return Mark(
        t_s=found_s,
        key=key,
        state="open",
        finding=finding,
        epoch=level.opened.epoch,
        **level.load.named,
        severity="warning" if worse else "info",
    )


def _finite(value: float) -> float | None:
    """The value; None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def _mean(values: Sequence[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return math.fsum(finite) / len(finite) if finite else math.nan


def recoveries(epoch: Epoch) -> Iterator[Mark]:
    """One mark for each level of recovery from overload that can be judged."""
    found = epoch.verdict
    if found is None:
        return
    timeline, levels, fit = epoch.timeline, epoch.levels, epoch.fit
    recovered: set[int] = set()  # indices of levels; a step down from one of them is not recovery from overload
    for at, level in enumerate(levels):
        above = [before for before in levels[:at] if before.users > level.users]
        use = level_use(level, found)
        if "recovery" not in use.whys or use.is_disturbed or level.opened.by == "shift" or not above:
            continue
        if above[-1].opened.index in recovered:
            recovered.add(level.opened.index)
            continue
        continued = [level, *takewhile(lambda later: later.opened.by == "shift", levels[at + 1 :])]
        earlier = [known for known in fit if known.started_s < level.started_s]
        recovery = recovery_of(earlier, float(above[-1].users), float(level.users), *_since_stopped(timeline, continued))
        if recovery.recovered:
            recovered |= {each.opened.index for each in continued}
        if recovery.recovered is not None:
            ended_s = continued[-1].ended_s
            yield _recovery(level, recovery, found.t_s if ended_s is None else ended_s)


def _since_stopped(timeline: Timeline, continued: Sequence[Level]) -> tuple[Sequence[float], ...]:
    """Goodput, latency and loop lag of each second since the last surplus user stopped.

    `continued`: a level, and the levels with the same users that shifts opened after it.
    """
    users = timeline.columns["users"]
    ticks = [tick for level in continued for tick in timeline.seconds_of(level, settled=False)]
    since = [tick for tick in ticks if users[tick] <= continued[0].users]
    lags_ms = timeline.columns["loop_lag_p99_ms"]
    return (*goodput_and_latency(timeline, since), [lags_ms[tick] for tick in since])


def _recovery(level: Level, recovery: Recovery, t_s: float) -> Mark:
    return Mark(
        t_s=t_s,
        key=f"recovery:level{level.opened.index}",
        state="open",
        finding=Recovered(recovery=recovery),
        epoch=level.opened.epoch,
        users=recovery.to_users,
        severity="info" if recovery.recovered else "error",
    )
