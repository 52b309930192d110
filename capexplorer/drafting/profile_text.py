"""The text of a profile, with a comment beside each key that a person is likely to change. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ..profile import Param, Task

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")

THINK_TIME_S = (0.1, 0.5)
"""Least and greatest think time of users that nobody has described yet: one user makes about three requests
a second, so that low loads have figures too."""


class Part(msgspec.Struct, frozen=True):
    """A server that a profile offers to watch."""

    name: str
    port: int
    key: str
    """The key by which its own figures are read, such as `postgres`."""
    url: str
    """An example of that key's value."""


USUAL = Part("postgres", 5432, "postgres", "postgresql://USER@127.0.0.1:5432/DATABASE")
"""The example where no well-known server listens."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What a new profile says."""

    name: str
    url: str | None = None
    command: str | None = None
    params: Mapping[str, Param] = msgspec.field(default_factory=dict)
    """Parameters of the command, each with its default."""
    ready: str | None = None
    tasks: Sequence[tuple[Task, str]] = ()
    """Each with what the service answered, or why nothing was sent."""
    locustfile: str | None = None
    """Relative to the profile, in place of tasks."""
    variables: Sequence[str] = ()
    """Names of environment variables that tasks refer to."""
    values: Mapping[str, Sequence[Param] | str] = msgspec.field(default_factory=dict)
    """What `{{NAME}}` in tasks stands for: values, or FILE.csv[:COLUMN] relative to the profile."""
    allow_hosts: Sequence[str] = ()
    parts: Sequence[Part] = ()
    """Well-known servers that listen on this machine: offered as watched parts."""


def text(draft: Draft) -> str:
    """The file."""
    return "\n".join(_lines(draft)) + "\n"


def _lines(draft: Draft) -> Iterator[str]:
    yield f"# Made by `capexplorer init`. Explore: capexplorer run {draft.name}    All keys: docs/profiles.md"
    yield f"title = {value(draft.name)}"
    yield ""
    yield from _service(draft)
    yield ""
    yield "[users]"
    if draft.locustfile is not None:
        yield "# Users, tasks and think time are the Locust file's."
        yield f"locustfile = {value(draft.locustfile)}"
    else:
        yield "# Think time: seconds between two requests of one user, evenly distributed; 0 for none."
        yield f"wait_s = {{ between = {value(list(THINK_TIME_S))} }}"
        yield "# The client: fast, lean (least CPU per request) or requests."
        yield 'client = "fast"'
    yield from _tasks(draft)
    yield ""
    yield "[guards]"
    yield "# No run exceeds this number of users."
    yield "max_users = 2000"
    if draft.allow_hosts:
        yield "# Load goes to loopback and these hosts only."
        yield f"allow_hosts = {value(list(draft.allow_hosts))}"
    yield ""
    yield "[plans]"
    yield f"# capexplorer run {draft.name} --plan short; the key p lists the plans."
    yield 'short = "1:15s,4:15s,16:15s,64:15s"'
    yield 'knee = "find knee"'
    yield ""
    yield "[slo]"
    yield "# The highest load that meets these is reported."
    yield "# p95_ms = 300"
    yield "# failure_ratio = 0.01"
    yield ""
    yield from _parts(draft)


def _parts(draft: Draft) -> Iterator[str]:
    yield "# Watched parts: the service's database, its proxy (docs/watch.md)."
    for part in draft.parts or (USUAL,):
        yield "# [[watch]]"
        yield f"# name = {value(part.name)}"
        yield f"# port = {part.port}"
        yield f"# {part.key} = {value(part.url)}"
        if part.key == "prometheus":
            yield '# metrics = ["NAME"]'


def _service(draft: Draft) -> Iterator[str]:
    if draft.url is not None:
        yield "# A service that runs already."
        yield f"url = {value(draft.url)}"
        return
    yield "# capexplorer runs this command in the folder of this file, without a shell, and ends it after the run."
    yield f"command = {value(draft.command)}"
    name = next(iter(draft.params), "pool")
    yield f"# {{{name}}} in the command is a parameter, which --set {name}=VALUE and the key t change:"
    if draft.params:
        yield f"params = {{ {', '.join(f'{_key(each)} = {value(given)}' for each, given in draft.params.items())} }}"
    else:
        yield "# params = { pool = 10 }"
    if draft.ready is not None:
        yield "# The service is ready when a GET of this is answered with 2xx or 3xx."
        yield f"ready = {value(draft.ready)}"


def _tasks(draft: Draft) -> Iterator[str]:
    if draft.variables:
        yield ""
        yield f"# Set in the environment of a run: {', '.join(draft.variables)}. Secrets are not in this file."
    if draft.values or draft.tasks:
        yield ""
        yield "# Each request takes another value: {{sku}} in a path, header or body, and here what it stands for."
        yield "[users.values]" if draft.values else '# values = { sku = [7, 8, 9], mail = "accounts.csv:mail" }'
        yield from (
            f"{_key(name)} = {value(given if isinstance(given, str) else list(given))}" for name, given in draft.values.items()
        )
    if draft.tasks:
        yield ""
        yield "# Users pick a task by its weight."
    for number, (task, answer) in enumerate(draft.tasks):
        if number:
            yield ""
        yield "[[users.task]]"
        yield f"# {_one_line(answer)}"
        yield from _task(task)


def _task(task: Task) -> Iterator[str]:
    yield f"name = {value(task.name)}"
    if task.path is not None:
        yield f"path = {value(task.path)}"
    if task.method != "GET":
        yield f"method = {value(task.method)}"
    yield f"weight = {task.weight}"
    if task.headers:
        yield f"headers = {value(dict(task.headers))}"
    if task.body is not None:
        yield f"body = {value(task.body)}"
    if task.json is not None:
        yield f"json = {value(task.json)}"


def value(plain: Any) -> str:
    """A plain value in TOML, in one line; tables are inline tables. None of them is null, which TOML has not."""
    match plain:
        case dict():
            return "{ " + ", ".join(f"{_key(key)} = {value(each)}" for key, each in plain.items()) + " }" if plain else "{}"
        case list():
            return f"[{', '.join(map(value, plain))}]"
        case str():
            written = json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")
            return written.encode("utf-8", "replace").decode()  # half a character has no form in a file
        case _:
            return json.dumps(plain)


def _key(name: str) -> str:
    return name if _BARE_KEY.match(name) else value(name)


def _one_line(words: str) -> str:
    return "".join(character if character.isprintable() else " " for character in words)
