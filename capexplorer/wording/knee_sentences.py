"""Sentences about capacity: knees, objectives, and which further levels would make a verdict more precise."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..model.stages import LIMIT_NAMES
from ..model.verdicts import (
    CapacityVerdict,
    EndpointDegradation,
    KneeVerdict,
    Missing,
    RateCapacity,
    RegimeVerdict,
    SloVerdict,
    VerificationStep,
)
from . import numbers, quantities
from .numbers import during, session_time

LIMITS = {
    "queueing": "queueing",
    "queue_growth": "a queue that grows",
    "errors": "errors",
    "generator": "the generator, not the service",
    "unknown": "a cause that no reading shows",
}

BROKEN: dict[str, str] = {name: f"{name}_ms breaks first" for name in LIMIT_NAMES}
"""What limits the capacity where a limit on a single request does."""

OF_GENERATOR = {
    "bend": ", perhaps the generator's",
    "at_or_below": ", the generator's",
    "no_knee": ", the highest count that the generator did not limit",
}
"""What follows a verdict of each kind if the generator was, or may have been, the limit."""

FALLS = {"retrograde": "falls", "collapse": "collapses"}
"""How goodput changes beyond its peak."""


def knee(verdict: KneeVerdict) -> str:
    """Short, for a status line: `knee 47 [43–52] at 122/s, queueing`, `no knee up to 60 users`."""
    users, counted = numbers.users(verdict.users), numbers.counted(verdict.users)
    whose = OF_GENERATOR.get(verdict.kind, "") if verdict.limit == "generator" else ""
    match verdict.kind:
        case "knee":
            interval = numbers.interval(verdict.users_low, verdict.users_high)
            limit = verdict.limit or "unknown"
            sentence = f"knee {users} {interval} at {quantities.rate(verdict.capacity_rps)}{of_limits(verdict)}"
            return sentence if verdict.limit == "unknown" else f"{sentence}, {BROKEN.get(limit, limit.replace('_', ' '))}"
        case "at_or_below":
            return f"knee at or below {counted}{whose}"
        case "bend":
            return f"scaling flattens from {counted}{whose}"
        case "latency_knee":
            return f"latency climbs from {counted}"
        case "no_knee":
            return f"no knee up to {counted}{whose}"


def short_knee(verdict: KneeVerdict) -> str:
    """The knee without its limit, for small spaces: `knee 47 [43–52] at 122/s`."""
    return knee(msgspec.structs.replace(verdict, limit="unknown", within_limits=False))


def of_limits(found: KneeVerdict | RateCapacity) -> str:
    """` within limits`: goodput is of the requests within the limits of `[slo]` on a single one, so it is below throughput."""
    return " within limits" * found.within_limits


def knee_alone(found: KneeVerdict) -> str:
    """`knee at 47 users [43–52] and 122/s`."""
    interval = numbers.interval(found.users_low, found.users_high)
    return f"knee at {numbers.counted(found.users)} {interval} and {quantities.rate(found.capacity_rps)}"


def capacity(verdict: CapacityVerdict, blamed: str = "", more: str = "") -> str:
    """One sentence: `Knee at 47 users [43–52] and 122/s, limited by queueing (high confidence); verified.`

    `blamed`: the limit that a mark or experiments name, if any: `Knee at 47 users [43–52] and 122/s: a lock is the limit ...`;
    `more`: what follows the limit, `, in checkout (db.py:41); stay at 34 users or fewer`.
    """
    found = verdict.knee
    if verdict.curve is None:
        return "No request succeeded in a settled second of any level: no capacity was measured."
    if found is None:
        wanted = next((each.count for each in verdict.missing if each.kind == "levels"), 1)
        return f"Not enough levels to find a knee: measure {numbers.several(wanted, 'more user count')}."
    counted, sure = numbers.counted(found.users), f" ({found.confidence} confidence)" if found.confidence else ""
    match found.kind:
        case "knee":
            interval = numbers.interval(found.users_low, found.users_high)
            name = "Contradicted knee" if verified(found) == "contradicted" else "Knee"
            capacity = f"{quantities.rate(found.capacity_rps)}{tokens(found.capacity_tokens_per_s)}{of_limits(found)}"
            where = f"{name} at {counted} {interval} and {capacity}{_valid(found)}"
            limit = f"{_limit(found, blamed)}{then(more, found.confidence)}"
            return f"{where}{limit}{_fall(found)}{_verified(found)}{_unaccounted(found)}."
        case "at_or_below":
            if found.limit == "generator":
                return f"Limited by the generator at {counted}, the lowest level: the results do not describe the service."
            lowest = f"{counted}, the lowest level{f' ({blamed})' if blamed else ''}"
            one = (found.users or 0.0) < 2
            way = "a longer think time or offered rates load the service less" if one else "measure fewer users to find it"
            return f"The knee is at or below {lowest}: {way}{_fall(found)}."
        case "bend":
            falls = f"Goodput falls below linear scaling from {counted} on{sure}"
            if found.limit == "generator":
                return f"{falls}, possibly because the generator is late: results from there on do not describe the service."
            if found.evidence.return_agrees is False:
                changed = "on its return a load had less goodput than before: the service changed, or has not recovered"
                return f"{falls}, but no knee is shown, since {changed}{_unaccounted(found)}."
            return f"{falls}, but the levels do not show where its maximum begins: no knee yet{_unaccounted(found)}."
        case "latency_knee" | "no_knee":
            return f"No knee up to {counted}{sure}{_below_line(found)}{_unaccounted(found)}."


def tokens(per_s: float | None) -> str:
    """` (690 tokens/s)`; empty without streams."""
    return "" if per_s is None else f" ({numbers.number(per_s)} tokens/s)"


def _limit(found: KneeVerdict, blamed: str) -> str:
    """`, limited by queueing`, `: CPU saturated`, `: tpot_ms breaks first (61% of requests at 30 users)`; with a named
    limit `: tpot_ms breaks first; CPU saturated`, which two lines of 76 cells hold."""
    broken, seen = BROKEN.get(found.limit or "unknown"), found.evidence
    if broken is None:
        return f": {blamed}" if blamed else f", limited by {LIMITS[found.limit or 'unknown']}"
    share, at = numbers.percent(seen.beyond_limit_ratio or 0.0), numbers.counted(seen.beyond_limit_users)
    return f": {broken}; {blamed}" if blamed else f": {broken} ({share} of requests at {at})"


def then(more: str, confidence: str | None) -> str:
    """`, in checkout (db.py:41); stay at 34 users or fewer; high confidence`, ` (high confidence)` if there is nothing more."""
    if not more:
        return f" ({confidence} confidence)" if confidence else ""
    return f"{more}; {confidence} confidence" if confidence else more


def _below_line(found: KneeVerdict) -> str:
    """`; at 58 users goodput is 82% of linear scaling`: a knee may be between the last level on the line and that one."""
    top, share = found.evidence.top_users, found.evidence.top_efficiency
    if top is None or share is None:
        return ""
    return f"; at {numbers.counted(top)} goodput is {share:.0%} of linear scaling"


def _valid(found: KneeVerdict) -> str:
    """` from 01:01`, ` until 02:30`: when the knee was valid, if the service changed during the session."""
    since = "" if found.since_s is None else f" from {session_time(found.since_s)}"
    return since + ("" if found.until_s is None else f" until {session_time(found.until_s)}")


def first_endpoint(found: EndpointDegradation) -> str:
    """`GET /search degrades first, from 21 users on: p95 12 → 480 ms, the other endpoints do not change`. Foreign text: the
    name.
    """
    pair = {
        "latency": f"p95 {quantities.latencies((found.before, found.after))}",
        "failures": f"failures {numbers.percent(found.before)} → {numbers.percent(found.after)}",
    }[found.column]
    return f"{found.method} {found.name} {degrades_first(found)}: {pair}, the other endpoints do not change"


def degrades_first(found: EndpointDegradation) -> str:
    """`degrades first, from 21 users on`, or `from 120/s offered on`."""
    load = quantities.load(None, found.users) if found.at_rates else numbers.counted(found.users)
    return f"degrades first, from {load} on"


def _fall(found: KneeVerdict) -> str:
    if found.peak is None or found.limit in BROKEN:
        return ""
    what = f"goodput{of_limits(found)} {FALLS[found.peak.shape]}"
    return f"; beyond {numbers.users(found.peak.users)} users {what} by {found.peak.fall_ratio:.0%}"


def _unaccounted(found: KneeVerdict) -> str:
    """`; neither responses nor think time account for 47% of the users' time (Little's law): the figures may be wrong`."""
    ratio = found.evidence.unaccounted_ratio
    if ratio is None or found.limit == "generator":
        return ""
    return (
        f"; neither responses nor think time account for {1 - 1 / ratio:.0%} of the users' time (Little's law): "
        "the figures may be wrong"
    )


def verified(found: KneeVerdict) -> str:
    """One word: `verified`, `provisional` or `contradicted`; empty if unknown or not applicable."""
    if found.kind != "knee":
        return ""
    if found.verification is not None:
        return found.verification.state
    return "provisional" if found.provisional else ""


def _verified(found: KneeVerdict) -> str:
    """`; verified`, what contradicts the knee, or which levels confirm it and which are still to be measured, in order:
    `; provisional: 33 users confirmed it; to verify it, step to 57 users, then return to 1`. No level confirms the knee that was
    found in it, so what is still to be measured takes new levels.
    """
    word, checked = verified(found), found.verification
    if checked is None or checked.state == "verified":
        return f"; {word}" if word else ""
    if checked.state == "contradicted":
        return "; " + " and ".join(_contradiction(step) for step in checked.disagreeing)
    open_steps = checked.open_steps
    units = [numbers.counted(open_steps[0].users), *(numbers.users(step.users) for step in open_steps[1:])]
    wanted = ", then ".join(map(_wanted_step, open_steps, units))
    confirmed = " and ".join(numbers.users(step.measured_users) for step in checked.steps if step not in open_steps)
    if not confirmed:
        return f"; {word} until new levels confirm it: {wanted}"
    return f"; {word}: {confirmed} users confirmed it; to verify it, {wanted}"


def _wanted_step(step: VerificationStep, users: str) -> str:
    match step.name:
        case "soak":
            return f"hold {users} for {step.least_s:g}–{step.most_s:g} s"
        case "beyond":
            return f"step to {users}"
        case "return_to_first":
            return f"return to {users}"


def _contradiction(step: VerificationStep) -> str:
    at = f"at {numbers.counted(step.measured_users)}"
    match step.disagreement:
        case "less_goodput":
            return f"a later level {at} had less goodput than before"
        case "more_goodput":
            return f"a later level {at} had more goodput than the curve allows"
        case "failures":
            return f"requests failed at a later level {at}"
        case "slower":
            return f"responses of a later level {at} were slower than before"
        case "time_unexplained" | None:
            return f"neither responses nor think time explain all of the users' time {at}"


def missing(wanted: Missing) -> str:
    """A measurement that would make the verdict more precise: `2 more levels below 20 users would give a baseline`."""
    below, above, levels = (
        numbers.users(wanted.users_below),
        numbers.users(wanted.users_above),
        numbers.several(wanted.count, "more level"),
    )
    match wanted.kind:
        case "levels":
            return f"{levels} at other user counts would give a first result"
        case "lower_levels":
            return f"{levels} below {below} users would give a baseline"
        case "higher_levels":
            return f"{levels} above {above} users would show the maximum"
        case "between_levels":
            return f"{levels} between {above} and {below} users would narrow the knee's interval"
        case "longer_levels":
            return "longer levels would narrow the interval"
        case "soak":
            return f"a new soak of {_span(wanted)} at {_place(wanted)} would verify the knee"
        case "beyond":
            return f"a new level at {_place(wanted)} would confirm the maximum"
        case "return_to_first":
            return f"a return to {numbers.counted(wanted.users_below)} would show whether the service drifts"
        case "return_to_clean":
            return f"a return to {numbers.counted(wanted.users_below)} would show whether load caused the fall"


def short_missing(wanted: Missing) -> str:
    """The advice without its reason, for small spaces: `2 more levels below 20 users`."""
    match wanted.kind:
        case "soak":
            return f"soak {_span(wanted)} at {_place(wanted)}"
        case "beyond":
            return f"then {_place(wanted)}"
        case "return_to_first":
            return f"then return to {numbers.counted(wanted.users_below)}"
        case "return_to_clean":
            return f"return to {numbers.counted(wanted.users_below)}"
        case "longer_levels":
            return "longer levels"
        case _:
            return missing(wanted).split(" would ")[0]


def _span(wanted: Missing) -> str:
    """The duration of the soak; a minute where the log does not state it."""
    return "a minute" if wanted.seconds is None else f"{wanted.seconds:g} s"


def _place(wanted: Missing) -> str:
    if wanted.users_above == wanted.users_below:
        return numbers.counted(wanted.users_below)
    return f"{numbers.users(wanted.users_above)}–{numbers.users(wanted.users_below)} users"


def objective_name(verdict: SloVerdict) -> str:
    """`p95 ≤ 300 ms`, `failures ≤ 1%`."""
    return objective_limit(verdict.name, verdict.limit)


def objective_limit(name: str, limit: float) -> str:
    """`p95 ≤ 300 ms`; `name` as in a profile."""
    if name == "failure_ratio":
        return f"failures ≤ {100 * limit:g}%"
    return f"{name.removesuffix('_ms')} ≤ {quantities.latency(limit, '{:g}'.format)}"


def objective(verdict: SloVerdict) -> str:
    """`p95 ≤ 300 ms up to 41 users [40–45] at 118/s`."""
    sentence = objective_name(verdict)
    if verdict.state == "broken":
        return f"{sentence} is not met at any level, not even at {numbers.counted(verdict.users_high)}"
    least = "at least " if verdict.state == "kept" else ""
    known = verdict.users_low and verdict.users_high
    interval = f" {numbers.interval(verdict.users_low, verdict.users_high)}" if known else ""
    return f"{sentence} up to {least}{numbers.users(verdict.users)} users{interval} at {quantities.rate(verdict.goodput_rps)}"


# -- The clause of the verdict about changes of the service other than by load, in lower case and without a full stop.

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
    *others, last = [*times[:TIMES_MOST], numbers.several(more, "more time")] if more > 0 else times
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
