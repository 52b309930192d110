"""The verdict on each regime of an epoch: when it began, how long after the last step of load, and its goodput."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.level import Level
from ...model.verdicts import KneeVerdict, RegimeVerdict
from ..knee.verdict_kinds import Circumstances
from ..ladder import LadderLevel, Measured
from .judgeable import judgeable_levels
from .level_comparison import FAILING, USERS_SAME, latency_differs, was_served_better
from .measured_epoch import MeasuredEpoch
from .measured_rates import RateLadder
from .recovery import analyse
from .regime import Regime, return_users


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
        structural=epoch.structural_error,
        since_s=None if regime.began is None else _began_s(epoch, regime),
        until_s=_until_s(epoch, regime),
        levels_lacking=epoch.levels_lacking if is_judged else 0,
        return_users=next((users for users in undecided if users is not None), None),
    )


def rate_regime_verdicts(ladder: RateLadder) -> tuple[RegimeVerdict, ...]:
    """One for each regime of the levels of offered rates, without knees; empty if the service did not change there."""
    return tuple(_verdict(ladder, regime, None, at_rates=True) for regime in ladder.regimes) if len(ladder.regimes) > 1 else ()


def _verdict(epoch: MeasuredEpoch, regime: Regime, knee: KneeVerdict | None, *, at_rates: bool = False) -> RegimeVerdict:
    first = regime.measured[0]
    clean = [each.rates for each in regime.measured if (each.rates.failure_ratio or 0.0) < FAILING]
    most = max(clean or [each.rates for each in regime.measured], key=lambda level: level.users)
    began_s = _began_s(epoch, regime)
    is_first = regime.began is None
    others = [each for each in epoch.regimes if each is not regime]
    unlike = _unlike_before(epoch, first.rates) if regime.began == "latency" else None
    return RegimeVerdict(
        began_s=began_s,
        until_s=None if regime.measured[-1] is _latest(epoch) else regime.measured[-1].part.ended_s,
        began=regime.began,
        inside=regime.began_without_load(others),
        after_step_s=None if is_first else began_s - _stepped_s(epoch.levels, began_s),
        at_rates=at_rates,
        users=first.level.offered_per_s or float(first.level.users),
        before_rps=None if is_first else _before(epoch, regime),
        after_rps=first.rates.goodput_rps,
        before_ms=None if unlike is None else unlike.rates.latency_ms,
        after_ms=None if unlike is None else first.rates.latency_ms,
        unchanged_until_s=None if unlike is None else unlike.level.ended_s,
        failure_ratio=first.rates.failure_ratio,
        most_users=most.users,
        most_rps=most.goodput_rps,
        most_since_s=most.started_s,
        return_users=return_users(regime, others),
        knee=knee,
        levels=tuple(dict.fromkeys(each.level.opened.index for each in regime.measured)),
        judged=regime is epoch.judged,
    )


def _latest(epoch: MeasuredEpoch) -> Measured:
    return max((each for regime in epoch.regimes for each in regime.measured), key=lambda each: each.rates.started_s)


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


def _before(epoch: MeasuredEpoch, regime: Regime) -> float | None:
    """Goodput of the same load just before the regime, or the latest before if load does not explain it; else None."""
    first = regime.measured[0].rates
    earlier = [each.rates for each in epoch.measured if each.rates.started_s < first.started_s]
    considered = earlier if was_served_better(earlier, first) else earlier[-1:]
    same = [level for level in considered if abs(level.users - first.users) <= USERS_SAME * first.users]
    return same[-1].goodput_rps if same else None


def _unlike_before(epoch: MeasuredEpoch, first: LadderLevel) -> Measured | None:
    """The latest earlier level of the same offered rate whose latency differs."""
    earlier = (each for each in reversed(epoch.measured) if each.rates.started_s < first.started_s)
    return next((each for each in earlier if latency_differs(first, each.rates)), None)


def _until_s(epoch: MeasuredEpoch, regime: Regime) -> float | None:
    last_s = regime.measured[-1].rates.started_s
    return min((other.started_s for other in epoch.regimes if other.started_s > last_s), default=None)
