"""Sentences about commands, states of the target, notes and failures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from ..model.events import Command, FailureSignature, Mark, Note, Target
from ..model.experiments import Experiment
from ..model.timeline import Timeline
from . import experiments, numbers, quantities
from .marks import mark
from .next_step import autopilot, autopilot_step, plan


def command(event: Command) -> str:
    """The command, and who gave it unless it was the user."""
    if event.name == "autopilot":
        return autopilot(event.args)
    sentence = _COMMANDS.get(event.name, lambda _: event.name)(event.args)
    if event.name in ("users", "rate") and event.by == "autopilot":
        return f"{sentence}, autopilot: {autopilot_step(event.args)}"
    is_own = event.by == "user" or (event.name, event.by) == ("plan", "plan")
    return sentence if is_own else f"{sentence} (by {event.by})"


def _rate(args: Mapping[str, Any]) -> str:
    per_s = args.get("per_s")
    return f"offered rate → {quantities.offered_rate(per_s) if isinstance(per_s, int | float) else '?'}"


def _spawn_rate(args: Mapping[str, Any]) -> str:
    rate = args.get("spawn_rate", args.get("rate"))
    return "spawn rate automatic" if rate is None else f"spawn rate {numbers.figure(rate)} a second"


def _controls(args: Mapping[str, Any]) -> str:
    if args.get("asked_by") is not None:
        return f"{args['asked_by']} asks for the controls"
    holder = args.get("holder")
    return "no screen has the controls" if holder is None else f"{holder} {'keeps' if args.get('kept') else 'has'} the controls"


VOID = {"worker_lost": "no figures, a worker was lost"}
"""Text by `LevelClosed.void`."""

_CHANGES = {"joined": "joined", "lost": "was lost", "left": "left", "added": "is started", "removed": "is ended"}


def _stacks(args: Mapping[str, Any]) -> str:
    """`stacks are sampled at 1 user and at 60 users`, `stacks are sampled at 80/s offered`."""
    loads = [quantities.load(args.get("users"), args.get("offered_per_s"))]
    if args.get("low_users") is not None:
        loads = [quantities.load(args["low_users"], args.get("low_per_s")), *loads]
    return f"stacks are sampled at {' and at '.join(loads)}"


def _watch(args: Mapping[str, Any]) -> str:
    """`db is watched: ssh db1: port 5432`."""
    return f"{args.get('part', '?')} is watched: {args.get('place', '?')}"


def _workers(args: Mapping[str, Any]) -> str:
    """`worker 2 joined: 2 workers`, `worker 2 was lost (no report for 3 s): 1 worker`."""
    count, why, name = args.get("count", "?"), args.get("why"), args.get("name")
    who = f"worker {name}" if name else "a worker"
    sentence = f"{who} {_CHANGES.get(str(args.get('change')), '?')}" + (f" ({why})" if why else "")
    return f"{sentence}: {numbers.several(count, 'worker')}"


def _experiment(args: Mapping[str, Any]) -> str:
    """`experiment at 39 users: only GET /a`."""
    try:
        change = experiments.changed(msgspec.convert(args, Experiment))
    except msgspec.ValidationError:  # a log that this app did not write
        change = "?"
    return f"experiment at {numbers.counted(args.get('users', 0))}: {change}"


_COMMANDS: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "users": lambda args: f"users → {args.get('users', args.get('to', '?'))}",
    "rate": _rate,
    "step": lambda args: f"step size {args.get('step', '?')}",
    "spawn_rate": _spawn_rate,
    "new_level": lambda args: f"new level at the same {'count' if args.get('offered_per_s') is None else 'rate'}",
    "zero": lambda _: "to zero users",
    "restart": lambda args: f"restart of the target{parameters(args)}",
    "note": lambda _: "note",
    "runner": lambda args: f"the locustfile ended the load: runner.{args.get('call', '?')}()",
    "quit": lambda _: "quit",
    "plan": plan,
    "stacks": _stacks,
    "require": lambda args: f"required: {args.get('requirement', '?')}",
    "controls": _controls,
    "workers": _workers,
    "watch": _watch,
    "experiment": _experiment,
}


def parameters(params: dict[str, Any]) -> str:
    """`: threads=8, store=memory`; empty without parameters."""
    return ": " + ", ".join(f"{key}={value}" for key, value in params.items()) if params else ""


UNSEEN_SERVICE = (
    "its process cannot be seen from here (it is another user's, or in another container), so its CPU, memory and open files"
    " are not read"
)
"""Why a service on this machine is not watched although it is ready."""


def target(event: Target) -> str:
    """`target ready`, `target died (exit code 3)`, followed by its reason if there is one."""
    how = []
    if event.exit_code is not None:
        how.append(f"exit code {event.exit_code}")
    if event.signal is not None:
        how.append(event.signal)
    sentence = f"target {event.state}" + (f" ({', '.join(how)})" if how else "")
    if event.state == "starting":
        sentence += parameters(event.params)
    return f"{sentence}: {event.reason}" if event.reason else sentence


def journal(event: Mark | Note | Target | Command) -> str:
    """The text of one journal entry."""
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
    """The raw failure: `HTTP 503`, `ConnectionError > ConnectionRefusedError, errno 111: refused`. Marks name its cause."""
    parts = []
    if signature.status is not None:
        parts.append(f"HTTP {signature.status}")
    if signature.types:
        parts.append(" > ".join(signature.types))
    if signature.errno is not None:
        parts.append(f"errno {signature.errno}")
    sentence = ", ".join(parts)
    if not signature.text:
        return sentence or "unknown failure"
    return f"{sentence}: {signature.text}" if sentence else signature.text


# -- Names of the client classes of users.

CLIENTS = {"FastHttpUser": "fast (FastHttpUser)", "HttpUser": "requests (HttpUser)", "LeanHttpUser": "lean (LeanHttpUser)"}
"""Client classes -> the value of `client` in a profile."""


def clients(names: Collection[str]) -> str:
    """`fast (FastHttpUser) + other (User)`; empty if no name is known."""
    return " + ".join(CLIENTS.get(each, f"other ({each})") for each in names)


# -- The sentence about requests that a session keeps whole.


def kept_requests(timeline: Timeline) -> str:
    """`214 whole requests are in ID.requests, beside the log`; empty if there is no such file."""
    ended = timeline.ended
    if ended is None or ended.requests_file is None:
        return ""
    noun = "request is" if ended.requests_kept == 1 else "requests are"
    return f"{ended.requests_kept} whole {noun} in {ended.requests_file}, beside the log"
