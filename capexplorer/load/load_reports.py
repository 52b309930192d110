"""Reports of the load thread to the pump's thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..model.load import Load

# -- worker changes ------------------------------------------------------------------------------------------------------------
# Reports of the load thread about workers.


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


@dataclass(frozen=True, slots=True)
class Spawned:
    """The requested users are running, or the schedule has the requested rate."""

    load: Load
    at_s: float
    """`time.monotonic`."""


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
