"""The conclusion of a session about the service: typed clauses in order. `analysis` selects them, `wording` has their sentences.

A conclusion is not written to the log, since it follows from the marks and verdicts there.
"""

from __future__ import annotations

from enum import Enum, auto

import msgspec

from .events import Mark
from .experiments import Explanation, LimitCause
from .level import Level
from .load import Load
from .recommended import OperatingLoad
from .stacks import FunctionBlamed
from .verdicts import CapacityVerdict, EndpointDegradation, KneeVerdict, RateVerdict, RegimeVerdict, Severity
from .watched import ServerKind


class RunInvalid(msgspec.Struct, frozen=True):
    """The generator, its host or the network failed: only levels without such failures describe the service."""

    cause: Mark
    clean_users: float | None
    """Highest user count of a level without such a cause; None if there is no such level."""
    knee: KneeVerdict | None
    """The service's knee, found in levels without such a cause."""
    clean_per_s: float | None = None
    """Highest offered rate that was served in full without such a cause."""


class CapacityFound(msgspec.Struct, frozen=True):
    """The verdict on a capacity curve, of users or of offered rates."""

    found: CapacityVerdict | RateVerdict
    blamed: tuple[Mark, ...] = ()
    """What limits the service at its capacity: bottlenecks, or the cause of its errors."""
    confirmed: LimitCause | None = None
    """The cause that experiments at the knee have confirmed; then it is named in place of `blamed`."""
    function: FunctionBlamed | None = None
    """Where in its code, by sampled stacks."""
    operating: OperatingLoad | None = None
    """The load to stay at."""

    @property
    def knee(self) -> KneeVerdict | None:
        """The knee, or a knee at or below the lowest level; None without one, and for rates."""
        knee = self.found.knee if isinstance(self.found, CapacityVerdict) else None
        return knee if knee is not None and knee.kind in ("knee", "at_or_below") else None

    @property
    def is_limit(self) -> bool:
        """Whether a limit of load was found."""
        rates = self.found.capacity if isinstance(self.found, RateVerdict) else None
        return self.knee is not None or (rates is not None and rates.kind in ("capacity", "at_or_below"))


class TargetDied(msgspec.Struct, frozen=True):
    """The target's process ended by itself or was killed."""

    mark: Mark


class RequestsFailed(msgspec.Struct, frozen=True):
    """A cause of failed requests."""

    mark: Mark
    share_ratio: float | None
    """Failed requests divided by all requests since the start of the level in which the cause began; None if the cause counts no
    failed requests."""
    at_every_load: bool
    """Whether requests failed at every level, in about the same share."""
    is_capacity: bool
    """Whether the service refuses requests beyond its capacity."""


class ServiceLimited(msgspec.Struct, frozen=True):
    """Bottlenecks that limit the service, at most two, those with the highest confidence first."""

    marks: tuple[Mark, ...]
    users: float
    """Highest user count at which one of them was observed; 0: unknown."""
    offered_per_s: float | None = None
    """Highest offered rate at which one of them was observed; None: none at a level of rates."""


class ThinkTimeLimit(msgspec.Struct, frozen=True):
    """The users' think time sets the throughput; the service is not saturated."""

    mark: Mark
    wait_s: float | None
    throughput_rps: float | None


class Leaking(msgspec.Struct, frozen=True):
    """Memory or file descriptors grow; the finding of `mark` is a Leak."""

    mark: Mark


class NotJudged(msgspec.Struct, frozen=True):
    """What was measured, if no detector ran."""

    settled: int
    """Number of settled levels."""
    best: Level | None
    """The level with the highest goodput; None if no level settled."""


class ServiceChanged(msgspec.Struct, frozen=True):
    """The service changed at some time, independently of load."""

    regimes: tuple[RegimeVerdict, ...]
    """All regimes of the epoch; at least one began with a change."""
    named: tuple[RegimeVerdict, ...] = ()
    """Those that began with the failures of a cause that an earlier clause names with its time."""


class ShortStall(msgspec.Struct, frozen=True):
    """The service sent no reply for some seconds inside a level, and went on as before."""

    at_s: float
    """Start of the longest such time, in seconds of the session."""
    seconds: int
    """Its length."""
    times: int
    """How often it happened."""
    load: Load
    """That of the level."""


class RepliesDiffer(msgspec.Struct, frozen=True):
    """Replies that count as successes are of another kind than at low load, and may be errors."""

    mark: Mark


class UsersPoll(msgspec.Struct, frozen=True):
    """A task takes longer with load by more requests, each as quick as before: its users ask until a result is there."""

    users: tuple[int, int]
    """The fewest and the most users of a level that shows it."""
    requests_per_task: tuple[float, float]
    """At these levels."""
    tasks_per_s: float
    """Tasks that ended in a second at the most users."""


class UsersNotWarm(msgspec.Struct, frozen=True):
    """Levels that ended before they settled because too few of their users were warm."""

    users: tuple[int, ...]
    """User count of each level."""
    warm_ratios: tuple[float, ...]
    """Share of its users that were warm at the end of each level."""


class LevelsTooShort(msgspec.Struct, frozen=True):
    """Levels that ended before they could settle, although their users were warm."""

    users: tuple[int, ...]
    """User count of each level."""
    longest_s: float
    """Length of the longest one."""
    settling_s: float
    """Seconds from its start until the last of them would have settled."""


class FiguresOfUserCode(msgspec.Struct, frozen=True):
    """What user code does without failing, which changes what the figures mean."""

    marks: tuple[Mark, ...]


class MachineShared(msgspec.Struct, frozen=True):
    """The generator used a large share of a saturated machine's CPU."""

    mark: Mark
    share_ratio: float


class CpuUsedByOthers(msgspec.Struct, frozen=True):
    """Other processes used CPU time that the service or the generator needed."""

    others_cpu_ratio: float
    """Cores used by other processes, in the level where they used most."""
    cores: int | None
    """Number of the machine's cores."""
    names: tuple[str, ...]
    """Names of the processes that used most; empty if they are not readable."""
    left_out_users: tuple[float, ...]
    """User counts of the levels that therefore do not describe the service, ascending."""
    left_out_per_s: tuple[float, ...] = ()
    """Offered rates of such levels, ascending."""


class CpuStolen(msgspec.Struct, frozen=True):
    """The hypervisor gave CPU time of the machine to others (steal)."""

    share_ratio: float
    """Stolen time, as a share of what the machine used or wanted, in the level with the most."""
    users: tuple[float, ...]
    """User counts of these levels, ascending."""
    per_s: tuple[float, ...] = ()
    """Offered rates of such levels, ascending."""


class DiskUsedByOthers(msgspec.Struct, frozen=True):
    """Other processes kept a disk busy that the service uses."""

    others_bytes_per_s: float
    """What they read and wrote, in the level with the most."""
    users: tuple[float, ...]
    """User counts of these levels, ascending."""
    per_s: tuple[float, ...] = ()
    """Offered rates of such levels, ascending."""


class Explains(msgspec.Struct, frozen=True):
    """What experiments at the knee have shown of its cause."""

    found: Explanation


class PartsNotRead(msgspec.Struct, frozen=True):
    """Watched parts that cannot be read: nothing is known of them."""

    parts: tuple[tuple[str, str], ...]
    """(name, why), in the order in which they are watched."""


class PartsShowLess(msgspec.Struct, frozen=True):
    """Requests wait somewhere, and of these watched parts, well-known servers, only the processes are read: their own figures
    would show connections and locks."""

    parts: tuple[tuple[str, str, ServerKind], ...]
    """(name, program, key that reads its figures)."""


class Told(Enum):
    """Clauses without figures."""

    NO_KNEE_YET = auto()
    """The curve allows no verdict yet."""
    USERS_TOO_NEW = auto()
    """There is no capacity curve because users were too new; the following clauses name the levels."""
    HOLD_LEVELS = auto()
    """Advice: the levels named before need more time to settle."""


Clause = (
    CapacityFound
    | CpuStolen
    | CpuUsedByOthers
    | DiskUsedByOthers
    | EndpointDegradation
    | Explains
    | FiguresOfUserCode
    | FunctionBlamed
    | KneeVerdict
    | Leaking
    | LevelsTooShort
    | MachineShared
    | NotJudged
    | PartsNotRead
    | PartsShowLess
    | RepliesDiffer
    | RequestsFailed
    | RunInvalid
    | ServiceChanged
    | ServiceLimited
    | ShortStall
    | TargetDied
    | ThinkTimeLimit
    | Told
    | UsersNotWarm
    | UsersPoll
)


class Conclusion(msgspec.Struct, frozen=True):
    """The conclusion about one epoch. The first clause determines the severity."""

    clauses: tuple[Clause, ...]
    severity: Severity = "info"
    marked: bool = False
    """Whether it names a cause, a bottleneck or a leak, and not only the capacity curve."""

    @property
    def invalid(self) -> bool:
        """Whether generator, host or network failed."""
        return isinstance(self.clauses[0], RunInvalid)

    @property
    def is_of_note(self) -> bool:
        """Whether it says more than that no limit was found yet: a limit of load, or a fault."""
        return self.severity != "info" or any(isinstance(each, CapacityFound) and each.is_limit for each in self.clauses)
