"""Findings of the catalogue (docs/causes.md): causes of failures, bottlenecks, leaks."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from .finding import Finding

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

    def figures(self) -> dict[str, Any]:
        """Counts and times, then readings, then alternatives and unavailable readings."""
        named: dict[str, Any] = {
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
        return {name: value for name, value in named.items() if value is not None}


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

    def figures(self) -> dict[str, Any]:
        """Readings first, then the growth that was compared."""
        named = {
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
        return {name: value for name, value in named.items() if value is not None}


class Leak(Blame, frozen=True, kw_only=True, tag="leak"):
    """Memory or file descriptors that grow at constant load. Figures are in `unit`."""

    unit: Literal["bytes", "fds"]
    growth_per_hour: float
    growth_per_hour_low: float | None = None
    growth_per_hour_high: float | None = None
    """Bounds of the growth, two-sided (`analysis.leaks.trend.ERRORS`); None: it has none."""
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
