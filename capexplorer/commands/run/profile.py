"""The profile of a run and the service that it explores: as the command line names them, or made of a command, a Compose file,
requests, a locustfile.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import click
import msgspec

from ... import paths, profile
from ...addresses import is_host_and_port, is_http_url, is_loopback, is_same_service, is_url, without_userinfo
from ...drafting import curl, reading, request_tasks
from ...drafting.profile_text import THINK_TIME_S
from ...drafting.request_tasks import Request
from ...errors import InputError
from ...model.controls import Param
from ...procs.processes import is_alive
from ...profile import READY_TIMEOUT_S, TITLE_MOST, Profile, Task, Users, Wait
from ...read.ports import listening_pid
from ...session import redact
from ...session.files import slug
from ...target import containers as compose
from ...target import spec
from ...target.spec import ParamSpec, Ready, TargetSpec
from ...toml import convert, shown
from ..terminal import ask
from .arguments import RunArguments

PORT = "{port}"
COMPOSE_PORT = f"${{{compose.PORT}}}"
_COMPOSE_PROGRAM = ("{python}", "-P", "-m", "capexplorer.target.containers_process")
"""-P: no module in the Compose file's folder can shadow the library's."""

_READY_REQUEST_S = 5.0
"""Time for the readiness request after all services are ready."""

_INTERPRETER = re.compile(r"python[\d.]*|\{python\}|node|ruby|java|sh|bash")


class Source(msgspec.Struct, frozen=True):
    """Where a command or a Compose file and its readiness request were given: what messages call them, and the folder."""

    command: str
    """Option, or file and key, of the command or Compose file."""
    ready: str
    """Option, or file and key, of the readiness request."""
    folder: Path
    """Folder in which the command runs; a Compose file is relative to it."""
    starts: str = "the command"
    declared_in: str = "--target-cmd"
    """The option or file that has the command and its parameters."""
    port: str = PORT
    """The placeholder in it for a port that capexplorer chooses."""
    sets: str = "--set {}=VALUE"
    """How a parameter of this name gets its value there."""


def command_source(where: str | None = None) -> Source:
    """The keys of this profile, run in its folder; without one `--target-cmd` and `--ready`, run in the working folder."""
    if where is None:
        return Source("--target-cmd", "--ready", Path.cwd())
    folder, sets = Path(where).parent.resolve(), "params = {{ {} = VALUE }}"
    return Source(f"{where}: command", f"{where}: ready", folder, declared_in=where, sets=sets)


def compose_source(where: str | None = None) -> Source:
    """The keys of this profile, in whose folder its Compose file is; without one `--compose` and `--ready`."""
    file = "the Compose file"
    if where is None:
        return Source("--compose", "--ready", Path.cwd(), file, "--compose", COMPOSE_PORT)
    return Source(f"{where}: target.compose", f"{where}: ready", Path(where).parent.resolve(), file, where, COMPOSE_PORT)


def target_of(
    command: str,
    ready: str | None,
    timeout_s: float | None = None,
    source: Source | None = None,
    params: Mapping[str, Param] | None = None,
) -> tuple[TargetSpec, int | None]:
    """(target, its port; None: capexplorer chooses it) of a command, its readiness request and its timeout. Raises InputError.

    `params`: parameters with their defaults, for the placeholders of those names in the command.
    """
    source = source or command_source()
    words = _words(command, source)
    readiness, port = _readiness(ready, source, chooses_port=PORT in command)
    found = TargetSpec(
        title=command,
        command=tuple(words),
        ready=convert({**readiness, "timeout_s": timeout_s or READY_TIMEOUT_S}, Ready, source.ready),
        folder=source.folder,
        given_name=_name(words),
        params={name: ParamSpec(default=value) for name, value in (params or {}).items()},
        declared_in=source.declared_in,
    )
    unset = next((name for name in spec.parameters_in(command) if name not in found.params), None)
    for key, wrong in spec.mistakes(found):
        if not key.startswith("command"):
            raise InputError(f"{source.declared_in}: {key}: {wrong}")
        own = f"; if it is a parameter of its own: {source.sets.format(unset)}" if unset else ""
        raise InputError(f"{source.command}: {wrong}{own}")
    return found, port


def composed(file: str, ready: str | None, timeout_s: float | None, source: Source) -> tuple[TargetSpec, int | None]:
    """(target, its port; None: capexplorer chooses it) of a Compose file. Raises InputError where it, Compose or docker cannot be
    used."""
    path = (source.folder / file).resolve()
    compose.check_compose(path, source.command)
    readiness, port = _readiness(ready, source, chooses_port=compose.uses_port(path))
    timeout_s = timeout_s or READY_TIMEOUT_S
    found = TargetSpec(
        title=file,
        command=(*_COMPOSE_PROGRAM, str(path), f"{timeout_s:g}", f"{{scratch}}/{spec.CONTAINERS_FILE}"),
        environment={compose.PORT: PORT},
        ready=convert({**readiness, "timeout_s": timeout_s + _READY_REQUEST_S}, Ready, source.ready),
        folder=path.parent,
        given_name=redact.text(path.parent.name) or "compose",
        compose=True,
        declared_in=source.declared_in,
    )
    for _, wrong in spec.mistakes(found):
        raise InputError(f"{source.command}: {wrong}")
    return found, port


def _readiness(ready: str | None, source: Source, *, chooses_port: bool) -> tuple[dict[str, object], int | None]:
    """(fields of `Ready`, port) of the readiness request; port None: capexplorer chooses it (`chooses_port`)."""
    if ready is None:
        if not chooses_port:
            ready_key = source.ready.rpartition(" ")[2]
            expected = f"expected {source.port} in {source.starts}, or {ready_key} URL with the port that it listens on"
            raise InputError(f"{source.command}: {expected}")
        return {"path": "/", "any_status": True}, None
    if ready == "tcp":
        ready = f"tcp://127.0.0.1:{PORT}"
    if ready.startswith("/"):
        ready = f"http://127.0.0.1:{PORT}{ready}"
    url = ready.replace(PORT, "1")
    if not is_url(url) or urlsplit(url).scheme not in ("http", "tcp") or not is_loopback(urlsplit(url).hostname or ""):
        raise InputError(f"{source.ready}: expected /PATH, http://127.0.0.1:{PORT}/PATH or tcp://127.0.0.1:{PORT}, got {ready!r}")
    if PORT in ready and not chooses_port:
        raise InputError(f"{source.ready}: {source.starts} has no {source.port}: write http://127.0.0.1:NUMBER/PATH")
    if PORT not in ready and chooses_port:
        raise InputError(f"{source.ready}: expected {PORT} for the port, since {source.starts} has {source.port}, got {ready!r}")
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return {"path": path, "tcp": parts.scheme == "tcp"}, None if chooses_port else parts.port or 80


def name_of(command: str) -> str:
    """The name of the target that a command of the command line starts. Raises InputError."""
    return _name(_words(command, command_source()))


def _words(command: str, source: Source) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"{source.command}: {str(error).lower()} in {shown(redact.text(command))}") from None
    if not words:
        raise InputError(f"{source.command}: expected a command, got an empty string")
    return words


def _name(words: list[str]) -> str:
    """Name of the program; of an interpreter, that of its script. Without secrets, since the log's name contains it."""
    program = Path(words[0]).name
    script = next((Path(word).name for word in words[1:] if not word.startswith("-")), None)
    return redact.text(script if script and _INTERPRETER.fullmatch(program) else program)


def watched_pid(asked: RunArguments) -> int | None:
    """The process that `--pid` or `--port-of` names; None where neither is given. Raises InputError."""
    pid, port = asked.pid, asked.port_of
    if pid is not None and port is not None:
        raise InputError("--pid: cannot be combined with --port-of: both name the process to watch")
    if pid is not None and not is_alive(pid):
        raise InputError(f"--pid: no process {pid} runs here")
    if port is not None and (pid := listening_pid(port)) is None:
        raise InputError(f"--port-of: no process listens on port {port} on this machine, or it belongs to another user")
    return pid


DEFAULT_PROFILE = "sleepers"
"""A sample that an installation without extras runs, of a capacity that is known."""
LOCUSTFILE = Path("locustfile.py")
"""The file that Locust reads if none is named."""


def with_service_and_users(asked: RunArguments) -> RunArguments:
    """The same run with what the command line names in short: `run URL` is `--host ORIGIN --request PATH`, and without a profile,
    requests or a locustfile, those of the working folder are offered. Raises InputError: a service without requests.
    """
    if asked.profile is not None and curl.is_curl(asked.profile):
        asked = replace(asked, profile=None, requests=(asked.profile, *asked.requests))
    elif asked.profile is not None and "://" in asked.profile:
        asked = _of_url(asked, asked.profile)
    elif asked.profile is not None and is_host_and_port(asked.profile.partition("/")[0]) and not os.path.exists(asked.profile):
        raise InputError(f"no profile `{asked.profile}`; the URL of a service is http://{asked.profile}")
    if asked.values and not asked.requests:
        raise InputError("--values: needs --request; a profile has [users.values]")
    if asked.requests:
        for option, value in (("a profile", asked.profile), ("-f", asked.locustfile)):
            if value is not None:
                raise InputError(f"--request: cannot be combined with {option}, whose users make the requests")
        return asked if asked.names_service else replace(asked, host=_origin(asked.requests))
    if asked.profile is not None or asked.locustfile is not None:
        return asked
    named = os.environ.get("LOCUST_LOCUSTFILE")
    return replace(asked, locustfile=Path(named)) if named else _offered(asked)


def _of_url(asked: RunArguments, given: str) -> RunArguments:
    """`given`: a URL in place of a profile's name. Beside `--request` it names the service alone."""
    if asked.names_service:
        raise InputError(f"{without_userinfo(given)}: cannot be combined with {asked.names_service}: both name the service")
    if not is_http_url(given):
        raise InputError(f"expected http://HOST[:PORT][/PATH] or https://..., got {shown(without_userinfo(given))}")
    parts = urlsplit(given)
    origin, path = f"{parts.scheme}://{parts.netloc}", given.partition("://")[2].removeprefix(parts.netloc).partition("#")[0]
    if path not in ("", "/") and asked.requests:
        raise InputError(f"{without_userinfo(given)}: expected a URL without a path beside --request: add --request {path}")
    return replace(asked, profile=None, host=origin, requests=asked.requests or (path if path[:1] == "/" else f"/{path}",))


def _origin(requests: tuple[str, ...]) -> str:
    """The service to which all these requests go. Raises InputError if they do not say."""
    origins = {found.origin for found in _read(requests)}
    if None in origins or len(origins) > 1:
        expected = "expected the service beside it: run URL, --target-cmd COMMAND, or requests with one whole URL"
        raise InputError(f"--request: {expected}")
    return str(origins.pop())


def _offered(asked: RunArguments) -> RunArguments:
    """With the locustfile or the only profile of the working folder, if the user wants it; without one, the sample's profile."""
    here: dict[str, RunArguments] = {}
    if LOCUSTFILE.is_file():
        here[f"-f {LOCUSTFILE}"] = replace(asked, locustfile=LOCUSTFILE)
    here |= {name: replace(asked, profile=name) for name in paths.own_profiles()}
    if not here and asked.names_service:
        wanted = 'which requests do users make? Add --request /PATH or --request "POST /PATH {...}", a profile, or -f LOCUSTFILE'
        raise InputError(f"{asked.names_service}: {wanted}")
    if not here:
        return replace(asked, profile=DEFAULT_PROFILE)
    first, *others = here
    question = f"this folder has {first.removeprefix('-f ')}: run it? y/n"
    if not others and os.isatty(0) and ask(question, "y").lower().startswith("y"):
        return here[first]
    sample = "" if asked.names_service else f"; the sample is `run {DEFAULT_PROFILE}`"
    raise InputError(f"expected what to run: this folder has {_listed(here)}{sample}")


def _listed(here: Mapping[str, RunArguments]) -> str:
    return ", ".join(f"`run {each}`" for each in here)


def profile_of(asked: RunArguments) -> tuple[str, Profile, str, dict[str, str]]:
    """(name, profile, file, variables), after `with_service_and_users`. `file`: what messages about the profile name as its
    source. `variables`: those that its tasks may name, with their values: the environment's, and secrets of `--request`."""
    variables = dict(os.environ)
    if asked.requests:
        return _service_name(asked), _of_requests(asked, variables), "--request", variables
    if asked.locustfile is not None and asked.profile is None:
        placeholder = Users(task=(Task(name="/"),))
        first, *_ = profile.locustfiles(asked.locustfile)
        title = f"locustfile {profile.names_of(asked.locustfile)}"
        return first.stem, Profile(title=title, users=placeholder), str(asked.locustfile), variables
    path = paths.profile(asked.profile or DEFAULT_PROFILE)
    return path.stem, profile.load(path), str(path), variables


def _service_name(asked: RunArguments) -> str:
    if asked.target_cmd is not None:
        return re.sub(r"\W+", "-", name_of(asked.target_cmd)).strip("-") or "command"
    if asked.compose is not None:
        return slug(asked.compose.resolve().parent.name)
    parts = urlsplit(asked.host or "")
    return slug(f"{parts.hostname}-{parts.port or parts.scheme}")


def _of_requests(asked: RunArguments, variables: dict[str, str]) -> Profile:
    """Users who make the requests of the command line. Their secrets are added to the variables, as those of a profile are, so
    that no log has them; not to the environment, which the target inherits.
    """
    secrets = request_tasks.Secrets(variables)
    tasks = tuple(request_tasks.task(found, secrets) for found in _read(asked.requests, asked.host))
    title = ", ".join(f"{task.method} {task.name}" for task in tasks)
    values = reading.values(asked.values, "--values")
    for name in sorted({name for task in tasks for name in task.placeholders} - set(values)):
        raise InputError(f"--request: {{{{{name}}}}} needs --values {name}=A,B,C or {name}=FILE.csv[:COLUMN]")
    found = Profile(title=title[:TITLE_MOST], users=Users(task=tasks, values=values, wait_s=Wait(between=THINK_TIME_S)))
    checked = convert(msgspec.to_builtins(found), Profile, "--request")
    profile.check(checked, "--request")
    return checked


def _read(requests: tuple[str, ...], host: str | None = None) -> Iterator[Request]:
    """The requests in their order; those to other services than `host` are refused."""
    for text in requests:
        described = reading.read(text, "--request", host)
        for each in described.left_out:
            click.echo(f"--request: left out: {each} (to have it, give it with its body)", err=True)
        for found in described.requests:
            if host is not None and found.origin is not None and not is_same_service(found.origin, host):
                raise InputError(
                    f"--request: {found.origin}{found.path} is not at {without_userinfo(host)}, the service of this run"
                )
            yield found
