"""`capexplorer init`: a profile for a service of one's own, by a few questions or by options."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from ... import profile, toml
from ...drafting import reading
from ...drafting.profile_text import Draft, Part, text
from ...errors import InputError
from ...load.guard import HostGuard
from ...model.watched import EXAMPLES, KNOWN_SERVERS
from ...profile import Param, Profile, csv_column
from ...read.ports import listening_programs
from ...session import redact
from ..afterwards import program_name
from ..run.resolving import given_settings
from ..shared_options import LocalFile, argument, option, parameters
from ..terminal import ask
from . import given_requests, new_service
from .given_requests import Requests
from .new_service import NewService

_HOST = re.compile(r"HOST(:\d+)?")

NO_TERMINAL = "there is no terminal to ask on: expected a URL or --target-cmd COMMAND, and --request or -f"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitArguments:
    """As given on the command line."""

    url: str | None = argument()
    target_cmd: str | None = option(
        "--target-cmd", metavar="COMMAND", help='A command that starts the service, e.g. "./server --port {port}".'
    )
    host: str | None = option("--host", metavar="URL", help="URL of a service that runs already.")
    ready: str | None = option(
        "--ready",
        metavar="PATH",
        help="With --target-cmd: path that answers with 2xx or 3xx when it is ready; default: /.",
    )
    settings: tuple[str, ...] = option(
        "--set",
        multiple=True,
        metavar="NAME=VALUE",
        help="With --target-cmd: the usual value of {NAME} in it. Repeatable.",
    )
    requests: tuple[str, ...] = option(
        "--request",
        multiple=True,
        metavar="REQUEST",
        help="/PATH, METHOD /PATH [BODY], a curl command, or a file: HAR, OpenAPI (JSON or YAML), curl commands. Repeatable.",
    )
    given_values: tuple[str, ...] = option(
        "--values",
        multiple=True,
        metavar="NAME=VALUES",
        help="What {{NAME}} in a request stands for, another one for each request: A,B,C or FILE.csv[:COLUMN]. Repeatable.",
    )
    locustfile: Path | None = option("-f", "--locustfile", type=LocalFile(), help="A Locust file in place of requests.")
    output: Path | None = option(
        "-o", "--output", type=click.Path(path_type=Path), help="The profile's file; default: NAME.toml in this folder."
    )
    force: bool = option("--force", is_flag=True, help="Overwrite an existing file.")
    no_send: bool = option("--no-send", is_flag=True, help="Do not send the requests.")
    keep_failing: bool = option("--keep-failing", is_flag=True, help="Keep requests that are not answered with 2xx or 3xx.")
    allow_hosts: tuple[str, ...] = option(
        "--allow-host", multiple=True, metavar="HOST", help="A host other than loopback that may receive requests."
    )


@click.command(params=parameters(InitArguments))
def command(**given: Any) -> None:
    """Write a profile for your own service: what starts it, and the requests that users make.

    URL is that of a service that runs already, as --host; with a path it is a request, too.

    Asks for what the options leave open, sends each request once and shows the answer. Secrets (Authorization, cookies, tokens)
    become references to environment variables.
    """
    asked = InitArguments(**given)
    _check(asked)
    is_request = bool(asked.requests or asked.locustfile or (asked.url and new_service.is_request(asked.url)))
    asks = not (is_request and any((asked.url, asked.target_cmd, asked.host)))
    if asks and not os.isatty(0):
        raise InputError(NO_TERMINAL)
    if asked.output is not None:
        _check_new(asked.output, force=asked.force)
    guard = HostGuard(asked.allow_hosts)
    with ExitStack() as stack:
        service = _service(stack, asked, guard, asks=asks)
        described = Requests(
            service.reached_at,
            service.url,
            guard,
            sends=not asked.no_send,
            keeps_failing=asked.keep_failing,
            asks=asks,
            locustfile=asked.locustfile,
            values=reading.values(asked.given_values, "--values"),
        )
        for each in (*filter(None, [service.first_request]), *asked.requests):
            described.add(each, "--request")
        if asks and not asked.requests and asked.locustfile is None:
            given_requests.ask_for(described)
    if not described.tasks and described.locustfile is None:
        raise InputError("no profile written: no request was answered with 2xx or 3xx")
    path = asked.output or _new_file(service.name, asks=asks, force=asked.force)
    _write(path, service, described, asked.allow_hosts)


def _service(stack: ExitStack, asked: InitArguments, guard: HostGuard, *, asks: bool) -> NewService:
    """The service that the options name, else the one that the user names. `stack` ends what was started for it."""
    if asked.target_cmd is not None:
        return new_service.from_command(stack, asked.target_cmd, asked.ready, guard, given_settings(asked.settings), asks=asks)
    if asked.host is not None:
        return new_service.running(asked.host, asked.allow_hosts, "--host")
    if asked.url is not None:
        return new_service.named(asked.url, asked.allow_hosts, "URL")
    return new_service.asked_for(stack, guard, asked.allow_hosts)


def _check(asked: InitArguments) -> None:
    """Raises InputError for arguments that exclude each other, or need another one."""
    if asked.url is not None and (asked.target_cmd is not None or asked.host is not None):
        other = "--host" if asked.host is not None else "--target-cmd"
        raise InputError(f"URL: cannot be combined with {other}: both name the service")
    if asked.target_cmd is not None and asked.host is not None:
        raise InputError("--target-cmd: cannot be combined with --host, which names a running service")
    if asked.ready is not None and asked.target_cmd is None:
        raise InputError("--ready: needs --target-cmd")
    if asked.requests and asked.locustfile is not None:
        raise InputError("--request: cannot be combined with --locustfile, whose users make the requests")
    if asked.locustfile is not None and not asked.locustfile.is_file():
        raise InputError(f"{asked.locustfile}: no such locustfile")
    if given_settings(asked.settings) and asked.target_cmd is None:
        raise InputError("--set: needs --target-cmd, whose {NAME} it is the usual value of")


def _new_file(name: str, *, asks: bool, force: bool) -> Path:
    if not asks:
        path = Path(f"{name}.toml")
        _check_new(path, force=force)
        return path
    while True:
        path = Path(ask("profile file", f"{name}.toml"))
        path = path if path.suffix == ".toml" else path.with_name(f"{path.name}.toml")
        try:
            _check_new(path, force=force)
        except InputError as error:
            click.echo(str(error), err=True)
        else:
            return path


def _check_new(path: Path, *, force: bool) -> None:
    """Raises InputError: it exists, its folder does not, or it does not look like a profile to `run`."""
    if path.suffix != ".toml":
        raise InputError(f"-o: expected a name that ends with .toml, got {toml.shown(str(path))}")
    if not path.parent.is_dir():
        raise InputError(f"-o: {path.parent}: no such folder")
    if path.exists() and not force:
        raise InputError(f"-o: {path} exists already; another name, or --force to overwrite it")


def _write(path: Path, service: NewService, requests: Requests, allow_hosts: tuple[str, ...]) -> None:
    """Write the profile, after it was read as `run` reads it, and say what is next."""
    locustfile = None
    if requests.locustfile is not None:
        locustfile = _relative(requests.locustfile, path)
    parts = _servers_beside(service)
    draft = Draft(
        name=path.stem,
        url=service.url,
        command=service.command,
        params=service.params,
        ready=service.ready,
        tasks=requests.tasks,
        locustfile=locustfile,
        variables=tuple(requests.secrets.values),
        values={name: _beside(given, path) for name, given in requests.values.items()},
        allow_hosts=allow_hosts,
        parts=parts,
    )
    content = text(draft)
    profile.check(toml.convert(toml.parse(content, str(path)), Profile, str(path)), str(path))
    try:
        path.write_text(content, "utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
    click.echo(f"wrote {path}: {_counted(requests)}")
    if redact.text(service.command or "") != (service.command or ""):
        click.echo(
            "The command holds what looks like a secret, and is in the profile as it is: better take it from the environment."
        )
    if requests.secrets.values:
        click.echo(given_requests.variables_line(tuple(requests.secrets.values)))
    for part in parts:
        click.echo(
            f"{part.name} listens on port {part.port}: if the service uses it, remove the # before its [[watch]] in {path}"
        )
    where = path.stem if path.parent == Path() else path
    click.echo(f"To explore it: {program_name()} run {where}")
    click.echo("(there, the key a starts the autopilot, which finds and verifies the knee)")


def _relative(file: Path, profile: Path) -> str:
    """A file as the profile names it."""
    return os.path.relpath(file.resolve(), profile.parent.resolve())


def _beside(given: tuple[Param, ...] | str, path: Path) -> tuple[Param, ...] | str:
    """Values as the profile names them: a file is relative to it."""
    if not isinstance(given, str):
        return given
    file, column = csv_column(given, "")
    return _relative(Path(file), path) + (f":{column}" if column else "")


def _servers_beside(service: NewService) -> list[Part]:
    """The well-known servers that listen on this machine, but for the service itself."""
    found = []
    for program, port in listening_programs(KNOWN_SERVERS):
        if port != urlsplit(service.reached_at).port:
            kind = KNOWN_SERVERS[program]
            own = f"127.0.0.1:{port}"
            url = EXAMPLES[kind].replace("HOST", "127.0.0.1") if kind == "prometheus" else _HOST.sub(own, EXAMPLES[kind])
            found.append(Part(program, port, kind, url))
    return found


def _counted(requests: Requests) -> str:
    if requests.locustfile is not None:
        return f"the users of {requests.locustfile}"
    return f"{len(requests.tasks)} request{'s' * (len(requests.tasks) != 1)}"
