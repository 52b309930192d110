"""The verdict line: one sentence on what this session says about the service, composed from marks and the curve's verdict.

The generator is ruled out first: while a critical cause of its own stood, nothing is said about the service. Then the knee with
its bottleneck, the target's death, what it refuses or fails, a bottleneck without a knee, the users' waits, leaks; at last the
curve alone. Must not judge: what is not marked is not said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from ...model.events import Header, LevelFigures, Mark
from ...model.timeline import Level, Timeline
from ...model.verdicts import CapacityVerdict, KneeVerdict
from . import numbers
from .knees import capacity, knee
from .marks import NO_LIMITS, title
from .names import limiter, where

Severity = Literal["critical", "error", "warning", "info"]

REFUSALS = ("load_shedding", "rate_limited")
"""Warnings that are the service's capacity."""

DEATHS = ("target_oom_killed", "target_killed_by_signal", "target_crashed")

_RANKS = {"critical": 0, "error": 1, "warning": 2, "info": 3}


@dataclass(frozen=True, slots=True)
class Judgement:
    """The sentence, and how much it matters."""

    said: str
    severity: Severity = "info"
    marked: bool = False
    """It rests on a cause, a bottleneck or a leak, not on the curve alone."""
    spoiled: bool = False
    """By the generator, its host or the network between: nothing is said about the service beyond `clean_users`."""
    clean_users: float | None = None
    """The most users of a level that was not spoiled; None without one."""

    def stands(self, found: KneeVerdict) -> bool:
        """Whether what the curve says lies where nothing was spoiled."""
        most = found.users if found.users_high is None or found.kind == "no_knee" else found.users_high
        return not self.spoiled or (self.clean_users is not None and most is not None and most <= self.clean_users)


def verdict(timeline: Timeline, epoch: int | None = None) -> str:
    """One sentence about an epoch, the latest unless given."""
    return judgement(timeline, epoch).said


def judgement(timeline: Timeline, epoch: int | None = None) -> Judgement:
    """The same with its weight. Costs a pass over the marks; where the run was spoiled, one over journal and levels too."""
    chosen = _latest(timeline) if epoch is None else epoch
    seen = _Seen(timeline, chosen)
    return next(_said(seen), Judgement(_curve_alone(seen)))


class _Seen:
    """What an epoch has: its marks that stand or stood, its curve."""

    def __init__(self, timeline: Timeline, epoch: int | None) -> None:
        self.timeline, self.epoch = timeline, epoch
        self.marks = [mark for mark in timeline.marks.values() if mark.epoch == epoch and mark.state != "retracted"]
        verdict = None if epoch is None else timeline.verdicts.get(epoch)
        self.capacity: CapacityVerdict | None = verdict.capacity if verdict is not None else None

    @property
    def knee(self) -> KneeVerdict | None:
        """What the curve says, a knee or not."""
        return self.capacity.knee if self.capacity is not None else None

    def causes(self, *wheres: str) -> list[Mark]:
        """Causes that lie there, the gravest first: a death before what it leads to, then the earliest."""
        found = [mark for mark in self.marks if mark.kind == "cause" and where(mark.id) in wheres]
        return sorted(found, key=lambda mark: (_RANKS[mark.severity], mark.id not in DEATHS, since_s(mark)))

    def bottlenecks(self) -> list[Mark]:
        """Of the service and what it runs on, the surest first."""
        found = [mark for mark in self.marks if mark.kind == "bottleneck" and mark.id not in NO_LIMITS]
        sure = {"high": 0, "medium": 1, "low": 2, None: 3}
        return sorted(found, key=lambda mark: (sure[mark.confidence], since_s(mark)))


def _latest(timeline: Timeline) -> int | None:
    """The latest about which anything was found; None, which is all of them together, where no detector has looked."""
    marked = (mark.epoch for mark in timeline.marks.values() if mark.state != "retracted")
    return max((*timeline.verdicts, *marked), default=None)


def _said(seen: _Seen) -> Iterator[Judgement]:
    """In order of precedence; the first one is the verdict."""
    yield from _spoiled(seen)
    yield from _knee(seen)
    yield from _failing(seen)
    yield from _bottleneck(seen)
    yield from _waits(seen)
    yield from _leaks(seen)


# -- the generator, its host, the network between: nothing is said about the service


def _spoiled(seen: _Seen) -> Iterator[Judgement]:
    spoilers = [mark for mark in seen.causes("generator", "host", "network") if mark.severity == "critical"]
    if not spoilers:
        return
    clean = _clean_levels(seen, spoilers)
    standing = [mark for mark in spoilers if not _outgrown(mark, clean)]
    if not standing:
        return
    first = min(standing, key=since_s)
    most = max((level.users for level in clean), default=None)
    beyond = "" if most is None else f" beyond {numbers.users(most)}"
    said = f"Limited by {limiter(first.id)} {_since(seen, first)}: nothing is said about the service{beyond}"
    found, judged = seen.knee, Judgement(said, "critical", marked=True, spoiled=True, clean_users=most)
    below = found is not None and found.kind == "knee" and found.limit != "generator" and judged.stands(found)
    yield replace(judged, said=f"{said}; up to there {knee_alone(found)}." if found is not None and below else f"{said}.")


def _clean_levels(seen: _Seen, spoilers: Sequence[Mark]) -> list[Level]:
    """Settled levels in whose seconds no spoiler was seen."""
    spans = [span for mark in spoilers for span in _spans(seen.timeline, mark)]
    return [level for level in _settled(seen) if not any(_overlaps(seen, level, span) for span in spans)]


def _overlaps(seen: _Seen, level: Level, span: tuple[float, float]) -> bool:
    begin_s = level.started_s if level.settled_s is None else level.settled_s
    end_s = seen.timeline.last_s if level.ended_s is None else level.ended_s
    return span[0] <= end_s and begin_s <= span[1]


def _spans(timeline: Timeline, mark: Mark) -> list[tuple[float, float]]:
    """When it was seen, by all its revisions: it may have gone and come again."""
    told = [each for each in timeline.journal if isinstance(each, Mark) and each.key == mark.key and each.state != "retracted"]
    spans = [(since_s(each), _number(each, "last_s") or each.t_s) for each in told]
    return [*spans, (since_s(mark), timeline.last_s)] if mark.state != "closed" else spans


def _settled(seen: _Seen) -> list[Level]:
    levels = [level for level in seen.timeline.levels if seen.epoch is None or level.opened.epoch == seen.epoch]
    return [level for level in levels if level.users and level.figures.settled]


def _outgrown(mark: Mark, clean: Sequence[Level]) -> bool:
    """It is over, and as many users or more went well afterwards: it limits nothing."""
    last_s = _number(mark, "last_s") or mark.t_s
    return mark.state == "closed" and any(level.started_s >= last_s and level.users >= (mark.users or 0) for level in clean)


def knee_alone(found: KneeVerdict) -> str:
    """`knee at 47 users [43–52] and 122/s`."""
    interval = numbers.interval(found.users_low, found.users_high)
    return f"knee at {numbers.users(found.users)} users {interval} and {numbers.number(found.capacity_rps)}/s"


# -- the service


def _knee(seen: _Seen) -> Iterator[Judgement]:
    found = seen.knee
    if seen.capacity is None or found is None or found.kind not in ("knee", "at_or_below"):
        return
    blamed = _blamed_for(seen, found)
    more = next((f"; {clause}" for clause in (*_deaths(seen), *_leaking(seen))), "")
    said = capacity(seen.capacity, " and ".join(title(mark) for mark in blamed))
    yield Judgement(said.removesuffix(".") + more + ".", "warning" if blamed or more else "info", marked=bool(blamed or more))


def _blamed_for(seen: _Seen, found: KneeVerdict) -> list[Mark]:
    """What limits at the knee: the bottlenecks, at most two; where failures make it, the gravest cause."""
    if found.limit == "generator":
        return []
    bottlenecks = [mark for mark in seen.bottlenecks() if (mark.users or 0) >= (found.users_low or 0)]
    if bottlenecks or found.limit != "errors":
        return bottlenecks[:2]
    return [mark for mark in seen.causes("target") if mark.severity in ("critical", "error") or mark.id in REFUSALS][:1]


def _deaths(seen: _Seen) -> Iterator[str]:
    for mark in seen.causes("target"):
        if mark.id in DEATHS:
            yield f"{title(mark)} {_at(seen, mark)}"


def _failing(seen: _Seen) -> Iterator[Judgement]:
    """The gravest cause that failed requests, and what the curve says beside it."""
    found = [mark for mark in seen.causes("generator", "host", "network", "target", "check") if _matters(mark)]
    if not found:
        return
    grave = found[0]
    how = _at(seen, grave) if grave.id in DEATHS else _since(seen, grave)
    capacity_too = ": that is its capacity" if grave.id in REFUSALS else ""
    said = f"{_capital(title(grave))} {how}{capacity_too}{_curve_beside(seen)}."
    yield Judgement(said, grave.severity, marked=True)


def _matters(mark: Mark) -> bool:
    if where(mark.id) in ("generator", "host", "network") and mark.severity == "critical":
        return False  # outgrown, else it were the verdict
    return mark.severity in ("critical", "error") or mark.id in REFUSALS


def _bottleneck(seen: _Seen) -> Iterator[Judgement]:
    found = seen.bottlenecks()[:2]
    if found:
        users = max((mark.users or 0 for mark in found), default=0)
        at = f" at {numbers.users(users)} users" if users else ""
        said = f"{_capital(' and '.join(map(title, found)))}{at}{_curve_beside(seen) or ': no knee yet'}."
        yield Judgement(said, "warning", marked=True)


def _waits(seen: _Seen) -> Iterator[Judgement]:
    mark = next((mark for mark in seen.marks if mark.id == "think_time_limited" and mark.state != "closed"), None)
    if mark is None:
        return
    users, figures = mark.users, _figures_at(seen, mark)
    wait_s = _number(mark, "wait_s") or (figures.wait_s if figures else None)
    rate_rps = _number(mark, "throughput_rps") or (figures.throughput_rps if figures else None)
    waiting = f" that wait {wait_s:.{1 if wait_s >= 1 else 2}f} s" if wait_s else ""
    making = f" make {numbers.number(rate_rps)}/s" if rate_rps else ""
    no_knee = _curve_beside(seen) or (f"; no knee up to {numbers.users(users)} users" if users else "")
    said = f"{numbers.users(users)} users{waiting}{making}: the users' waits limit the throughput, not the service{no_knee}."
    yield Judgement(said, "info", marked=True)


def _figures_at(seen: _Seen, mark: Mark) -> LevelFigures | None:
    return next((level.figures for level in reversed(_settled(seen)) if level.users == mark.users), None)


def _leaks(seen: _Seen) -> Iterator[Judgement]:
    for said in _leaking(seen):
        yield Judgement(f"{_capital(said)}{_curve_beside(seen)}.", "warning", marked=True)


def _leaking(seen: _Seen) -> Iterator[str]:
    """`the target leaks file descriptors: 7,200 an hour, 4 min to its limit`."""
    for mark in seen.marks:
        if mark.kind == "leak" and mark.severity != "info":
            growth = ", ".join(_growth(mark))
            yield f"{title(mark)}{f': {growth}' if growth else ''}"


def _growth(mark: Mark) -> Iterator[str]:
    per_hour, limit_in_s = _number(mark, "growth_per_hour"), _number(mark, "limit_in_s")
    if per_hour is not None:
        yield f"{numbers.number(round(per_hour)) if mark.id == 'fd_leak' else numbers.size(per_hour)} an hour"
    if limit_in_s is not None:
        yield f"{numbers.span(limit_in_s)} to its limit"


# -- the curve


def _curve_beside(seen: _Seen) -> str:
    """`; no knee up to 74 users`; nothing before the curve says so much."""
    found = seen.knee
    return f"; {knee(found)}" if found is not None and found.kind in ("no_knee", "bend") else ""


def _curve_alone(seen: _Seen) -> str:
    """What the detector says; where none has looked, what was seen."""
    if seen.capacity is not None:
        return capacity(seen.capacity)
    settled = [level for level in _settled(seen) if level.figures.goodput_rps is not None]
    if not settled:
        return "No level settled: nothing can be said about capacity."
    best = max(settled, key=lambda level: level.figures.goodput_rps or 0.0)
    told = f"{len(settled)} level{'s' * (len(settled) != 1)} settled; the most finished work was {best.figures.goodput_rps:.4g}/s"
    return f"{told} at {best.users} users{_p95(best.figures)}. No detector has looked for a knee or a bottleneck."


def _p95(figures: LevelFigures) -> str:
    p95_ms = figures.latency_ms.p95
    return "" if p95_ms is None else f" (p95 {p95_ms:.4g} ms)"


# -- when and where


def since_s(mark: Mark) -> float:
    """When its evidence began, seconds of the session; of one that came again, when it did so."""
    began_s = next((s for name in ("since_s", "first_s") if (s := _number(mark, name)) is not None), None)
    return mark.t_s if began_s is None else began_s


def wall_time(header: Header | None, t_s: float) -> str:
    """`12:03`; of a session that knows no wall time `01:23 of the session`."""
    try:
        began = datetime.fromisoformat(header.started_at) if header is not None and header.started_at else None
    except ValueError:
        began = None
    if began is None:
        return f"{int(t_s) // 60:02}:{int(t_s) % 60:02} of the session"
    return f"{began + timedelta(seconds=t_s):%H:%M}"


def _since(seen: _Seen, mark: Mark) -> str:
    return f"from {wall_time(seen.timeline.header, since_s(mark))}{_users(mark, ' at ')}"


def _at(seen: _Seen, mark: Mark) -> str:
    return f"at {wall_time(seen.timeline.header, since_s(mark))}{_users(mark, ' and ')}"


def _users(mark: Mark, between: str) -> str:
    return "" if mark.users is None else f"{between}{numbers.users(mark.users)} user{'s' * (mark.users != 1)}"


def _capital(said: str) -> str:
    return said[:1].upper() + said[1:]


def _number(mark: Mark, name: str) -> float | None:
    value = mark.evidence.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
