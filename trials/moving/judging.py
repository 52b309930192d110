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
    limits = (*_knees(row, current), *_capacities(row, current))
    return [*limits, *_missing(row, current), *_blames(row, current), *_below_clean(row, current, levels),
            *([] if re.search(row.verdict, verdict) else [f"verdict lacks {row.verdict}"])]  # fmt: skip


def marked_once(row: Row, marks: Sequence[Mark]) -> list[str]:
    """Wrong knees and capacities that were marked at some time, including retracted ones: they were on the screen."""
    ever = [mark for mark in marks if mark.state != "retracted"]
    return list(dict.fromkeys([*_knees(row, ever, needed=False), *_capacities(row, ever, needed=False)]))


def _is_latest(mark: Mark, marks: Iterable[Mark]) -> bool:
    return max((other for other in marks if other.key == mark.key), key=lambda other: other.revision) is mark


def _knees(row: Row, marks: Sequence[Mark], *, needed: bool = True) -> list[str]:
    found = [mark.finding for mark in marks if isinstance(mark.finding, Knee | AtOrBelow)]
    bad = [f"knee at {each.verdict.users:.3g}" for each in found if each.verdict.users is not None and not _is_right(row, each)]
    missing = needed and row.needs_knee and not any(isinstance(each, Knee) for each in found)
    return [*bad, *(["no knee"] if missing else [])]


def _is_right(row: Row, found: Knee | AtOrBelow) -> bool:
    users = found.verdict.users or 0.0
    if isinstance(found, AtOrBelow):
        return any(knee <= users * (1 + NEAR) for knee in row.knees)
    return any(abs(users / knee - 1) <= NEAR for knee in row.knees)


def _capacities(row: Row, marks: Sequence[Mark], *, needed: bool = True) -> list[str]:
    found = [mark.finding.capacity for mark in marks if isinstance(mark.finding, RateCapacityFinding)]
    bad = [f"{each.kind} {each.per_s:.3g}/s" for each in found if not _is_right_rate(row, each)]
    missing = needed and row.needs_capacity and not any(each.kind == "capacity" for each in found)
    return [*bad, *(["no capacity"] if missing else [])]


def _is_right_rate(row: Row, found: RateCapacity) -> bool:
    """Whether a marked capacity is within NEAR of a true one, or a bound not below all true ones by more than NEAR. Goodput
    may depart from the offered rate somewhat below the capacity, since some arrivals of a Poisson stream are refused there."""
    if found.kind == "capacity":
        return any(abs(found.per_s / true - 1) <= NEAR for true in row.capacities)
    bound = found.high_per_s or 0.0 if found.kind == "at_or_below" else found.per_s
    return any(true <= bound * (1 + NEAR) for true in row.capacities)


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
