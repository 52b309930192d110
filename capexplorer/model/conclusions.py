"""What a session concludes about the service: clauses in their order, typed. `analysis` selects them, `wording` says them.

Never written to a log: a conclusion follows from the marks and verdicts that the log holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from .events import Mark
from .grades import Severity
from .level import Level
from .verdicts import CapacityVerdict, EndpointDeparture, KneeVerdict, RegimeVerdict


@dataclass(frozen=True, slots=True)
class RunSpoiled:
    """Generator, host or network failed: nothing is said about the service beyond the levels without such failures."""

    cause: Mark
    clean_users: float | None
    """The most users of a level without such a cause; None without one."""
    knee: KneeVerdict | None
    """Of the service, found at clean levels."""


@dataclass(frozen=True, slots=True)
class KneeFound:
    """A knee, or that it is at or below the lowest level."""

    capacity: CapacityVerdict
    blamed: tuple[Mark, ...]
    """What limits the service there: bottlenecks, or the cause of its errors."""


@dataclass(frozen=True, slots=True)
class EndpointLeaves:
    """One endpoint leaves the low-load line first, while the others stay."""

    first: EndpointDeparture


@dataclass(frozen=True, slots=True)
class TargetDied:
    """The target's process ended by itself or was killed."""

    mark: Mark


@dataclass(frozen=True, slots=True)
class RequestsFailed:
    """A cause of failed requests."""

    mark: Mark
    share_ratio: float | None
    """Of all requests since the cause began; None if it counts no failed requests."""
    at_every_load: bool
    """Failures do not depend on load."""
    is_capacity: bool
    """The service refuses what exceeds its capacity."""


@dataclass(frozen=True, slots=True)
class ServiceLimited:
    """Bottlenecks that limit the service, the surest first, at most two."""

    marks: tuple[Mark, ...]
    users: float
    """The most at which one of them was seen; 0: unknown."""


@dataclass(frozen=True, slots=True)
class WaitsLimit:
    """The users' waits limit the throughput, not the service."""

    mark: Mark
    wait_s: float | None
    throughput_rps: float | None


@dataclass(frozen=True, slots=True)
class Leaking:
    """Memory or file descriptors grow; `mark` holds a Leak."""

    mark: Mark


@dataclass(frozen=True, slots=True)
class NoKneeUpTo:
    """The curve shows no knee up to its most users, or a bend."""

    knee: KneeVerdict


@dataclass(frozen=True, slots=True)
class NoKneeYet:
    """The curve allows no verdict yet."""


@dataclass(frozen=True, slots=True)
class CurveAlone:
    """The detector's verdict, where no mark says more."""

    capacity: CapacityVerdict


@dataclass(frozen=True, slots=True)
class NotJudged:
    """What was measured, where no detector ran."""

    settled: int
    """Levels."""
    best: Level | None
    """That of the greatest goodput; None if no level settled."""


@dataclass(frozen=True, slots=True)
class ServiceChanged:
    """The service changed in time, not with load."""

    regimes: tuple[RegimeVerdict, ...]
    """All of the epoch's; at least one began with a change."""


@dataclass(frozen=True, slots=True)
class UsersTooNew:
    """There is no curve, because of the levels that the next clauses name."""


@dataclass(frozen=True, slots=True)
class PartlyCounted:
    """Settled levels whose figures count only a part of their requests: the users were still in their first task."""

    users: tuple[int, ...]
    """Of each level."""
    counted_ratios: tuple[float, ...]
    """Of each level: share of its requests."""


@dataclass(frozen=True, slots=True)
class UsersNotWarm:
    """Levels that ended before they settled because too few of their users were warm."""

    users: tuple[int, ...]
    """Of each level."""
    warm_ratios: tuple[float, ...]
    """Of each level: share of its users."""


@dataclass(frozen=True, slots=True)
class HoldLevels:
    """What would let such levels settle: more time."""


@dataclass(frozen=True, slots=True)
class MachineShared:
    """The generator had a large part of a full machine."""

    users: float | None
    share_ratio: float


@dataclass(frozen=True, slots=True)
class CpuHeld:
    """Other processes held CPU that service or generator needed."""

    others_cpu_ratio: float
    """Cores that they used in the level where they used most."""
    cores: int | None
    """Of the machine."""
    names: tuple[str, ...]
    """Those that used most; empty where they cannot be seen."""
    left_out_users: tuple[float, ...]
    """User counts of the levels that therefore show nothing about the service, ascending."""


Clause = (
    RunSpoiled
    | KneeFound
    | EndpointLeaves
    | TargetDied
    | RequestsFailed
    | ServiceLimited
    | WaitsLimit
    | Leaking
    | NoKneeUpTo
    | NoKneeYet
    | CurveAlone
    | NotJudged
    | ServiceChanged
    | UsersTooNew
    | PartlyCounted
    | UsersNotWarm
    | HoldLevels
    | MachineShared
    | CpuHeld
)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One epoch's. The first clause decides the severity; the others stand beside it."""

    clauses: tuple[Clause, ...]
    severity: Severity = "info"
    marked: bool = False
    """Whether it names a cause, a bottleneck or a leak, not the curve alone."""

    @property
    def spoiled(self) -> bool:
        """Whether generator, host or network failed."""
        return isinstance(self.clauses[0], RunSpoiled)
