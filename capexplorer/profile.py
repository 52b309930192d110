"""A profile as one typed value: its tables, with bounds and patterns that `toml` names in its messages, and the rules between
keys."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from . import toml
from .addresses import is_http_url, without_userinfo
from .errors import InputError
from .model import limits, watched
from .model.controls import SPAWN_RATE_LEAST, SPAWN_RATE_MOST
from .model.limits import Limits
from .model.load import Arrivals
from .model.stages import RequestLimits, StreamKind
from .model.watched import PartSpec

# -- values --------------------------------------------------------------------------------------------------------------------
# Types of the values in a profile, with bounds and patterns, which `toml` names in its messages. Tables are in other modules.


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
USERS_MOST = 1_000_000
WORKERS_MOST = 256
DAY_S = 86_400.0
TITLE_MOST = 1_000
"""Characters."""
PATH_PATTERN = r"(?#a path that starts with /, or a URL)^(?:/|https?://)[^\x00-\x1f\x7f]*\Z"

Param = str | int | float | bool
"""The value of a query parameter."""
WorkerCount = Annotated[int, Meta(ge=1, le=WORKERS_MOST)]
UserCount = Annotated[int, Meta(ge=0, le=USERS_MOST)]
Seconds = Annotated[float, Meta(ge=0, le=DAY_S)]
PerSecond = Annotated[float, Meta(ge=0.00001, le=1_000_000)]
"""A lower bound, because its reciprocal is a wait of at most about a day."""
AtLeast0 = Annotated[float, Meta(ge=0)]
Above0 = Annotated[float, Meta(gt=0)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Status = Annotated[int, Meta(ge=100, le=599)]
Method = Annotated[str, Meta(pattern=rf"(?#one of {', '.join(METHODS)})^(?i:{'|'.join(METHODS)})\Z")]
RequestPath = Annotated[str, Meta(pattern=PATH_PATTERN)]
ValueName = Annotated[str, Meta(pattern=r"(?#a name of letters, digits and _)^[A-Za-z_][A-Za-z0-9_]*\Z")]
HeaderName = Annotated[str, Meta(pattern=r"(?#a header name)^[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")]
HeaderValue = Annotated[str, Meta(pattern=r"(?#a header value in one line)^[^\x00\r\n]*\Z")]
Title = Annotated[str, Meta(max_length=TITLE_MOST)]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the tables of a profile."""


# -- users table ---------------------------------------------------------------------------------------------------------------
# `[users]`: what the users of a run request, and how long they wait in between.


WEIGHT_MOST = 10_000
"""Locust picks from a list in which each task stands as often as its weight says: with 1,000 tasks 80 MB."""
TASKS_MOST = 1_000
PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
CSV_PATTERN = r"(?#FILE.csv or FILE.csv:COLUMN)^.*[.]csv(?::[^:]+)?\Z"
BODY_MOST_MB = 1_000_000.0
MAX_BODY_MB = 64.0


class Wait(Table, frozen=True, kw_only=True):
    """Think time between tasks, in seconds; exactly one key. Names and meanings are Locust's."""

    between: tuple[Seconds, Seconds] | None = None
    """Uniformly distributed between both values."""
    constant: Seconds | None = None
    """Always the same."""
    constant_pacing: Seconds | None = None
    """Time from the start of one task to that of the next; after a longer task the next one starts at once."""
    constant_throughput: PerSecond | None = None
    """Tasks per second of one user."""
    poisson: PerSecond | None = None
    """Rate of exponentially distributed waits, 1/s."""


class Task(Table, frozen=True, kw_only=True):
    """One request that users make, picked by weight."""

    name: Title
    """Name of its row in every table; also the path, unless `path` is given."""
    weight: Annotated[int, Meta(ge=0, le=WEIGHT_MOST)] = 1
    """How often it is picked, relative to the others; 0: never."""
    method: Method = "GET"
    """HTTP method."""
    path: RequestPath | None = None
    """Where the request goes."""
    headers: dict[HeaderName, HeaderValue] = {}
    """Request headers by name."""
    body: str | None = None
    """Request body as text."""
    json: Any = None
    """Request body as a value, sent as JSON with its Content-Type."""
    expect_status: Status | Annotated[tuple[Status, ...], Meta(min_length=1)] | None = None
    """Statuses that count as success; default: 200 to 399."""
    stream: StreamKind | None = None
    """The request lasts until its reply, a stream, has ended ([streams.md](streams.md)): server-sent events, lines, or chunks of
    OpenAI's API."""

    @property
    def endpoint(self) -> str:
        """`METHOD name`, as in tables."""
        return f"{self.method.upper()} {self.name}"

    @property
    def texts(self) -> Iterator[tuple[str, str]]:
        """(key, text) of everything in which a reference or a placeholder may stand."""
        yield "path", self.path or ""
        yield from ((f"headers.{name}", text) for name, text in self.headers.items())
        yield "body", self.body or ""
        yield from (("json", text) for text in _strings(self.json))

    @property
    def placeholders(self) -> frozenset[str]:
        """Names of the values that each request draws: `sku` of `{{sku}}`."""
        texts = [self.name if self.path is None else "", *(text for _, text in self.texts)]
        return frozenset(name for text in texts for name in PLACEHOLDER.findall(text))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(inner)


class Users(Table, frozen=True, kw_only=True):
    """The users that make load; the only table that every profile has."""

    wait_s: Wait | Seconds = 0.0
    """Think time: seconds that a user waits after a task, or a table for other distributions."""
    workers: WorkerCount | Literal["auto"] | None = None
    """Worker processes that run the users; "auto": one core less than there are. Default: this process runs them."""
    start: UserCount = 1
    """Number of users when the live screen opens."""
    spawn_rate: Annotated[float, Meta(ge=SPAWN_RATE_LEAST, le=SPAWN_RATE_MOST)] | None = None
    """Users started per second; default: a step takes one second, at most 100 users per second."""
    arrivals: Arrivals = "poisson"
    """How iterations of a rate level arrive: at random with exponential gaps, or evenly."""
    client: Literal["fast", "requests", "lean"] = "fast"
    """`fast`: FastHttpUser; `requests`: HttpUser; `lean`: LeanHttpUser, with the least CPU per request."""
    keep_alive: bool = True
    """False: a new connection for each request, which the client closes, so that its port stays in TIME_WAIT. With the header
    `Connection = "close"` the server closes first."""
    timeout_s: Annotated[float, Meta(gt=0, le=DAY_S)] = 30.0
    """A request that takes longer is a failure."""
    max_body_mb: Annotated[float, Meta(gt=0, le=BODY_MOST_MB)] = MAX_BODY_MB
    """Most MB of a reply after decompression: a larger one is a failure. Parts read with `stream=True` have no limit."""
    task: Annotated[tuple[Task, ...], Meta(max_length=TASKS_MOST)] = ()
    """The requests, each a table `[[users.task]]`."""
    values: dict[ValueName, Annotated[tuple[Param, ...], Meta(min_length=1)] | Annotated[str, Meta(pattern=CSV_PATTERN)]] = {}
    """What `{{NAME}}` in a task stands for: each request takes one at random from a list, or from a column of a CSV file,
    relative to the profile."""
    locustfile: str | None = None
    """Path of a Locust file, relative to the profile, instead of tasks; also of several, `a.py,b.py`, or a folder."""
    metrics: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    """Events of a locustfile that are no requests, beside those that are recognised: patterns of `METHOD name`; with `!` in
    front, those that are."""


def locustfiles(given: Path) -> tuple[Path, ...]:
    """The files of a path as Locust takes it: of several, separated by commas, or of all in a folder and below it but those whose
    names begin with `_`. Raises InputError: there are none.
    """
    found: list[Path] = []
    for path in map(Path, str(given).split(",")):
        files = sorted(each for each in path.rglob("*.py") if not each.name.startswith("_")) if path.is_dir() else [path]
        if not files or not files[0].is_file():
            raise InputError(f"{path}: no such locustfile")
        found += files
    return tuple(dict.fromkeys(found))


def beside(folder: Path, locustfile: str) -> Path:
    """The path of `users.locustfile` of a profile in this folder."""
    return Path(",".join(str(folder / each.strip()) for each in locustfile.split(",")))


def names_of(locustfile: Path) -> str:
    """Its name, without folders; of several, all of them."""
    return ", ".join(Path(each).name for each in str(locustfile).split(","))


def csv_column(given: str, name: str) -> tuple[str, str]:
    """(file, column) of `FILE.csv` or `FILE.csv:COLUMN`, the value of this name."""
    file, colon, column = given.rpartition(":")
    return (file, column) if colon and file.endswith(".csv") else (given, name)


# -- run limits ----------------------------------------------------------------------------------------------------------------
# Limits of a run: it never exceeds `[guards]`; `[slo]` is reported; `[stop]` ends a plan or the autopilot.


class Guards(Table, frozen=True, kw_only=True):
    """Limits that no run exceeds."""

    max_users: Annotated[int, Meta(ge=1, le=USERS_MOST)] = 2_000
    """Users that no key, plan or autopilot exceeds."""
    max_workers: Annotated[int, Meta(ge=1, le=WORKERS_MOST)] | None = None
    """Worker processes that this run may start. Default: as many as there are cores, at least 8."""
    allow_hosts: tuple[str, ...] = ()
    """Hosts other than loopback to which load may be sent."""
    unattended_s: Seconds = 300.0
    """How long load by hand continues while no screen has the controls; 0: the run ends with its terminal."""


class Objectives(Table, frozen=True, kw_only=True):
    """Service level objectives: the highest load that meets each of the first three is reported. A request that exceeds one of
    the others is no goodput ([streams.md](streams.md))."""

    p95_ms: AtLeast0 | None = None
    """Milliseconds that 95% of the successful requests must not exceed."""
    p99_ms: AtLeast0 | None = None
    """The same for 99%."""
    failure_ratio: Ratio | None = None
    """Highest share of requests that fail: 0.01 is 1%."""
    ttft_ms: Above0 | None = None
    """Most ms to a stream's first event or token."""
    tpot_ms: Above0 | None = None
    """Most ms for each further one, in its mean."""
    total_ms: Above0 | None = None
    """Most ms for the whole request."""

    @property
    def of_request(self) -> RequestLimits | None:
        """The limits on a single request; None: there are none."""
        limits = RequestLimits(ttft_ms=self.ttft_ms, tpot_ms=self.tpot_ms, total_ms=self.total_ms)
        return limits if limits.are_set else None


class Required(Table, frozen=True, kw_only=True):
    """What the service must do: a run without a screen ends once it knows whether it does
    ([requirements.md](requirements.md))."""

    all: tuple[str, ...] = ()
    """Requirements such as `"p95 <= 300ms @ 50 users"` or `"capacity >= 100/s"`, in addition to those of `--require`."""
    within: str | None = None
    """Time in which they are to be decided, such as `"10m"`; default: 5 minutes, or as long as the plan takes."""


class MetricLimit(Table, frozen=True, kw_only=True):
    """A limit of one of the target's own metrics."""

    name: str
    """The metric's name in the JSON that the target serves."""
    over: float
    """The most that its mean over five seconds may be."""


class StopRules(Table, frozen=True, kw_only=True):
    """Limits that end a plan or the autopilot, once a level that exceeds one of them has been settled for six seconds."""

    p95_ms: AtLeast0 | None = None
    """p95 of the successful requests."""
    p99_ms: AtLeast0 | None = None
    """p99 of them."""
    failure_ratio: Ratio | None = None
    """Share of requests that fail."""
    load_average: AtLeast0 | None = None
    """The machine's load average over one minute."""
    throughput_growth_ratio: AtLeast0 | None = None
    """Ends it when goodput has grown by less than this share of the growth of users since the next lower level."""
    latency_growth_ratio: AtLeast0 | None = None
    """Sure growth of the mean latency since the lowest level; 0.5: by half."""
    metric: MetricLimit | None = None
    """A limit of one of the target's own metrics."""


READY_TIMEOUT_S = 120.0
"""Commands such as `go run` compile first, which takes 30 s or more with a cold cache."""


class Work(Table, frozen=True, kw_only=True):
    """What counts as finished work; by default every successful request."""

    endpoints: tuple[str, ...] = ()
    """`METHOD name` of the requests that count."""
    metric: str | None = None
    """Name of a growing counter among the target's own metrics."""


class ComposeTarget(Table, frozen=True, kw_only=True):
    """The services of a Compose file, which docker starts for the session ([watch.md](watch.md#services-of-a-compose-file))."""

    compose: Annotated[str, Meta(min_length=1)]
    """Its path, relative to the profile. `${CAPEXPLORER_PORT}` in it is a free port, to which the load goes."""


# -- profile table -------------------------------------------------------------------------------------------------------------
# The whole file of a profile as one typed value: the service, and the tables of its users, limits, parts and plans.


class Profile(Table, frozen=True, kw_only=True):
    """The service, and what concerns the whole profile."""

    title: Title = ""
    """One line for lists and reports."""
    target: str | ComposeTarget | None = None
    """Name of a folder in targets/, or a Compose file, which capexplorer starts and stops."""
    url: str | None = None
    """URL of a service that runs already."""
    command: Annotated[str, Meta(min_length=1)] | None = None
    """Starts the service, in the profile's folder and without a shell. `{port}` is replaced by a free port, `{python}` by
    capexplorer's interpreter, `{pool}` by the parameter `pool` of `params`."""
    ready: str | None = None
    """The service is ready when a GET of this /PATH is answered with 2xx or 3xx; without this key any status counts. A URL,
    http://127.0.0.1:PORT/PATH, if the command has no `{port}`, or the Compose file no `${CAPEXPLORER_PORT}`. `tcp`, or
    tcp://127.0.0.1:PORT: as soon as it accepts a connection, for services that do not speak HTTP."""
    ready_timeout_s: Annotated[float, Meta(gt=0, le=3_600)] = READY_TIMEOUT_S
    """Seconds until it must be ready."""
    params: dict[str, Param] = {}
    """Defaults of the command's parameters, each for a `{name}` in it, or other values for those of the target. `--set
    NAME=VALUE` and the key `t` change them."""
    version: Title | None = None
    """Of the service, for reports. Without this key `git describe` in the folder of the command, else what the service answers
    when it is ready: the header `X-Version`, or `version` in a JSON object."""
    users: Users
    """The users that make load; the only table that every profile has."""
    work: Work = Work()
    """What counts as finished work."""
    guards: Guards = Guards()
    """Limits that no run exceeds."""
    limits: Limits = Limits()
    """Limits of the operating system under which the run explores."""
    watch: tuple[PartSpec, ...] = ()
    """Watched parts: the target's database or proxy, on this machine or others ([watch.md](watch.md))."""
    plans: dict[str, str] = {}
    """Plans by name, for `--plan NAME` and the key `p`."""
    slo: Objectives = Objectives()
    """Service level objectives."""
    require: Required = Required()
    """What the service must do."""
    stop: StopRules = StopRules()
    """Limits that end a plan or the autopilot."""

    @property
    def starts_service(self) -> bool:
        """Whether capexplorer starts it."""
        return self.target is not None or self.command is not None

    @property
    def service(self) -> str:
        """What is explored, in a few words without a password; empty where the command line must name it."""
        target = self.target.compose if isinstance(self.target, ComposeTarget) else self.target
        return target or self.command or without_userinfo(self.url or "")

    @property
    def compose(self) -> str | None:
        """The Compose file, if that is what is explored."""
        return self.target.compose if isinstance(self.target, ComposeTarget) else None


# -- rules ---------------------------------------------------------------------------------------------------------------------
# Rules between the keys of a profile, which the types of single values cannot express.


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
    if profile.work.metric is not None and profile.slo.of_request is not None:
        limit = next(iter(profile.slo.of_request.by_name))
        yield f"slo.{limit}_ms", "not allowed beside `work.metric`: a counter of the service does not know single requests"


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
    if users.locustfile is not None and not all(map(os.path.exists, str(beside(folder, users.locustfile)).split(","))):
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


def load(path: Path) -> Profile:
    """Read and check a profile. Raises InputError: one line with the file, the key and what was expected."""
    profile = toml.load(path, Profile)
    check(profile, str(path))
    return profile


def check(profile: Profile, where: str) -> None:
    """Check rules that the types cannot express. `where` names the file in messages. Raises InputError."""
    for key, expected in mistakes(profile, Path(where).parent):
        raise InputError(f"{where}: {key}: {expected}")


_NOT_OF_LOCUSTFILES = ("client", "keep_alive", "wait_s", "task", "values")
"""Settings of `[users]` that a locustfile's users decide themselves."""


def plain(profile: Profile, name: str, locustfile: Path | None = None) -> dict[str, Any]:
    """The profile as plain values, with its name, for the session's header.

    With a locustfile, settings that its users do not follow are left out: a header must not name an unused client.
    """
    found = {"name": name, **msgspec.to_builtins(profile)}
    if locustfile is not None:
        kept = {key: value for key, value in found["users"].items() if key not in _NOT_OF_LOCUSTFILES}
        found["users"] = {**kept, "locustfile": profile.users.locustfile or names_of(locustfile)}
    return found
