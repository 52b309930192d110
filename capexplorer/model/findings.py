"""What the detectors find, one typed value a kind; a `Mark` carries one of them. No sentences: `wording` makes those.

Every figure has one name: as a field here, or as a key of `readings` where many causes share a field of their own. `figures`
lists them all flat, which is how reports and exports show evidence. None means "not known", never zero.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from .readings import Reading
from .verdicts import KneeVerdict, Missing, Recovery

Scalar = str | int | float | bool

Readings = dict[str, Scalar | dict[str, int]]
"""Named readings, units in the names; a mapping counts by name (`ended_by`)."""

MarkKind = Literal["knee", "at_or_below", "bend", "latency_knee", "cause", "bottleneck", "leak", "shift", "recovery", "stop_rule"]


class Finding(Reading, frozen=True, kw_only=True, tag_field="kind"):
    """Base of all findings."""

    LISTED: ClassVar[tuple[str, ...]] = ()
    """Fields that are figures, in the order in which a report lists them."""

    @property
    def id(self) -> str:
        """What was found: of a cause, a bottleneck or a leak an id of the catalogue."""
        raise NotImplementedError

    def figures(self) -> dict[str, Any]:
        """All that is known of it, by name, without what is unknown: JSON values."""
        known = ((name, getattr(self, name)) for name in self.LISTED)
        return {name: value for name, value in known if value is not None}


# -- the capacity curve


class CurveFinding(Finding, frozen=True, kw_only=True):
    """A point of the capacity curve."""

    verdict: KneeVerdict
    capacity_se_rps: float | None = None
    missing: tuple[Missing, ...] = ()
    """Levels that would sharpen it."""

    @property
    def id(self) -> str:
        """The kind itself."""
        return self.verdict.kind

    def figures(self) -> dict[str, Any]:
        """The verdict's own figures, those of its peak, then its evidence."""
        own, peak = self.verdict, self.verdict.peak
        knee = own.kind == "knee"
        named = {
            "users_low": own.users_low,
            "users_high": own.users_high,
            "capacity_rps": own.capacity_rps,
            "capacity_se_rps": self.capacity_se_rps,
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
        return {name: value for name, value in named.items() if value is not None}


class Knee(CurveFinding, frozen=True, kw_only=True, tag="knee"):
    """Where the low-load line meets the capacity line."""


class AtOrBelow(CurveFinding, frozen=True, kw_only=True, tag="at_or_below"):
    """A knee at or below the lowest level."""


class Bend(CurveFinding, frozen=True, kw_only=True, tag="bend"):
    """Goodput falls behind the low-load line; its ceiling was not seen."""


class LatencyKnee(CurveFinding, frozen=True, kw_only=True, tag="latency_knee"):
    """Latency rises for good."""


CURVE: dict[str, type[Knee | AtOrBelow | Bend | LatencyKnee]] = {
    "knee": Knee, "at_or_below": AtOrBelow, "bend": Bend, "latency_knee": LatencyKnee,
}  # fmt: skip
"""By the verdict's kind; `no_knee` is a verdict and never a finding."""


class Shift(Finding, frozen=True, kw_only=True, tag="shift"):
    """A level's goodput (1/s) or latency (ms) changed for good."""

    at_s: float
    """Seconds of the session."""
    level: int
    """Index of the level that it was found in."""
    column: Literal["goodput", "latency"]
    before: float | None = None
    after: float | None = None

    LISTED: ClassVar = ("at_s", "level", "column", "before", "after")

    @property
    def rose(self) -> bool | None:
        """None where one of the means is not known."""
        return None if self.before is None or self.after is None else self.after > self.before

    @property
    def id(self) -> str:
        """`goodput_fell`, `latency_rose`; `goodput_changed` where the direction is not known."""
        return f"{self.column}_{'changed' if self.rose is None else 'rose' if self.rose else 'fell'}"


class Recovered(Finding, frozen=True, kw_only=True, tag="recovery"):
    """Whether the service came back on the way down from overload."""

    recovery: Recovery

    NAMES: ClassVar = ("from_users", "to_users", "recovered", "after_s", "goodput_ratio", "latency_ratio")

    @property
    def id(self) -> str:
        """`recovered` or `not_recovered`."""
        return "recovered" if self.recovery.recovered else "not_recovered"

    def figures(self) -> dict[str, Any]:
        """Those of the recovery."""
        named = ((name, getattr(self.recovery, name)) for name in self.NAMES)
        return {name: value for name, value in named if value is not None}


class StopRule(Finding, frozen=True, kw_only=True, tag="stop_rule"):
    """A limit of the profile's `[stop]` that a level broke."""

    rule: str
    limit: float
    measured: float
    level: int
    ended: Literal["plan", "autopilot"] | None = None
    """What the rule ended; by hand a rule only marks."""

    LISTED: ClassVar = ("rule", "limit", "measured", "level", "ended")

    @property
    def id(self) -> str:
        """The rule without its metric's name."""
        return self.rule.partition(":")[0]


# -- what the catalogue names


class Blame(Finding, frozen=True, kw_only=True):
    """What went wrong, or what is the limit."""

    name: str
    """An id of the catalogue (`docs/causes.md`)."""
    readings: Readings = {}
    unavailable: tuple[str, ...] = ()
    """Readings that would have decided more but could not be taken."""
    competing: tuple[str, ...] = ()
    """Ids of the catalogue that the same readings allow."""

    @property
    def id(self) -> str:
        """Its name in the catalogue."""
        return self.name

    def reading(self, name: str) -> float | None:
        """A reading that is a number; None where it was not taken."""
        value = self.readings.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    @property
    def pid(self) -> int | None:
        """Of the process that the readings are about."""
        pid = self.reading("pid")
        return None if pid is None else int(pid)


class Cause(Blame, frozen=True, kw_only=True, tag="cause"):
    """Failures or a state of the generator, its host, the network or the target, over an epoch."""

    count: int = 0
    """Of all episodes: of what `counted` says."""
    counted: dict[Literal["failures", "retried", "seconds", "deaths"], int] = {}
    """`retried`: attempts that the client repeated by itself. `seconds`: of a state. Empty: failures alone."""
    first_s: float | None = None
    """Seconds of the session."""
    last_s: float | None = None
    since_s: float | None = None
    """Begin of the latest episode, where there were several."""
    episodes: int = 1
    rate_per_s: float | None = None
    """Of the latest episode."""
    endpoints: dict[str, int] = {}
    """The endpoints that failed most, `METHOD name`, with their counts."""
    example: str = ""
    """One failure in full. Data from a target: escape before display."""
    logged: str = ""
    """What the target's own log said when it began: a line that names an error, folded. Data from a target, too."""
    check: str | None = None
    """Name of the user's own check that failed."""
    statuses: dict[str, int] = {}
    """Failures by HTTP status."""
    symptoms: dict[str, int] = {}
    """Of `unknown`: what the failures look like."""

    @property
    def began_s(self) -> float | None:
        """When its latest episode began."""
        return self.first_s if self.since_s is None else self.since_s

    def figures(self) -> dict[str, Any]:
        """Counts and times, then readings, then doubts."""
        named: dict[str, Any] = {
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
        return {name: value for name, value in named.items() if value is not None}


class Bottleneck(Blame, frozen=True, kw_only=True, tag="bottleneck"):
    """What limits the service at a level, or that nothing does."""

    users_at: float
    """Of the latest level that shows it; `readings` are that level's."""
    levels: int = 1
    """That show it."""
    users_before: float | None = None
    goodput_growth_ratio: float | None = None
    latency_growth_ratio: float | None = None
    """Against the level with `users_before`: 0.05 is 5% more. Only where more users brought nothing."""

    def figures(self) -> dict[str, Any]:
        """Readings first, then what the gate compared."""
        named = {
            **self.readings,
            "users_before": self.users_before,
            "goodput_growth_ratio": self.goodput_growth_ratio,
            "latency_growth_ratio": self.latency_growth_ratio,
            "users_at": self.users_at,
            "levels": self.levels,
            "competing": list(self.competing) or None,
            "unavailable": list(self.unavailable) or None,
        }
        return {name: value for name, value in named.items() if value is not None}


class Leak(Blame, frozen=True, kw_only=True, tag="leak"):
    """Growth while the load stays the same. Rates are in `unit`."""

    unit: Literal["bytes", "fds"]
    growth_per_hour: float
    growth_per_hour_low: float | None = None
    growth_per_hour_high: float | None = None
    growth_per_request: float | None = None
    explained_by: Literal["requests", "time"] | None = None
    held_s: float
    """Length of the look."""
    now: float
    limit: float | None = None
    limit_in_s: float | None = None
    """At this rate."""

    LISTED: ClassVar = (
        "unit", "growth_per_hour", "growth_per_hour_low", "growth_per_hour_high", "growth_per_request", "explained_by", "held_s",
        "now", "pid", "limit", "limit_in_s",
    )  # fmt: skip


AnyFinding = Knee | AtOrBelow | Bend | LatencyKnee | Shift | Recovered | StopRule | Cause | Bottleneck | Leak

KINDS: dict[str, type[Finding]] = {msgspec.inspect.type_info(kind).tag: kind for kind in AnyFinding.__args__}  # type: ignore[attr-defined]
"""By the tag that a log has."""


def kind_of(finding: Finding) -> MarkKind:
    """Its tag."""
    kind: MarkKind = type(finding).__struct_config__.tag  # type: ignore[assignment]
    return kind
