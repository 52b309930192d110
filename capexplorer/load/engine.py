"""Where users run: in this process, or in worker processes. The load thread controls either through this protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..model.load import OfferedRate
from ..model.readings import GeneratorReading, WorkersReading
from .load_reports import Report
from .recorder import RecordedTick, Recorder
from .user_code import UserErrors

if TYPE_CHECKING:
    from locust.env import Environment  # imports Locust, which patches the process

    from .offered.offering import Offering


@dataclass(frozen=True, slots=True)
class Drained:
    """What all users did since the last drain, with readings of the processes that ran them."""

    tick: RecordedTick
    is_whole: bool = True
    """Whether every worker has reported exactly this second. A second that is not whole counts in no level's figures."""
    generator: GeneratorReading | None = None
    """The busiest worker's; None: this process runs the users."""
    workers: WorkersReading | None = None


@dataclass(frozen=True, slots=True)
class EngineContext:
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

    def begin_level(self, index: int) -> None:
        """Label the requests that are kept from now on with this level."""

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
