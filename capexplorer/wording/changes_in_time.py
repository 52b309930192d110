"""The clause of the verdict about changes of the service other than by load, in lower case and without a full stop."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.verdicts import RegimeVerdict
from . import numbers, quantities
from .knee_sentences import knee_alone
from .numbers import during, session_time

A_FAULT = "a fault at that time, not a load limit"
ANOTHER_SERVICE = "the service changed at that time, independently of load"
CHANGED_BEFORE = "the service had changed by then, independently of load"
UNDECIDED = "caused by load or by a change of the service"
"""Interpretations of a change: the first three if no step of load explains it, the last if it began with a step of load."""


TIMES_MOST = 3
"""Number of further changes whose times are listed."""


def changes(regimes: Sequence[RegimeVerdict], named: Sequence[RegimeVerdict] = ()) -> str:
    """`at 01:01 and 48 users goodput rose from 95.4 to 191/s, 27 s after the last step: the service changed at
    that time, independently of load; since then 48 users reached 191/s`. At least one of `regimes` began with a change.
    `named`: those whose failures an earlier clause names with their time, which is not repeated.
    """
    began = [each for each in regimes if each.began is not None]
    first, later = began[0], [each for each in began[1:] if each not in named and not _is_end_of_fault(each, regimes)]
    what = _failures_named_before(first) if first in named else _changed(first)
    return f"{what}; {_around(regimes, first)}{_again(later)}"


def _again(later: Sequence[RegimeVerdict]) -> str:
    """`; the service changed again at 01:12, 01:41 and 02:05`."""
    if not later:
        return ""
    times = [session_time(each.began_s) for each in later]
    more = len(times) - TIMES_MOST
    *others, last = [*times[:TIMES_MOST], f"{more} more time{'s' * (more != 1)}"] if more > 0 else times
    return f"; the service changed again at {', '.join(others)}{' and ' * bool(others)}{last}"


def _is_end_of_fault(each: RegimeVerdict, regimes: Sequence[RegimeVerdict]) -> bool:
    """Whether a regime began in the second in which failures ended."""
    ends = [one.until_s for one in regimes if one.began == "failures" and one.until_s is not None]
    return each.began == "goodput" and any(abs(each.began_s - ended_s) <= 1.0 for ended_s in ends)


def _failures_named_before(found: RegimeVerdict) -> str:
    if not found.inside:
        return f"the failures are {_undecided(found)}"
    late = _late(found).removeprefix(", ")
    return f"the failures began {late}: {A_FAULT}" if late else f"the failures are {A_FAULT}"


def _failed(found: RegimeVerdict) -> str:
    """`from 01:24 to 01:31 at 33 users 83% of requests failed`, `at 01:24 and 33 users 83% of requests started to fail`. A
    failure ratio is missing where no request ended.
    """
    share = f"{numbers.percent(found.failure_ratio)} of requests" if found.failure_ratio else ""
    if found.until_s is None:
        does = f"{share} started to fail" if share else "the service stopped replying"
        return f"at {session_time(found.began_s)} and {_load(found, found.users)} {does}"
    does = f"{share} failed" if share else "the service did not reply"
    return f"{during(found.began_s, found.until_s)} at {_load(found, found.users)} {does}"


def _late(found: RegimeVerdict) -> str:
    after_s = found.after_step_s or 0.0
    return f", {numbers.span(after_s)} after the last step" if found.inside and after_s >= 1.0 else ""


def first_change(regimes: Sequence[RegimeVerdict]) -> str:
    """`at 01:01 and 48 users goodput rose from 95.4 to 191/s, 27 s after the last step: the service changed at that
    time, independently of load`. At least one of `regimes` began with a change; one that load may explain is chosen only
    if there is no other.
    """
    began = [each for each in regimes if each.began is not None]
    return _changed(next((each for each in began if each.return_users is None), began[0]))


def _changed(found: RegimeVerdict) -> str:
    at = f"at {session_time(found.began_s)} and {_load(found, found.users)}"
    late = _late(found)
    if found.began == "failures":
        began = late.replace(", ", ", beginning ", 1) if found.until_s is not None else late
        return f"{_failed(found)}{began}: {A_FAULT if found.inside else _undecided(found)}"
    if found.began == "latency":
        verb = "rose" if (found.after_ms or 0.0) > (found.before_ms or 0.0) else "fell"
        times = f"from {quantities.latencies((found.before_ms, found.after_ms), ' to ')}"
        until, since = session_time(found.unchanged_until_s or 0.0), session_time(found.began_s)
        when = f"at {until}" if until == since else f"between {until} and {since}"
        return f"{when} the mean time from plan at {_load(found, found.users)} {verb} {times}: {ANOTHER_SERVICE}"
    if found.before_rps is None:
        what = f"{at} goodput was {quantities.rate(found.after_rps)}, which the earlier levels do not explain"
        return f"{what}: {CHANGED_BEFORE if found.inside else _undecided(found)}"
    verb = "rose" if found.after_rps > found.before_rps else "fell"
    rates = f"from {quantities.rates((found.before_rps, found.after_rps), ' to ')}"
    return f"{at} goodput {verb} {rates}{late}: {ANOTHER_SERVICE if found.inside else _undecided(found)}"


def _undecided(found: RegimeVerdict) -> str:
    return UNDECIDED + (f"; a return to {_load(found, found.return_users)} would show which" if found.return_users else "")


def _around(regimes: Sequence[RegimeVerdict], found: RegimeVerdict) -> str:
    """What was measured before and after the change, without the side that the rest of the verdict describes."""
    before = regimes[regimes.index(found) - 1]
    then = "until then" if before.most_since_s < found.began_s else "later"
    sides = [f"{then} {_made(before)}"] if before.judged is False or found.began == "failures" else []
    if found.began == "goodput" and not found.judged:
        knee = found.knee
        known = knee is not None and knee.kind == "knee"
        sides.append(f"since then {knee_alone(knee)}" if knee is not None and known else f"since then {_made(found)}")
    return ", ".join(sides) or f"{then} {_made(before)}"


def _made(found: RegimeVerdict) -> str:
    return f"{_load(found, found.most_users)} reached {quantities.rate(found.most_rps)}"


def _load(found: RegimeVerdict, load: float) -> str:
    return quantities.load(None, load) if found.at_rates else numbers.counted(load)
