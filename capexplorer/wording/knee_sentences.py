"""Sentences about capacity: knees, objectives, and what more would sharpen a verdict."""

from __future__ import annotations

import msgspec

from ..model.verdicts import CapacityVerdict, EndpointDeparture, KneeVerdict, Missing, SloVerdict, VerificationStep
from . import numbers
from .times import session_time

LIMITS = {
    "queueing": "queueing",
    "queue_growth": "a queue that grows",
    "errors": "errors",
    "generator": "the generator, not the service",
    "unknown": "something that no reading shows",
}

OF_GENERATOR = {
    "bend": ", perhaps the generator's",
    "at_or_below": ", the generator's",
    "no_knee": ", the most users that the generator did not limit",
}
"""Additions to a verdict on the curve, by its kind, if the generator was or may have been the limit."""

FALLS = {"retrograde": "falls", "collapse": "collapses"}
"""How goodput changes beyond its peak."""

_OBJECTIVES = {"p95_ms": "p95 ≤ {:g} ms", "p99_ms": "p99 ≤ {:g} ms", "failure_ratio": "failures ≤ {:g}%"}


def knee(verdict: KneeVerdict) -> str:
    """Short, for a status line: `knee 47 [43–52] at 122/s, queueing`, `no knee up to 60 users`."""
    users, counted = numbers.users(verdict.users), numbers.counted(verdict.users)
    whose = OF_GENERATOR.get(verdict.kind, "") if verdict.limit == "generator" else ""
    match verdict.kind:
        case "knee":
            interval = numbers.interval(verdict.users_low, verdict.users_high)
            said = f"knee {users} {interval} at {numbers.number(verdict.capacity_rps)}/s"
            return f"{said}, {(verdict.limit or 'unknown').replace('_', ' ')}" if verdict.limit != "unknown" else said
        case "at_or_below":
            return f"knee at or below {counted}{whose}"
        case "bend":
            return f"bend from {counted}{whose}"
        case "latency_knee":
            return f"latency knee {counted}"
        case "no_knee":
            return f"no knee up to {counted}{whose}"


def short_knee(verdict: KneeVerdict) -> str:
    """Without its limit, where there is little room: `knee 47 [43–52] at 122/s`."""
    return knee(msgspec.structs.replace(verdict, limit="unknown"))


def knee_alone(found: KneeVerdict) -> str:
    """`knee at 47 users [43–52] and 122/s`."""
    interval = numbers.interval(found.users_low, found.users_high)
    return f"knee at {numbers.counted(found.users)} {interval} and {numbers.number(found.capacity_rps)}/s"


def capacity(verdict: CapacityVerdict, blamed: str = "") -> str:
    """One sentence: `Knee at 47 users [43–52] and 122/s, limited by queueing (high confidence); verified.`

    `blamed`: what limits it, if a mark names it: `Knee at 47 users [43–52] and 122/s: the service's CPU is saturated ...`.
    """
    found = verdict.knee
    if verdict.curve is None:
        return "Nothing was finished at any level: no capacity was measured."
    if found is None:
        more = next((each.count for each in verdict.missing if each.kind == "levels"), 1)
        return f"Not enough levels to tell a knee: {_levels(more)} would."
    counted, sure = numbers.counted(found.users), f" ({found.confidence} confidence)" if found.confidence else ""
    match found.kind:
        case "knee":
            limit = f": {blamed}" if blamed else f", limited by {LIMITS[found.limit or 'unknown']}"
            interval = numbers.interval(found.users_low, found.users_high)
            where = f"Knee at {counted} {interval} and {numbers.number(found.capacity_rps)}/s{_held(found)}"
            return f"{where}{limit}{sure}{_fall(found)}{_verified(found)}{_unaccounted(found)}."
        case "at_or_below":
            if found.limit == "generator":
                return f"Limited by the generator at {counted}, the lowest level: nothing is said about the service."
            lowest = f"{counted}, the lowest level{f' ({blamed})' if blamed else ''}"
            return f"The knee is at or below {lowest}: step down to find it{_fall(found)}."
        case "bend":
            falls = f"Goodput falls behind from {counted} on{sure}"
            if found.limit == "generator":
                return f"{falls}, perhaps for the generator's lateness: nothing is said about the service beyond."
            return f"{falls}, but its ceiling was not seen: no knee yet{_unaccounted(found)}."
        case "latency_knee" | "no_knee":
            return f"No knee up to {counted}{sure}{_unaccounted(found)}."


def _held(found: KneeVerdict) -> str:
    """` until 01:01`: of a service that changed."""
    since = "" if found.since_s is None else f" from {session_time(found.since_s)}"
    return since + ("" if found.until_s is None else f" until {session_time(found.until_s)}")


def first_endpoint(found: EndpointDeparture) -> str:
    """`GET /search leaves the line first, from 21 users on: p95 12 → 480 ms, while the others stay`. The name is foreign text."""
    pair = {
        "latency": f"p95 {numbers.number(found.before)} → {numbers.number(found.after)} ms",
        "failures": f"failures {numbers.percent(found.before)} → {numbers.percent(found.after)}",
    }[found.column]
    where = f"from {numbers.counted(found.users)} on"
    return f"{found.method} {found.name} leaves the line first, {where}: {pair}, while the others stay"


def _fall(found: KneeVerdict) -> str:
    if found.peak is None:
        return ""
    return f"; beyond {numbers.users(found.peak.users)} users goodput {FALLS[found.peak.shape]} by {found.peak.fall_ratio:.0%}"


def _unaccounted(found: KneeVerdict) -> str:
    """`; 47% of the users' time is in no response and no pause (Little's law), so the figures may be wrong`."""
    ratio = found.evidence.unaccounted_ratio
    if ratio is None or found.limit == "generator":
        return ""
    return f"; {1 - 1 / ratio:.0%} of the users' time is in no response and no pause (Little's law): the figures may be wrong"


def verified(found: KneeVerdict) -> str:
    """In a word: `verified`, `provisional` or `contradicted`; empty where that is not known or not asked."""
    if found.kind != "knee":
        return ""
    if found.verification is not None:
        return found.verification.state
    return "provisional" if found.provisional else ""


def _verified(found: KneeVerdict) -> str:
    """What would verify the knee, or what contradicts it: `; provisional: a soak of 20 s at 14 users would verify it`."""
    word, checked = verified(found), found.verification
    if checked is None or checked.state == "verified":
        return f"; {word}" if word else ""
    if checked.state == "contradicted":
        return f"; {word}: " + " and ".join(_contradiction(step) for step in checked.disagreeing)
    return f"; {word}: " + ", then ".join(_wanted_step(step) for step in checked.lacking) + " would verify it"


def _wanted_step(step: VerificationStep) -> str:
    match step.name:
        case "soak":
            return f"a soak of {step.least_s:g} s at {numbers.counted(step.users)}"
        case "beyond":
            return numbers.counted(step.users)
        case "return_to_first":
            return f"a return to {numbers.counted(step.users)}"


def _contradiction(step: VerificationStep) -> str:
    at = f"at {numbers.counted(step.measured_users)}"
    match step.disagreement:
        case "less_goodput":
            return f"later {at} less was finished than before"
        case "more_goodput":
            return f"later {at} more was finished than the curve allows"
        case "failures":
            return f"later {at} requests failed"
        case "slower":
            return f"later {at} responses were slower than before"
        case "time_unexplained" | None:
            return f"{at} users lost time that neither responses nor waits explain"


def missing(wanted: Missing) -> str:
    """What would sharpen the verdict: `2 more levels under 20 users would give a baseline`."""
    below, above, levels = numbers.users(wanted.users_below), numbers.users(wanted.users_above), _levels(wanted.count)
    match wanted.kind:
        case "levels":
            return f"{levels} would tell a first verdict"
        case "lower_levels":
            return f"{levels} under {below} users would give a baseline"
        case "higher_levels":
            return f"{levels} over {above} users would show the ceiling"
        case "between_levels":
            return f"{levels} between {above} and {below} users would narrow the knee"
        case "longer_levels":
            return "longer levels would narrow the interval"
        case "soak":
            return f"a soak of {_span(wanted)} at {_place(wanted)} would verify the knee"
        case "beyond":
            return f"{_place(wanted)} would show its ceiling again"
        case "return_to_first":
            return f"a return to {numbers.counted(wanted.users_below)} would show drift"


def short_missing(wanted: Missing) -> str:
    """The advice without its reason, for small spaces: `2 more levels under 20 users`."""
    match wanted.kind:
        case "soak":
            return f"soak {_span(wanted)} at {_place(wanted)}"
        case "beyond":
            return f"then {_place(wanted)}"
        case "return_to_first":
            return f"then return to {numbers.counted(wanted.users_below)}"
        case "longer_levels":
            return "longer levels"
        case _:
            return missing(wanted).split(" would ")[0]


def _span(wanted: Missing) -> str:
    """How long; logs of version 1 wanted a minute."""
    return "a minute" if wanted.seconds is None else f"{wanted.seconds:g} s"


def _place(wanted: Missing) -> str:
    if wanted.users_above == wanted.users_below:
        return numbers.counted(wanted.users_below)
    return f"{numbers.users(wanted.users_above)}–{numbers.users(wanted.users_below)} users"


def objective_name(verdict: SloVerdict) -> str:
    """`p95 ≤ 300 ms`, `failures ≤ 1%`."""
    return _OBJECTIVES[verdict.name].format(verdict.limit * (100 if verdict.name == "failure_ratio" else 1))


def objective(verdict: SloVerdict) -> str:
    """`p95 ≤ 300 ms up to 41 users [40–45] at 118/s`."""
    said = objective_name(verdict)
    if verdict.state == "broken":
        return f"{said} is kept at no level, not even at {numbers.users(verdict.users_high)} users"
    least = "at least " if verdict.state == "kept" else ""
    known = verdict.users_low and verdict.users_high
    interval = f" {numbers.interval(verdict.users_low, verdict.users_high)}" if known else ""
    return f"{said} up to {least}{numbers.users(verdict.users)} users{interval} at {numbers.number(verdict.goodput_rps)}/s"


def _levels(count: int) -> str:
    return f"{count} more level{'s' * (count != 1)}"
