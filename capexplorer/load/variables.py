"""`${NAME}` in a task stands for an environment variable, so that no profile and no log contains a token or a password.

Pure: the environment is passed in. References are replaced in `path`, `headers`, `body` and the strings of `json`, when the user
class is made.
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

from ..errors import InputError
from ..profile import PLACEHOLDER, Param, Task, Users, csv_column
from ..toml import nearest

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


# -- drawn values --------------------------------------------------------------------------------------------------------------
# `{{NAME}}` in a task: for each request another value, at random from a list or from a column of a CSV file (`[users.values]`).
#
# Columns of one file are drawn by the row, so that a name and its password belong together.


MB_MOST = 16
"""Of a CSV file: workers of other machines get its columns in one message."""


class DrawnTogether(msgspec.Struct, frozen=True):
    """Values that are drawn together: those of one list, or of the rows of one file."""

    names: tuple[str, ...]
    rows: tuple[tuple[Param, ...], ...]


def read(users: Users, folder: Path, where: str) -> tuple[DrawnTogether, ...]:
    """The values of `[users.values]`; files are relative to `folder`, and `where` names the profile. Raises InputError."""
    lists = [
        DrawnTogether((name,), tuple((each,) for each in given))
        for name, given in users.values.items()
        if not isinstance(given, str)
    ]
    columns: dict[str, dict[str, str]] = {}
    for name, given in users.values.items():
        if isinstance(given, str):
            file, column = csv_column(given, name)
            columns.setdefault(file, {})[name] = column
    return (*lists, *(_of_file(folder / file, wanted, f"{where}: users.values") for file, wanted in columns.items()))


def _of_file(path: Path, columns: Mapping[str, str], where: str) -> DrawnTogether:
    """`columns`: the column of each value, by the value's name."""
    try:
        if path.stat().st_size > MB_MOST * 1e6:
            raise InputError(f"{path}: expected a file of at most {MB_MOST} MB")
        with path.open(encoding="utf-8-sig", newline="") as file:
            heading, *lines = [line for line in csv.reader(file) if line] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{where}: {path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    for name, column in columns.items():
        if column not in heading:
            raise InputError(f"{where}.{name}: {path} has no column `{column}`; {nearest(column, heading)}")
    indices = [heading.index(column) for column in columns.values()]
    for number, line in enumerate(lines, 2):
        if len(line) <= max(indices):
            raise InputError(f"{where}: {path}:{number}: expected {len(heading)} columns, got {len(line)}")
    if not lines:
        raise InputError(f"{where}: {path}: expected at least one line below the names of its columns")
    return DrawnTogether(tuple(columns), tuple(tuple(line[index] for index in indices) for line in lines))


def drawn(task: Task, groups: Sequence[DrawnTogether]) -> Task:
    """The task with a value in place of each `{{NAME}}`. Without any it is the same object."""
    names = task.placeholders
    if not names:
        return task
    values: dict[str, Param] = {}
    for group in groups:
        if not names.isdisjoint(group.names):
            values |= zip(group.names, random.choice(group.rows), strict=True)
    body = None if task.body is None else _filled(task.body, values, _escape_of_body(task))
    return msgspec.structs.replace(
        task,
        path=_filled(task.path or task.name, values, lambda value: quote(_text(value), safe="")),
        headers={name: _filled(text, values, _text) for name, text in task.headers.items()},
        body=body,
        json=_in_json(task.json, values),
    )


def _filled(text: str, values: Mapping[str, Param], write: Any) -> str:
    return PLACEHOLDER.sub(lambda found: write(values[found[1]]), text)


def _escape_of_body(task: Task) -> Any:
    """How a value is written into this body: by its Content-Type."""
    kind = next((value for name, value in task.headers.items() if name.lower() == "content-type"), "")
    if "json" in kind:
        return lambda value: json.dumps(value, ensure_ascii=False).removeprefix('"').removesuffix('"')
    return (lambda value: quote_plus(_text(value))) if "urlencoded" in kind else _text


def _in_json(value: Any, values: Mapping[str, Param]) -> Any:
    """A string that is a placeholder and nothing else becomes the value itself: a number stays a number."""
    if isinstance(value, str):
        whole = PLACEHOLDER.fullmatch(value)
        return values[whole[1]] if whole else _filled(value, values, _text)
    if isinstance(value, Mapping):
        return {key: _in_json(inner, values) for key, inner in value.items()}
    return [_in_json(inner, values) for inner in value] if isinstance(value, list | tuple) else value


def _text(value: Param) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
