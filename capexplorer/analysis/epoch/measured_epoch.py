"""What was measured of one epoch at one moment, and which of it can be judged. The verdict on it is made in `epoch`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...model.level import Level
from ...model.timeline import Timeline
from ..knee.detector import AUTOPILOT_ERROR, LADDER_ERROR
from ..knee.missing_levels import LEVELS_LEAST
from ..ladder import LadderLevel, Measured, pooled
from .judgeable import judgeable_levels
from .level_comparison import FAILING, failure_ratio_of
from .neighbours import usable_levels
from .recovery import Split, split
from .regime import Regime, return_users
from .regimes import Halves, regimes_of


@dataclass(frozen=True)
class MeasuredEpoch:
    """Costly fields are computed on first use and cached. Valid until the next event is applied to the timeline."""

    timeline: Timeline
    index: int
    levels: tuple[Level, ...]
    """Of this epoch at user counts, in the order they ran."""
    own_ms: float
    """Part of a user's cycle outside responses and declared waits (`generator_saturation.own_time_ms`)."""
    measured: tuple[Measured, ...]
    """Settled levels with goodput in the order they ran, in parts where they changed inside, ramps as their bins."""
    halves: Halves
    """Doubtful parts of a level."""
    partial: tuple[int, ...] = ()
    """Indices of settled levels whose figures cover only a part of their users; they are not in `measured`."""
    outgrown: tuple[int, ...] = ()
    """Indices of levels that saturated fewer workers than there were later; they are not in `measured` either."""
    all_levels: tuple[Level, ...] = ()
    """Those at offered rates among them."""

    @property
    def ladder(self) -> tuple[LadderLevel, ...]:
        """The rates of `measured`, of all regimes."""
        return tuple(each.rates for each in self.measured)

    @cached_property
    def regimes(self) -> tuple[Regime, ...]:
        """The stretches in which the service was one and the same, in the order they began; one unless it changed.

        What other processes took away is no change of the service: levels that they pushed below the line are in none.
        """
        usable = {level.started_s for level in usable_levels(self.ladder)}
        return regimes_of([each for each in self.measured if each.rates.started_s in usable], self.halves)

    @cached_property
    def judged(self) -> Regime:
        """The regime that the verdict is about: the latest one with enough levels for a knee, else the one with most user counts.
        One that began with failures, or with a fall that load may have caused, only where there is no other."""
        chosen = Regime()
        for each in self.regimes:
            counts, best = (min(len(pooled(regime.levels)), LEVELS_LEAST) for regime in (each, chosen))
            is_better = counts > best or counts == best == LEVELS_LEAST
            if not chosen.measured or (is_better and not each.fails and self._return_users(each) is None):
                chosen = each
        return chosen

    def _return_users(self, regime: Regime) -> float | None:
        return return_users(regime, [each for each in self.regimes if each is not regime])

    @property
    def _latest(self) -> Regime | None:
        """The regime of the latest level."""
        return max(self.regimes, key=lambda regime: regime.measured[-1].rates.started_s, default=None)

    @property
    def is_undecided(self) -> bool:
        """Whether goodput fell, or failures began, with a step up of users, and no return has shown whether load caused it."""
        return self._latest is not None and self._return_users(self._latest) is not None

    @property
    def levels_lacking(self) -> int:
        """User counts that the service as it is now lacks for a verdict, if it surely changed, and its failures are no fault."""
        latest = self._latest
        if latest is None or latest is self.judged or latest.fails:
            return 0
        is_sure = latest.began_without_load([each for each in self.regimes if each is not latest])
        return max(0, LEVELS_LEAST - len(pooled(latest.levels))) if is_sure else 0

    @property
    def has_fault(self) -> bool:
        """Whether the latest level fails, and that began in the middle of a level."""
        latest = self._latest
        if latest is None or not latest.fails:
            return False
        return latest.began_without_load([each for each in self.regimes if each is not latest])

    @property
    def explained_by_load(self) -> list[Measured]:
        """Levels of the regime that is judged, those at which goodput fell with a step up, which may be load's doing, and those
        that other processes disturbed."""
        most_rps = max((level.goodput_rps for level in self.judged.levels), default=0.0)
        fell = [each for each in self.regimes if each.began == "goodput" and not each.began_inside]
        fell = [each for each in fell if each.levels[0].goodput_rps < most_rps]
        chosen = {id(each) for regime in (self.judged, *fell) for each in regime.measured}
        return [each for each in self.measured if id(each) in chosen or each.rates.disturbed]

    @cached_property
    def judgeable(self) -> tuple[LadderLevel, ...]:
        """The levels of the regime that is judged, without those in which generator, host or network failed, or which other
        processes pushed below the line."""
        return usable_levels(judgeable_levels(self.timeline, self.judged.steady))

    @cached_property
    def split(self) -> Split:
        """Judgeable levels that the fit uses, and levels of recovery from overload."""
        return split(self.judgeable)

    @property
    def after_step(self) -> tuple[LadderLevel, ...]:
        """Levels without failures of their own of regimes that began after the judged one with a step: what changed then was not
        seen to change, so it may have changed during the levels before.
        """
        least = min((failure_ratio_of(level) for level in self.judged.levels), default=0.0)
        later = [each for each in self.regimes if each.started_s > self.judged.started_s and not each.began_inside]
        return tuple(level for each in later for level in each.levels if failure_ratio_of(level) - least < FAILING)

    @property
    def structural_error(self) -> float:
        """The structural error of a ladder by hand, or the greater one of the autopilot's few short levels."""
        return AUTOPILOT_ERROR if any(level.opened.by == "autopilot" for level in self.levels) else LADDER_ERROR
