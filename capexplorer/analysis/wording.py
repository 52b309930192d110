"""All sentences about events and verdicts, in one place: plain text, no colours, no layout, no escaping.

What comes from a target or a user stays in them as it was written; whoever displays them escapes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..model.events import Command, FailureSignature, Mark, MarkChange, Note, Reanalysed, Target
from ..model.verdicts import CapacityVerdict, KneeVerdict, Missing, SloVerdict

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


LIMITS = {
    "queueing": "queueing",
    "queue_growth": "a queue that grows",
    "errors": "errors",
    "generator": "the generator, so the service's knee lies beyond",
    "unknown": "something that no reading shows",
}

OBJECTIVES = {"p95_ms": "p95 ≤ {:g} ms", "p99_ms": "p99 ≤ {:g} ms", "failure_ratio": "failures ≤ {:g}%"}


# -- capacity


def knee(verdict: KneeVerdict) -> str:
    """Short, for a status line: `knee 47 [43–52] at 122/s, queueing`, `no knee up to 60 users`."""
    users = _users(verdict.users)
    match verdict.kind:
        case "knee":
            said = f"knee {users} {_range(verdict.users_low, verdict.users_high)} at {_number(verdict.capacity_rps)}/s"
            return f"{said}, {(verdict.limit or 'unknown').replace('_', ' ')}" if verdict.limit != "unknown" else said
        case "at_or_below":
            return f"knee at or below {users} users"
        case "bend":
            return f"bend from {users} users"
        case "latency_knee":
            return f"latency knee {users} users"
        case "no_knee":
            return f"no knee up to {users} users"


def capacity(verdict: CapacityVerdict) -> str:
    """One sentence: `Knee at 47 users [43–52] and 122/s, limited by queueing (high confidence); provisional: no soak yet.`"""
    found = verdict.knee
    if verdict.curve is None:
        return "Nothing was finished at any level: there is no capacity to tell."
    if found is None:
        more = next((each.count for each in verdict.missing if each.kind == "levels"), 1)
        return f"Not enough levels to tell a knee: {_levels(more)} would."
    users, sure = _users(found.users), f" ({found.confidence} confidence)" if found.confidence else ""
    match found.kind:
        case "knee":
            limit = LIMITS[found.limit or "unknown"]
            where = f"Knee at {users} users {_range(found.users_low, found.users_high)} and {_number(found.capacity_rps)}/s"
            return f"{where}, limited by {limit}{sure}{_fall(found)}{_provisional(found)}."
        case "at_or_below":
            return f"The knee is at or below {users} users, the lowest level: step down to find it{_fall(found)}."
        case "bend":
            return f"Finished work falls behind from {users} users on{sure}, but its ceiling was not seen: no knee yet."
        case "latency_knee" | "no_knee":
            return f"No knee up to {users} users{sure}."


def _fall(found: KneeVerdict) -> str:
    if found.peak is None:
        return ""
    how = "collapses" if found.peak.shape == "collapse" else "falls"
    return f"; beyond {_users(found.peak.users)} users finished work {how} by {found.peak.fall_ratio:.0%}"


def _provisional(found: KneeVerdict) -> str:
    if not found.provisional:
        return ""
    soak, back = found.evidence.get("soak_agrees"), found.evidence.get("return_agrees")
    reasons = {"no soak yet": soak is None, "a soak disagreed": soak is False, "the return to the first level did": back is False}
    if soak:
        reasons["no return to the first level yet"] = back is None
    return "; provisional: " + " and ".join(reason for reason, so in reasons.items() if so)


def missing(wanted: Missing) -> str:
    """What would sharpen the verdict: `2 more levels under 20 users would give a baseline`."""
    below, above, levels = _users(wanted.users_below), _users(wanted.users_above), _levels(wanted.count)
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
            return f"a soak of a minute or more at {above} to {below} users would confirm the knee"
        case "return_to_first":
            return f"a return to {below} user{'s' * (below != '1')} would show drift"


def objective(verdict: SloVerdict) -> str:
    """`p95 ≤ 300 ms up to 41 users [40–45] at 118/s`."""
    said = OBJECTIVES[verdict.name].format(verdict.limit * (100 if verdict.name == "failure_ratio" else 1))
    if verdict.state == "broken":
        return f"{said} is kept at no level, not even at {_users(verdict.users_high)} users"
    least = "at least " if verdict.state == "kept" else ""
    interval = f" {_range(verdict.users_low, verdict.users_high)}" if verdict.users_low and verdict.users_high else ""
    return f"{said} up to {least}{_users(verdict.users)} users{interval} at {_number(verdict.goodput_rps)}/s"


def _levels(count: int) -> str:
    return f"{count} more level{'s' * (count != 1)}"


def _range(low: float | None, high: float | None) -> str:
    return f"[{_users(low)}–{_users(high)}]"


def _users(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}"


def _number(value: object) -> str:
    if not isinstance(value, int | float):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


# -- marks


def mark(event: Mark) -> str:
    """`cause: ports exhausted at 120 users (high confidence): used_ratio 0.97. Widen the range.`"""
    said = _short(event) if event.evidence and event.state != "retracted" else None
    if said is not None:
        return f"{said}. {event.advice}" if event.advice else said
    kind, name = MARK_KINDS[event.kind], event.id.replace("_", " ")
    said = kind if name == kind else f"{kind}: {name}"
    if event.users is not None:
        said += f" at {_users(event.users)} users"
    if event.confidence is not None:
        said += f" ({event.confidence} confidence)"
    if event.state == "retracted":
        return f"{said}: retracted"
    if event.state == "closed":
        said += ", over"
    if event.evidence:
        said += ": " + ", ".join(f"{key.replace('_', ' ')} {_figure(value)}" for key, value in event.evidence.items())
    return f"{said}. {event.advice}" if event.advice else said


def _short(event: Mark) -> str | None:
    """What is known well enough to be told in fewer words than its readings; None: list them."""
    told = event.evidence
    match event.kind:
        case "knee" if "users_low" in told and "users_high" in told:
            sure = f" ({event.confidence} confidence)" if event.confidence else ""
            limit = LIMITS.get(str(told.get("limit")), "something that no reading shows")
            interval = _range(told["users_low"], told["users_high"])
            rate = f" and {_number(told.get('capacity_rps'))}/s"
            return f"knee at {_users(event.users)} users {interval}{rate}, limited by {limit}{sure}"
        case "shift" if {"column", "before", "after", "at_s"} <= told.keys():
            unit = "/s" if told["column"] == "goodput" else " ms"
            moved = "rose" if told["after"] > told["before"] else "fell"
            change = f"from {_number(told['before'])} to {_number(told['after'])}{unit}"
            return f"shift: {told['column']} {moved} for good {change} at {told['at_s']:.0f} s and {_users(event.users)} users"
        case "recovery" if {"from_users", "to_users", "recovered"} <= told.keys():
            way = f"stepping down from {_users(told['from_users'])} to {_users(told['to_users'])} users"
            if told["recovered"]:
                return f"recovery: recovered {_number(told.get('after_s'))} s after {way}"
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
    return f"stop rule: {rule.replace('_', ' ')} {_number(measured)} is {side} {_number(limit)} at {_users(users)} users"


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
    return "unknown" if value is None else _figure(value)


def _figure(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def command(event: Command) -> str:
    """What was asked; who asked is told unless it was the user."""
    args = event.args
    match event.name:
        case "users":
            said = f"users → {args.get('users', args.get('to', '?'))}"
            if event.by == "autopilot":
                return f"{said}, autopilot: {autopilot_step(args)}"
        case "step":
            said = f"step size {args.get('step', '?')}"
        case "spawn_rate":
            rate = args.get("spawn_rate", args.get("rate"))
            said = "spawn rate automatic" if rate is None else f"spawn rate {_figure(rate)} a second"
        case "new_level":
            said = "new level at the same count"
        case "zero":
            said = "to zero users"
        case "restart":
            said = "restart of the target" + parameters(args)
        case "note":
            said = "note"
        case "quit":
            said = "quit"
        case "autopilot":
            return autopilot(args)
    return said if event.by == "user" else f"{said} (by {event.by})"


def parameters(params: dict[str, Any]) -> str:
    """`: threads=8, store=memory`, or nothing."""
    return ": " + ", ".join(f"{key}={value}" for key, value in params.items()) if params else ""


def target(event: Target) -> str:
    """`target ready`, `target died (exit code 3)`, with its reason."""
    how = []
    if event.exit_code is not None:
        how.append(f"exit code {event.exit_code}")
    if event.signal is not None:
        how.append(event.signal)
    said = f"target {event.state}" + (f" ({', '.join(how)})" if how else "")
    if event.state == "starting":
        said += parameters(event.params)
    return f"{said}: {event.reason}" if event.reason else said


def journal(event: Mark | Note | Target | Command) -> str:
    """One entry of the journal."""
    match event:
        case Mark():
            return mark(event)
        case Note():
            return event.text
        case Target():
            return target(event)
        case Command():
            return command(event)


def failure(signature: FailureSignature) -> str:
    """`HTTP 503`, `ConnectionError > ConnectionRefusedError, errno 111: refused`. Raw: what it means, `causes` says."""
    parts = []
    if signature.status is not None:
        parts.append(f"HTTP {signature.status}")
    if signature.types:
        parts.append(" > ".join(signature.types))
    if signature.errno is not None:
        parts.append(f"errno {signature.errno}")
    said = ", ".join(parts)
    if not signature.text:
        return said or "unknown failure"
    return f"{said}: {signature.text}" if said else signature.text


# -- in fewer words


def short_knee(verdict: KneeVerdict) -> str:
    """Without its limit, where there is little room: `knee 47 [43–52] at 122/s`."""
    return knee(msgspec.structs.replace(verdict, limit="unknown"))


def revised(event: Mark) -> str:
    """Of a knee that was told before and has moved: `knee now 45 [41–49] at 121/s, queueing`."""
    told, name = event.evidence, MARK_KINDS[event.kind]
    try:
        known = {each: told.get(each) for each in ("users_low", "users_high", "capacity_rps", "limit")}
        found = msgspec.convert({"kind": event.kind, "users": event.users, **known}, KneeVerdict)
    except msgspec.ValidationError:  # a log of another hand
        return mark(event)
    return knee(found).replace(name, f"{name} now", 1)


def short_missing(wanted: Missing) -> str:
    """What to do alone, where there is little room: `2 more levels under 20 users`."""
    below, above = _users(wanted.users_below), _users(wanted.users_above)
    match wanted.kind:
        case "soak":
            return f"soak a minute at {above}–{below} users"
        case "return_to_first":
            return f"then return to {below} users"
        case "longer_levels":
            return "longer levels"
        case _:
            return missing(wanted).split(" would ")[0]


def journal_mark(event: Mark) -> str:
    """A mark without its readings where its kind and place say enough: `bend from 60 users (medium confidence). 2 more ...`."""
    if event.kind not in ("at_or_below", "bend", "latency_knee") or event.state == "retracted":
        return mark(event)
    sure = f" ({event.confidence} confidence)" if event.confidence else ""
    said = knee(KneeVerdict(kind=event.kind, users=event.users)) + sure
    return f"{said}. {event.advice[:1].upper()}{event.advice[1:]}" if event.advice else said


# -- the autopilot


TROUBLES = {
    "failures": "failures have appeared",
    "generator": "the generator is saturated",
    "collapse": "finished work collapsed",
    "ports": "ephemeral ports run out",
    "max_users": "max_users allows no more",
    "not_recovered": "it does not recover",
    "not_settling": "the level does not settle",
    "nothing_done": "nothing is finished",
}


def autopilot_step(args: Mapping[str, Any]) -> str:
    """Why the autopilot stepped, in a line: `97% of the low-load line: twice as many`."""
    share = args.get("efficiency")
    line = f"{share:.0%} of the low-load line" if isinstance(share, float) else "the curve so far"
    match args.get("why"):
        case "first":
            return "begin"
        case "double":
            return f"{line}, so straight: on"
        case "bend_near":
            return f"{line}, so the bend is near: smaller steps"
        case "plateau":
            return f"{_found(args)}: once more on the plateau"
        case "lower":
            return "every level lies beyond the knee: begin lower"
        case "careful":
            return "it recovered: up again with care"
        case "between":
            return "between what went well and what had to be left"
        case "retreat":
            return f"{TROUBLES.get(str(args.get('because')), 'trouble')}: back off, and see whether it recovers"
        case "recovery":
            return f"{_found(args)}: down to 60% of it, and see whether it recovers"
        case "rest":
            return "rest"
    return "on"


def autopilot(args: Mapping[str, Any]) -> str:
    """`autopilot on`, `autopilot finished: knee 47 [43–52] at 122/s`, `autopilot gave up: ports run out`."""
    if args.get("on"):
        return "autopilot on"
    match args.get("end"):
        case "done":
            return f"autopilot finished: {_found(args)}"
        case "gave_up":
            known = f"; {_found(args)}" if args.get("kind") else ""
            return f"autopilot gave up: {TROUBLES.get(str(args.get('why')), str(args.get('why')))}{known}"
    if args.get("why") != "taken_over":
        return "autopilot off"
    return "autopilot off: taken over by hand" if args.get("who") == "user" else f"autopilot off, by {args.get('who')}"


def _found(args: Mapping[str, Any]) -> str:
    """The knee that a reason of the autopilot tells."""
    told = {key: args.get(key) for key in ("users_low", "users_high", "capacity_rps")}
    try:
        return short_knee(msgspec.convert({"kind": args.get("kind"), "users": args.get("knee_users"), **told}, KneeVerdict))
    except msgspec.ValidationError:  # a log of another hand
        return "knee"
