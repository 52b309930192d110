"""The file in which `containers_process` lists the containers for the app, once all are ready."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from .containers import Container


class ReportedContainer(msgspec.Struct, frozen=True):
    """One container that runs."""

    service: str
    name: str
    is_here: bool
    """Whether its processes are in this machine's /proc."""


def write(containers: Sequence[Container], path: Path) -> None:
    """Write all containers that run. The file is replaced in one step: it is never read half-written."""
    found = [ReportedContainer(each.service, each.name, _is_here(each)) for each in containers if not each.has_ended]
    new = path.with_suffix(".new")
    new.write_bytes(msgspec.json.encode(found))
    new.replace(path)


def read(path: Path) -> list[ReportedContainer]:
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
