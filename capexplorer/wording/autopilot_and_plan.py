"""Sentences about the autopilot and about plans: why the autopilot stepped, and how either ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..model.verdicts import KneeVerdict
from . import numbers
from .knee_sentences import short_knee, verified

TROUBLES = {
    "failures": "failures have appeared",
    "generator": "the generator is saturated",
    "collapse": "goodput collapsed",
    "ports": "ephemeral ports run out",
    "max_users": "max_users allows no more",
    "not_recovered": "it does not recover",
    "not_settling": "the level does not settle",
    "nothing_done": "nothing is finished",
    "neighbours": "other processes hold the machine",
}

VERIFICATION_ENDS = {
    "verified": "verified",
    "contradicted": "contradicted by later levels",
    "no_knee": "after the knee before did not hold",
    "uncounted": "not verified: later levels do not count, as the knee moves or a backlog is worked off",
    "max_users": "not verified: max_users allows no level 20% beyond it",
    "ports": "not verified: ephemeral ports run out",
    "failures": "not verified: 20% beyond it nearly everything fails",
    "not_settling": "not verified: a level does not settle",
}

VERIFYING = {"soak": "soak at {}", "beyond": "{}, 20% beyond the knee", "return_to_first": "back at {}"}
"""What each level that verifies a knee is, with its users."""

PLAN_ENDS = {
    "stop_rule": "a stop rule struck",
    "no_knee": "it needs a knee, and none was found",
    "restart": "the target restarts",
}
"""Reasons of an end, besides `finished` and `taken_over`."""


STEPS = {
    "first": "first level",
    "double": "{line}: larger step",
    "bend_near": "{line}: smaller step, the bend is near",
    "plateau": "{found}: one more level beyond it",
    "lower": "all levels are beyond the knee: lower level",
    "careful": "the service recovered: up again in small steps",
    "between": "between the last good level and the first bad one",
    "retreat": "{trouble}: fewer users, to see whether the service recovers",
    "soak": "{found}: a soak at 70% of it, to verify it",
    "beyond": "20% beyond the knee, to verify it",
    "return_to_first": "back to the first level, to see whether anything has shifted",
    "recovery": "{found}: down to 60% of the knee, to see whether the service recovers",
    "rest": "end with fewer users",
}
"""Reasons of steps; `recovery` is in logs from before knees were verified."""


def autopilot_step(args: Mapping[str, Any]) -> str:
    """Why the autopilot stepped, in a line: `goodput at 97% of the low-load line: larger step`."""
    share = args.get("efficiency")
    return STEPS.get(str(args.get("why")), "next level").format(
        line=f"goodput at {share:.0%} of the low-load line" if isinstance(share, float) else "the curve so far",
        found=_found(args),
        trouble=TROUBLES.get(str(args.get("because")), "trouble"),
    )


def autopilot(args: Mapping[str, Any]) -> str:
    """`autopilot on`, `autopilot finished: knee 47 [43–52] at 122/s, verified`, `autopilot gave up: ports run out`.

    With the task `verify` it only verifies a knee: `verification on`.
    """
    name = "verification" if args.get("task") == "verify" else "autopilot"
    if args.get("on"):
        return f"{name} on"
    match args.get("end"):
        case "done":
            ending = VERIFICATION_ENDS.get(str(args.get("verification")))
            return f"{name} finished: {_found(args)}{f', {ending}' if ending else ''}{_left_out(args)}"
        case "gave_up":
            known = f"; {_found(args)}" if args.get("kind") else ""
            return f"autopilot gave up: {TROUBLES.get(str(args.get('why')), str(args.get('why')))}{known}{_left_out(args)}"
    if args.get("why") != "taken_over":
        return f"{name} off"
    return f"{name} off: ended by a step by hand" if args.get("who") == "user" else f"{name} off, by {args.get('who')}"


def verifying(args: Mapping[str, Any], settled_s: float) -> str | None:
    """How far a level that verifies the knee is: `verifying: soak at 14 users, 12 s of 20 s`; None of another step's `args`."""
    least_s, most_s = args.get("least_s"), args.get("most_s")
    name = VERIFYING.get(str(args.get("why")))
    if name is None or not isinstance(least_s, int | float) or not isinstance(most_s, int | float):
        return None
    users = numbers.counted(args.get("users"))
    of = f"{settled_s:.0f} s of {least_s:g} s" if settled_s <= least_s else f"{settled_s:.0f} s, at most {most_s:g} s"
    return f"verifying: {name.format(users)}, {of}"


def why_not_verify(knee: KneeVerdict | None) -> str | None:
    """Why there is nothing to verify; None if there is."""
    if knee is None or knee.kind != "knee":
        return "no knee to verify yet; a looks for one"
    return "the knee is verified already" if verified(knee) == "verified" else None


def _left_out(args: Mapping[str, Any]) -> str:
    count = args.get("left_out")
    return f"; {count} level{'s' * (count != 1)} that other processes held left out" if isinstance(count, int) and count else ""


def plan(args: Mapping[str, Any]) -> str:
    """`plan: 10:30s, 50:30s` for a start, `plan ended: 50 users stay` for an end."""
    if args.get("on", True):
        return f"plan: {args.get('plan', '?')}"
    return f"{args.get('what', 'plan')} ended: {PLAN_ENDS.get(str(args.get('why'))) or _went_on(args)}"


def _went_on(args: Mapping[str, Any]) -> str:
    if args.get("why") != "finished":
        return "taken over"
    users = args.get("users")
    return "users go to zero" if args.get("what") == "shape" else f"{users} user{'s' * (users != 1)} stay{'s' * (users == 1)}"


def _found(args: Mapping[str, Any]) -> str:
    """The knee in a reason of the autopilot."""
    figures = {key: args.get(key) for key in ("users_low", "users_high", "capacity_rps")}
    try:
        return short_knee(msgspec.convert({"kind": args.get("kind"), "users": args.get("knee_users"), **figures}, KneeVerdict))
    except msgspec.ValidationError:  # a log that this app did not write
        return "knee"
