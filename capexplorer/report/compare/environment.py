"""Differences in the conditions of sessions: those that invalidate a comparison, and those that are its subject.

A *condition* (machine, kernel limits, versions, how users wait) leads to a warning. The *subject* (target, its parameters,
label, profile) is the purpose of the comparison and is only listed. Tasks belong to the subject if profiles differ, and are a
condition within one profile.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

import msgspec
from msgspec.structs import replace

from ... import wording
from ...model.events import Header, clients_of
from ...model.limits import limits_in_profile
from ...model.stages import request_limits_in
from ...wording import quantities

MISSING = "–"
_SAME_MEMORY = 0.01
"""Relative difference of memory size that is allowed on one machine: kernels reserve different amounts."""


DISTINCTION = 32
"""Characters that a headline has for what distinguishes a session."""


class Differing(msgspec.Struct, frozen=True):
    """A property that is not the same for all curves: its name, and a text for each curve."""

    name: str
    values: tuple[str, ...]
    brief: tuple[str, ...] = ()
    """What distinguishes each curve, in few words; empty for a property that is too long to name."""


def distinction(rows: Sequence[Differing], curve: int) -> str:
    """What distinguishes a curve from the first one, and the first one from the second: `--pool 4`, `label new, version 1.3`. At
    most DISTINCTION characters, then the number of further properties; empty if nothing differs.
    """
    other = 0 if curve else 1
    found = [row.brief[curve] for row in rows if row.brief and row.values[curve] != row.values[other] and row.brief[curve]]
    shown = [each for end, each in enumerate(found, 1) if len(", ".join(found[:end])) <= DISTINCTION]
    if found and not shown:
        shown = [found[0][: DISTINCTION - 1] + "…"]
    left = len(found) - len(shown)
    return ", ".join(shown) + (f" and {left} more" if left else "")


class RunConditions(msgspec.Struct, frozen=True):
    """The conditions of a curve: the session's header, and its epoch's parameters."""

    header: Header
    params: Mapping[str, Any]
    version: str | None = None
    """Version of the service; None: not known."""


def conditions(runs: Sequence[RunConditions]) -> tuple[Differing, ...]:
    """Conditions that differ although they should not."""
    host: list[tuple[str, Callable[[RunConditions], Any]]] = [
        ("host", lambda each: each.header.host.name),
        ("system", lambda each: each.header.host.system),
        ("kernel", lambda each: each.header.host.kernel),
        ("CPU", lambda each: each.header.host.cpu_model),
        ("cores", lambda each: each.header.host.cpus),
        ("cores by cgroup", lambda each: each.header.host.cgroup_cpus),
        ("file descriptors", lambda each: each.header.host.fds_limit),
        ("port range", lambda each: each.header.host.port_range),
        ("ports reserved", lambda each: each.header.host.ports_reserved),
        ("port capacity", lambda each: each.header.host.ports_capacity),
        ("tcp_tw_reuse", lambda each: each.header.host.tcp_tw_reuse),
        ("somaxconn", lambda each: each.header.host.somaxconn),
        ("recorded by", lambda each: each.header.source or "capexplorer"),
        ("engine", lambda each: _engine(each.header)),
        ("client", lambda each: wording.clients(clients_of(each.header)) or None),
        ("wait", lambda each: _wait(_users(each).get("wait_s"))),
        ("keep-alive", lambda each: _users(each).get("keep_alive")),
        ("timeout", lambda each: _users(each).get("timeout_s")),
        ("counted as work", lambda each: _plain(each.header.profile.get("work"))),
        ("goodput is within", _limits_on_requests),
    ]
    rows = [row for name, read in host if (row := _differing(name, [read(each) for each in runs]))]
    classes = tuple(" + ".join(clients_of(each.header)) for each in runs)
    rows = [replace(row, brief=classes) if row.name == "client" else row for row in rows]
    rows += _memory(runs) + _by_key("limit ", [limits_in_profile(each.header.profile) for each in runs])
    if len({_profile(each) for each in runs}) == 1:
        rows += _tasks(runs)
    return tuple(rows + _by_key("version of ", [each.header.versions for each in runs]))


def subject(runs: Sequence[RunConditions]) -> tuple[Differing, ...]:
    """The properties whose effect the comparison shows."""
    plain: list[tuple[str, Callable[[RunConditions], Any]]] = [
        ("label", lambda each: each.header.label),
        ("profile", _profile),
        ("target", lambda each: each.header.target.name),
        ("version", lambda each: None if each.version == each.header.label else each.version),
        ("address", lambda each: None if each.header.target.command else each.header.target.url),
    ]
    rows = [_named(row) for name, read in plain if (row := _differing(name, [read(each) for each in runs]))]
    if len({_profile(each) for each in runs}) > 1:
        rows += _tasks(runs)
    rows += [_named(row) for row in _by_key("", [each.params for each in runs])]
    commands = [_command(each) for each in runs]
    row = _differing("command", [re.sub(r"'(\{\w+\})'", r"\1", shlex.join(each)) or None for each in commands])
    return (*rows, replace(row, brief=tuple(_arguments(commands, index) for index in range(len(runs))))) if row else tuple(rows)


def _named(row: Differing) -> Differing:
    """With its name before each value: `threads 8`; a label is a name already."""
    named = [
        f"no {row.name}" if value == MISSING else value if row.name == "label" else f"{row.name} {value}" for value in row.values
    ]
    return replace(row, brief=tuple(named))


def _command(runs: RunConditions) -> list[str]:
    """The target's command with names instead of its port, which differs by chance, and of its parameters, which have rows."""
    target = runs.header.target
    port = re.search(r":(\d+)", target.url.partition("//")[2])
    words = [re.sub(rf"(?<!\d){port[1]}(?!\d)", "{port}", word) for word in target.command] if port else target.command
    by_value = {str(value): f"{{{name}}}" for name, value in runs.params.items()}
    return [by_value.get(word, word) for word in words]


def _arguments(commands: Sequence[Sequence[str]], curve: int) -> str:
    """The arguments that a command has and the first one (for the first: the second) has not, each with the option before it:
    `--pool 4`; `without --pool 4` if only the other has more.
    """
    ours, other = commands[curve], commands[0 if curve else 1]
    edits = [each for each in SequenceMatcher(None, other, ours, autojunk=False).get_opcodes() if each[0] != "equal"]
    more = [" ".join(_with_option(ours, first, end)) for _, _, _, first, end in edits if end > first]
    less = [" ".join(_with_option(other, first, end)) for _, first, end, begin, stop in edits if begin == stop]
    return ", ".join(more or [f"without {each}" for each in less])


def _with_option(words: Sequence[str], first: int, end: int) -> Sequence[str]:
    is_value = first > 0 and not words[first].startswith("-") and words[first - 1].startswith("-")
    return words[first - is_value : end]


def _differing(name: str, values: Sequence[Any]) -> Differing | None:
    sentence = tuple(_value_text(value) for value in values)
    return Differing(name, sentence) if len(set(sentence)) > 1 else None


def _by_key(prefix: str, dicts: Sequence[Mapping[str, Any]]) -> list[Differing]:
    keys = sorted({key for each in dicts for key in each})
    return [row for key in keys if (row := _differing(f"{prefix}{key}", [each.get(key) for each in dicts]))]


def _memory(runs: Sequence[RunConditions]) -> list[Differing]:
    sizes = [each.header.host.memory_bytes for each in runs]
    known = [size for size in sizes if size is not None]
    if len(known) in (0, len(sizes)) and (not known or max(known) - min(known) <= _SAME_MEMORY * max(known)):
        return []
    return [Differing("memory", tuple(map(quantities.size, sizes)))]


def _tasks(runs: Sequence[RunConditions]) -> list[Differing]:
    row = _differing("requests and weights", [_task_list(_users(each)) for each in runs])
    return [row] if row else []


def _profile(runs: RunConditions) -> Any:
    return runs.header.profile.get("name") or runs.header.profile.get("title")


def _users(runs: RunConditions) -> Mapping[str, Any]:
    users = runs.header.profile.get("users")
    return users if isinstance(users, Mapping) else {}


def _task_list(users: Mapping[str, Any]) -> str | None:
    if users.get("locustfile"):
        return str(users["locustfile"])
    tasks = users.get("task")
    known = [task for task in tasks if isinstance(task, Mapping)] if isinstance(tasks, Sequence) else []
    return ", ".join(f"{task.get('method', 'GET')} {task.get('name')} x{task.get('weight', 1)}" for task in known) or None


def _wait(wait: Any) -> Any:
    """The kind of wait time that is given, with its seconds: `between 0.1-0.5`."""
    if not isinstance(wait, Mapping):
        return wait
    given = [(kind, value) for kind, value in wait.items() if value is not None]
    return ", ".join(f"{kind.replace('_', ' ')} {_value_text(value)}" for kind, value in given) or None


def _engine(header: Header) -> str:
    mode = header.engine.mode or MISSING
    return f"{mode}, {header.engine.workers} workers" if header.engine.workers else mode


def _limits_on_requests(run: RunConditions) -> str | None:
    """`ttft_ms 500, tpot_ms 40`; None: without limits on a single request."""
    limits = request_limits_in(run.header.profile)
    return None if limits is None else ", ".join(f"{name}_ms {ms:g}" for name, ms in limits.by_name.items())


def _plain(value: Any) -> str | None:
    return json.dumps(value, sort_keys=True, ensure_ascii=False) if value else None


def _value_text(value: Any) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)):
        return "-".join(_value_text(each) for each in value)
    return str(value)
