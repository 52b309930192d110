"""All findings: causes, bottlenecks and leaks, what a curve shows, what levels show."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from .experiments import LimitCause
from .readings import Reading
from .verdicts import KneeVerdict, Missing, RateCapacity, RateRecovery, Recovery

MarkKind = Literal[
    "knee", "at_or_below", "bend", "latency_knee", "rate_capacity", "rate_recovery", "cause", "bottleneck", "leak", "shift",
    "recovery", "stop_rule", "replies_changed", "stall",
]  # fmt: skip


class Finding(Reading, frozen=True, kw_only=True, tag_field="kind"):
    """Base of all findings."""

    LISTED: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that are figures."""

    @property
    def id(self) -> str:
        """The finding's kind, or what divides its kind; for a cause, a bottleneck or a leak an id of the catalogue."""
        return kind_of(self)

    def figures(self) -> dict[str, Any]:
        """Figures by name, in the order of reports, as JSON values, without those that are not known."""
        return {name: value for name, value in self._named().items() if value is not None}

    def _named(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.LISTED}


# -- Findings of the catalogue (docs/causes.md): causes of failures, bottlenecks, leaks.

Scalar = str | int | float | bool

Readings = dict[str, Scalar | dict[str, int]]
"""Readings by name, with units in the names; a value may be counts by name (`ended_by`)."""


class Blame(Finding, frozen=True, kw_only=True):
    """Base of causes, bottlenecks and leaks."""

    name: str
    """An id of the catalogue (`docs/causes.md`)."""
    part: str | None = None
    """Name of the watched part that it is about; None: the target and its host, or the generator."""
    readings: Readings = {}
    unavailable: tuple[str, ...] = ()
    """Names of readings that were not available, but would have made the finding more certain."""
    competing: tuple[str, ...] = ()
    """Ids of other findings that would explain the same readings."""

    @property
    def id(self) -> str:
        """The id in the catalogue."""
        return self.name

    def reading(self, name: str) -> float | None:
        """A numeric reading; None if it was not taken."""
        value = self.readings.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    @property
    def pid(self) -> int | None:
        """Id of the process that the readings are about; None: not known."""
        pid = self.reading("pid")
        return None if pid is None else int(pid)


class Cause(Blame, frozen=True, kw_only=True, tag="cause"):
    """The cause of failures in an epoch, or a harmful state, in the generator, its host, the network or the target."""

    count: int = 0
    """Total over all episodes of what `counted` names."""
    counted: dict[Literal["failures", "retried", "seconds", "deaths"], int] = {}
    """Counts by what is counted; empty: only failures. `retried`: attempts that the client repeated by itself. `seconds`:
    duration of a state."""
    first_s: float | None = None
    last_s: float | None = None
    """First and last occurrence, in seconds of the session."""
    since_s: float | None = None
    """Start of the latest episode, if there were several."""
    episodes: int = 1
    rate_per_s: float | None = None
    """Rate in the latest episode."""
    endpoints: dict[str, int] = {}
    """Counts of the endpoints with most failures, by `METHOD name`."""
    example: str = ""
    """Full text of one failure. Data from a target: escape before display."""
    logged: str = ""
    """A line about an error from the target's own log when the cause began, with numbers replaced. Data from a target, too."""
    check: str | None = None
    """Name of the user's own check that failed."""
    statuses: dict[str, int] = {}
    """Failures by HTTP status."""
    symptoms: dict[str, int] = {}
    """For the cause `unknown`: failures by symptom."""

    @property
    def began_s(self) -> float | None:
        """Time at which the latest episode began."""
        return self.first_s if self.since_s is None else self.since_s

    def _named(self) -> dict[str, Any]:
        return {
            "part": self.part,
            "count": self.count or None,
            "first_s": self.first_s,
            "last_s": self.last_s,
            "rate_per_s": self.rate_per_s,
            "endpoints": self.endpoints,
            "example": self.example,
            "logged": self.logged or None,
            "since_s": self.since_s,
            "episodes": self.episodes if self.episodes > 1 else None,
            **{str(name): count for name, count in self.counted.items()},
            "check": self.check,
            "statuses": self.statuses or None,
            "symptoms": self.symptoms or None,
            **self.readings,
            "unavailable": list(self.unavailable),
            "competing": list(self.competing),
        }


class Bottleneck(Blame, frozen=True, kw_only=True, tag="bottleneck"):
    """What limits the service at a level, or that no limit was reached."""

    users_at: float | None = None
    offered_at_per_s: float | None = None
    """Users, or offered rate, of the latest level that shows the bottleneck, from which `readings` are."""
    levels: int = 1
    """Number of levels that show the bottleneck."""
    users_before: float | None = None
    offered_before_per_s: float | None = None
    goodput_growth_ratio: float | None = None
    latency_growth_ratio: float | None = None
    """Relative growth (0.05 is 5%) since the level with `users_before`, or at the rate `offered_before_per_s`; None unless more
    load brought no more goodput."""
    left: tuple[LimitCause, ...] = ()
    """What experiments at the knee leave of its causes (`analysis.epoch_view`); empty: there are none, or they tell nothing."""
    without_effect: tuple[str, ...] = ()
    """Parameters of the target by which they changed nothing."""

    def _named(self) -> dict[str, Any]:
        return {
            "part": self.part,
            **self.readings,
            "users_before": self.users_before,
            "offered_before_per_s": self.offered_before_per_s,
            "goodput_growth_ratio": self.goodput_growth_ratio,
            "latency_growth_ratio": self.latency_growth_ratio,
            "users_at": self.users_at,
            "offered_at_per_s": self.offered_at_per_s,
            "levels": self.levels,
            "competing": list(self.competing) or None,
            "unavailable": list(self.unavailable) or None,
        }


class Leak(Blame, frozen=True, kw_only=True, tag="leak"):
    """Memory or file descriptors that grow at constant load. Figures are in `unit`."""

    unit: Literal["bytes", "fds"]
    growth_per_hour: float
    growth_per_hour_low: float | None = None
    growth_per_hour_high: float | None = None
    """Bounds of the growth, two-sided (`analysis.leaks.ERRORS`); None: it has none."""
    growth_per_request: float | None = None
    explained_by: Literal["requests", "time"] | None = None
    """What growth is proportional to; None: not known, since throughput did not differ enough."""
    held_s: float
    """Seconds over which the growth was observed."""
    now: float
    """The latest value."""
    limit: float | None = None
    limit_in_s: float | None = None
    """Seconds until the limit at this growth rate."""

    LISTED: ClassVar = (
        "unit", "growth_per_hour", "growth_per_hour_low", "growth_per_hour_high", "growth_per_request", "explained_by", "held_s",
        "now", "pid", "limit", "limit_in_s",
    )  # fmt: skip


# -- Findings on the capacity curve: knees, bends, latency knees.


class CurveFinding(Finding, frozen=True, kw_only=True):
    """Base of the findings on the capacity curve."""

    verdict: KneeVerdict
    capacity_se_rps: float | None = None
    missing: tuple[Missing, ...] = ()
    """Further levels that would make the finding more precise."""

    @property
    def id(self) -> str:
        """The finding's kind."""
        return self.verdict.kind

    def _named(self) -> dict[str, Any]:
        own, peak = self.verdict, self.verdict.peak
        knee = own.kind == "knee"
        return {
            "users_low": own.users_low,
            "users_high": own.users_high,
            "capacity_rps": own.capacity_rps,
            "capacity_se_rps": self.capacity_se_rps,
            "capacity_tokens_per_s": own.capacity_tokens_per_s,
            "within_limits": own.within_limits or None,
            "limit": own.limit,
            "soft": own.soft if knee else None,
            "provisional": own.provisional if knee else None,
            "since_s": own.since_s,
            "until_s": own.until_s,
            "verification": own.verification.state if own.verification is not None else None,
            "peak_users": peak.users if peak is not None else None,
            "peak_rps": peak.goodput_rps if peak is not None else None,
            "peak_shape": peak.shape if peak is not None else None,
            "peak_fall_ratio": peak.fall_ratio if peak is not None else None,
            **own.evidence.figures(),
        }


class Knee(CurveFinding, frozen=True, kw_only=True, tag="knee"):
    """The user count at which the low-load line meets the capacity line."""


class AtOrBelow(CurveFinding, frozen=True, kw_only=True, tag="at_or_below"):
    """A knee at or below the lowest level."""


class Bend(CurveFinding, frozen=True, kw_only=True, tag="bend"):
    """Goodput falls below the low-load line (linear scaling), but the levels do not show where its maximum begins."""


class LatencyKnee(CurveFinding, frozen=True, kw_only=True, tag="latency_knee"):
    """Latency rises and stays high."""


CURVE_FINDINGS: dict[str, type[Knee | AtOrBelow | Bend | LatencyKnee]] = {
    "knee": Knee, "at_or_below": AtOrBelow, "bend": Bend, "latency_knee": LatencyKnee,
}  # fmt: skip
"""Classes of findings by the kind of the verdict; a `no_knee` verdict makes no finding."""


# -- Findings about levels: a shift, a recovery from overload, a stop rule that one triggered, replies of another kind.


class Shift(Finding, frozen=True, kw_only=True, tag="shift"):
    """A level's goodput (1/s) or latency (ms) changed permanently."""

    at_s: float
    """Time of the shift, in seconds of the session."""
    level: int
    """Index of the level in which the shift was found."""
    column: Literal["goodput", "latency"]
    before: float | None = None
    after: float | None = None

    LISTED: ClassVar = ("at_s", "level", "column", "before", "after")

    @property
    def rose(self) -> bool | None:
        """Whether the mean is higher after the shift; None: not known."""
        return None if self.before is None or self.after is None else self.after > self.before

    @property
    def id(self) -> str:
        """Such as `goodput_fell` or `latency_rose`; `goodput_changed` if the direction is not known."""
        return f"{self.column}_{'changed' if self.rose is None else 'rose' if self.rose else 'fell'}"


class Recovered(Finding, frozen=True, kw_only=True, tag="recovery"):
    """Whether the service recovered when users were reduced after overload."""

    recovery: Recovery

    LISTED: ClassVar = ("from_users", "to_users", "recovered", "after_s", "goodput_ratio", "latency_ratio")

    @property
    def id(self) -> str:
        """`recovered` or `not_recovered`."""
        return "recovered" if self.recovery.recovered else "not_recovered"

    def _named(self) -> dict[str, Any]:
        return {name: getattr(self.recovery, name) for name in self.LISTED}


class StopRule(Finding, frozen=True, kw_only=True, tag="stop_rule"):
    """A limit of the profile's `[stop]` that a level exceeded."""

    rule: str
    limit: float
    measured: float
    level: int
    ended: Literal["plan", "autopilot"] | None = None
    """What the rule ended; None if a person controlled the load: then a rule only makes a mark."""

    LISTED: ClassVar = ("rule", "limit", "measured", "level", "ended")

    @property
    def id(self) -> str:
        """The rule without the name of a metric."""
        return self.rule.partition(":")[0]


class Stalled(Finding, frozen=True, kw_only=True, tag="stall"):
    """The service sent no reply for some seconds inside a level, and went on as before."""

    at_s: float
    """Start of the first second without a reply, in seconds of the session."""
    seconds: int
    """Whole seconds without a reply."""

    LISTED: ClassVar = ("at_s", "seconds")


class RepliesChanged(Finding, frozen=True, kw_only=True, tag="replies_changed"):
    """From a load on, an endpoint's replies are of another size and many times faster than at low load, with a status that counts
    as a success: a hint that they may be errors."""

    method: str
    name: str
    share_ratio: float
    """Share of such replies at the level that has most of them."""
    size_bytes: float
    size_before_bytes: float
    """Mean size of such replies, and of those at the lowest load."""
    latency_ms: float
    latency_before_ms: float
    """Their median latency, and that of the replies at the lowest load."""

    LISTED: ClassVar = ("method", "name", "share_ratio", "size_bytes", "size_before_bytes", "latency_ms", "latency_before_ms")


# -- Findings at levels of offered rates.


class RateCapacityFinding(Finding, frozen=True, kw_only=True, tag="rate_capacity"):
    """The offered rate from which goodput is less than the offered rate: the capacity, or a bound of it."""

    capacity: RateCapacity

    @property
    def id(self) -> str:
        """`rate_` and the kind of the capacity."""
        return f"rate_{self.capacity.kind}"

    def _named(self) -> dict[str, Any]:
        found, overload = self.capacity, self.capacity.overload
        return {
            "capacity_per_s": found.per_s if found.kind == "capacity" else None,
            "per_s_low": found.low_per_s,
            "per_s_high": found.high_per_s,
            "kept_per_s": found.kept_per_s,
            "limit": found.limit,
            "overload": overload.kind if overload is not None else None,
            "overload_offered_per_s": overload.offered_per_s if overload is not None else None,
            "overload_goodput_per_s": overload.goodput_per_s if overload is not None else None,
            "overload_failure_ratio": overload.failure_ratio if overload is not None else None,
            "in_flight_growth_per_s": overload.growth_per_s if overload is not None else None,
            "fall_ratio": overload.fall_ratio if overload is not None else None,
        }


class RateRecovered(Finding, frozen=True, kw_only=True, tag="rate_recovery"):
    """Whether the service recovered when the offered rate was reduced after overload."""

    recovery: RateRecovery

    def _named(self) -> dict[str, Any]:
        found = self.recovery
        return {
            "from_per_s": found.from_per_s,
            "to_per_s": found.to_per_s,
            "recovered": found.recovered,
            "after_s": found.after_s,
        }


AnyFinding = (
    Knee
    | AtOrBelow
    | Bend
    | LatencyKnee
    | RateCapacityFinding
    | RateRecovered
    | Shift
    | Stalled
    | Recovered
    | StopRule
    | RepliesChanged
    | Cause
    | Bottleneck
    | Leak
)


def kind_of(finding: Finding) -> MarkKind:
    """The finding's tag."""
    kind: MarkKind = type(finding).__struct_config__.tag  # type: ignore[assignment]
    return kind
