"""Services without a target.toml: a command that starts a target (`--target-cmd`, or a profile's `command`), a Compose file
(`--compose`, or `[target] compose`), or a running process that is watched."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ..addresses import is_http_url, is_loopback
from ..errors import InputError
from ..probe.listener import listening_pid
from ..profile import READY_TIMEOUT_S
from ..session import redact
from ..target import spec
from ..target.alive import is_alive
from ..target.compose import compose_check as compose
from ..target.spec import Ready, TargetSpec
from ..toml import convert, shown

PORT = "{port}"
COMPOSE_PORT = f"${{{compose.PORT}}}"
_COMPOSE_PROGRAM = ("{python}", "-I", "-m", "capexplorer.target.compose")
"""Isolated: no module in the Compose file's folder can shadow the library's."""

_HTTP_S = 5.0
"""After all services are well, for the readiness request."""

_INTERPRETER = re.compile(r"python[\d.]*|\{python\}|node|ruby|java|sh|bash")


@dataclass(frozen=True, slots=True)
class Asked:
    """Where a command and its readiness request were given: their names in messages, and the folder in which the command runs."""

    command: str
    ready: str
    folder: Path
    starts: str = "the command"
    port: str = "{port}"
    """How `starts` names the port that is chosen for it."""


def on_command_line() -> Asked:
    """`--target-cmd` and `--ready`, run in the working folder."""
    return Asked("--target-cmd", "--ready", Path.cwd())


def in_profile(where: str) -> Asked:
    """The keys of this profile, run in its folder."""
    return Asked(f"{where}: command", f"{where}: ready", Path(where).parent.resolve())


def compose_on_command_line() -> Asked:
    """`--compose` and `--ready`."""
    return Asked("--compose", "--ready", Path.cwd(), "the Compose file", COMPOSE_PORT)


def compose_in_profile(where: str) -> Asked:
    """The keys of this profile; its Compose file is relative to it."""
    return Asked(f"{where}: target.compose", f"{where}: ready", Path(where).parent.resolve(), "the Compose file", COMPOSE_PORT)


def target_of(
    command: str, ready: str | None, timeout_s: float | None = None, asked: Asked | None = None
) -> tuple[TargetSpec, int | None]:
    """(target, its port; None: one is chosen) of a command, its readiness request and its timeout. Raises InputError."""
    asked = asked or on_command_line()
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"{asked.command}: {str(error).lower()} in {shown(redact.text(command))}") from None
    if not words:
        raise InputError(f"{asked.command}: expected a command, got an empty string")
    path, port = _readiness(ready, asked, chosen=PORT in command)
    readiness = {"path": path, "timeout_s": timeout_s or READY_TIMEOUT_S, "any_status": ready is None}
    found = TargetSpec(
        title=command,
        command=tuple(words),
        ready=convert(readiness, Ready, asked.ready),
        folder=asked.folder,
        given_name=redact.text(_name(words)),  # the log's file is named by it
    )
    for _, wrong in spec.mistakes(found):
        raise InputError(f"{asked.command}: {wrong}")
    return found, port


def composed(file: str, ready: str | None, timeout_s: float | None, asked: Asked) -> tuple[TargetSpec, int | None]:
    """(target, its port; None: one is chosen) of a Compose file. Raises InputError where it, Compose or docker cannot be used."""
    path = (asked.folder / file).resolve()
    compose.check(path, asked.command)
    path_asked, port = _readiness(ready, asked, chosen=compose.uses_port(path))
    timeout_s = timeout_s or READY_TIMEOUT_S
    readiness = {"path": path_asked, "timeout_s": timeout_s + _HTTP_S, "any_status": ready is None}
    found = TargetSpec(
        title=file,
        command=(*_COMPOSE_PROGRAM, str(path), f"{timeout_s:g}", f"{{scratch}}/{spec.CONTAINERS_FILE}"),
        environment={compose.PORT: PORT},
        ready=convert(readiness, Ready, asked.ready),
        folder=path.parent,
        given_name=redact.text(path.parent.name) or "compose",
        compose=True,
    )
    for _, wrong in spec.mistakes(found):
        raise InputError(f"{asked.command}: {wrong}")
    return found, port


def _readiness(ready: str | None, asked: Asked, *, chosen: bool) -> tuple[str, int | None]:
    """(path, port) of the readiness request."""
    if ready is None:
        if not chosen:
            ready_key = asked.ready.rpartition(" ")[2]
            raise InputError(
                f"{asked.command}: expected {asked.port} in {asked.starts}, or {ready_key} URL with the port that it listens on"
            )
        return "/", None
    if ready.startswith("/"):
        ready = f"http://127.0.0.1:{PORT}{ready}"
    url = ready.replace(PORT, "1")
    if not is_http_url(url) or urlsplit(url).scheme != "http" or not is_loopback(urlsplit(url).hostname or ""):
        raise InputError(f"{asked.ready}: expected /PATH or http://127.0.0.1:{PORT}/PATH, got {ready!r}")
    if PORT in ready and not chosen:
        raise InputError(f"{asked.ready}: {asked.starts} has no {asked.port}: write http://127.0.0.1:NUMBER/PATH")
    if PORT not in ready and chosen:
        raise InputError(f"{asked.ready}: expected {PORT} for the port, since {asked.starts} has {asked.port}, got {ready!r}")
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return path, None if chosen else parts.port or 80


def _name(words: list[str]) -> str:
    """Name of the program; of an interpreter, the name of the script that it runs."""
    program = Path(words[0]).name
    script = next((Path(word).name for word in words[1:] if not word.startswith("-")), None)
    return script if script and _INTERPRETER.fullmatch(program) else program


def watched_pid(pid: int | None, port: int | None) -> int | None:
    """The process that `--pid` or `--port-of` names; None where neither is given. Raises InputError."""
    if pid is not None and port is not None:
        raise InputError("--pid: cannot be combined with --port-of: both name the process to watch")
    if pid is not None and not is_alive(pid):
        raise InputError(f"--pid: no process {pid} runs here")
    if port is not None and (pid := listening_pid(port)) is None:
        raise InputError(f"--port-of: no process listens on port {port} on this machine, or it belongs to another user")
    return pid
