"""What the load thread reports of workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Change = Literal["joined", "lost", "left"]


@dataclass(frozen=True, slots=True)
class WorkersChanged:
    """Another set of workers makes the load from now on."""

    change: Change
    name: str
    """Of the worker that joined, or is gone."""
    count: int
    """Workers that there are now."""
    at_s: float
    """`time.monotonic`."""
    why: str = ""
    """Of one that was lost."""
    plain: bool = False
    """A plain Locust worker."""
    token: str = ""
    """Of a worker that this run started."""


@dataclass(frozen=True, slots=True)
class WorkerRefused:
    """A worker that may not join."""

    host: str
    why: str


@dataclass(frozen=True, slots=True)
class TookOver:
    """Workers run the users from now on, in place of this process."""


@dataclass(frozen=True, slots=True)
class SecondReported:
    """A worker has reported a second: a tick may be complete."""
