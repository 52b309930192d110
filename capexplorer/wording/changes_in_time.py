"""The clause of the verdict about changes of the service other than by load, in lower case and without a full stop."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.verdicts import RegimeVerdict
from . import numbers, quantities
from .knee_sentences import knee_alone
from .times import session_time

A_FAULT = "a fault at that time, not a load limit"
ANOTHER_SERVICE = "the service changed at that time, independently of load"
UNDECIDED = "caused by load or by a change of the service"
"""Interpretations of a change: the first two if no step of load explains it, the last if it began with a step of load."""


def changes(regimes: Sequence[RegimeVerdict]) -> str:
    """`at 01:01 and 48 users goodput rose from 95.4 to 191/s, 27 s after the last step: the service changed at
    that time, independently of load; since then 48 users reached 191/s`. At least one of `regimes` began with a change.
    """
    began = [each for each in regimes if each.began is not None]
    first, more = began[0], f"; it changed {len(began)} times in total" * (len(began) > 1)
    return f"{_changed(first)}; {_around(regimes, first)}{more}"


def first_change(regimes: Sequence[RegimeVerdict]) -> str:
    """`at 01:01 and 48 users goodput rose from 95.4 to 191/s, 27 s after the last step: the service changed at that
    time, independently of load`. At least one of `regimes` began with a change.
    """
    return _changed(next(each for each in regimes if each.began is not None))


def _changed(found: RegimeVerdict) -> str:
    at = f"at {session_time(found.began_s)} and {_load(found, found.users)}"
    after_s = found.after_step_s or 0.0
    late = f", {numbers.span(after_s)} after the last step" if found.inside and after_s >= 1.0 else ""
    if found.began == "failures":
        what = f"{at} {numbers.percent(found.failure_ratio or 1.0)} of requests started to fail{late}"
        return f"{what}: {A_FAULT if found.inside else _undecided(found)}"
    if found.began == "latency":
        verb = "rose" if (found.after_ms or 0.0) > (found.before_ms or 0.0) else "fell"
        times = f"from {quantities.latencies((found.before_ms, found.after_ms), ' to ')}"
        until, since = session_time(found.unchanged_until_s or 0.0), session_time(found.began_s)
        when = f"at {until}" if until == since else f"between {until} and {since}"
        return f"{when} the mean time from plan at {_load(found, found.users)} {verb} {times}: {ANOTHER_SERVICE}"
    if found.before_rps is None:
        what = f"{at} goodput was {quantities.rate(found.after_rps)}, which the earlier levels do not explain"
        return f"{what}: {_undecided(found)}"
    verb = "rose" if found.after_rps > found.before_rps else "fell"
    rates = f"from {quantities.rates((found.before_rps, found.after_rps), ' to ')}"
    return f"{at} goodput {verb} {rates}{late}: {ANOTHER_SERVICE if found.inside else _undecided(found)}"


def _undecided(found: RegimeVerdict) -> str:
    return UNDECIDED + (f"; a return to {_load(found, found.return_users)} would show which" if found.return_users else "")


def _around(regimes: Sequence[RegimeVerdict], found: RegimeVerdict) -> str:
    """What was measured before and after the change, without the side that the rest of the verdict describes."""
    before = regimes[regimes.index(found) - 1]
    sides = [f"until then {_made(before)}"] if before.judged is False or found.began == "failures" else []
    if found.began == "goodput" and not found.judged:
        knee = found.knee
        known = knee is not None and knee.kind == "knee"
        sides.append(f"since then {knee_alone(knee)}" if knee is not None and known else f"since then {_made(found)}")
    return ", ".join(sides) or f"until then {_made(before)}"


def _made(found: RegimeVerdict) -> str:
    return f"{_load(found, found.most_users)} reached {quantities.rate(found.most_rps)}"


def _load(found: RegimeVerdict, load: float) -> str:
    return quantities.load(None, load) if found.at_rates else numbers.counted(load)
