"""Differences in the conditions of sessions: those that invalidate a comparison, and those that are its subject.

A *condition* (machine, kernel limits, versions, how users wait) leads to a warning. The *subject* (target, its parameters,
label, profile) is the purpose of the comparison and is only listed. Tasks belong to the subject if profiles differ, and are a
condition within one profile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import wording
from ...model.clients import clients_of
from ...model.events import Header
from ...model.limits import limits_in_profile
from ...wording import quantities

MISSING = "–"
_SAME_MEMORY = 0.01
"""Relative difference of memory size that is allowed on one machine: kernels reserve different amounts."""


@dataclass(frozen=True, slots=True)
class Differing:
    """A property that is not the same for all curves: its name, and a text for each curve."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunConditions:
    """The conditions of a curve: the session's header, and its epoch's parameters."""

    header: Header
    params: Mapping[str, Any]


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
    ]
    rows = [row for name, read in host if (row := _differing(name, [read(each) for each in runs]))]
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
        ("address", lambda each: None if each.header.target.command else each.header.target.url),
    ]
    rows = [row for name, read in plain if (row := _differing(name, [read(each) for each in runs]))]
    if len({_profile(each) for each in runs}) > 1:
        rows += _tasks(runs)
    return tuple(rows + _by_key("", [each.params for each in runs]))


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
