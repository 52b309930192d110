"""`${NAME}` in a task stands for an environment variable, so that no profile and no log contains a token or a password.

Pure: the environment is passed in. References are replaced in `path`, `headers`, `body` and the strings of `json`, when the user
class is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ..errors import InputError
from ..profile import Task, Users

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def check(users: Users, environment: Mapping[str, str], where: str) -> None:
    """Raises InputError that names the first task's key whose variable is not set; `where` names the file."""
    for index, task in enumerate(users.task):
        for key, text in task.texts:
            for name in _REFERENCE.findall(text):
                if name not in environment:
                    raise InputError(
                        f"{where}: users.task[{index}].{key}: expected the environment variable {name}, which is not set"
                    )


def expanded(task: Task, environment: Mapping[str, str]) -> Task:
    """The task with references replaced by values. Raises KeyError if a variable is not set."""

    def value(text: str) -> str:
        return _REFERENCE.sub(lambda found: environment[found[1]], text)

    if not any(_REFERENCE.search(text) for _, text in task.texts):
        return task
    return msgspec.structs.replace(
        task,
        path=None if task.path is None else value(task.path),
        headers={name: value(text) for name, text in task.headers.items()},
        body=None if task.body is None else value(task.body),
        json=_replaced(task.json, value),
    )


def values(users: Users, environment: Mapping[str, str]) -> dict[str, str]:
    """All variables that tasks name, with their values, which may be secrets."""
    names = {name for task in users.task for _, text in task.texts for name in _REFERENCE.findall(text)}
    return {name: environment[name] for name in names if name in environment}


def _replaced(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _replaced(inner, change) for key, inner in value.items()}
    return [_replaced(inner, change) for inner in value] if isinstance(value, list | tuple) else value
