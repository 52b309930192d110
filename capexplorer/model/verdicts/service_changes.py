"""Changes of the service over time: regimes, changes within a level, and recovery from overload."""

from __future__ import annotations

from typing import Literal

from ..readings import Reading
from .knee_verdict import KneeVerdict


class RegimeVerdict(Reading, frozen=True, kw_only=True):
    """A regime: a part of an epoch in which the service did not change, and the change with which it began."""

    began_s: float
    """When it began, in seconds of the session."""
    until_s: float | None = None
    """When its last level ended, in seconds of the session; None if the epoch's latest level belongs to it, or in a log of an
    earlier version."""
    began: Literal["goodput", "failures", "latency"] | None = None
    """What changed; None for the first regime. Latency: of an offered rate that was measured before."""
    inside: bool = False
    """Whether no step of load explains the change, for example because it was in the middle of a level."""
    after_step_s: float | None = None
    """Seconds from the last step of load to the change."""
    at_rates: bool = False
    """Whether the loads of this verdict are offered rates (iterations a second), not users."""
    users: float
    """Load at the change."""
    before_rps: float | None = None
    """Goodput at the same load just before the change; None: not measured."""
    after_rps: float
    """Goodput of the regime's first level."""
    before_ms: float | None = None
    after_ms: float | None = None
    """Mean time from plan of the same offered rate before and after latency changed."""
    unchanged_until_s: float | None = None
    """If latency changed: end of the latest level of that rate before the change, in seconds of the session. The change came
    between then and `began_s`."""
    failure_ratio: float | None = None
    """Failure ratio of the regime's first level; None if no request ended there."""
    most_users: float
    most_rps: float
    """The highest load without failures, and its goodput; if all levels fail, the highest load."""
    most_since_s: float = 0.0
    """When the level of that load began, in seconds of the session."""
    return_users: float | None = None
    """If it began with a step up: the load to which a return would show whether load or a change of the service is the reason.
    None: the reason is known, or a return would not show it."""
    knee: KneeVerdict | None = None
    levels: tuple[int, ...] = ()
    """Indices of its levels. A level during which the service changed belongs to several regimes. Empty in older logs."""
    judged: bool = False
    """Whether the epoch's verdict on capacity is about this regime."""


class ChangePoint(Reading, frozen=True, kw_only=True):
    """A permanent change within a level, with the means before and after it: goodput in 1/s, or latency in ms."""

    at: int
    """Index of the first second after the change."""
    column: Literal["goodput", "latency"]
    before: float
    after: float


class Recovery(Reading, frozen=True, kw_only=True):
    """Whether the service recovered when users were reduced after overload: reached the earlier figures of that load again."""

    from_users: float
    to_users: float
    recovered: bool | None
    """None: not known, since no earlier level had this load, or it is too early."""
    after_s: float | None = None
    """Seconds after the last surplus user stopped until it had recovered."""
    goodput_ratio: float | None = None
    latency_ratio: float | None = None
    """Latest goodput and latency, divided by those that this load had before."""
