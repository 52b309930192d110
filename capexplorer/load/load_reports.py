"""Reports of the load thread to the recorder's thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .worker_changes import SecondReported, UsersMovedToWorkers, WorkerRefused, WorkersChanged


@dataclass(frozen=True, slots=True)
class Spawned:
    """The wanted users are running, or the schedule has the wanted rate."""

    users: int
    at_s: float
    """`time.monotonic`."""
    offered_per_s: float | None = None
    """The schedule's rate; `users` are then those of its pool. None: users were set."""


@dataclass(frozen=True, slots=True)
class ShapeStep:
    """A Locust shape changed the users."""

    users: int
    spawn_rate: float
    generation: int
    """The generation that `start_shape` was called with."""


@dataclass(frozen=True, slots=True)
class ShapeEnded:
    """A Locust shape returned None."""

    generation: int


@dataclass(frozen=True, slots=True)
class RunnerEnded:
    """The locustfile called `runner.stop()` or `runner.quit()`."""

    by: Literal["stop", "quit"]


Report = Spawned | ShapeStep | ShapeEnded | RunnerEnded | WorkersChanged | WorkerRefused | SecondReported | UsersMovedToWorkers
