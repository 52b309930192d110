"""Calls of docker and Compose: each returns the output, or raises an error with the line that describes what is wrong.

`docker compose` is preferred to `docker-compose`, whose version 1 is not maintained; only what both support is used.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...errors import InputError, TargetError

ASK_S = 20.0
"""Timeout of one call. A daemon on another machine may take seconds."""

_COMPOSE = (("docker", "compose"), ("docker-compose",))
_NO_ERROR = ("level=warning", "level=info")
"""Parts of lines that Compose logs beside its error."""


def ask(words: Sequence[str], *, timeout_s: float = ASK_S, environment: Mapping[str, str] | None = None) -> str:
    """The output of a command. Raises TargetError with its error in one line."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=environment,
            start_new_session=True,  # SIGTERM to the target's process group must not cut an answer short
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"`{' '.join(words[:2])}` did not answer within {timeout_s:g} s") from None
    except OSError as error:
        raise TargetError(f"cannot run {words[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise TargetError(error_in(done.stderr or done.stdout) or f"`{' '.join(words)}` ended with exit code {done.returncode}")
    return done.stdout


def error_in(text: str) -> str | None:
    """The last line that is neither empty nor a warning; None without one."""
    lines = (line.strip() for line in reversed(text.splitlines()))
    return next((line for line in lines if line and not any(mark in line for mark in _NO_ERROR)), None)


def compose_command() -> tuple[str, ...] | None:
    """The command of Compose; None if it is not installed."""
    for words in _COMPOSE:
        try:
            ask([*words, "version"])
        except TargetError:
            continue
        return words
    return None


def of_project(project: str) -> tuple[str, str]:
    """The filter that selects what belongs to a project."""
    return "--filter", f"label=com.docker.compose.project={project}"


# -- compose check -------------------------------------------------------------------------------------------------------------
# Checks what a run of containers needs: docker, Compose, a daemon that answers, and a valid file.


PORT = "CAPEXPLORER_PORT"
"""The variable with the port at which a Compose file publishes its service."""


def check(file: Path, key: str) -> None:
    """Raises InputError for what is missing: one line that begins with `key`."""
    if not file.is_file():
        raise InputError(f"{key}: no such file: {file}")
    if shutil.which("docker") is None:
        raise InputError(f"{key}: needs docker, which is not on PATH (Debian and Ubuntu: package docker.io)")
    compose = compose_command()
    if compose is None:
        raise InputError(
            f"{key}: needs Compose: neither `docker compose` (package docker-compose-plugin or docker-compose-v2) nor"
            " `docker-compose` is there"
        )
    try:
        ask(["docker", "version", "--format", "{{.Server.Version}}"])
    except TargetError as error:
        raise InputError(f"{key}: docker's daemon does not answer: {error}") from None
    try:
        services = services_of(compose, file)
    except TargetError as error:
        raise InputError(f"{key}: {file}: {error}") from None
    if not services:
        raise InputError(f"{key}: {file}: expected at least one service")


def services_of(compose: tuple[str, ...], file: Path) -> tuple[str, ...]:
    """The names of its services. Raises TargetError where the file is not valid."""
    environment = {**os.environ, PORT: os.environ.get(PORT, "8080")}
    return tuple(ask([*compose, "-f", str(file), "config", "--services"], environment=environment).split())


def uses_port(file: Path) -> bool:
    """Whether the file contains that variable."""
    try:
        return PORT in file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
