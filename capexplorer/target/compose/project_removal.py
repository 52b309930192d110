"""Removes what a project left: its containers with their anonymous volumes, its networks, volumes and built images.

They are selected by label, not by the Compose file. So nothing of other projects is removed (`compose down --volumes` removes a
volume with a fixed `name:` even if it belongs to another project), and the next session finds what a killed one left.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
from contextlib import suppress
from pathlib import Path

from ...errors import TargetError
from ..alive import is_alive
from .docker import ask, of_project

_KINDS = (
    (("docker", "ps", "-aq"), ("docker", "rm", "--force", "--volumes")),
    (("docker", "network", "ls", "-q"), ("docker", "network", "rm")),
    (("docker", "volume", "ls", "-q"), ("docker", "volume", "rm", "--force")),
    (("docker", "images", "-q"), ("docker", "rmi", "--force")),
)
"""(list, remove), in the order in which they can be removed."""


def project_of(pid: int) -> str:
    """The project's name of the session whose supervisor is `pid`; it is unique."""
    return f"capexplorer-{_machine()}-{pid}"


def _machine() -> str:
    """An id of this boot and process-id namespace: other machines, and containers, may use the same daemon."""
    boot, namespace = socket.gethostname(), 0
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = os.stat("/proc/self/ns/pid").st_ino
    return hashlib.sha256(f"{boot} {namespace}".encode()).hexdigest()[:8]


def remove(project: str) -> list[str]:
    """Remove a project. Returns a line for each kind of thing that could not be removed."""
    errors = []
    for listed, removed in _KINDS:
        try:
            found = set(ask([*listed, *of_project(project)]).split())
            if found:
                ask([*removed, *sorted(found)])
        except TargetError as error:
            errors.append(f"{' '.join(removed[:2])}: {error}")
    return errors


def remove_left_behind() -> None:
    """Remove the projects of this machine's sessions that have ended: all processes of such a session were killed."""
    label = "com.docker.compose.project"
    with suppress(TargetError):
        there = ask(["docker", "ps", "-a", "--filter", f"label={label}", "--format", f'{{{{.Label "{label}"}}}}'])
        for project in set(there.split()):
            if left_behind(project):
                remove(project)


def left_behind(project: str) -> bool:
    """Whether a project is that of a session of this machine which has ended."""
    found = re.fullmatch(rf"capexplorer-{_machine()}-(\d+)", project)
    return found is not None and not is_alive(int(found[1]))
