"""Which findings are not reported because a later finding supersedes them. The only place with these rules.

The log keeps each finding as it was made; a report shows those that hold at its time. Live, replayed and reanalysed sessions
are read through `epoch_view.EpochView`, which applies these rules:

1. If a critical cause of the generator, its host or the network invalidated levels, nothing about the service is reported beyond
   the other (clean) levels: no knee, no objective, no bottleneck.
2. A mark of the curve has the figures of the latest verdict, and is not reported if that verdict has no such finding.
3. A bottleneck is superseded if levels with more users, or of higher rates, show no limit.
4. "Not at its limit" (no limit reached, think time sets the throughput) is superseded once a mark or a verdict has a limit. The
   verdict counts by itself because the mark of its knee is logged after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from ..model.events import Mark, Verdict
from ..model.findings import CURVE_FINDINGS, Bottleneck, CurveFinding, RateCapacityFinding
from ..model.verdicts import CapacityVerdict, KneeVerdict, SloVerdict
from .causes.catalogue import NO_LIMITS, NOT_YET_AT_LIMIT, where

CURVE_LIMITS = ("knee", "at_or_below", "bend", "rate_capacity")
"""Kinds of marks that show a limit of load on a curve."""


@dataclass(frozen=True, slots=True)
class InvalidLevels:
    """The epoch's levels above `clean_users` say nothing about the service, because generator, host or network failed."""

    first: Mark
    """The earliest of these causes."""
    clean_users: float | None
    """The most users of a level without such a cause; None without one."""
    clean_per_s: float | None = None
    """The greatest offered rate of such a level; None without one."""

    def is_clean(self, users: float | None, offered_per_s: float | None = None) -> bool:
        """Whether a finding about loads up to `users`, or up to an offered rate, rests on clean levels only."""
        load, clean = (users, self.clean_users) if offered_per_s is None else (offered_per_s, self.clean_per_s)
        return load is not None and clean is not None and load <= clean


def reported(verdict: Verdict, invalid: InvalidLevels | None) -> Verdict:
    """The verdict without what was concluded from invalid levels (rule 1)."""
    if invalid is None:
        return verdict
    first = verdict.first_endpoint
    return replace(
        verdict,
        capacity=_clean(verdict.capacity, invalid),
        slo=tuple(each for each in verdict.slo if invalid.is_clean(_upper_users(each))),
        first_endpoint=first if first is not None and invalid.is_clean(first.users) else None,
    )


def _upper_users(found: KneeVerdict | SloVerdict) -> float | None:
    """The most users that a finding is about: the upper end of its interval, if it has one."""
    is_bound = isinstance(found, KneeVerdict) and found.kind == "no_knee"
    return found.users if found.users_high is None or is_bound else found.users_high


def _clean(capacity: CapacityVerdict, invalid: InvalidLevels) -> CapacityVerdict:
    """The capacity by clean levels only. A knee that rests on others is "no knee" up to the clean levels if it lies beyond them,
    else there is no verdict on a knee; of the lines only that of low load is left.
    """
    knee, latency_knee, curve, clean_users = capacity.knee, capacity.latency_knee, capacity.curve, invalid.clean_users
    if latency_knee is not None and not invalid.is_clean(_upper_users(latency_knee)):
        latency_knee = None
    if knee is None or invalid.is_clean(_upper_users(knee)):
        return replace(capacity, latency_knee=latency_knee)
    is_beyond = clean_users is not None and knee.users is not None and knee.users > clean_users
    return CapacityVerdict(
        epoch=capacity.epoch,
        knee=KneeVerdict(kind="no_knee", epoch=knee.epoch, users=clean_users, limit="generator") if is_beyond else None,
        latency_knee=latency_knee,
        curve=None if curve is None else replace(curve, capacity_rps=None, capacity_se_rps=None, usl=None),
    )


def not_superseded(marks: Sequence[Mark], verdict: Verdict | None, invalid: InvalidLevels | None) -> list[Mark]:
    """Marks of an epoch that are not superseded. `verdict`: as returned by `reported`."""
    current = [kept for mark in marks if (kept := _current(mark, verdict, invalid)) is not None]
    is_marked = any(mark.kind in CURVE_LIMITS or is_limit(mark) for mark in current)
    has_limit = invalid is not None or _finds_limit(verdict) or is_marked
    return [mark for mark in current if not (has_limit and mark.id in NOT_YET_AT_LIMIT)]


def _finds_limit(verdict: Verdict | None) -> bool:
    """Whether the verdict itself has a limit of load, of users or of an offered rate."""
    if verdict is None:
        return False
    knee, rate = verdict.capacity.knee, verdict.rates.capacity if verdict.rates is not None else None
    return (knee is not None and knee.kind != "no_knee") or (rate is not None and rate.kind != "keeps_up")


def is_limit(mark: Mark) -> bool:
    """Whether it is a bottleneck that limits the service."""
    return mark.kind == "bottleneck" and mark.id not in NO_LIMITS


def _current(mark: Mark, verdict: Verdict | None, invalid: InvalidLevels | None) -> Mark | None:
    if isinstance(mark.finding, RateCapacityFinding) and verdict is not None:
        now = verdict.rates.capacity if verdict.rates is not None else None
        is_mark = now is not None and now.kind != "keeps_up"
        return replace(mark, finding=RateCapacityFinding(capacity=now), confidence=now.confidence) if now and is_mark else None
    if isinstance(mark.finding, CurveFinding):
        return _of_curve(mark, mark.finding, verdict, invalid)
    if not is_limit(mark):
        return mark
    is_clean = invalid is None or invalid.is_clean(mark.users, mark.offered_per_s)
    is_invalid = where(mark.id) in ("target", "host") and not is_clean
    return None if is_invalid or _is_superseded(mark, verdict) else mark


def _of_curve(mark: Mark, finding: CurveFinding, verdict: Verdict | None, invalid: InvalidLevels | None) -> Mark | None:
    """The mark with the figures of the verdict (rule 2). In a log without verdicts, marks stay as they are."""
    if verdict is None:
        return mark if invalid is None or invalid.is_clean(_upper_users(finding.verdict)) else None
    found = verdict.capacity.latency_knee if mark.kind == "latency_knee" else verdict.capacity.knee
    if found is None or found.kind == "no_knee":
        return None
    now = CURVE_FINDINGS[found.kind](verdict=found, capacity_se_rps=finding.capacity_se_rps, missing=finding.missing)
    return replace(mark, finding=now, users=found.users, confidence=found.confidence)


def _is_superseded(mark: Mark, verdict: Verdict | None) -> bool:
    """Whether levels with a greater load than the bottleneck's show no limit (rule 3)."""
    found = verdict.capacity.knee if verdict is not None else None
    if mark.offered_per_s is not None:
        return _is_superseded_at_rates(mark.offered_per_s, verdict)
    return found is not None and found.kind == "no_knee" and found.users is not None and found.users > most_users(mark)


def most_users(mark: Mark) -> float:
    """The most users at which a mark is known to hold: later levels may show the same bottleneck again."""
    at = mark.finding.users_at if isinstance(mark.finding, Bottleneck) else None
    return max(mark.users or 0.0, at or 0.0)


def _is_superseded_at_rates(offered_per_s: float, verdict: Verdict | None) -> bool:
    found = verdict.rates.capacity if verdict is not None and verdict.rates is not None else None
    return found is not None and found.kind == "keeps_up" and found.per_s > offered_per_s
