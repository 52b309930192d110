"""The workload: a profile's tasks or any locustfile, as Locust user classes."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import random
import re
import sys
import time
import traceback
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

import locust
import msgspec
from locust.argument_parser import get_empty_argument_parser, get_parser, setup_parser_arguments
from locust.clients import HttpSession
from locust.contrib.fasthttp import FastHttpSession
from locust.util.load_locustfile import load_locustfile, load_locustfile_pytest

from ..addresses import is_http_url, without_userinfo
from ..errors import InputError
from ..extras import is_of_an_extra, lacking
from ..model.experiments import Experiment
from ..profile import Task, Users, Wait, locustfiles
from ..toml import nearest
from . import variables
from .connections import uncounted
from .lean.prepared import prepare
from .lean.session import LeanSession
from .lean.user import LeanHttpUser, check
from .streams import read_stream
from .user_code import UserCodeFault
from .variables import DrawnTogether, drawn

# -- locust options ------------------------------------------------------------------------------------------------------------
# A locustfile's own options as Locust reads them: from arguments, variables of the environment and locust.conf.


USED = ("host", "tags", "exclude_tags", "user_classes", "config", "config_users", "equal_weights", "stop_timeout")
"""Locust's own options that have an effect here; the others concern its web interface, its files and its way to step users."""
OF_SHAPES = ("num_users", "spawn_rate", "run_time")
"""Those that a shape with `use_common_options` reads."""
HOW = "give it after `--`, in locust.conf, or as the environment variable that it names"


T = TypeVar("T")


class _Refused(Exception):
    """What the parser has to say in place of ending the program."""


def default_options() -> Namespace:
    """Locust's options with their defaults, for users that are not of a locustfile."""
    parser = get_empty_argument_parser(default_config_files=[])
    setup_parser_arguments(parser)  # type: ignore[no-untyped-call]
    options: Namespace = parser.parse_args([], env_vars={})
    return options


def parse(arguments: Sequence[str], where: str, used: Sequence[str] = USED) -> Namespace:
    """The options of a locustfile that has been imported, and so has added its own; `where` names it in messages. `used`: options
    of Locust that have an effect.

    Raises InputError: an unknown option, a missing one, a value that is not allowed, or an option of Locust without effect here.
    """
    try:
        parser = get_parser()
        parser.exit = _refuse
        _check_effect(parser, arguments, used)
        options: Namespace = parser.parse_args(list(arguments))
    except _Refused as refused:
        raise InputError(f"{where}: {refused}") from None
    except SystemExit as ended:
        raise InputError(f"{where}: SystemExit in a listener of init_command_line_parser: {ended}") from None
    return options


def _refuse(status: int = 0, message: str | None = None) -> None:
    text = (message or "the option is of Locust and has no effect here").strip().partition("error: ")
    said = (text[2] or text[0]).replace("\nDid you", "; did you")
    raise _Refused(f"{said} ({HOW})" if "required" in said else said)


def _check_effect(parser: Any, arguments: Sequence[str], used: Sequence[str]) -> None:
    """Raises _Refused: one of these is an option of Locust that has no effect here."""
    own = {*vars(default_options()), "help", "version"}
    for argument in arguments:
        action = parser._option_string_actions.get(argument.partition("=")[0])
        if action is not None and action.dest in own and action.dest not in used:
            known = sorted(option for option, each in parser._option_string_actions.items() if each.dest not in own)
            own_options = f"; the locustfile's own options: {', '.join(known)}" if known else ""
            raise _Refused(f"{argument}: an option of Locust that has no effect here{own_options}")


_RENAMED = re.compile(r"The (?P<old>\w+) class has been renamed to (?P<new>\w+)")


class Workload(msgspec.Struct, frozen=True):
    """User classes, and a shape when the locustfile has one."""

    classes: tuple[type[locust.User], ...]
    shape: Any = None
    options: Namespace = msgspec.field(default_factory=default_options)
    """What users find in `environment.parsed_options`."""
    metrics: tuple[str, ...] = ()
    """Patterns of events that are no requests (`user_activity.MetricNames`)."""
    available: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What Locust's environment has about the files and all of their classes, by its parameter."""

    @property
    def clients(self) -> tuple[str, ...]:
        """Names of the client classes in use, sorted: of each user class the nearest base that Locust or this product ships."""
        return tuple(sorted({_shipped_base(kind) for kind in self.classes}))

    @property
    def pacing_s(self) -> float | None:
        """Seconds from the start of one task of a user to that of the next, if Locust's `constant_pacing` or
        `constant_throughput` sets them for all users alike; None: users wait otherwise."""
        known = {_pacing_s(kind) for kind in self.classes}
        return known.pop() if len(known) == 1 else None

    @property
    def http_clients(self) -> dict[str, type[locust.User]]:
        """The HTTP client classes by name, whose overhead can be measured."""
        known = {kind.__name__: kind for kind in HTTP_USERS}
        return {name: kind for name, kind in known.items() if any(issubclass(cls, kind) for cls in self.classes)}


HTTP_USERS: tuple[type[locust.User], ...] = (locust.FastHttpUser, locust.HttpUser, LeanHttpUser)
_SESSIONS = (FastHttpSession, HttpSession, LeanSession)
"""What these users have as `client`."""


def _pacing_s(kind: type[locust.User]) -> float | None:
    """The pacing of one class. Its functions have it from `hooks/task_hooks.py`; `constant_throughput(x)` paces by `1 / x`."""
    pacing_s = getattr(kind.wait_time, "pacing_s", None)
    return None if pacing_s is None else float(pacing_s)


def _shipped_base(kind: type[locust.User]) -> str:
    return next(base.__name__ for base in kind.__mro__[1:] if base is LeanHttpUser or base.__module__.split(".")[0] == "locust")


def from_profile(
    users: Users, url: str, values: Sequence[DrawnTogether] = (), environment: Mapping[str, str] | None = None
) -> Workload:
    """One user class that picks among the profile's tasks by weight. `values`: of its `[users.values]`. `environment`: the
    variables that tasks may name. Raises InputError: one is not set."""
    environment = environment or {}
    variables.check(users, environment, "the profile")
    base = {"fast": locust.FastHttpUser, "requests": locust.HttpUser, "lean": LeanHttpUser}[users.client]
    attributes: dict[str, Any] = {
        "host": url,
        "tasks": _weighted([variables.expanded(task, environment) for task in users.task], users, url, values),
        "task_of": staticmethod(partial(_task, users=users, url=url, values=values)),
        "wait_time": wait_time(users.wait_s),
        "abstract": False,
        "__module__": __name__,  # else Locust's metaclass makes it one of Locust's own classes
    }
    if users.client != "requests":
        attributes |= {"network_timeout": users.timeout_s, "connection_timeout": users.timeout_s, "insecure": True}
    return Workload((type("ProfileUser", (base,), attributes),))


def _weighted(tasks: Sequence[Task], users: Users, url: str, values: Sequence[DrawnTogether]) -> list[Callable[[Any], None]]:
    """Each task as often as its weight says: Locust picks uniformly from a list."""
    divisor = math.gcd(*(task.weight for task in tasks))
    return [made for task in tasks for made in [_task(task, users, url, values)] * (task.weight // divisor)]


def _task(task: Task, users: Users, url: str, values: Sequence[DrawnTogether]) -> Callable[[Any], None]:
    send = _drawn(task, users, url, values) if task.placeholders else _sender(task, users, url)
    expected = (task.expect_status,) if isinstance(task.expect_status, int) else task.expect_status

    def request(user: Any) -> None:
        send(user.client, False)
        if not users.keep_alive:
            _disconnect(user.client)

    def checked_request(user: Any) -> None:
        started_s = time.perf_counter()
        with send(user.client, True) as response:
            if response.status_code in (expected or ()):
                response.success()
            elif response.status_code and expected:
                response.failure("unexpected_status")  # the status itself is the response's, which `signature` reads
            if task.stream is not None:
                read_stream(response, task.stream, started_s, users.timeout_s)
        if not users.keep_alive:
            _disconnect(user.client)

    found: Any = request if expected is None and task.stream is None else checked_request
    found.endpoint = task.endpoint
    return found  # type: ignore[no-any-return]


Send = Callable[[Any, bool], Any]
"""Makes the task's request with a user's client; the flag is Locust's `catch_response`."""


def _sender(task: Task, users: Users, url: str) -> Send:
    return _prepared(task, url) if users.client == "lean" else _described(task, users)


def _drawn(task: Task, users: Users, url: str, values: Sequence[DrawnTogether]) -> Send:
    """A sender whose requests have values of their own."""

    def send(client: Any, catch_response: bool) -> Any:
        return _sender(drawn(task, values), users, url)(client, catch_response)

    return send


def _described(task: Task, users: Users) -> Send:
    method, path = task.method.upper(), task.name if task.path is None else task.path
    options: dict[str, Any] = {"name": task.name, "headers": dict(task.headers), "data": task.body, "json": task.json}
    options["stream"] = task.stream is not None
    if users.client == "requests":
        options["timeout"] = users.timeout_s

    def send(client: Any, catch_response: bool) -> Any:
        return client.request(method, path, catch_response=catch_response, **options)

    return send


def _prepared(task: Task, url: str) -> Send:
    """A sender of one request whose bytes are made once."""
    path = task.name if task.path is None else task.path
    whole = path if is_http_url(path) else url + path
    request = prepare(task.method.upper(), whole, headers=task.headers, data=task.body, json=task.json)
    name, is_streamed = task.name, task.stream is not None

    def send(client: Any, catch_response: bool) -> Any:
        return client.send(request, name, catch_response, terms=client.streamed if is_streamed else None)

    return send


def _disconnect(client: Any) -> None:
    """Close idle connections from the client's side, which then has the TIME_WAIT; after `Connection: close` the server would."""
    if isinstance(client, FastHttpSession):
        client.client.clientpool.close()
    else:
        client.close()


# -- experiments: what users do otherwise for a level (`model.experiments`)


def varied(user: Any, task: Any, experiment: Experiment) -> Any:
    """The task that a user carries out in place of the one that it has picked; the same if the experiment does not concern it."""
    picked = getattr(task, "endpoint", None)
    if experiment.endpoint is None or picked is None:
        return task
    if experiment.name == "without":
        return task if picked != experiment.endpoint else random.choice(_others(user.__class__, experiment.endpoint))  # noqa: S311
    return task if picked == experiment.endpoint else _only(user.__class__, experiment.endpoint)


@functools.cache
def _others(kind: Any, endpoint: str) -> list[Any]:
    return [task for task in kind.tasks if task.endpoint != endpoint]


@functools.cache
def _only(kind: Any, endpoint: str) -> Any:
    """The task of an endpoint, also of one that the profile does not request."""
    method, _, name = endpoint.partition(" ")
    return next((task for task in kind.tasks if task.endpoint == endpoint), None) or kind.task_of(Task(name=name, method=method))


def disconnect(user: Any) -> None:
    """Close all connections of a user, which then count as closed by users."""
    for client in tuple(vars(user).values()):
        if isinstance(client, _SESSIONS) and client.user is user:
            _disconnect(client)


def leave(user: Any) -> None:
    """Close the connections of a user that ends, which otherwise stay open until the garbage collector finds its client. Those
    of a pool that users share stay open, and none of them counts as closed by users. MqttUser's has a thread, which would connect
    again for good.
    """
    client: Any = getattr(user, "client", None)
    if type(client).__module__ == "locust.contrib.mqtt":
        client.on_disconnect = None  # else it reports this as a request
        client.disconnect()
    if getattr(user, "client_pool", None) is not None or getattr(user, "pool_manager", None) is not None:
        return
    with uncounted():
        disconnect(user)


class WaitTimeError(UserCodeFault):
    """A `wait_time` that does not return a valid time."""


def seconds_of(wait: object, user: str) -> float:
    """What the `wait_time` of this user class returned, in seconds. Raises WaitTimeError: no finite number from 0 up."""
    if isinstance(wait, (float, int, Real)) and 0 <= (seconds := float(wait)) < math.inf:  # `Real` asks slowly
        return seconds
    raise WaitTimeError(f"wait_time of {user} returned {wait!r:.60}: expected seconds, a number from 0 up")


def wait_time(wait: Wait | float) -> Callable[[Any], float]:
    """Locust's wait function for a profile's `wait_s`."""
    if isinstance(wait, (int, float)):
        return locust.constant(wait)
    name, value = next((name, value) for name in wait.__struct_fields__ if (value := getattr(wait, name)) is not None)
    made: Callable[[Any], float]
    made = getattr(locust, name)(*value) if name == "between" else getattr(locust, name)(value)
    return made


def from_locustfile(path: Path, url: str | None, arguments: Sequence[str] = (), metrics: tuple[str, ...] = ()) -> Workload:
    """Import a locustfile. Call it in the load thread, so that objects made on import belong to that thread's hub.

    `url`: None: LOCUST_HOST, locust.conf or the users' own. `arguments`: options and user classes for the locustfile.

    Raises InputError if a file is missing, has a syntax error, raises on import, has no users or a user without a host, or if
    it does not take the arguments.
    """
    files = locustfiles(path)
    classes, shapes = _imported(files)
    used = (*USED, *OF_SHAPES) if any(shape.use_common_options for shape in shapes.values()) else USED
    options = parse(arguments, str(path), used)
    chosen_shape = next((shapes[name] for name in options.user_classes if name in shapes), next(iter(shapes.values()), None))
    kinds = _chosen(classes, [name for name in options.user_classes if name not in shapes], path)
    if not kinds:
        raise InputError(f"{path}: no user classes with a weight above 0 (expected a subclass of HttpUser, FastHttpUser or User)")
    url = options.host = url if url is not None else options.host
    for kind in kinds:
        check(kind, str(path))
        speaks_http = issubclass(kind, HTTP_USERS)
        if url is not None:
            if speaks_http and not is_http_url(url):
                expected = f"http://{url.rpartition('://')[2]}"
                raise InputError(
                    f"--host: {kind.__name__} of {path} speaks HTTP: expected {expected}, got {without_userinfo(url)}"
                )
            kind.host = url
        elif kind.host is None and speaks_http:
            raise InputError(f"{path}: {kind.__name__} has no host; give --host URL or a profile with a target")
    available = {
        "locustfile": files[0].name,
        "parsed_locustfiles": list(map(str, files)),
        "available_user_classes": classes,
        "available_shape_classes": shapes,
        "available_user_tasks": {name: kind.tasks for name, kind in classes.items()},
    }
    return Workload(kinds, chosen_shape, options, metrics, available)


def _imported(files: Sequence[Path]) -> tuple[dict[str, type[locust.User]], dict[str, Any]]:
    """User classes and shapes of these files, by name; test functions of pytest if they have no user class. Raises InputError."""
    classes: dict[str, type[locust.User]] = {}
    shapes: dict[str, Any] = {}
    for file in files:
        found, found_shapes = _import(file, load_locustfile)
        _add(classes, found, file)
        _add(shapes, {type(shape).__name__: shape for shape in found_shapes}, file)
    for file in files if not classes else ():
        _add(classes, _import(file, load_locustfile_pytest), file)
    return classes, shapes


def _import(file: Path, load: Callable[[str], T]) -> T:
    # Locust has the folder in front while it imports the file. For imports inside tasks it stays, but last: no module in it takes
    # the place of one of Python's or of a library's that is imported later.
    if (folder := str(file.resolve().parent)) not in sys.path:
        sys.path.append(folder)
    try:
        return load(str(file.resolve()))
    except SyntaxError as error:
        raise InputError(f"{error.filename or file}:{error.lineno}: {error.msg}") from None
    except BaseException as error:  # noqa: BLE001 - sys.exit or KeyboardInterrupt of a locustfile, too
        raise InputError(_import_failure(file, error)) from None


def _add(known: dict[str, T], found: Mapping[str, T], file: Path) -> None:
    """Add the classes of one file. Raises InputError: another file has one of the same name."""
    for name, each in found.items():
        if name in known and _source(known[name]) != _source(each):
            raise InputError(f"{file}: {name} is also in {_source(known[name])}: expected another name")
        known.setdefault(name, each)


def _source(each: Any) -> str:
    return inspect.getfile(each if isinstance(each, type) else type(each))


def configure(environment: Any) -> None:
    """Let `--config-users` and `--equal-weights` change the user classes of Locust's environment. Raises InputError."""
    options = environment.parsed_options
    for settings in itertools.chain(*(options.config_users or ())):
        try:
            environment.update_user_class(settings)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"--config-users: {settings!r:.80}: {type(error).__name__}: {error}") from None
    if options.equal_weights:
        environment.assign_equal_weights()


def _chosen(classes: dict[str, type[locust.User]], names: Sequence[str], path: Path) -> tuple[type[locust.User], ...]:
    """The user classes of these names; without names those with a weight. Raises InputError: no such class."""
    for name in names:
        if name not in classes:
            raise InputError(f"{path}: no user class `{name}`; {nearest(name, classes)}")
    return tuple(
        kind for name, kind in classes.items() if name in names or (not names and (kind.weight > 0 or kind.fixed_count > 0))
    )


def _import_failure(path: Path, error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).resolve() == path.resolve()]
    place = f"{path}:{frames[-1].lineno}" if frames else str(path)
    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if is_of_an_extra(package) and (said := lacking(package)):  # else it is there, without the module that was asked for
        return f"{place}: {said}"
    renamed = _RENAMED.search(str(error))
    if renamed:
        return f"{place}: {renamed['old']} is from before Locust 1.0: derive from {renamed['new']}, and `task_set` is `tasks`"
    return f"{place}: {type(error).__name__} on import: {str(error).splitlines()[0] if str(error) else 'no message'}"
