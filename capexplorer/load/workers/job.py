"""What a worker gets when it joins (what its users do), and the checks before it may join: version and locustfile.

A locustfile is not sent: a worker runs only code that lies on its own machine. Both sides compare its digest.
"""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata
from pathlib import Path
from typing import TypeVar

import msgspec

from ...errors import InputError
from ...profile import MAX_BODY_MB, Users

T = TypeVar("T")

VERSIONED = ("capexplorer", "locust")
"""Software of which both sides need the same version."""


class WorkerHello(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says of itself."""

    versions: dict[str, str]
    host: str
    pid: int
    cpus: int
    token: str = ""
    """Of a worker that this run started itself."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What its users do."""

    users: Users | None = None
    """Of a profile; None: a locustfile's."""
    locustfile: str | None = None
    """Path on the machine of the run."""
    digest: str | None = None
    """SHA-256 of the locustfile."""
    url: str | None = None
    """Host of the users; None: their own."""
    max_body_mb: float = MAX_BODY_MB


def versions() -> dict[str, str]:
    """Of this process."""
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
    """Raises InputError where the worker's locustfile is another one than the run's."""
    found = digest_of(path)
    if found != job.digest:
        theirs = (job.digest or "")[:12]
        raise InputError(f"{path}: differs from the run's {job.locustfile} (SHA-256 {found[:12]}, not {theirs}): copy that file")


_encode = msgspec.msgpack.Encoder().encode


def encode(value: WorkerHello | Job) -> bytes:
    """For a message."""
    return _encode(value)


def decode(found: object, kind: type[T]) -> T:
    """Of a message. Raises InputError for anything that `encode` does not write."""
    try:
        return msgspec.msgpack.decode(found if isinstance(found, bytes) else b"", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"a message that is not of this version of capexplorer: {error}") from None
