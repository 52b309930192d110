"""The job that a worker gets when it joins, which describes its users, and the checks of its version and its locustfile.

A locustfile is not sent: a worker runs only code of its own machine. Its digest is compared with that of the run's file.
"""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from ...errors import InputError
from ...profile import MAX_BODY_MB, Users
from ..variables import DrawnTogether

T = TypeVar("T")

VERSIONED = ("capexplorer", "locust")
"""Packages that must have the same version on both sides."""


HOST_MOST = 255
"""Characters of the name of a worker's machine, which events show."""


class WorkerHello(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker identifies itself."""

    versions: dict[str, str]
    host: Annotated[str, Meta(max_length=HOST_MOST)]
    pid: int
    cpus: int
    token: str = ""
    """The token of a worker that this run started itself; empty for others."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The users that a worker runs."""

    users: Users | None = None
    """The users of a profile; None: those of a locustfile."""
    values: tuple[DrawnTogether, ...] = ()
    """The values that the requests of a profile draw."""
    locustfile: str | None = None
    """The locustfile's path on the machine of the run."""
    digest: str | None = None
    """SHA-256 of the locustfile."""
    arguments: tuple[str, ...] = ()
    """Options and user classes for the locustfile."""
    url: str | None = None
    """The host for the users; None: they have their own."""
    max_body_mb: float = MAX_BODY_MB


def versions() -> dict[str, str]:
    """Versions of Python and of the packages in VERSIONED, in this process."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in VERSIONED}}


def digest_of(path: Path) -> str:
    """SHA-256 of a locustfile. Raises InputError."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def why_refused(hello: WorkerHello) -> str | None:
    """Why a worker of these versions may not join, in one line; None if it may."""
    own = versions()
    for name in VERSIONED:
        theirs = hello.versions.get(name, "none")
        if theirs != own[name]:
            return f"it has {name} {theirs}, the run has {own[name]}: install the same version on both"
    return None


def check_locustfile(job: Job, path: Path) -> None:
    """Raises InputError if the worker's locustfile differs from the run's."""
    found = digest_of(path)
    if found != job.digest:
        theirs = (job.digest or "")[:12]
        raise InputError(f"{path}: differs from the run's {job.locustfile} (SHA-256 {found[:12]}, not {theirs}): copy that file")


_encode = msgspec.msgpack.Encoder().encode


def encode(value: WorkerHello | Job) -> bytes:
    """The bytes of a message."""
    return _encode(value)


def decode(found: object, kind: type[T]) -> T:
    """The value of a message's bytes. Raises InputError for anything that `encode` does not write."""
    try:
        return msgspec.msgpack.decode(found if isinstance(found, bytes) else b"", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"a message that is not of this version of capexplorer: {error}") from None
