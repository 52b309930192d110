"""Containers of a Compose file: docker is asked, and what it answers is ready, not yet, or failed.

Each call returns the output, or raises an error with the line that says what is wrong. `docker compose` is preferred to
`docker-compose`, whose version 1 is not maintained; only what both support is used.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..errors import InputError, TargetError

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


PORT = "CAPEXPLORER_PORT"
"""The variable with the port at which a Compose file publishes its service."""


def check_compose(file: Path, key: str) -> None:
    """Raises InputError for what is missing of docker, Compose, a daemon that answers and a valid file: one line that begins with
    `key`."""
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


# -- containers as `docker inspect` describes them -----------------------------------------------------------------------------


_LABEL = "com.docker.compose."
_SECRET = re.compile(r"PASS|PWD|SECRET|TOKEN|KEY|CREDENTIAL|AUTH", re.IGNORECASE)
_SECRET_CHARACTERS_LEAST = 4
"""Shorter values are not masked: they occur in too many lines by chance."""


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """One container of a service."""

    id: str
    name: str
    service: str
    number: int = 1
    """Among the containers of its service, from 1."""
    pid: int = 0
    """Of its first process, on the machine of the daemon; 0: it does not run."""
    status: str
    """created, running, restarting, exited, dead, ..."""
    health: str | None = None
    """starting, healthy or unhealthy; None: it has no health check."""
    health_output: str = ""
    """What the latest check printed."""
    exit_code: int = 0
    was_out_of_memory: bool = False
    secrets: frozenset[str] = frozenset()
    """Values of its environment variables whose names suggest passwords or tokens."""

    @property
    def is_well(self) -> bool:
        """Whether it runs, and is healthy by its check, if it has one."""
        return self.status == "running" and self.health in (None, "healthy")

    @property
    def has_ended(self) -> bool:
        """Whether it ended and docker does not start it again."""
        return self.status in ("exited", "dead")

    def how_it_ended(self) -> str:
        """`exited with code 137, out of memory`."""
        return f"exited with code {self.exit_code}" + ", out of memory" * self.was_out_of_memory

    def state_in_words(self) -> str:
        """What is wrong with it, or what it waits for."""
        if self.has_ended:
            return self.how_it_ended()
        if self.health == "unhealthy":
            checked = " ".join(self.health_output.split())[:200]
            return "unhealthy" + (f": {checked}" if checked else "")
        if self.status == "restarting":
            return f"restarting, {self.how_it_ended()}"
        return f"health check {self.health}" if self.status == "running" else self.status


class Readiness(msgspec.Struct, frozen=True):
    """What is known of a project that starts."""

    state: Literal["ready", "waiting", "failed"]
    why: str = ""
    """In words; empty when ready."""
    container: Container | None = None
    """The one that failed."""


def described(inspected: Iterable[dict[str, Any]]) -> tuple[Container, ...]:
    """The containers in an answer of `docker inspect`, by service and number; those that Compose did not create are left out."""
    found = [_container(each) for each in inspected if _LABEL + "service" in (each["Config"].get("Labels") or {})]
    return tuple(sorted(found, key=lambda each: (each.service, each.number)))


def _container(each: dict[str, Any]) -> Container:
    state, labels = each["State"], each["Config"]["Labels"]
    health = state.get("Health") or {}
    checks = health.get("Log") or []
    number = labels.get(_LABEL + "container-number", "1")
    return Container(
        id=each["Id"],
        name=each["Name"].lstrip("/"),
        service=labels[_LABEL + "service"],
        number=int(number) if number.isdecimal() else 1,
        pid=state.get("Pid", 0),
        status=state["Status"],
        health=health.get("Status") if health.get("Status") not in (None, "none") else None,
        health_output=checks[-1].get("Output", "") if checks else "",
        exit_code=state.get("ExitCode", 0),
        was_out_of_memory=state.get("OOMKilled", False),
        secrets=secrets_in(each["Config"].get("Env") or ()),
    )


def secrets_in(environment: Iterable[str]) -> frozenset[str]:
    """Values of `NAME=value` whose names suggest passwords or tokens."""
    pairs = (each.partition("=") for each in environment)
    return frozenset(value for name, _, value in pairs if len(value) >= _SECRET_CHARACTERS_LEAST and _SECRET.search(name))


def masked(line: str, secrets: Iterable[str]) -> str:
    """A line with `***` in place of these values."""
    for secret in sorted(secrets, key=len, reverse=True):
        line = line.replace(secret, "***")
    return line


def start_readiness(containers: Sequence[Container], services: Collection[str]) -> Readiness:
    """While they start. A container that ended with code 0 has done its work, such as a migration; at least one must run."""
    for each in containers:
        if (each.has_ended and each.exit_code != 0) or each.health == "unhealthy":
            return Readiness("failed", f"{each.service}: {each.state_in_words()}", each)
    missing = sorted(set(services) - {each.service for each in containers})
    waiting = [f"{each.service} ({each.state_in_words()})" for each in containers if not each.is_well and not each.has_ended]
    waiting += [f"{service} (not created)" for service in missing]
    if waiting:
        return Readiness("waiting", ", ".join(waiting))
    if not any(each.is_well for each in containers):
        return Readiness("failed", "all services have ended")
    return Readiness("ready")


def run_readiness(containers: Sequence[Container], began: Sequence[Container]) -> Readiness:
    """After they were ready. `began`: the containers as they were then. A health check that fails under load is no failure."""
    there = {each.id: each for each in containers}
    for before in began:
        if before.has_ended:
            continue
        now = there.get(before.id)
        if now is None:
            return Readiness("failed", f"{before.service}: its container was removed")
        if now.has_ended:
            return Readiness("failed", f"{now.service}: {now.how_it_ended()}", now)
    return Readiness("ready")


def changes(before: Sequence[Container], now: Sequence[Container]) -> list[str]:
    """Changes of a running project to be logged: health that changed, containers that docker restarted."""
    was = {each.id: each for each in before}
    return [
        f"{each.service}: {'healthy again' if each.is_well else each.state_in_words()}"
        for each in now
        if each.id in was and not each.has_ended and (each.health, each.status) != (was[each.id].health, was[each.id].status)
    ]


# -- the file in which `containers_process` lists them for the app, once all are ready -----------------------------------------


class ReportedContainer(msgspec.Struct, frozen=True):
    """One container that runs."""

    service: str
    name: str
    is_here: bool
    """Whether its processes are in this machine's /proc."""


def write_containers(containers: Sequence[Container], path: Path) -> None:
    """Write all containers that run. The file is replaced in one step: it is never read half-written."""
    found = [ReportedContainer(each.service, each.name, _is_here(each)) for each in containers if not each.has_ended]
    new = path.with_suffix(".new")
    new.write_bytes(msgspec.json.encode(found))
    new.replace(path)


def read_containers(path: Path) -> list[ReportedContainer]:
    """The containers that `write` wrote. Raises OSError."""
    return msgspec.json.decode(path.read_bytes(), type=list[ReportedContainer])


def _is_here(container: Container) -> bool:
    """False if the daemon is on another machine, or in a virtual one: then its process id is another process's here, or
    unused."""
    if sys.platform != "linux" or not container.pid:
        return False
    try:
        return container.id in Path(f"/proc/{container.pid}/cgroup").read_text(encoding="ascii")
    except OSError:
        return False
