"""The measured levels of one epoch, their regimes, and which of them can be judged. The verdict is made in `epoch`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...model.level import Level
from ...model.timeline import Timeline
from ..knee.curve_gates import LEVELS_LEAST
from ..knee.verdict_kinds import AUTOPILOT_ERROR, LADDER_ERROR
from ..ladder import LadderLevel, Measured, pooled
from .judgeable import judgeable_levels
from .level_comparison import FAILING, failure_ratio_of
from .limiter_burst import without_burst_levels
from .neighbours import usable_levels
from .recovery import Split, split
from .regime import Regime, return_users
from .regimes import Halves, regimes_of

SECONDS_LEAST = 5.5
"""Settled seconds from which an open level counts: before six batches of a second goodput has no standard error."""


@dataclass(frozen=True)
class MeasuredEpoch:
    """Costly fields are computed on first use and cached. Valid until the next event is applied to the timeline."""

    timeline: Timeline
    index: int
    levels: tuple[Level, ...]
    """All levels of the epoch on this ladder, in the order they ran."""
    outside_requests_ms: float
    """Part of a user's cycle outside responses and declared waits (`generator_saturation.time_outside_requests_ms`)."""
    measured: tuple[Measured, ...]
    """Settled levels with goodput in the order they ran; levels that changed inside are divided into parts, ramps into bins."""
    halves: Halves
    """Divides a level in two where goodput may have changed inside it."""
    partial: tuple[int, ...] = ()
    """Indices of settled levels whose figures cover only a part of their users; they are not in `measured`."""
    outgrown: tuple[int, ...] = ()
    """Indices of levels that saturated fewer workers than there were later; they are not in `measured` either."""
    all_levels: tuple[Level, ...] = ()
    """Levels of users and of offered rates."""

    @property
    def ladder(self) -> tuple[LadderLevel, ...]:
        """The ladder levels of `measured`, of all regimes."""
        return tuple(each.rates for each in self.measured)

    @cached_property
    def regimes(self) -> tuple[Regime, ...]:
        """The stretches in which the service did not change, in the order they began; a single one if it never changed.

        CPU used by other processes is no change of the service: levels that it pushed below the low-load line are in no regime.
        """
        return regimes_of(self.comparable, self.halves)

    @property
    def comparable(self) -> list[Measured]:
        """Elements of `measured` that show whether the service changed."""
        usable = {level.started_s for level in usable_levels(self.ladder)}
        return without_burst_levels([each for each in self.measured if each.rates.started_s in usable])

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
        return max(self.regimes, key=lambda regime: regime.measured[-1].rates.started_s, default=None)

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
        return [each for each in self.measured if id(each) in chosen or each.rates.disturbed]

    @cached_property
    def judgeable(self) -> tuple[LadderLevel, ...]:
        """Levels of the judged regime, without those in which generator, host or network failed, or which other processes pushed
        below the low-load line.
        """
        return usable_levels(judgeable_levels(self.timeline, self.judged.steady))

    @cached_property
    def split(self) -> Split:
        """Judgeable levels that the fit uses, and levels of recovery from overload."""
        return split(self.judgeable)

    @property
    def after_step(self) -> tuple[LadderLevel, ...]:
        """Levels, without failing ones, of regimes that began with a step after the judged one began. When exactly the service
        changed was not observed: it may have been during the levels before.
        """
        least = min((failure_ratio_of(level) for level in self.judged.levels), default=0.0)
        later = [each for each in self.regimes if each.started_s > self.judged.started_s and not each.began_inside]
        return tuple(level for each in later for level in each.levels if failure_ratio_of(level) - least < FAILING)

    @property
    def structural_error(self) -> float:
        """Structural error of N*: greater for the few short levels of the autopilot than for a ladder by hand."""
        return AUTOPILOT_ERROR if any(level.opened.by == "autopilot" for level in self.levels) else LADDER_ERROR
