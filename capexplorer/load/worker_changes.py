"""Reports of the load thread about workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Change = Literal["joined", "lost", "left"]


@dataclass(frozen=True, slots=True)
class WorkersChanged:
    """Another set of workers makes the load from now on."""

    change: Change
    name: str
    """Name of the worker that joined or left."""
    count: int
    """Number of workers now."""
    at_s: float
    """`time.monotonic`."""
    why: str = ""
    """Why the worker was lost; empty if it was not."""
    plain: bool = False
    """Whether it is a plain Locust worker."""
    token: str = ""
    """The worker's token, if this run started it."""


@dataclass(frozen=True, slots=True)
class WorkerRefused:
    """A worker that may not join."""

    host: str
    why: str


@dataclass(frozen=True, slots=True)
class UsersMovedToWorkers:
    """Workers run the users from now on; this process no longer does."""


@dataclass(frozen=True, slots=True)
class SecondReported:
    """A worker has reported a second: a tick may be complete."""
