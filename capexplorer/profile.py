"""A profile: the service, the users, the plans and limits. TOML to one typed, frozen value; unknown keys are errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from . import toml
from .addresses import is_http_url, without_userinfo
from .errors import InputError
from .model.limits import Limits, mistakes
from .model.offered import Arrivals
from .model.stream import SPAWN_RATE_LEAST, SPAWN_RATE_MOST

Param = str | int | float | bool

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
USERS_MOST = 1_000_000
WORKERS_MOST = 256
WEIGHT_MOST = 10_000
"""Locust picks from a list in which each task stands as often as its weight says: with 1,000 tasks 80 MB."""
TASKS_MOST = 1_000
_DAY_S = 86_400.0
_BODY_MOST_MB = 1_000_000.0
MAX_BODY_MB = 64.0

_PATH = r"(?#a path that starts with /, or a URL)^(?:/|https?://)[^\x00-\x1f\x7f]*\Z"

WorkerCount = Annotated[int, Meta(ge=1, le=WORKERS_MOST)]
UserCount = Annotated[int, Meta(ge=0, le=USERS_MOST)]
Seconds = Annotated[float, Meta(ge=0, le=_DAY_S)]
PerSecond = Annotated[float, Meta(ge=0.00001, le=1_000_000)]
"""A lower bound, because its reciprocal is a wait of at most about a day."""
AtLeast0 = Annotated[float, Meta(ge=0)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Status = Annotated[int, Meta(ge=100, le=599)]
Method = Annotated[str, Meta(pattern=rf"(?#one of {', '.join(METHODS)})^(?i:{'|'.join(METHODS)})\Z")]
RequestPath = Annotated[str, Meta(pattern=_PATH)]
HeaderName = Annotated[str, Meta(pattern=r"(?#a header name)^[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")]
HeaderValue = Annotated[str, Meta(pattern=r"(?#a header value in one line)^[^\x00\r\n]*\Z")]
Title = Annotated[str, Meta(max_length=1_000)]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the tables of a profile."""


class Wait(Table, frozen=True, kw_only=True):
    """Think time between tasks, in seconds; exactly one key. Names and meanings are Locust's."""

    between: tuple[Seconds, Seconds] | None = None
    constant: Seconds | None = None
    constant_pacing: Seconds | None = None
    constant_throughput: PerSecond | None = None
    """Tasks per second of one user."""
    poisson: PerSecond | None = None
    """Rate of exponentially distributed waits, 1/s."""


class Task(Table, frozen=True, kw_only=True):
    """One request that users make, picked by weight."""

    name: Title
    """Name of its row in every table; also the path, unless `path` is given."""
    weight: Annotated[int, Meta(ge=0, le=WEIGHT_MOST)] = 1
    method: Method = "GET"
    path: RequestPath | None = None
    headers: dict[HeaderName, HeaderValue] = {}
    body: str | None = None
    json: Any = None
    expect_status: Status | Annotated[tuple[Status, ...], Meta(min_length=1)] | None = None
    """Statuses that count as success; None: 200 to 399."""


class Users(Table, frozen=True, kw_only=True):
    """The users that make load."""

    wait_s: Wait | Seconds = 0.0
    workers: WorkerCount | Literal["auto"] | None = None
    """Worker processes that run the users; "auto": one core less than there are, at least 1. None: this process runs them."""
    start: UserCount = 1
    """Number of users when the live screen opens."""
    spawn_rate: Annotated[float, Meta(ge=SPAWN_RATE_LEAST, le=SPAWN_RATE_MOST)] | None = None
    """Users started per second; None: a step takes one second, at most 100 users per second."""
    arrivals: Arrivals = "poisson"
    """How iterations of a rate level arrive: at random with exponential gaps, or evenly."""
    client: Literal["fast", "requests", "lean"] = "fast"
    """FastHttpUser, HttpUser, or LeanHttpUser: least CPU per request, without redirects and cookies."""
    keep_alive: bool = True
    """False: a connection for each request, which the client closes as soon as it has the response (so that TIME_WAIT, and the
    port, are the client's). A task whose headers hold `Connection = "close"` asks the server to close first instead."""
    timeout_s: Annotated[float, Meta(gt=0, le=_DAY_S)] = 30.0
    max_body_mb: Annotated[float, Meta(gt=0, le=_BODY_MOST_MB)] = MAX_BODY_MB
    """Maximum size of a reply in MB after decompression: a larger one is a failure. Parts read with `stream=True` have no
    limit.
    """
    task: Annotated[tuple[Task, ...], Meta(max_length=TASKS_MOST)] = ()
    locustfile: str | None = None
    """Path of a Locust file, relative to the profile, instead of tasks."""


class Work(Table, frozen=True, kw_only=True):
    """What counts as finished work; by default every successful request."""

    endpoints: tuple[str, ...] = ()
    """`METHOD name` of the requests that count."""
    metric: str | None = None
    """Name of a growing counter among the target's own metrics."""


class Guards(Table, frozen=True, kw_only=True):
    """Limits that capexplorer never exceeds."""

    max_users: Annotated[int, Meta(ge=1, le=USERS_MOST)] = 2_000
    max_workers: Annotated[int, Meta(ge=1, le=WORKERS_MOST)] | None = None
    """Worker processes that this run may start, also by key and by the autopilot. None: as many as there are
    cores, at least 8."""
    allow_hosts: tuple[str, ...] = ()
    """Hosts other than loopback to which load may be sent."""
    unattended_s: Seconds = 300.0
    """How long load by hand goes on while no screen has the controls; 0: the run ends with its terminal."""


class Objectives(Table, frozen=True, kw_only=True):
    """Service level objectives: the highest load that meets each of them is reported."""

    p95_ms: AtLeast0 | None = None
    p99_ms: AtLeast0 | None = None
    failure_ratio: Ratio | None = None


class MetricLimit(Table, frozen=True, kw_only=True):
    """A limit of one of the target's own metrics."""

    name: str
    over: float
    """Triggered when the metric's mean over five seconds exceeds this."""


class StopRules(Table, frozen=True, kw_only=True):
    """Limits that end a plan or the autopilot, checked once a level has been settled for six seconds."""

    p95_ms: AtLeast0 | None = None
    p99_ms: AtLeast0 | None = None
    failure_ratio: Ratio | None = None
    load_average: AtLeast0 | None = None
    """The machine's load average over one minute."""
    throughput_growth_ratio: AtLeast0 | None = None
    """Triggered when goodput grew by less than this share of the growth of users since the next lower level (0: did not grow)."""
    latency_growth_ratio: AtLeast0 | None = None
    """Growth of the mean latency since the lowest level: 0.5 is triggered when latency has surely risen by more than half."""
    metric: MetricLimit | None = None


class Profile(Table, frozen=True, kw_only=True):
    """A profile."""

    title: Title = ""
    target: str | None = None
    """Name of a folder in targets/; capexplorer starts and stops this target."""
    url: str | None = None
    """URL of an already running service; no target is started."""
    params: dict[str, Param] = {}
    """Parameters of the target that replace its defaults."""
    users: Users
    work: Work = Work()
    guards: Guards = Guards()
    limits: Limits = Limits()
    plans: dict[str, str] = {}
    slo: Objectives = Objectives()
    stop: StopRules = StopRules()


def load(path: Path) -> Profile:
    """Read and check a profile. Raises InputError: one line with the file, the key and what was expected."""
    profile = toml.load(path, Profile)
    check(profile, str(path))
    return profile


def check(profile: Profile, where: str) -> None:
    """Check rules that the types cannot express. `where` names the file in messages. Raises InputError."""
    for key, expected in _mistakes(profile, Path(where).parent):
        raise InputError(f"{where}: {key}: {expected}")


def _mistakes(profile: Profile, folder: Path) -> Iterator[tuple[str, str]]:
    """(key, what was expected) in the order of the file."""
    yield from _service_mistakes(profile)
    yield from _users_mistakes(profile.users, folder)
    for index, task in enumerate(profile.users.task):
        yield from _task_mistakes(f"users.task[{index}]", task)
    if isinstance(profile.users.wait_s, Wait):
        yield from _wait_mistakes(profile.users.wait_s)
    start, most = profile.users.start, profile.guards.max_users
    if start > most:
        yield "users.start", f"expected at most guards.max_users ({most}), got {start}"
    yield from ((f"limits.{key}", expected) for key, expected in mistakes(profile.limits))
    yield from _work_mistakes(profile.work, profile.users.task)


def _service_mistakes(profile: Profile) -> Iterator[tuple[str, str]]:
    if (profile.target is None) == (profile.url is None):
        yield "target", "expected either `target` or `url`"
    if profile.url is not None and not is_http_url(profile.url):
        yield "url", f"expected http://HOST[:PORT] or https://..., got {toml.shown(without_userinfo(profile.url))}"


def _users_mistakes(users: Users, folder: Path) -> Iterator[tuple[str, str]]:
    if users.locustfile is not None and users.task:
        yield "users.task", "not allowed beside `users.locustfile`"
    if users.locustfile is None and not users.task:
        yield "users", "expected `[[users.task]]` or `locustfile`"
    if users.locustfile is not None and not os.path.isfile(folder / users.locustfile):
        yield "users.locustfile", f"no such file: {toml.shown(users.locustfile)}"
    if users.task and not any(task.weight for task in users.task):
        yield "users.task", "expected a weight above 0 on at least one task"


def _task_mistakes(key: str, task: Task) -> Iterator[tuple[str, str]]:
    if task.path is None and not re.search(_PATH, task.name):
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


_NOT_OF_LOCUSTFILES = ("client", "keep_alive", "wait_s", "task")
"""Settings of `[users]` that a locustfile's users decide themselves."""


def plain(profile: Profile, name: str, locustfile: Path | None = None) -> dict[str, Any]:
    """The profile as plain values, with its name, for the session's header.

    With a locustfile, settings that its users do not follow are left out: a header must not name an unused client.
    """
    found = {"name": name, **msgspec.to_builtins(profile)}
    if locustfile is not None:
        kept = {key: value for key, value in found["users"].items() if key not in _NOT_OF_LOCUSTFILES}
        found["users"] = {**kept, "locustfile": profile.users.locustfile or locustfile.name}
    return found
