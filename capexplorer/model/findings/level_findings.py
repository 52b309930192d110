"""Findings about levels: a shift, a recovery from overload, a stop rule that one triggered, replies of another kind."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from ..verdicts import Recovery
from .finding import Finding


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

    NAMES: ClassVar = ("from_users", "to_users", "recovered", "after_s", "goodput_ratio", "latency_ratio")

    @property
    def id(self) -> str:
        """`recovered` or `not_recovered`."""
        return "recovered" if self.recovery.recovered else "not_recovered"

    def figures(self) -> dict[str, Any]:
        """The recovery's figures."""
        named = ((name, getattr(self.recovery, name)) for name in self.NAMES)
        return {name: value for name, value in named if value is not None}


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

    @property
    def id(self) -> str:
        """`replies_changed`."""
        return "replies_changed"
