"""A profile: which service, which users, which plans and limits. TOML to one typed, frozen value; unknown keys are errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from . import toml
from .addresses import is_http_url
from .errors import InputError
from .model.limits import Limits, mistakes

Param = str | int | float | bool

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the tables of a profile."""


class Wait(Table, frozen=True, kw_only=True):
    """Think time between tasks, in seconds; exactly one key. Names and meanings are Locust's."""

    between: tuple[float, float] | None = None
    constant: float | None = None
    constant_pacing: float | None = None
    constant_throughput: float | None = None
    """Tasks a second of one user."""
    poisson: float | None = None
    """Rate of an exponential wait, 1/s."""


class Task(Table, frozen=True, kw_only=True):
    """One request that users make, picked by weight."""

    name: str
    """Its row in every table; also the path unless `path` is given."""
    weight: int = 1
    method: str = "GET"
    path: str | None = None
    headers: dict[str, str] = {}
    body: str | None = None
    json: Any = None
    expect_status: int | tuple[int, ...] | None = None
    """Statuses that count as success; None: 200 to 399."""


class Users(Table, frozen=True, kw_only=True):
    """Who makes load, and how."""

    wait_s: Wait | float = 0.0
    start: int = 1
    """Users when the live screen opens."""
    spawn_rate: float | None = None
    """Users a second; None: the difference in one second, at most 100 a second."""
    client: Literal["fast", "requests"] = "fast"
    """FastHttpUser or HttpUser."""
    keep_alive: bool = True
    """False: a connection for each request, which the client closes as soon as it has the response (so that TIME_WAIT, and the
    port, are the client's). A task whose headers hold `Connection = "close"` asks the server to close first instead."""
    timeout_s: float = 30.0
    max_body_mb: float = 64.0
    """Of one reply, unzipped: a larger one is a failure. Locustfiles that read with `stream=True` in parts have no bound."""
    task: tuple[Task, ...] = ()
    locustfile: str | None = None
    """A Locust file beside the profile, instead of tasks."""


class Work(Table, frozen=True, kw_only=True):
    """What counts as finished work; without it, every successful request does."""

    endpoints: tuple[str, ...] = ()
    """`METHOD name` of the requests that count."""
    metric: str | None = None
    """A growing counter among the target's own metrics."""


class Guards(Table, frozen=True, kw_only=True):
    """What the app refuses to do."""

    max_users: int = 2_000
    allow_hosts: tuple[str, ...] = ()
    """Hosts beside loopback to which load may go."""


class Objectives(Table, frozen=True, kw_only=True):
    """The greatest load that keeps these is reported."""

    p95_ms: float | None = None
    p99_ms: float | None = None
    failure_ratio: float | None = None


class MetricLimit(Table, frozen=True, kw_only=True):
    """A limit of one of the target's own metrics."""

    name: str
    over: float
    """Struck when its mean of five seconds is over this."""


class StopRules(Table, frozen=True, kw_only=True):
    """What ends a plan or the autopilot, once a level has been settled for six seconds."""

    p95_ms: float | None = None
    p99_ms: float | None = None
    failure_ratio: float | None = None
    load_average: float | None = None
    """Of one minute, as the machine tells it."""
    throughput_growth_ratio: float | None = None
    """Strikes when finished work grew by less than this share of what users did since the nearest level below (0: not at all)."""
    latency_growth_ratio: float | None = None
    """Growth of the mean latency since the lowest level: 0.5 strikes when it is surely more than half as much again."""
    metric: MetricLimit | None = None


class Profile(Table, frozen=True, kw_only=True):
    """A whole profile."""

    title: str = ""
    target: str | None = None
    """A folder of targets/, started and stopped by the app."""
    url: str | None = None
    """A service that runs already; nothing is started."""
    params: dict[str, Param] = {}
    """Parameters of the target, in place of its defaults."""
    users: Users
    work: Work = Work()
    guards: Guards = Guards()
    limits: Limits = Limits()
    plans: dict[str, str] = {}
    slo: Objectives = Objectives()
    stop: StopRules = StopRules()


def load(path: Path) -> Profile:
    """Read and check a profile. Raises InputError: one line with file, key and what was expected."""
    profile = toml.load(path, Profile)
    check(profile, str(path))
    return profile


def check(profile: Profile, where: str) -> None:
    """What types alone cannot say. `where` is the file in messages."""

    def refuse(key: str, expected: str) -> InputError:
        return InputError(f"{where}: {key}: {expected}")

    users = profile.users
    if (profile.target is None) == (profile.url is None):
        raise refuse("target", "expected either `target` or `url`")
    if profile.url is not None and not is_http_url(profile.url):
        raise refuse("url", f"expected http://HOST[:PORT] or https://..., got {profile.url!r}")
    if users.locustfile is not None and users.task:
        raise refuse("users.task", "not allowed beside `users.locustfile`")
    if users.locustfile is None and not users.task:
        raise refuse("users", "expected `[[users.task]]` or `locustfile`")
    if users.locustfile is not None and not (Path(where).parent / users.locustfile).is_file():
        raise refuse("users.locustfile", f"no such file: {users.locustfile}")
    for key, number in _floats(msgspec.to_builtins(profile), ""):
        if not math.isfinite(number):
            raise refuse(key, f"expected a finite number, got {number:g}")
    _check_tasks(users.task, refuse)
    _check_wait(users.wait_s, refuse)
    for key, value, least in (
        ("users.start", users.start, 0),
        ("guards.max_users", profile.guards.max_users, 1),
    ):
        if value < least:
            raise refuse(key, f"expected at least {least}, got {value}")
    if users.spawn_rate is not None and users.spawn_rate <= 0:
        raise refuse("users.spawn_rate", f"expected more than 0 users a second, got {users.spawn_rate:g}")
    if users.timeout_s <= 0:
        raise refuse("users.timeout_s", f"expected more than 0 seconds, got {users.timeout_s:g}")
    if users.max_body_mb <= 0:
        raise refuse("users.max_body_mb", f"expected more than 0 MB, got {users.max_body_mb:g}")
    if users.start > profile.guards.max_users:
        raise refuse("users.start", f"expected at most guards.max_users ({profile.guards.max_users}), got {users.start}")
    for key, limit in msgspec.structs.asdict(profile.stop).items():
        if isinstance(limit, float) and limit < 0:
            raise refuse(f"stop.{key}", f"expected 0 or more, got {limit:g}")
    for key, expected in mistakes(profile.limits):
        raise refuse(f"limits.{key}", expected)
    if profile.work.endpoints and profile.work.metric:
        raise refuse("work", "expected either `endpoints` or `metric`")
    known = {f"{task.method.upper()} {task.name}" for task in users.task}
    for endpoint in profile.work.endpoints:
        if known and endpoint not in known:
            raise refuse("work.endpoints", f"no task {endpoint!r}; {toml.nearest(endpoint, known)}")


def _floats(value: Any, key: str) -> Iterator[tuple[str, float]]:
    """Every fraction in it, by key: TOML knows nan and inf, and no comparison refuses nan."""
    if isinstance(value, float):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _floats(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from _floats(inner, f"{key}[{index}]")


def _check_tasks(tasks: tuple[Task, ...], refuse: Any) -> None:
    for index, task in enumerate(tasks):
        key = f"users.task[{index}]"
        if task.weight < 0:
            raise refuse(f"{key}.weight", f"expected 0 or more, got {task.weight}")
        if task.method.upper() not in METHODS:
            raise refuse(f"{key}.method", f"expected one of {', '.join(METHODS)}, got {task.method!r}")
        path = task.name if task.path is None else task.path
        if not path.startswith(("/", "http://", "https://")):
            raise refuse(f"{key}.path", f"expected a path that starts with /, got {path!r}")
        if task.body is not None and task.json is not None:
            raise refuse(key, "expected either `body` or `json`")
    if tasks and not any(task.weight for task in tasks):
        raise refuse("users.task", "expected a weight above 0 on at least one task")


def _check_wait(wait: Wait | float, refuse: Any) -> None:
    if isinstance(wait, (int, float)):
        if wait < 0:
            raise refuse("users.wait_s", f"expected 0 or more seconds, got {wait:g}")
        return
    given = {name: value for name in wait.__struct_fields__ if (value := getattr(wait, name)) is not None}
    if len(given) != 1:
        raise refuse("users.wait_s", f"expected exactly one of {', '.join(wait.__struct_fields__)}")
    name, value = next(iter(given.items()))
    if name == "between":
        if not 0 <= value[0] <= value[1]:
            raise refuse("users.wait_s.between", f"expected [least, most] with 0 <= least <= most, got {list(value)}")
    elif value < 0 or (value == 0 and name in ("constant_throughput", "poisson")):
        raise refuse(f"users.wait_s.{name}", f"expected a positive number, got {value:g}")


_NOT_OF_LOCUSTFILES = ("client", "keep_alive", "wait_s", "task")
"""Settings of `[users]` that a locustfile's users decide themselves."""


def plain(profile: Profile, name: str, locustfile: Path | None = None) -> dict[str, Any]:
    """The profile as plain values, with its name, for the session's header.

    With a locustfile, settings that its users do not follow are left out: a header must not name a client that nobody used.
    """
    found = {"name": name, **msgspec.to_builtins(profile)}
    if locustfile is not None:
        kept = {key: value for key, value in found["users"].items() if key not in _NOT_OF_LOCUSTFILES}
        found["users"] = {**kept, "locustfile": profile.users.locustfile or locustfile.name}
    return found
