"""The measured levels of one epoch, their regimes, and which of them can be judged. The verdict is made in `epoch`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec

from ...model.catalogue import invalidates_run
from ...model.events import Mark
from ...model.findings import Cause
from ...model.level import Level
from ...model.timeline import Timeline
from ...model.verdicts import KneeVerdict, RegimeVerdict
from ..knee.detector import analyse, split
from ..knee.knee_lines import LEVELS_LEAST
from ..knee.verdict_kinds import Circumstances
from ..ladder import USERS_SAME, LadderLevel, Measured, pooled
from ..statistics import LOST_LEAST
from .neighbours import usable_levels
from .onset import without_burst_levels
from .regime import FAILING, Regime, failure_ratio_of, return_users
from .regimes import regimes_of

# -- Selects the levels that describe the service: those in which the generator, its host and the network worked.
#
# Without free ports, requests of the generator fail fast; the goodput that remains is no capacity of the service. Levels whose
# generator lacked CPU are kept: they are flagged as saturated, and the knee's limit is then "generator". Reads marks of causes.

_LEAVE_LEVELS_VALID = ("generator_cpu_saturated", "event_loop_blocked", "log_write_failed")
"""Causes that invalidate a run, but do not make requests fail."""


def judgeable_levels(timeline: Timeline, levels: Sequence[LadderLevel]) -> tuple[LadderLevel, ...]:
    """The levels during which no critical cause of generator, host or network made requests fail."""
    spans = list(_spans(timeline))
    ends_s = [level.ended_s or timeline.last_s for level in levels]
    pairs = zip(levels, ends_s, strict=True)
    return tuple(level for level, end_s in pairs if not _failed_during(level.failure_ratio, level.started_s, end_s, spans))


def is_invalidated(timeline: Timeline, level: Level) -> bool:
    """Whether a critical cause of generator, host or network made requests of this level fail."""
    ended_s = timeline.last_s if level.ended_s is None else level.ended_s
    return _failed_during(level.figures.failure_ratio, level.started_s, ended_s, list(_spans(timeline)))


def _failed_during(failure_ratio: float | None, started_s: float, ended_s: float, spans: Sequence[tuple[float, float]]) -> bool:
    """Whether a level had failures and overlaps one of the `spans`."""
    failing = (failure_ratio or 0.0) >= LOST_LEAST
    return failing and any(first_s < ended_s and last_s > started_s for first_s, last_s in spans)


def _spans(timeline: Timeline) -> Iterator[tuple[float, float]]:
    """(first, last) occurrence of each episode of such causes, in seconds of the session: one for each revision of its mark, so
    that later ones contain the earlier ones.
    """
    open_s: dict[str, float] = {}
    for entry in timeline.journal:
        if not isinstance(entry, Mark) or not isinstance(entry.finding, Cause) or not _invalidates(entry.id):
            continue
        began_s, last_s = entry.finding.began_s, entry.finding.last_s
        if entry.state == "open" or entry.key not in open_s:
            open_s[entry.key] = entry.t_s if began_s is None else began_s
        yield open_s[entry.key], entry.t_s if last_s is None else last_s


def _invalidates(cause: str) -> bool:
    return invalidates_run(cause) and cause not in _LEAVE_LEVELS_VALID


class MeasuredEpoch(msgspec.Struct, frozen=True, dict=True):
    """Costly fields are computed on first use and cached. Valid until the next event is applied to the timeline."""

    timeline: Timeline
    index: int
    levels: tuple[Level, ...]
    """All levels of the epoch on this ladder, in the order they ran."""
    outside_requests_ms: float
    """Part of a user's cycle outside responses and declared waits (`generator_saturation.time_outside_requests_ms`)."""
    measured: tuple[Measured, ...]
    """Settled levels with goodput in the order they ran; levels that changed inside are divided into parts, ramps into bins."""
    outgrown: tuple[int, ...] = ()
    """Indices of levels that saturated fewer workers than there were later; they are not in `measured` either."""
    all_levels: tuple[Level, ...] = ()
    """Levels of users and of offered rates."""

    @property
    def ladder(self) -> tuple[LadderLevel, ...]:
        """The ladder levels of `measured`, of all regimes."""
        return tuple(each.ladder_level for each in self.measured)

    @cached_property
    def regimes(self) -> tuple[Regime, ...]:
        """The stretches in which the service did not change, in the order they began; a single one if it never changed.

        CPU used by other processes is no change of the service: levels that it pushed below the low-load line are in no regime.
        """
        return regimes_of(self.comparable)

    @property
    def comparable(self) -> list[Measured]:
        """Elements of `measured` that show whether the service changed."""
        usable = {level.started_s for level in usable_levels(self.ladder)}
        return without_burst_levels([each for each in self.measured if each.ladder_level.started_s in usable])

    @cached_property
    def judged(self) -> Regime:
        """The regime that the verdict is about: the latest one with enough levels for a knee, else the one with most user counts.

        A regime that began with failures, or with a fall that load may have caused, is judged only if it is the only one.
        """
        chosen = Regime()
        for each in self.regimes:
            counts, best = (min(len(pooled(regime.levels)), LEVELS_LEAST) for regime in (each, chosen))
            is_better = counts > best or counts == best == LEVELS_LEAST
            if not chosen.measured or (is_better and not each.fails and self.return_users_of(each) is None):
                chosen = each
        return chosen

    def return_users_of(self, regime: Regime) -> float | None:
        """Users to which a return would show whether load began a regime; None: the reason is known (`regime.return_users`)."""
        return return_users(regime, [each for each in self.regimes if each is not regime])

    @property
    def _latest(self) -> Regime | None:
        """The regime of the latest level."""
        return max(self.regimes, key=lambda regime: regime.measured[-1].ladder_level.started_s, default=None)

    @property
    def is_undecided(self) -> bool:
        """Whether goodput fell, or failures began, with a step up, and no return to less load has shown yet whether load is the
        reason.
        """
        return self._latest is not None and self.return_users_of(self._latest) is not None

    @property
    def levels_lacking(self) -> int:
        """How many user counts the latest regime still needs for a verdict; 0 if it is the judged one, fails, or load may explain
        it.
        """
        latest = self._latest
        if latest is None or latest is self.judged or latest.fails:
            return 0
        is_sure = latest.began_without_load([each for each in self.regimes if each is not latest])
        return max(0, LEVELS_LEAST - len(pooled(latest.levels))) if is_sure else 0

    @property
    def has_fault(self) -> bool:
        """Whether the latest level fails, and load does not explain when that began."""
        latest = self._latest
        if latest is None or not latest.fails:
            return False
        return latest.began_without_load([each for each in self.regimes if each is not latest])

    @property
    def explained_by_load(self) -> list[Measured]:
        """Levels whose goodput load may explain: those of the judged regime, those of regimes in which goodput fell with a step
        up, and those that other processes disturbed.
        """
        most_rps = max((level.goodput_rps for level in self.judged.levels), default=0.0)
        fell = [each for each in self.regimes if each.began == "goodput" and not each.began_inside]
        fell = [each for each in fell if each.levels[0].goodput_rps < most_rps]
        chosen = {id(each) for regime in (self.judged, *fell) for each in regime.measured}
        return [each for each in self.measured if id(each) in chosen or each.ladder_level.disturbed]

    @cached_property
    def judgeable(self) -> tuple[LadderLevel, ...]:
        """Levels of the judged regime, without those in which generator, host or network failed, or which other processes pushed
        below the low-load line.
        """
        return usable_levels(judgeable_levels(self.timeline, self.judged.steady))

    @cached_property
    def _split(self) -> tuple[tuple[LadderLevel, ...], tuple[LadderLevel, ...]]:
        return split(self.judgeable)

    @property
    def fit(self) -> tuple[LadderLevel, ...]:
        """Judgeable levels that the fit uses, in the order they ran."""
        return self._split[0]

    @property
    def recovery(self) -> tuple[LadderLevel, ...]:
        """Judgeable levels of recovery from overload."""
        return self._split[1]

    @property
    def after_step(self) -> tuple[LadderLevel, ...]:
        """Levels, without failing ones, of regimes that began with a step after the judged one began. When exactly the service
        changed was not observed: it may have been during the levels before.
        """
        least = min((failure_ratio_of(level) for level in self.judged.levels), default=0.0)
        later = [each for each in self.regimes if each.started_s > self.judged.started_s and not each.began_inside]
        return tuple(level for each in later for level in each.levels if failure_ratio_of(level) - least < FAILING)


# -- The verdict on each regime of an epoch: when it began, how long after the last step of load, and its goodput.


def regime_verdicts(epoch: MeasuredEpoch, judged: KneeVerdict | None) -> tuple[RegimeVerdict, ...]:
    """One for each regime, in the order they began; empty if the service did not change. `judged`: the verdict on the regime that
    the epoch's verdict describes.
    """
    if len(epoch.regimes) < 2:
        return ()
    return tuple(_verdict(epoch, regime, judged if regime is epoch.judged else _knee(epoch, regime)) for regime in epoch.regimes)


def circumstances(epoch: MeasuredEpoch, regime: Regime) -> Circumstances:
    """What a verdict on the levels of one regime states of the epoch. Only that on the judged one says what is still to be
    measured.
    """
    is_judged = regime is epoch.judged
    undecided = (epoch.return_users_of(each) for each in reversed(epoch.regimes)) if is_judged else ()
    return Circumstances(
        epoch=epoch.index,
        since_s=None if regime.began is None else _began_s(epoch, regime),
        until_s=_until_s(epoch, regime),
        levels_lacking=epoch.levels_lacking if is_judged else 0,
        return_users=next((users for users in undecided if users is not None), None),
    )


def rate_regime_verdicts(ladder: MeasuredEpoch) -> tuple[RegimeVerdict, ...]:
    """One for each regime of the levels of offered rates, without knees; empty if the service did not change there."""
    return tuple(_verdict(ladder, regime, None, at_rates=True) for regime in ladder.regimes) if len(ladder.regimes) > 1 else ()


def _verdict(epoch: MeasuredEpoch, regime: Regime, knee: KneeVerdict | None, *, at_rates: bool = False) -> RegimeVerdict:
    first = regime.measured[0]
    clean = [each.ladder_level for each in regime.measured if (each.ladder_level.failure_ratio or 0.0) < FAILING]
    most = max(clean or [each.ladder_level for each in regime.measured], key=lambda level: level.users)
    began_s = _began_s(epoch, regime)
    is_first = regime.began is None
    others = [each for each in epoch.regimes if each is not regime]
    before = None if is_first else _same_before(epoch, regime)
    unlike = before if regime.began == "latency" else None
    return RegimeVerdict(
        began_s=began_s,
        until_s=None if regime.measured[-1] is _latest(epoch) else regime.measured[-1].part.ended_s,
        began=regime.began,
        inside=regime.began_without_load(others),
        after_step_s=None if is_first else began_s - _stepped_s(epoch.levels, began_s),
        at_rates=at_rates,
        users=first.level.load.amount,
        before_rps=None if before is None else before.ladder_level.goodput_rps,
        after_rps=first.ladder_level.goodput_rps,
        before_ms=None if unlike is None else unlike.ladder_level.latency_ms,
        after_ms=None if unlike is None else first.ladder_level.latency_ms,
        unchanged_until_s=None if unlike is None else unlike.level.ended_s,
        failure_ratio=first.ladder_level.failure_ratio,
        most_users=most.users,
        most_rps=most.goodput_rps,
        most_since_s=most.started_s,
        return_users=return_users(regime, others),
        knee=knee,
        levels=tuple(dict.fromkeys(each.level.opened.index for each in regime.measured)),
        judged=regime is epoch.judged,
    )


def _latest(epoch: MeasuredEpoch) -> Measured:
    return max((each for regime in epoch.regimes for each in regime.measured), key=lambda each: each.ladder_level.started_s)


def _began_s(epoch: MeasuredEpoch, regime: Regime) -> float:
    """When the regime began, in seconds of the session. Failures inside a level count from the end of their first second, as
    causes do, other changes from its start.
    """
    if not (regime.fails and regime.began_inside):
        return regime.started_s
    timeline = epoch.timeline
    return timeline.columns["t_s"][min(timeline.index_at(regime.started_s) + 1, timeline.ticks - 1)]


def _knee(epoch: MeasuredEpoch, regime: Regime) -> KneeVerdict | None:
    """The regime's own knee; None if it began with failures: goodput during a fault is not a capacity."""
    levels = () if regime.fails else judgeable_levels(epoch.timeline, regime.steady)
    return analyse(levels, circumstances(epoch, regime)).knee if levels else None


def _stepped_s(levels: Sequence[Level], at_s: float) -> float:
    """Time of the last step of load before that time, in seconds of the session."""
    return max((level.opened.t_s for level in levels if level.opened.since_s is None and level.opened.t_s <= at_s), default=at_s)


def _same_before(epoch: MeasuredEpoch, regime: Regime) -> Measured | None:
    """The latest level of the same load before the regime; None without one."""
    first = regime.measured[0].ladder_level
    earlier = [each for each in epoch.measured if each.ladder_level.started_s < first.started_s]
    same = [each for each in earlier if abs(each.ladder_level.users - first.users) <= USERS_SAME * first.users]
    return same[-1] if same else None


def _until_s(epoch: MeasuredEpoch, regime: Regime) -> float | None:
    last_s = regime.measured[-1].ladder_level.started_s
    return min((other.started_s for other in epoch.regimes if other.started_s > last_s), default=None)
