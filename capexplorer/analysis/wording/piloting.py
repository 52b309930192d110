"""Sentences about the autopilot: why it stepped, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ...model.verdicts import KneeVerdict
from .knees import short_knee

TROUBLES = {
    "failures": "failures have appeared",
    "generator": "the generator is saturated",
    "collapse": "goodput collapsed",
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
