"""Whether a run's marks are right. Pure: a row and a session's events in, problems out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from capexplorer.model.events import Mark
from capexplorer.model.findings import AtOrBelow, Knee, RateCapacityFinding
from capexplorer.model.level import Level
from capexplorer.model.rate_verdicts import RateCapacity

from .row import NEAR, QUEUES, Row

BLAMES = ("cause", "bottleneck", "leak")
SEVERE = ("error", "critical")
CLEAN = 0.01
"""Failure ratio up to which a level is clean."""


def wrong(row: Row, marks: Sequence[Mark], levels: Sequence[Level], verdict: str) -> list[str]:
    """Problems of the marks at the end, in words; empty: all are right."""
    current = list({mark.key: mark for mark in marks if mark.state != "retracted"}.values())
    current = [mark for mark in current if _is_latest(mark, marks)]
    limits = (*_knees(row, current, _began_s(levels)), *_capacities(row, current, _began_s(levels)))
    return [*limits, *_missing(row, current), *_blames(row, current), *_below_clean(row, current, levels),
            *([] if re.search(row.verdict, verdict) else [f"verdict lacks {row.verdict}"])]  # fmt: skip


def marked_once(row: Row, marks: Sequence[Mark], levels: Sequence[Level]) -> list[str]:
    """Wrong knees and capacities that were marked at some time, including retracted ones: they were on the screen."""
    ever, began_s = [mark for mark in marks if mark.state != "retracted"], _began_s(levels)
    return list(dict.fromkeys([*_knees(row, ever, began_s, needed=False), *_capacities(row, ever, began_s, needed=False)]))


def _began_s(levels: Sequence[Level]) -> float:
    """Time of the first request, in seconds of the session: a service may take 10 s to start."""
    return levels[0].started_s if levels else 0.0


def _is_latest(mark: Mark, marks: Iterable[Mark]) -> bool:
    return max((other for other in marks if other.key == mark.key), key=lambda other: other.revision) is mark


def _knees(row: Row, marks: Sequence[Mark], began_s: float, *, needed: bool = True) -> list[str]:
    found = [(mark.t_s - began_s, mark.finding) for mark in marks if isinstance(mark.finding, Knee | AtOrBelow)]
    false = [each.verdict.users for at_s, each in found if not _is_right(row, at_s, began_s, each)]
    bad = [f"knee at {users:.3g}" for users in false if users is not None]
    missing = needed and row.needs_knee and not any(isinstance(each, Knee) for _, each in found)
    return [*bad, *(["no knee"] if missing else [])]


def _is_right(row: Row, at_s: float, began_s: float, found: Knee | AtOrBelow) -> bool:
    """Whether a knee that was marked `at_s` after the first request is near one that the service had in the time that it
    describes."""
    verdict = found.verdict
    users = verdict.users or 0.0
    from_s = 0.0 if verdict.since_s is None else verdict.since_s - began_s
    until_s = at_s if verdict.until_s is None else min(at_s, verdict.until_s - began_s)
    true = [truth.value for truth in row.knees if truth.overlaps(from_s, until_s)]
    if isinstance(found, AtOrBelow):
        return any(knee <= users * (1 + NEAR) for knee in true)
    return any(abs(users / knee - 1) <= NEAR for knee in true)


def _capacities(row: Row, marks: Sequence[Mark], began_s: float, *, needed: bool = True) -> list[str]:
    found = [(mark.t_s - began_s, mark.finding.capacity) for mark in marks if isinstance(mark.finding, RateCapacityFinding)]
    bad = [f"{each.kind} {each.per_s:.3g}/s" for at_s, each in found if not _is_right_rate(row, at_s, each)]
    missing = needed and row.needs_capacity and not any(each.kind == "capacity" for _, each in found)
    return [*bad, *(["no capacity"] if missing else [])]


def _is_right_rate(row: Row, at_s: float, found: RateCapacity) -> bool:
    """Whether a capacity that was marked `at_s` after the first request is near one that the service had until then, or a bound
    not far below all of them."""
    true = [truth.value for truth in row.capacities if truth.overlaps(0.0, at_s)]
    if found.kind == "capacity":
        return any(abs(found.per_s / rate - 1) <= NEAR for rate in true)
    if found.kind == "at_or_below":
        return any(rate <= (found.high_per_s or 0.0) * (1 + NEAR) for rate in true)
    least = [row.departs_from_per_s] if row.departs_from_per_s is not None else true
    return any(rate <= found.per_s * (1 + NEAR) for rate in least)


def _missing(row: Row, current: Sequence[Mark]) -> list[str]:
    marked = {name for mark in current for name in (mark.id, mark.kind)}
    return [] if not row.marked or marked & set(row.marked) else [f"missing {' or '.join(row.marked)}"]


def _blames(row: Row, current: Sequence[Mark]) -> list[str]:
    true = {*QUEUES, *row.allowed, *row.marked}
    blames = [mark for mark in current if mark.kind in BLAMES and mark.id not in true]
    return [f"{mark.kind} {mark.id}" for mark in blames if mark.kind != "cause" or mark.severity in SEVERE]


def _below_clean(row: Row, current: Sequence[Mark], levels: Sequence[Level]) -> list[str]:
    """Capacities below 0.9 of the goodput of a clean level; none in rows whose capacity changes."""
    if len(row.knees) > 1:
        return []
    settled = [level.figures for level in levels if level.figures.settled]
    best = max((each.goodput_rps or 0.0 for each in settled if (each.failure_ratio or 0) <= CLEAN), default=0.0)
    claimed = [mark.finding.verdict.capacity_rps for mark in current if isinstance(mark.finding, Knee)]
    return [f"capacity {rate:.3g} below a clean level's {best:.3g}" for rate in claimed if rate is not None and rate < 0.9 * best]
