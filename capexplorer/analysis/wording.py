"""All sentences about events and verdicts, in one place: plain text, no colours, no layout, no escaping.

What comes from a target or a user stays in them as it was written; whoever displays them escapes it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..model.events import Command, FailureSignature, Mark, MarkChange, Note, Reanalysed, Target

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


def mark(event: Mark) -> str:
    """`cause: ports exhausted at 120 users (high confidence): used_ratio 0.97. Widen the range.`"""
    kind, name = MARK_KINDS[event.kind], event.id.replace("_", " ")
    said = kind if name == kind else f"{kind}: {name}"
    if event.users is not None:
        said += f" at {event.users:g} users"
    if event.confidence is not None:
        said += f" ({event.confidence} confidence)"
    if event.state == "retracted":
        return f"{said}: retracted"
    if event.state == "closed":
        said += ", over"
    if event.evidence:
        said += ": " + ", ".join(f"{key.replace('_', ' ')} {_figure(value)}" for key, value in event.evidence.items())
    return f"{said}. {event.advice}" if event.advice else said


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
