"""Marks about the capacity of an epoch: knees, recoveries, and levels whose goodput or latency shifted.

Pure and stateless: the same timeline gives the same marks, live and over a saved session. `MarkPublisher` decides which of
them are new or changed, and `wording` has their sentences.

A `no_knee` verdict makes no mark. A bend that becomes a knee keeps its key, for example `knee:epoch0`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, Literal

import msgspec

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
    Stalled,
    kind_of,
)
from ..model.level import Level
from ..model.level_use import level_use
from ..model.timeline import Timeline
from ..model.verdicts import Confidence, Recovery, Severity
from .epoch.epoch import Epoch
from .epoch.level_seconds import stalls_of
from .epoch.shifts import goodput_and_latency, missed_shifts
from .knee.detector import recovery_of
from .statistics import RELEVANT, finite

KINDS: tuple[MarkKind, ...] = (
    "knee", "at_or_below", "bend", "latency_knee", "rate_capacity", "rate_recovery", "recovery",
)  # fmt: skip
"""Kinds of all marks that `of_verdict` and `recoveries` make."""

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


def stalls(timeline: Timeline, epoch: int) -> Iterator[Mark]:
    """Short stalls of the service inside levels, each at the end of the second that ended it."""
    for level in timeline.levels:
        if level.opened.epoch == epoch and level.has_load and level.figures.settled and not level.opened.is_aside:
            for stall in stalls_of(timeline, level):
                yield Mark(
                    t_s=stall.at_s + stall.seconds + 1.0,
                    key=f"stall:level{level.opened.index}@{stall.at_s:.0f}",
                    state="open",
                    finding=Stalled(at_s=stall.at_s, seconds=stall.seconds),
                    epoch=epoch,
                    **level.load.named,
                    severity="warning",
                )


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
    finding = Shift(at_s=at_s, level=level.opened.index, column=column, before=finite(before), after=finite(after))
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


# -- Which marks to publish now: new ones, those that changed materially, and retractions of those that no longer hold.
#
# Without it the journal would get a line whenever an interval moved slightly. It keeps no timeline, and judges no levels.

MOVED_LEAST = 0.02
"""A mark is published again if a figure of it changed by more than this share of its value."""

BOUND_MOVED_LEAST = 0.06
"""The same for the ends of an interval: from one second to the next, those of 300 bootstrap resamples differ by 2-4%
(measured)."""

ALWAYS_COMPARED = ("kind", "id", "epoch", "severity", "confidence")
"""Fields of a mark of which any change is published."""

VERIFIED_BY = ("soak_agrees", "beyond_agrees", "return_agrees")
"""Evidence of the levels that verify a knee: each of them makes a revision of its mark."""

MOVED = {
    **dict.fromkeys(
        (
            *("capacity_rps", "limit", "soft", "provisional", "verification", *VERIFIED_BY),
            *("peak_users", "recovered", "after_s", "until_s"),
        ),
        MOVED_LEAST,
    ),
    **dict.fromkeys(("capacity_per_s", "kept_per_s", "overload", "fall_ratio"), MOVED_LEAST),
    **dict.fromkeys(("users_low", "users_high", "per_s_low", "per_s_high"), BOUND_MOVED_LEAST),
    **dict.fromkeys(("growth_per_hour", "backlog_growth_per_s", "limit_in_s"), RELEVANT),
}
"""Figures of a finding that are compared, with the relative change above which each is published: rates of growth and times to a
limit change with every second. Changes of other figures alone are not published."""

State = Literal["open", "updated", "closed"]


class MarkPublisher:
    """Remembers the marks and verdicts published last, by key and by epoch, and returns those to publish now."""

    def __init__(self) -> None:
        self._published: dict[str, Mark] = {}
        self._verdicts: dict[int, Verdict] = {}

    def update(
        self, now: Iterable[Mark], t_s: float, *, epoch: int, complete: Collection[MarkKind], all_changes: bool = False
    ) -> tuple[Mark, ...]:
        """The marks to publish, given the marks that hold `now`, at `t_s` seconds of the session.

        `complete`: kinds of which `now` has all marks of this epoch: others that were published are retracted.
        `all_changes`: publish every change, however small; used at the end, so that a log's last marks agree with its figures.
        """
        current = {mark.key: mark for mark in now}
        changed = [new for mark in current.values() if (new := self._changed(mark, t_s, all_changes)) is not None]
        for mark in self._published.values():
            if mark.kind in complete and mark.epoch == epoch and mark.key not in current and mark.state != "retracted":
                changed.append(msgspec.structs.replace(mark, t_s=t_s, revision=mark.revision + 1, state="retracted"))
        self._published.update((mark.key, mark) for mark in changed)
        return tuple(changed)

    def verdict(self, found: Verdict) -> Verdict | None:
        """The verdict, if it differs from the last one of its epoch; else None."""
        before = self._verdicts.get(found.epoch)
        if before is not None and msgspec.structs.replace(before, t_s=found.t_s) == found:
            return None
        self._verdicts[found.epoch] = found
        return found

    def _changed(self, mark: Mark, t_s: float, all_changes: bool) -> Mark | None:
        before = self._published.get(mark.key)
        if before is None:
            return msgspec.structs.replace(mark, t_s=t_s)
        back = before.state == "retracted"
        if not back and (_is_exactly_unchanged(before, mark) if all_changes else _is_unchanged(before, mark)):
            return None
        back = back or (before.state == "closed" and mark.state != "closed")
        state: State = "closed" if mark.state == "closed" else "open" if back else "updated"
        return msgspec.structs.replace(mark, t_s=t_s, revision=before.revision + 1, state=state)


def _is_unchanged(before: Mark, now: Mark) -> bool:
    if any(getattr(before, name) != getattr(now, name) for name in ALWAYS_COMPARED):
        return False
    if (before.state == "closed") != (now.state == "closed"):
        return False
    then, figures = before.finding.figures(), now.finding.figures()
    pairs = {name: (then.get(name), figures.get(name)) for name in MOVED}
    return _near(before.users, now.users, MOVED_LEAST) and all(_near(*pair, MOVED[name]) for name, pair in pairs.items())


def _is_exactly_unchanged(before: Mark, now: Mark) -> bool:
    closes = (before.state == "closed") != (now.state == "closed")
    return not closes and msgspec.structs.replace(before, t_s=now.t_s, revision=now.revision, state=now.state) == now


def _near(before: Any, now: Any, moved_least: float) -> bool:
    if isinstance(before, int | float) and isinstance(now, int | float) and not isinstance(before, bool):
        return abs(now - before) <= moved_least * max(abs(before), abs(now))
    return bool(before == now)
