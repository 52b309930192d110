"""Where users run: in this process, or in worker processes. The load host controls either through this protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..model.offered import Arrivals
from ..model.readings import GeneratorReading, WorkersReading
from .load_reports import Report
from .recorder import Recorder, Tick
from .user_code import UserErrors

if TYPE_CHECKING:
    from locust.env import Environment  # imports Locust, which patches the process

    from .offered.offering import Offering


@dataclass(frozen=True, slots=True)
class Drained:
    """What all users did since the last drain, and what ran them."""

    tick: Tick
    users: int
    """That run at its end."""
    is_whole: bool = True
    """Every worker has reported exactly this second. Others are in no level's figures."""
    began_s: float | None = None
    """`time.monotonic` from which on its requests were counted, the earliest of all workers; None: since the last drain."""
    duration_s: float | None = None
    """Seconds that were counted; None: since the last drain."""
    generator: GeneratorReading | None = None
    """Of the fullest worker; None: this process runs the users."""
    workers: WorkersReading | None = None


@dataclass(frozen=True, slots=True)
class EngineContext:
    """What the load host gives an engine."""

    recorder: Recorder
    errors: UserErrors
    on_spawned: Callable[[], None]
    """To be called in the load thread when all users of a step run, or when it is given up."""
    offering: Offering
    """Offers iterations to the users of this process."""
    report: Callable[[Report], None]
    """Takes reports that the engine makes by itself."""


class LoadEngine(Protocol):
    """Called in the load thread unless a method says otherwise."""

    @property
    def runner(self) -> Any:
        """Locust's runner, once it was created."""

    def create_runner(self, environment: Environment) -> None:
        """Make the runner of this environment."""

    def step(self, users: int, spawn_rate: float, classes: Any) -> None:
        """Begin to go to `users`, in place of a step that is under way. A rate that is offered ends."""

    def offer(self, offered_per_s: float, arrivals: Arrivals, max_users: int, *, at_once: bool) -> None:
        """Begin to offer iterations at this rate, with at most so many users. `at_once`: do not wait until more have started."""

    def begin_level(self, index: int) -> None:
        """Requests that are kept from now on are of this level."""

    @property
    def users(self) -> int:
        """Running now. From any thread."""

    @property
    def replaced(self) -> int:
        """Dead users replaced so far. From any thread."""

    def is_due(self, boundary_s: float) -> bool:
        """Whether all that is counted up to this moment (`time.monotonic`) can be drained. From any thread."""

    def drain(self, boundary_s: float) -> Drained:
        """What users did up to this moment since the last call. In the recorder's thread."""

    def drain_all(self) -> None:
        """The next drain is the last: it holds back nothing. In the recorder's thread."""


MakeEngine = Callable[[EngineContext], LoadEngine]
