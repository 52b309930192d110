"""Checks what a run of containers needs: docker, Compose, a daemon that answers, and a valid file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ...errors import InputError, TargetError
from .docker import ask, compose_command

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
