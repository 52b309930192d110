"""The service of a new profile: asked for or given, started or reached, with a readiness path that was seen to answer."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

import click
import msgspec
from msgspec.structs import replace

from ...addresses import is_http_url, without_userinfo
from ...drafting import curl, reading
from ...errors import CapexplorerError, InputError, TargetError
from ...load.guard import HostGuard
from ...profile import Param, Task
from ...read.ports import listening_ports
from ...run.options import SECRET
from ...session.files import slug
from ...target import ready
from ...target.place import free_port
from ...target.ready import wait_until_ready
from ...target.spec import ParamSpec, TargetSpec, parameters_in
from ...target.supervisor import Supervisor
from ...toml import shown
from ..run import profile
from ..run.resolving import check_url
from ..terminal import ask, print_error
from .given_requests import line_of, show, succeeded

# -- trial start ---------------------------------------------------------------------------------------------------------------
# Starts a service from its command, to see that it starts, where it listens and what it answers; ends it afterwards.


_POLL_S = 0.05


class StartedService(msgspec.Struct, frozen=True):
    """A service that runs."""

    port: int
    others: tuple[int, ...] = ()
    """Further ports on which it listens."""

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def started(
    spec: TargetSpec, port: int | None, *, finds_port: bool, on_waiting: Callable[[str], None]
) -> Iterator[StartedService]:
    """The service, until the context ends. `finds_port`: it chooses its own port, which is searched for. `on_waiting`: called
    with what is waited for once the start takes longer than SILENT_S.

    Raises TargetError with its last output lines: it ended, listens nowhere, or is not ready in `spec.ready.timeout_s`.
    """
    os.environ.pop(SECRET, None)  # the service does not inherit it
    supervisor = Supervisor.launch()
    try:
        supervisor.listen(_start_thread, lambda report: None)
        port = port or free_port()
        run = supervisor.start(spec, spec.resolve({}), port)
        others: tuple[int, ...] = ()
        if finds_port:
            port, *rest = _ports(supervisor, run, spec, on_waiting)
            others = tuple(rest)
        wait_until_ready(supervisor, run, spec, port, sleep=sleep, on_waiting=on_waiting)
        yield StartedService(port, others)
    finally:
        supervisor.close()


def _ports(supervisor: Supervisor, run: int, spec: TargetSpec, on_waiting: Callable[[str], None]) -> list[int]:
    """At least one port on which the process or one of its descendants listens."""
    began_s, is_reported = monotonic(), False
    while monotonic() - began_s < spec.ready.timeout_s:
        ended = supervisor.exited(run)
        if ended is not None:
            raise TargetError(f"{spec.name}: ended before it listened on a port ({ended.how_it_ended()})", ended.output)
        found = listening_ports(supervisor.pid) if supervisor.pid is not None else []
        if found:
            return found
        if not is_reported and monotonic() - began_s >= ready.SILENT_S:
            is_reported = True
            on_waiting("it listens on no port")
        sleep(_POLL_S)
    raise TargetError(f"{spec.name}: listens on no port after {spec.ready.timeout_s:g} s", supervisor.output)


def _start_thread(body: Callable[[], None]) -> None:
    threading.Thread(target=body, daemon=True).start()


_LAUNCHERS = frozenset(
    "bash bundle cargo deno docker dotnet env flask go gradle gunicorn java make mvn npm npx php sh uv uvicorn yarn".split()
)
"""Programs that start others: their names say nothing about the service."""


class NewService(msgspec.Struct, frozen=True, kw_only=True):
    """A service that answers, with the keys of its profile."""

    name: str
    reached_at: str
    """URL that requests are sent to now."""
    url: str | None = None
    command: str | None = None
    params: Mapping[str, Param] = msgspec.field(default_factory=dict)
    """Parameters of the command, each with its default."""
    ready: str | None = None
    first_request: str | None = None
    """The curl command, or the URL with a path, that was given in place of the service's URL."""


def asked_for(stack: ExitStack, guard: HostGuard, allow_hosts: tuple[str, ...]) -> NewService:
    """Ask until there is a service that answers. A service that is started here ends with `stack`."""
    click.echo("How is your service started, or what is its URL? For example:")
    click.echo("  ./server --port {port}   {port}: a free port, so that runs disturb nobody")
    click.echo("  python app.py            a command with a port of its own")
    click.echo("  http://127.0.0.1:8000    runs already; add a path, or paste a curl command")
    while True:
        answer = ask("service")
        if not answer:
            continue
        try:
            if curl.is_curl(answer) or is_http_url(answer):
                return named(answer, allow_hosts)
            return from_command(stack, answer, None, guard, {}, asks=True)
        except CapexplorerError as error:
            print_error(str(error), error.output if isinstance(error, TargetError) else ())


def is_request(text: str) -> bool:
    """Whether it is a curl command, or a URL with a path: it names the service and a request."""
    return curl.is_curl(text) or (is_http_url(text) and urlsplit(text).path not in ("", "/"))


def named(text: str, allow_hosts: tuple[str, ...], where: str = "service") -> NewService:
    """A service that runs already, by its URL or by a request to it. Raises InputError."""
    if not is_request(text):
        return running(text, allow_hosts, where)
    url = reading.read(text, where).requests[0].origin or ""
    return replace(running(url, allow_hosts, where), first_request=text)


def running(text: str, allow_hosts: tuple[str, ...], where: str) -> NewService:
    """A service that runs already, by its URL; all requests are below its path. Raises InputError."""
    url = text.rstrip("/")
    if without_userinfo(url) != url:
        raise InputError(f"{where}: expected a URL without a password; give the requests as curl commands with -u USER:PASSWORD")
    check_url(url, allow_hosts, where)
    parts = urlsplit(url)
    return NewService(name=slug(f"{parts.hostname}-{parts.port or parts.scheme}"), reached_at=url, url=url)


def from_command(
    stack: ExitStack, command: str, ready: str | None, guard: HostGuard, settings: Mapping[str, str], *, asks: bool
) -> NewService:
    """Start it, find its port, and find out which path is ready. `settings`: values of its parameters as they were typed; those
    that lack one are asked for. Raises InputError, TargetError.
    """
    params = _params(command, settings, asks=asks)
    chooses_port = profile.PORT in command
    finds_port = not chooses_port and (ready is None or ready.startswith("/"))
    spec, port = profile.target_of(command, f"http://127.0.0.1:1{ready or '/'}" if finds_port else ready, params=params)
    if spec.ready.tcp:
        raise InputError("--ready: init makes requests of HTTP; copy a profile for another protocol, such as profiles/tcp.toml")
    spec = msgspec.structs.replace(spec, ready=msgspec.structs.replace(spec.ready, any_status=ready is None))
    click.echo(f"starting {spec.name} ...")
    remedy = "Ctrl+C ends it" + ("; another path: --ready /PATH" if ready is not None else "")

    def on_waiting(why: str) -> None:
        expected = ", expected 2xx or 3xx" if "status" in why else ""
        click.echo(f"  not ready yet: {why}{expected}; it has {spec.ready.timeout_s:g} s. {remedy}")

    with ExitStack() as attempt:
        service = attempt.enter_context(started(spec, port, finds_port=finds_port, on_waiting=on_waiting))
        more = f" (and on {', '.join(map(str, service.others))})" if service.others else ""
        click.echo(f"it listens on {service.url}{more}")
        path = spec.ready.path if ready is not None else _ready_path(service.url, guard, asks=asks)
        stack.push(attempt.pop_all())
    return NewService(
        name=_profile_name(spec.name),
        reached_at=service.url,
        command=command,
        params=params,
        ready=path if chooses_port else f"{service.url}{path}",
    )


def _params(command: str, settings: Mapping[str, str], *, asks: bool) -> dict[str, Param]:
    """Defaults of the command's parameters: whole numbers and numbers where they read so, else text. Raises InputError."""
    names = parameters_in(command)
    for name in settings:
        if name not in names:
            raise InputError(f"--set: {shown(command)} has no {{{name}}}")
    typed = dict(settings)
    for name in names if asks else ():
        while not typed.get(name):
            typed[name] = ask(f"{{{name}}} in the command is a parameter; its usual value")
    return {name: _read(value) for name, value in typed.items()}


def _read(text: str) -> Param:
    """`10` and `0.5` are numbers; `007` and `1e3` are text, since the command gets them as they were typed."""
    values = (ParamSpec(default=kind()).parse(text) for kind in (int, float))
    return next((value for value in values if value is not None and str(value) == text), text)


def _profile_name(program: str) -> str:
    """The program's; of one that starts others, the name of this folder."""
    return slug(Path.cwd().name if program in _LAUNCHERS else Path(program).stem)


def _ready_path(url: str, guard: HostGuard, *, asks: bool) -> str:
    """A path whose GET is answered with 2xx or 3xx. Raises InputError if it is not, and there is no terminal to ask at."""
    while True:
        path = ask("path that answers when it is ready", "/") if asks else "/"
        if not path.startswith("/"):
            print_error(f"expected a path that starts with /, got {path!r}")
            continue
        task = Task(name=path)
        answer = show(task, url, guard)
        if succeeded(answer):
            return path
        if not asks:
            raise InputError(f"--ready: expected a path that is answered with 2xx or 3xx; {line_of(task, answer)}")
        click.echo("expected 2xx or 3xx: another path?")
