"""Sentences about marks: what was found, where, how surely, and what became of it when detectors ran again."""

from __future__ import annotations

from typing import Any

import msgspec

from ...model.events import Mark, MarkChange, MarkKind, Reanalysed
from ...model.verdicts import KneeVerdict
from . import numbers
from .evidence import counted, readings
from .knees import LIMITS, knee
from .names import name
from .times import session_time

MARK_KINDS = {
    "knee": "knee",
    "at_or_below": "knee at or below",
    "bend": "bend",
    "latency_knee": "latency knee",
    "cause": "cause",
    "bottleneck": "bottleneck",
    "leak": "leak",
    "shift": "shift",
    "recovery": "recovery",
    "stop_rule": "stop rule",
}


NO_LIMITS = ("not_saturated", "think_time_limited", "generator_shares_host")
"""Bottlenecks that are none: the service was not brought to its limit, or what they bound is the run."""

BLAMES: tuple[MarkKind, ...] = ("cause", "bottleneck", "leak")
"""Kinds that say what went wrong or what is the limit, by an id of CAUSES.md."""


def title(event: Mark) -> str:
    """What a cause, a bottleneck or a leak is called: `ephemeral ports exhausted (TIME_WAIT)`, `failed check: lost_updates`,
    and of failures that nothing explains what they look like: `replies time out, cause unknown`.
    """
    check, symptoms = event.evidence.get("check"), event.evidence.get("symptoms")
    if event.id == "unknown" and isinstance(symptoms, dict) and symptoms:
        return f"{name(max(symptoms, key=lambda each: symptoms[each]))}, cause unknown"
    return f"{name(event.id)}: {check}" if check else name(event.id)


def mark(event: Mark) -> str:
    """`cause: connections are reset at 120 users (high confidence): 412 × at 3.1/s, ... . Read the target's log.`"""
    said = _short(event) if event.evidence and event.state != "retracted" else None
    if said is not None:
        return f"{said}. {event.advice}" if event.advice else said
    kind, called = MARK_KINDS[event.kind], title(event)
    is_named = called == kind or event.id in NO_LIMITS or event.kind == "at_or_below"
    said = kind if event.kind == "at_or_below" else called if is_named else f"{kind}: {called}"
    if event.users is not None:
        said += f" {numbers.counted(event.users)}" if event.kind == "at_or_below" else f" at {numbers.counted(event.users)}"
    if event.confidence is not None:
        said += f" ({event.confidence} confidence)"
    if event.state == "retracted":
        return f"{said}: retracted"
    if event.state == "closed":
        said += ", over"
    if event.evidence:
        told = ", ".join(filter(None, (counted(event.evidence), readings(event.evidence))))
        said += f": {told}" if told else ""
    return f"{said}. {event.advice}" if event.advice else said


def _short(event: Mark) -> str | None:
    """What is known well enough to be told in fewer words than its readings; None: list them."""
    told = event.evidence
    match event.kind:
        case "knee" if "users_low" in told and "users_high" in told:
            sure = f" ({event.confidence} confidence)" if event.confidence else ""
            limit = LIMITS.get(str(told.get("limit")), "something that no reading shows")
            interval = numbers.interval(told["users_low"], told["users_high"])
            rate = f" and {numbers.number(told.get('capacity_rps'))}/s"
            return f"knee at {numbers.counted(event.users)} {interval}{rate}, limited by {limit}{sure}"
        case "at_or_below" | "bend" if "limit" in told:
            return _curve(event)
        case "shift" if {"column", "before", "after", "at_s"} <= told.keys():
            unit = "/s" if told["column"] == "goodput" else " ms"
            moved = "rose" if told["after"] > told["before"] else "fell"
            change = f"from {numbers.number(told['before'])} to {numbers.number(told['after'])}{unit}"
            where = f"at {session_time(told['at_s'])} and {numbers.users(event.users)} users"
            return f"shift: {told['column']} {moved} for good {change} {where}"
        case "recovery" if {"from_users", "to_users", "recovered"} <= told.keys():
            way = f"stepping down from {numbers.users(told['from_users'])} to {numbers.users(told['to_users'])} users"
            if told["recovered"]:
                return f"recovery: recovered {numbers.number(told.get('after_s'))} s after {way}"
            shares = [f"{name} {told[key]:.0%}" for name, key in (("goodput", "goodput_ratio"), ("latency", "latency_ratio"))
                      if key in told]  # fmt: skip
            return f"recovery: not recovered after {way}: {' and '.join(shares)} of what it was"
        case "stop_rule" if {"rule", "limit", "measured"} <= told.keys():
            return stop_rule(str(told["rule"]), told["measured"], told["limit"], event.users) + _ended(told.get("ended"))
    return None


def _ended(ended: object) -> str:
    return f", so the {ended} was ended" if isinstance(ended, str) else ""


def stop_rule(rule: str, measured: object, limit: object, users: float | None) -> str:
    """`stop rule: p95 ms 1,240 is over 1,000 at 50 users`."""
    side = "under" if rule == "throughput_growth_ratio" else "over"
    broken = f"{numbers.number(measured)} is {side} {numbers.number(limit)}"
    return f"stop rule: {rule.replace('_', ' ')} {broken} at {numbers.counted(users)}"


def journal_mark(event: Mark) -> str:
    """Without readings where others tell them: `bend from 60 users (medium confidence). 2 more levels ...`, and of a cause,
    a bottleneck or a leak without advice: `cause: connections are reset at 80 users (high confidence), 412 × at 3.1/s`.
    """
    if event.kind in BLAMES:
        check = {"check": event.evidence["check"]} if "check" in event.evidence else {}
        said, counts = mark(msgspec.structs.replace(event, evidence=check, advice="")), counted(event.evidence)
        return f"{said}, {counts}" if counts and event.state != "retracted" else said
    if event.kind not in ("at_or_below", "bend", "latency_knee") or event.state == "retracted":
        return mark(event)
    said = _curve(event)
    return f"{said}. {event.advice[:1].upper()}{event.advice[1:]}" if event.advice else said


def _curve(event: Mark) -> str:
    """Of a mark of the curve, without its readings."""
    limit = "generator" if event.evidence.get("limit") == "generator" else None
    sure = f" ({event.confidence} confidence)" if event.confidence else ""
    return knee(msgspec.convert({"kind": event.kind, "users": event.users, "limit": limit}, KneeVerdict)) + sure


def revised(event: Mark) -> str:
    """Of a knee that was told before and has moved: `knee now 45 [41–49] at 121/s, queueing`."""
    told, name = event.evidence, MARK_KINDS[event.kind]
    try:
        known = {each: told.get(each) for each in ("users_low", "users_high", "capacity_rps", "limit")}
        found = msgspec.convert({"kind": event.kind, "users": event.users, **known}, KneeVerdict)
    except msgspec.ValidationError:  # a log of another hand
        return mark(event)
    return knee(found).replace(name, f"{name} now", 1)


def reanalysed(event: Reanalysed) -> str:
    """`marks found again by capexplorer 0.2.0: 3 recorded, 4 now; 1 new, 0 gone, 2 changed`."""
    counts = ", ".join(f"{sum(each.kind == kind for each in event.changes)} {kind}" for kind in ("new", "gone", "changed"))
    return f"marks found again by capexplorer {event.version}: {event.recorded} recorded, {event.found} now; {counts}"


def change(event: MarkChange) -> str:
    """What became of one mark: `new: knee ...`, `gone: ...`, `changed: knee at 28 users: capacity rps 213 → 210`."""
    about = event.found or event.recorded
    if about is None:
        return f"{event.kind}: {event.key}"
    if event.kind != "changed":
        return f"{event.kind}: {mark(about)}"
    bare = mark(msgspec.structs.replace(about, evidence={}, advice="", confidence=None))
    return f"changed: {bare}: " + ", ".join(
        f"{each.name.replace('_', ' ')} {_known(each.recorded)} → {_known(each.found)}" for each in event.figures
    )


def _known(value: Any) -> str:
    return "unknown" if value is None else numbers.figure(value)
