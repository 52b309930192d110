"""Changes of the service over time: regimes, shifts within a level, and recovery from overload."""

from __future__ import annotations

from typing import Literal

from ..readings import Reading
from .knee_verdict import KneeVerdict


class RegimeVerdict(Reading, frozen=True, kw_only=True):
    """A part of an epoch in which the service did not change, and the change with which it began."""

    began_s: float
    """Seconds of the session."""
    began: Literal["goodput", "failures"] | None = None
    """What changed; None: it is the first."""
    inside: bool = False
    """Whether it began in the middle of a level, so that no step of load explains the change."""
    after_step_s: float | None = None
    """Seconds from the last step of users to the change."""
    at_rates: bool = False
    """Whether all loads below are offered rates (iterations a second), not users."""
    users: float
    """User count at the change."""
    before_rps: float | None = None
    """Goodput of the same user count just before the change; None: not measured."""
    after_rps: float
    failure_ratio: float | None = None
    """Failure ratio of the regime's first level."""
    most_users: float
    """The highest user count without failures, and its goodput; if all levels fail, the highest user count."""
    most_rps: float
    return_users: float | None = None
    """It began with a step up: a return to so many users, who were served well before, tells load from a change in time. None:
    that is known, or not to be known so."""
    knee: KneeVerdict | None = None
    judged: bool = False
    """Whether the epoch's verdict on capacity is about this regime."""


class ChangePoint(Reading, frozen=True, kw_only=True):
    """A permanent change within a level: `at` is in seconds from the series' start; the means before and after it."""

    at: int
    column: Literal["goodput", "latency"]
    before: float
    after: float


class Recovery(Reading, frozen=True, kw_only=True):
    """Whether the service, when users were reduced after overload, reached the earlier figures of that load again."""

    from_users: float
    to_users: float
    recovered: bool | None
    """None: no earlier level to compare with."""
    after_s: float | None = None
    goodput_ratio: float | None = None
    latency_ratio: float | None = None
