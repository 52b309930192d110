"""Sentences about events: commands, states of the target, notes, raw failures."""

from __future__ import annotations

from typing import Any

from ..model.events import Command, FailureSignature, Mark, Note, Target
from . import numbers
from .autopilot_and_plan import autopilot, autopilot_step, plan
from .marks import mark


def command(event: Command) -> str:
    """What was commanded, and by whom unless it was the user."""
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
            said = "spawn rate automatic" if rate is None else f"spawn rate {numbers.figure(rate)} a second"
        case "new_level":
            said = "new level at the same count"
        case "zero":
            said = "to zero users"
        case "restart":
            said = "restart of the target" + parameters(args)
        case "note":
            said = "note"
        case "runner":
            said = f"the locustfile ended the load: runner.{args.get('call', '?')}()"
        case "quit":
            said = "quit"
        case "plan":
            said = plan(args)
            if event.by == "plan":
                return said
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
    """`HTTP 503`, `ConnectionError > ConnectionRefusedError, errno 111: refused`. Raw: its cause is in a mark."""
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
