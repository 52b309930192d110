"""The reportable results of an epoch: its current marks and verdict, and the levels in which generator and network worked.

Every list of marks and every conclusion uses these (`current_marks`, `reported`), so that no two outputs contradict each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from ..model import one_blas_thread  # noqa: F401  before numpy is loaded
from ..model.catalogue import NO_LIMITS, NOT_YET_AT_LIMIT, where
from ..model.events import Mark, Verdict
from ..model.experiments import Explanation
from ..model.findings import CURVE_FINDINGS, Bottleneck, CurveFinding, RateCapacityFinding
from ..model.verdicts import CapacityVerdict, KneeVerdict, SloVerdict

# isort: split

import numpy as np

from ..model.catalogue import DEATHS, OUTSIDE_THE_TARGET, invalidates_run
from ..model.findings import Cause
from ..model.level import Level
from ..model.level_use import LevelUse, level_use
from ..model.timeline import Timeline
from ..model.verdicts import CONFIDENCES, SEVERITIES, RateVerdict

# -- Which findings are not reported because a later finding supersedes them. The only place with these rules.
#
# The log keeps each finding as it was made; a report shows those that hold at its time. Live, replayed and reanalysed sessions
# are read through `EpochView`, below,, which applies these rules:
#
# 1. If a critical cause of the generator, its host or the network invalidated levels, nothing about the service is reported
# beyond the other (clean) levels: no knee, no objective, no bottleneck. 2. A mark of the curve has the figures of the latest
# verdict, and is not reported if that verdict has no such finding. 3. A bottleneck is superseded if levels with more users, or of
# higher rates, show no limit. 4. "Not at its limit" (no limit reached, think time sets the throughput) is superseded once a mark
# or a verdict has a limit. The verdict counts by itself because the mark of its knee is logged after it.

CURVE_LIMITS = ("knee", "at_or_below", "bend", "rate_capacity")
"""Kinds of marks that show a limit of load on a curve."""


class InvalidLevels(msgspec.Struct, frozen=True):
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


def without_invalid(verdict: Verdict, invalid: InvalidLevels | None) -> Verdict:
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
    if mark.offered_per_s is not None:
        capacity = verdict.rates.capacity if verdict is not None and verdict.rates is not None else None
        return capacity is not None and capacity.kind == "keeps_up" and capacity.per_s > most_load(mark)
    found = verdict.capacity.knee if verdict is not None else None
    return found is not None and found.kind == "no_knee" and found.users is not None and found.users > most_load(mark)


def _explained(mark: Mark, known: Explanation) -> Mark:
    """A bottleneck of users that may have several causes, with those of them that experiments leave; if none, with what they do
    leave, which its readings had ruled out.
    """
    if not isinstance(mark.finding, Bottleneck) or mark.id != "lock_or_pool_limit" or mark.offered_per_s is not None:
        return mark
    own = tuple(each for each in known.left if each in ("lock", "pool", *mark.finding.competing))
    idle = tuple(each.param for each in known.inferences if each.reason == "slots_do_not_matter" and each.param is not None)
    return replace(mark, finding=replace(mark.finding, left=own or known.left, without_effect=idle))


def most_load(mark: Mark) -> float:
    """The most users, or the greatest offered rate, at which a bottleneck is known to hold: its mark has the least, and later
    levels may show it again."""
    finding = mark.finding if isinstance(mark.finding, Bottleneck) else None
    if mark.offered_per_s is not None:
        return max(mark.offered_per_s, (finding.offered_at_per_s if finding is not None else None) or 0.0)
    return max(mark.users or 0.0, (finding.users_at if finding is not None else None) or 0.0)


# -- the view ------------------------------------------------------------------------------------------------------------------


class EpochView:
    """One epoch of a timeline: `marks` that are not superseded, `verdict` and `invalid` levels.

    `epoch` is None where no detector ran: then the view is of all levels together.
    """

    def __init__(self, timeline: Timeline, epoch: int | None) -> None:
        self.timeline, self.epoch = timeline, epoch
        self.marks = [mark for mark in timeline.marks.values() if mark.epoch == epoch and mark.state != "retracted"]
        self.invalid = self._invalid()
        found = None if epoch is None else timeline.verdicts.get(epoch)
        self.verdict = None if found is None else without_invalid(found, self.invalid)
        known = None if epoch is None else timeline.explained.get(epoch)
        explanation = known.explanation if known is not None and not known.explanation.unsteady else None
        current = not_superseded(self.marks, self.verdict, self.invalid)
        self.marks = current if explanation is None else [_explained(mark, explanation) for mark in current]

    def _invalid(self) -> InvalidLevels | None:
        """The levels that critical causes of generator, host or network invalidate; None if no such cause lasts (`is_past`)."""
        invalidating = [mark for mark in self.causes(*OUTSIDE_THE_TARGET) if invalidates_run(mark.id, mark.severity)]
        if not invalidating:
            return None
        clean = self.clean(invalidating)
        lasting = [mark for mark in invalidating if not is_past(mark, clean)]
        most = max((level.users for level in clean if level.users), default=None)
        most_per_s = max((level.load.per_s for level in clean if level.load.per_s), default=None)
        return InvalidLevels(min(lasting, key=since_s), most, most_per_s) if lasting else None

    @property
    def capacity(self) -> CapacityVerdict | None:
        """The verdict on capacity; None if no detector ran."""
        return self.verdict.capacity if self.verdict is not None else None

    @property
    def rates(self) -> RateVerdict | None:
        """The verdict on levels of offered rates; None if there are none."""
        return self.verdict.rates if self.verdict is not None else None

    @property
    def knee(self) -> KneeVerdict | None:
        """The verdict on the knee, which may be `no_knee`."""
        return self.capacity.knee if self.capacity is not None else None

    def causes(self, *wheres: str) -> list[Mark]:
        """Causes at these locations, the most severe first: a death before its consequences, then the earliest."""
        found = [mark for mark in self.marks if mark.kind == "cause" and where(mark.id) in wheres]
        return sorted(found, key=lambda mark: (SEVERITIES.index(mark.severity), mark.id not in DEATHS, since_s(mark)))

    def bottlenecks(self) -> list[Mark]:
        """Bottlenecks that limit the service, those with the highest confidence first."""
        found = [mark for mark in self.marks if is_limit(mark)]
        order = (*CONFIDENCES, None)
        return sorted(found, key=lambda mark: (order.index(mark.confidence), since_s(mark)))

    def levels(self) -> list[Level]:
        """All of its levels that may be in a curve, in the order they ran."""
        known = (level for level in self.timeline.levels if not level.opened.is_aside)
        return [level for level in known if self.epoch is None or level.opened.epoch == self.epoch]

    def settled(self) -> list[Level]:
        """Settled levels with users."""
        return [level for level in self.levels() if level.users and level.figures.settled]

    def loaded(self) -> list[Level]:
        """Settled levels, of users and of offered rates."""
        return [level for level in self.levels() if level.has_load and level.figures.settled]

    def disturbed(self) -> list[Level]:
        """Levels disturbed by other processes, which used CPU that the service or the generator needed."""
        judged = [level for level in self.levels() if level.has_load and (level.figures.settled or level.bins)]
        return [level for level in judged if self.use(level).is_disturbed]

    def left_out(self) -> list[Level]:
        """Those of the disturbed levels that do not describe the service."""
        return [level for level in self.disturbed() if "disturbed" in self.use(level).whys]

    def use(self, level: Level) -> LevelUse:
        """Whether the verdict counts one of its levels, and why not."""
        return level_use(level, self.verdict)

    def requests(self, begin_s: float, end_s: float) -> float:
        """Number of requests between two times of the session, warm-up and failures included.

        Computed by numpy: a day has 86,400 seconds, and a screen asks for each cause whenever it draws.
        """
        columns, timeline = self.timeline.columns, self.timeline
        ticks = slice(max(timeline.index_at(begin_s), 0), timeline.index_at(end_s) + 1)
        counts = np.asarray(columns["throughput_rps"][ticks]) * np.asarray(columns["duration_s"][ticks])
        return float(np.nansum(counts))

    def clean(self, invalidating: Sequence[Mark]) -> list[Level]:
        """Settled levels, of users and of offered rates, during which none of these causes occurred."""
        spans = [span for mark in invalidating for span in self._spans(mark)]
        return [level for level in self.loaded() if not any(self._overlaps(level, span) for span in spans)]

    def _spans(self, mark: Mark) -> list[tuple[float, float]]:
        """Every (first, last) occurrence, by all revisions of the mark: a cause may recur."""
        marks = (each for each in self.timeline.journal if isinstance(each, Mark))
        revisions = [each for each in marks if each.key == mark.key and each.state != "retracted"]
        spans = [(since_s(each), last_s(each)) for each in revisions]
        return spans if mark.state == "closed" else [*spans, (since_s(mark), self.timeline.last_s)]

    def _overlaps(self, level: Level, span: tuple[float, float]) -> bool:
        begin_s = level.started_s if level.settled_s is None else level.settled_s
        end_s = self.timeline.last_s if level.ended_s is None else level.ended_s
        return span[0] <= end_s and begin_s <= span[1]


def epochs(timeline: Timeline) -> list[int]:
    """Indices of all epochs with levels, marks or verdicts, ascending."""
    levels = (level.opened.epoch for level in timeline.levels)
    marked = (mark.epoch for mark in timeline.marks.values() if mark.state != "retracted")
    return sorted({*levels, *marked, *timeline.verdicts})


def current_marks(timeline: Timeline) -> dict[str, Mark]:
    """Marks by key that are neither retracted nor superseded, with the figures of the latest verdict."""
    current = {mark.key: mark for epoch in epochs(timeline) for mark in EpochView(timeline, epoch).marks}
    return {key: current[key] for key in timeline.marks if key in current}


def reported(timeline: Timeline) -> dict[int, Verdict]:
    """Verdicts by epoch, without what was concluded from invalid levels."""
    verdicts = {epoch: EpochView(timeline, epoch).verdict for epoch in sorted(timeline.verdicts)}
    return {epoch: verdict for epoch, verdict in verdicts.items() if verdict is not None}


def is_past(mark: Mark, clean: Sequence[Level]) -> bool:
    """Whether the cause has ended and a later level with at least as much load did not have it."""
    later = (level for level in clean if level.started_s >= last_s(mark))
    if mark.offered_per_s is not None:
        return mark.state == "closed" and any((level.load.per_s or 0.0) >= mark.offered_per_s for level in later)
    return mark.state == "closed" and any(level.users >= (mark.users or 0) for level in later if level.users)


def since_s(mark: Mark) -> float:
    """Start of the mark's latest episode, in seconds of the session."""
    began_s = mark.finding.began_s if isinstance(mark.finding, Cause) else None
    return mark.t_s if began_s is None else began_s


def last_s(mark: Mark) -> float:
    """Last occurrence of what the mark is about, in seconds of the session."""
    found_s = mark.finding.last_s if isinstance(mark.finding, Cause) else None
    return mark.t_s if found_s is None else found_s
