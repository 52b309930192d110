"""The image, the Compose file and the profile of a trial; what is left of a project in docker."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capexplorer.target.compose.docker import ask, compose_command, of_project
from capexplorer.target.free_port import free_port
from lab.kit import programs

IMAGE = "capexplorer-trial"
PASSWORD = "correct-horse-battery"
OTHER_PROJECT = "trial-of-somebody-else"
"""A Compose project that a user started from the same file: no session may touch it."""

_HERE = Path(__file__).resolve().parent

_FILE = """\
services:
  web:
    image: {image}
    command: [serve, "127.0.0.1:${{CAPEXPLORER_PORT:-{own_port}}}", "http://127.0.0.1:${{STORE_PORT}}/"]
    network_mode: host
    depends_on:
      store: {{condition: service_started}}
    healthcheck:
      {{test: ["CMD", "/service", "check", "http://127.0.0.1:${{CAPEXPLORER_PORT:-{own_port}}}/"], interval: 1s, retries: 5}}
  store:
    image: {image}
    command: {command}
    network_mode: host
    environment: {{STORE_PASSWORD: {password}}}
    volumes: ["data:/data", "/anonymous"]
    healthcheck: {{test: ["CMD", "/service", "check", "http://127.0.0.1:{checked}/"], interval: 1s, retries: 3}}
volumes:
  data: {{}}
"""

_ON_A_BRIDGE = """\
version: "3.8"
services:
  web:
    image: {image}
    command: [serve, ":8000", "http://store:8000/"]
    ports: ["127.0.0.1:${{CAPEXPLORER_PORT}}:8000"]
    depends_on: [store]
  store:
    image: {image}
    command: [serve, ":8000"]
    environment: {{ROUNDS: 5000}}
    deploy: {{resources: {{limits: {{cpus: "0.3"}}}}}}
"""
"""Each answer of the store computes checksums of 5 MB, so that the 40 users of the row need more than 0.3 of a core."""

_PROFILE = """\
ready = "/"

[target]
compose = "compose.yaml"

[users]
wait_s = 0.1

[[users.task]]
name = "/"
"""


def why_not() -> str:
    """Why the trial cannot run here, with the missing package; empty if it can."""
    absent = programs.missing("docker", "go")
    if absent:
        return absent
    try:
        ask(["docker", "version", "--format", "{{.Server.Version}}"])
    except Exception as error:
        return f"docker's daemon does not answer: {error}"
    return "" if compose_command() else "not installed: docker compose (Debian: apt-get install docker-compose)"


@contextmanager
def image(folder: Path) -> Iterator[None]:
    """Build the program, without a libc, and import it as the only file of an image, which is removed at the end."""
    program, archive = folder / "service", folder / "image.tar"
    build = ["go", "build", "-ldflags=-s -w", "-o", str(program), str(_HERE / "service.go")]
    subprocess.run(build, env={**os.environ, "CGO_ENABLED": "0"}, check=True, timeout=300)
    with tarfile.open(archive, "w") as tar:
        tar.add(program, "service")
    ask(["docker", "import", "--change", 'ENTRYPOINT ["/service"]', str(archive), IMAGE], timeout_s=120)
    try:
        yield
    finally:
        ask(["docker", "rmi", "--force", IMAGE])


def write(folder: Path, *, store: str = "serves") -> dict[str, str]:
    """Write the Compose file and the profile. `store` ("serves", "exits" or "is unhealthy") is what that service does. Returns
    the environment variables that the file needs."""
    port = str(free_port())
    command = '[leave, "3"]' if store == "exits" else '[serve, "127.0.0.1:${STORE_PORT}"]'
    checked = "1" if store == "is unhealthy" else "${STORE_PORT}"
    text = _FILE.format(image=IMAGE, command=command, checked=checked, password=PASSWORD, own_port=free_port())
    (folder / "compose.yaml").write_text(text, encoding="utf-8")
    (folder / "shop.toml").write_text(_PROFILE, encoding="utf-8")
    return {"STORE_PORT": port}


def write_on_a_bridge(folder: Path) -> None:
    """Write a Compose file whose services have addresses of their own, with a published port, and one of which has a CPU quota;
    and the profile."""
    (folder / "compose.yaml").write_text(_ON_A_BRIDGE.format(image=IMAGE), encoding="utf-8")
    (folder / "shop.toml").write_text(_PROFILE, encoding="utf-8")


def has_bridge() -> bool:
    """Whether docker's daemon can give containers addresses of their own."""
    return "bridge" in ask(["docker", "network", "ls", "--format", "{{.Driver}}"]).split()


def left_of_sessions() -> list[str]:
    """Containers, volumes and networks of sessions of this trial that docker has."""
    names = ask(["docker", "ps", "-a", "--format", "{{.Names}}"]).split()
    names += ask(["docker", "volume", "ls", "--format", "{{.Name}}"]).split()
    names += ask(["docker", "network", "ls", "--format", "{{.Name}}"]).split()
    return [name for name in names if name.startswith("capexplorer-") or re.fullmatch(r"[0-9a-f]{64}", name)]


def remove_other_project(folder: Path, environment: dict[str, str]) -> None:
    """Remove the user's project, which no session may remove."""
    compose = compose_command() or ()
    with suppress(Exception):
        ask(
            [*compose, "-p", OTHER_PROJECT, "-f", str(folder / "compose.yaml"), "down", "--volumes", "--timeout", "1"],
            environment={**os.environ, **environment},
        )


def running_of(project: str) -> int:
    """Number of containers of a project that run."""
    return len(ask(["docker", "ps", "-q", *of_project(project)]).split())
