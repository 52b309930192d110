"""Sentences about the autopilot and about plans: the reasons of the autopilot's steps, and why the autopilot or a plan ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..model.rate_verdicts import RateCapacity
from ..model.verdicts import KneeVerdict
from . import numbers, quantities
from .knee_sentences import short_knee, verified
from .rate_sentences import rate_capacity

TROUBLES = {
    "failures": "requests fail",
    "generator": "the generator is saturated",
    "collapse": "goodput collapsed",
    "ports": "ephemeral ports run out",
    "max_users": "the limit max_users is reached",
    "not_recovered": "the service does not recover",
    "not_settling": "the level does not settle",
    "nothing_done": "no request completes",
    "neighbours": "other processes use the machine's CPU",
}

VERIFICATION_ENDS = {
    "verified": "verified",
    "contradicted": "contradicted by later levels",
    "no_knee": "an earlier knee was not confirmed",
    "uncounted": "not verified: later levels do not count while the knee moves or a backlog drains",
    "max_users": "not verified: max_users does not allow a level 20% beyond the knee",
    "ports": "not verified: ephemeral ports run out",
    "failures": "not verified: 20% beyond the knee nearly all requests fail",
    "not_settling": "not verified: a level does not settle",
}

VERIFYING = {"soak": "soak at {}", "beyond": "{}, 20% beyond the knee", "return_to_first": "back at {}"}
"""The name of each level that verifies a knee; {} is its number of users."""

PLAN_ENDS = {
    "stop_rule": "a limit of [stop] was exceeded",
    "no_knee": "its next step needs a knee, and none was found",
    "restart": "the target restarts",
}
"""Reasons why a plan ended, besides `finished` and `taken_over`."""

STEPS = {
    "first": "measure the baseline",
    "double": "{line}: larger step",
    "bend_near": "{line}: smaller step, close to where scaling flattens",
    "plateau": "{found}: measure one more level beyond it",
    "lower": "no level at low load yet: measure a lower one",
    "careful": "the service recovered: stepping up in smaller steps",
    "between": "between the last good level and the first bad one",
    "again": "the lowest failing level once more, to check whether load causes it",
    "retreat": "{trouble}: fewer users, to check whether the service recovers",
    "soak": "{found}: soak at 70% of it, to verify it",
    "beyond": "20% beyond the knee, to verify it",
    "return_to_first": "back to the first level, to check whether the service has changed",
    "recovery": "{found}: down to 60% of the knee, to check whether the service recovers",
    "rest": "done: back to fewer users",
}
"""The reasons of steps. Only logs written before knees were verified contain `recovery`."""

_TASKS = {"verify": "verification", "rate": "autopilot at rates"}

RATE_STEPS = {
    "first": "measure the first rate",
    "double": "all was served: twice the rate",
    "between": "between the highest rate that was served and the lowest that was not",
    "beyond": "not clear after a long level: a higher rate",
    "lower": "not all was served: a lower rate",
    "rest": "a low rate, until the backlog is worked off",
}
"""The reasons of steps at offered rates."""

RATE_ENDS = {
    "generator": "the generator is the limit, not the service",
    "max_rate": "the highest rate that can be offered was served",
    "not_recovered": "the service did not recover from overload",
}


def autopilot_step(args: Mapping[str, Any]) -> str:
    """Why the autopilot stepped, in one line: `goodput at 97% of linear scaling: larger step`."""
    if "per_s" in args:
        return RATE_STEPS.get(str(args.get("why")), "next rate")
    share = args.get("efficiency")
    return STEPS.get(str(args.get("why")), "next level").format(
        line=f"goodput at {share:.0%} of linear scaling" if isinstance(share, float) else "capacity curve so far",
        found=found(args),
        trouble=TROUBLES.get(str(args.get("because")), "a failure"),
    )


def autopilot(args: Mapping[str, Any]) -> str:
    """`autopilot on`, `autopilot finished: knee 47 [43–52] at 122/s, verified`, `autopilot gave up: ports run out`.

    An autopilot with the task `verify` only verifies a knee: `verification on`.
    """
    name = _TASKS.get(str(args.get("task")), "autopilot")
    if args.get("on"):
        return f"{name} on"
    match args.get("end"):
        case "done" if args.get("task") == "rate":
            return f"{name} finished: {_found_rate(args)}"
        case "gave_up" if args.get("task") == "rate":
            return f"{name} ended: {RATE_ENDS.get(str(args.get('why')), str(args.get('why')))}; {_found_rate(args)}"
        case "done":
            ending = VERIFICATION_ENDS.get(str(args.get("verification")))
            return f"{name} finished: {found(args)}{f', {ending}' if ending else ''}{_left_out(args)}"
        case "gave_up":
            known = f"; {found(args)}" if args.get("kind") else ""
            return f"autopilot gave up: {TROUBLES.get(str(args.get('why')), str(args.get('why')))}{known}{_left_out(args)}"
    if args.get("why") != "taken_over":
        return f"{name} off"
    return f"{name} off: users were changed by hand" if args.get("who") == "user" else f"{name} off: ended by {args.get('who')}"


def verifying(args: Mapping[str, Any], settled_s: float) -> str | None:
    """Progress of a level that verifies the knee: `verifying: soak at 14 users, 12 s of 20 s`; None for other steps."""
    least_s, most_s = args.get("least_s"), args.get("most_s")
    name = VERIFYING.get(str(args.get("why")))
    if name is None or not isinstance(least_s, int | float) or not isinstance(most_s, int | float):
        return None
    users = numbers.counted(args.get("users"))
    of = f"{settled_s:.0f} s of {least_s:g} s" if settled_s <= least_s else f"{settled_s:.0f} s, at most {most_s:g} s"
    return f"verifying: {name.format(users)}, {of}"


def why_not_verify(knee: KneeVerdict | None) -> str | None:
    """Why there is no knee to verify; None if there is one."""
    if knee is None or knee.kind != "knee":
        return "no knee to verify yet; press a to search for one"
    return "the knee is already verified" if verified(knee) == "verified" else None


def _left_out(args: Mapping[str, Any]) -> str:
    count = args.get("left_out")
    return (
        f"; {count} level{'s' * (count != 1)} left out because other processes used the CPU"
        if isinstance(count, int) and count
        else ""
    )


def plan(args: Mapping[str, Any]) -> str:
    """`plan: 10:30s, 50:30s` for a start, `plan ended: 50 users keep running` for an end."""
    if args.get("on", True):
        return f"plan: {args.get('plan', '?')}"
    return f"{args.get('what', 'plan')} ended: {PLAN_ENDS.get(str(args.get('why'))) or _afterwards(args)}"


def _afterwards(args: Mapping[str, Any]) -> str:
    if args.get("why") != "finished":
        return "users were changed by hand"
    users, offered_per_s = args.get("users"), args.get("offered_per_s")
    if offered_per_s is not None and args.get("what") != "shape":
        return f"{quantities.offered_rate(offered_per_s)} are still offered"
    return (
        "all users stop" if args.get("what") == "shape" else f"{users} user{'s' * (users != 1)} keep{'s' * (users == 1)} running"
    )


def _found_rate(args: Mapping[str, Any]) -> str:
    """The capacity as a rate, with the figures of a command of the autopilot."""
    known = {key: args.get(key) for key in ("kind", "per_s", "low_per_s", "high_per_s", "kept_per_s", "limit")}
    try:
        return rate_capacity(msgspec.convert(known, RateCapacity))
    except msgspec.ValidationError:  # nothing was measured
        return "no capacity was found"


def found(args: Mapping[str, Any]) -> str:
    """The knee that a reason of the autopilot refers to: `knee 47 [43–52] at 122/s`."""
    figures = {key: args.get(key) for key in ("users_low", "users_high", "capacity_rps")}
    try:
        return short_knee(msgspec.convert({"kind": args.get("kind"), "users": args.get("knee_users"), **figures}, KneeVerdict))
    except msgspec.ValidationError:  # a log that this app did not write
        return "knee"
