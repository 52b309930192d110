"""Rules between the keys of a profile, which the types of single values cannot express."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from .. import toml
from ..addresses import is_http_url, without_userinfo
from ..model import limits, watched
from .profile_table import Profile, Work
from .users_table import Task, Users, Wait, csv_column
from .values import PATH_PATTERN

SERVICE_KEYS = ("target", "url", "command")
"""At most one of them; with none, the command line names the service."""


def mistakes(profile: Profile, folder: Path) -> Iterator[tuple[str, str]]:
    """(key, what was expected) in the order of the file."""
    yield from _service_mistakes(profile)
    yield from _users_mistakes(profile.users, folder)
    for index, task in enumerate(profile.users.task):
        yield from _task_mistakes(f"users.task[{index}]", task)
        for name in sorted(task.placeholders - set(profile.users.values)):
            known = toml.nearest(name, profile.users.values) if profile.users.values else f'{name} = [...] or "FILE.csv" there'
            yield f"users.task[{index}]", f"`{{{{{name}}}}}` has no value in [users.values]: {known}"
    if isinstance(profile.users.wait_s, Wait):
        yield from _wait_mistakes(profile.users.wait_s)
    start, most = profile.users.start, profile.guards.max_users
    if start > most:
        yield "users.start", f"expected at most guards.max_users ({most}), got {start}"
    yield from ((f"limits.{key}", expected) for key, expected in limits.mistakes(profile.limits))
    yield from watched.mistakes(profile.watch)
    yield from _work_mistakes(profile.work, profile.users.task)


def _service_mistakes(profile: Profile) -> Iterator[tuple[str, str]]:
    given = [key for key in SERVICE_KEYS if getattr(profile, key) is not None]
    if len(given) > 1:
        yield given[1], f"not allowed beside `{given[0]}`"
    if profile.ready is not None and profile.command is None and profile.compose is None:
        yield "ready", "needs `command` or `[target] compose`"
    if profile.params and profile.compose is not None:
        yield "params", "not allowed beside `[target] compose`: a Compose file takes environment variables"
    if profile.params and profile.url is not None:
        yield "params", "not allowed beside `url`: that service is started elsewhere"
    for name in profile.params:
        if profile.command is not None and f"{{{name}}}" not in profile.command:
            yield f"params.{name}", f"expected `{{{name}}}` in `command`, which is where its value goes"
    if profile.url is not None and not is_http_url(profile.url):
        yield "url", f"expected http://HOST[:PORT] or https://..., got {toml.shown(without_userinfo(profile.url))}"


def _users_mistakes(users: Users, folder: Path) -> Iterator[tuple[str, str]]:
    if users.locustfile is not None and users.task:
        yield "users.task", "not allowed beside `users.locustfile`"
    if users.locustfile is None and not users.task:
        yield "users", "expected `[[users.task]]` or `locustfile`"
    if users.locustfile is not None and not os.path.isfile(folder / users.locustfile):
        yield "users.locustfile", f"no such file: {toml.shown(users.locustfile)}"
    for name, given in users.values.items():
        if isinstance(given, str) and not os.path.isfile(folder / csv_column(given, name)[0]):
            yield f"users.values.{name}", f"no such file: {toml.shown(csv_column(given, name)[0])}"
    if users.task and not any(task.weight for task in users.task):
        yield "users.task", "expected a weight above 0 on at least one task"


def _task_mistakes(key: str, task: Task) -> Iterator[tuple[str, str]]:
    if task.path is None and not re.search(PATH_PATTERN, task.name):
        yield f"{key}.path", f"expected a path that starts with /, got {toml.shown(task.name)}"
    if task.body is not None and task.json is not None:
        yield key, "expected either `body` or `json`"


def _wait_mistakes(wait: Wait) -> Iterator[tuple[str, str]]:
    given = [name for name in wait.__struct_fields__ if getattr(wait, name) is not None]
    if len(given) != 1:
        yield "users.wait_s", f"expected exactly one of {', '.join(wait.__struct_fields__)}"
    if wait.between is not None and wait.between[0] > wait.between[1]:
        yield "users.wait_s.between", f"expected [least, most] with least <= most, got {list(wait.between)}"


def _work_mistakes(work: Work, tasks: tuple[Task, ...]) -> Iterator[tuple[str, str]]:
    if work.endpoints and work.metric:
        yield "work", "expected either `endpoints` or `metric`"
    known = {f"{task.method.upper()} {task.name}" for task in tasks}
    for endpoint in work.endpoints:
        if known and endpoint not in known:
            yield "work.endpoints", f"no task {toml.shown(endpoint)}; {toml.nearest(endpoint, known)}"
