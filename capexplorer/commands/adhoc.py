"""Services without a target.toml: a command that starts a target (`--target-cmd`, or a profile's `command`), a Compose file
(`--compose`, or `[target] compose`), or a running process that is watched."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ..addresses import is_http_url, is_loopback
from ..errors import InputError
from ..model.param import Param
from ..probe.listener import listening_pid
from ..profile import READY_TIMEOUT_S
from ..session import redact
from ..target import spec
from ..target.alive import is_alive
from ..target.compose import docker as compose
from ..target.spec import ParamSpec, Ready, TargetSpec
from ..toml import convert, shown

PORT = "{port}"
COMPOSE_PORT = f"${{{compose.PORT}}}"
_COMPOSE_PROGRAM = ("{python}", "-P", "-m", "capexplorer.target.compose")
"""-P: no module in the Compose file's folder can shadow the library's."""

_READY_REQUEST_S = 5.0
"""Time for the readiness request after all services are ready."""

_INTERPRETER = re.compile(r"python[\d.]*|\{python\}|node|ruby|java|sh|bash")


@dataclass(frozen=True, slots=True)
class Source:
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


def on_command_line() -> Source:
    """`--target-cmd` and `--ready`, run in the working folder."""
    return Source("--target-cmd", "--ready", Path.cwd())


def in_profile(where: str) -> Source:
    """The keys of this profile, run in its folder."""
    return Source(
        f"{where}: command", f"{where}: ready", Path(where).parent.resolve(), declared_in=where, sets="params = {{ {} = VALUE }}"
    )


def compose_on_command_line() -> Source:
    """`--compose` and `--ready`."""
    return Source("--compose", "--ready", Path.cwd(), "the Compose file", "--compose", COMPOSE_PORT)


def compose_in_profile(where: str) -> Source:
    """The keys of this profile; its Compose file is relative to it."""
    folder = Path(where).parent.resolve()
    return Source(f"{where}: target.compose", f"{where}: ready", folder, "the Compose file", where, COMPOSE_PORT)


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
    source = source or on_command_line()
    words = _words(command, source)
    path, port = _readiness(ready, source, chooses_port=PORT in command)
    readiness = {"path": path, "timeout_s": timeout_s or READY_TIMEOUT_S, "any_status": ready is None}
    found = TargetSpec(
        title=command,
        command=tuple(words),
        ready=convert(readiness, Ready, source.ready),
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
    compose.check(path, source.command)
    path_asked, port = _readiness(ready, source, chooses_port=compose.uses_port(path))
    timeout_s = timeout_s or READY_TIMEOUT_S
    readiness = {"path": path_asked, "timeout_s": timeout_s + _READY_REQUEST_S, "any_status": ready is None}
    found = TargetSpec(
        title=file,
        command=(*_COMPOSE_PROGRAM, str(path), f"{timeout_s:g}", f"{{scratch}}/{spec.CONTAINERS_FILE}"),
        environment={compose.PORT: PORT},
        ready=convert(readiness, Ready, source.ready),
        folder=path.parent,
        given_name=redact.text(path.parent.name) or "compose",
        compose=True,
        declared_in=source.declared_in,
    )
    for _, wrong in spec.mistakes(found):
        raise InputError(f"{source.command}: {wrong}")
    return found, port


def _readiness(ready: str | None, source: Source, *, chooses_port: bool) -> tuple[str, int | None]:
    """(path, port) of the readiness request; port None: capexplorer chooses it (`chooses_port`)."""
    if ready is None:
        if not chooses_port:
            ready_key = source.ready.rpartition(" ")[2]
            expected = f"expected {source.port} in {source.starts}, or {ready_key} URL with the port that it listens on"
            raise InputError(f"{source.command}: {expected}")
        return "/", None
    if ready.startswith("/"):
        ready = f"http://127.0.0.1:{PORT}{ready}"
    url = ready.replace(PORT, "1")
    if not is_http_url(url) or urlsplit(url).scheme != "http" or not is_loopback(urlsplit(url).hostname or ""):
        raise InputError(f"{source.ready}: expected /PATH or http://127.0.0.1:{PORT}/PATH, got {ready!r}")
    if PORT in ready and not chooses_port:
        raise InputError(f"{source.ready}: {source.starts} has no {source.port}: write http://127.0.0.1:NUMBER/PATH")
    if PORT not in ready and chooses_port:
        raise InputError(f"{source.ready}: expected {PORT} for the port, since {source.starts} has {source.port}, got {ready!r}")
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return path, None if chooses_port else parts.port or 80


def name_of(command: str) -> str:
    """The name of the target that a command of the command line starts. Raises InputError."""
    return _name(_words(command, on_command_line()))


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


def watched_pid(pid: int | None, port: int | None) -> int | None:
    """The process that `--pid` or `--port-of` names; None where neither is given. Raises InputError."""
    if pid is not None and port is not None:
        raise InputError("--pid: cannot be combined with --port-of: both name the process to watch")
    if pid is not None and not is_alive(pid):
        raise InputError(f"--pid: no process {pid} runs here")
    if port is not None and (pid := listening_pid(port)) is None:
        raise InputError(f"--port-of: no process listens on port {port} on this machine, or it belongs to another user")
    return pid
