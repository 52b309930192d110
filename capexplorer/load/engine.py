"""Where users run: in this process, or in worker processes. The load thread controls either by `LoadEngine`, and reports to the
pump's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from ..model.experiments import Experiment
from ..model.load import Load, OfferedRate
from ..model.readings import GeneratorReading, WorkersReading
from .recorder import RecordedTick, Recorder
from .user_code import UserErrors

if TYPE_CHECKING:
    from locust.env import Environment  # imports Locust, which patches the process

    from .offering import Offering


# -- reports to the pump

Change = Literal["joined", "lost", "left"]


class WorkersChanged(msgspec.Struct, frozen=True):
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


class WorkerRefused(msgspec.Struct, frozen=True):
    """A worker that may not join."""

    host: str
    why: str


class UsersMovedToWorkers(msgspec.Struct, frozen=True):
    """Workers run the users from now on; this process no longer does."""


class SecondReported(msgspec.Struct, frozen=True):
    """A worker has reported a second: a tick may be complete."""


class Spawned(msgspec.Struct, frozen=True):
    """The requested users are running, or the schedule has the requested rate."""

    load: Load
    at_s: float
    """`time.monotonic`."""


class ShapeStep(msgspec.Struct, frozen=True):
    """A Locust shape changed the users."""

    users: int
    spawn_rate: float
    generation: int
    """The generation that `start_shape` was called with."""


class ShapeEnded(msgspec.Struct, frozen=True):
    """A Locust shape returned None."""

    generation: int


class RunnerEnded(msgspec.Struct, frozen=True):
    """The locustfile called `runner.stop()` or `runner.quit()`."""

    by: Literal["stop", "quit"]


Report = Spawned | ShapeStep | ShapeEnded | RunnerEnded | WorkersChanged | WorkerRefused | SecondReported | UsersMovedToWorkers


class Drained(msgspec.Struct, frozen=True):
    """What all users did since the last drain, with readings of the processes that ran them."""

    tick: RecordedTick
    is_whole: bool = True
    """Whether every worker has reported exactly this second. A second that is not whole counts in no level's figures."""
    generator: GeneratorReading | None = None
    """The busiest worker's; None: this process runs the users."""
    workers: WorkersReading | None = None


class EngineContext(msgspec.Struct, frozen=True):
    """What the load thread gives an engine."""

    recorder: Recorder
    errors: UserErrors
    on_spawned: Callable[[], None]
    """The engine calls this in the load thread when all users of a step run, or when the step is given up."""
    offering: Offering
    """Offers iterations to the users of this process."""
    report: Callable[[Report], None]
    """Takes reports that the engine makes by itself."""


class LoadEngine(Protocol):
    """Called in the load thread unless a method says otherwise."""

    @property
    def runner(self) -> Any:
        """Locust's runner, after `create_runner`."""

    def create_runner(self, environment: Environment) -> None:
        """Make the runner for this environment."""

    def step(self, users: int, spawn_rate: float, classes: Any) -> None:
        """Begin a step to `users`. It replaces a step that is under way, and an offered rate."""

    def offer(self, offered: OfferedRate) -> None:
        """Begin to offer iterations at this rate."""

    def begin_level(self, index: int, experiment: Experiment | None) -> None:
        """Label the requests that are kept from now on with this level, and let users do what its experiment changes."""

    @property
    def users(self) -> int:
        """Users running now. From any thread."""

    @property
    def replaced(self) -> int:
        """Dead users replaced so far. From any thread."""

    def is_due(self, boundary_s: float) -> bool:
        """Whether all requests up to this moment (`time.monotonic`) can be drained. From any thread."""

    def drain(self, boundary_s: float) -> Drained:
        """What users did up to this moment since the last call. In the pump's thread."""

    def drain_all(self) -> None:
        """Let the next drain, which is the last, return everything that waits. In the pump's thread."""


MakeEngine = Callable[[EngineContext], LoadEngine]
