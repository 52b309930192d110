"""The verdict on all levels of an epoch: knees, the lines of the capacity curve, objectives, and which levels to measure next."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..readings import Reading
from .knee_verdict import KneeVerdict


class UslFit(Reading, frozen=True, kw_only=True):
    """Gunther's Universal Scalability Law, X = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)). It is drawn for
    comparison only; no verdict uses it."""

    lambda_rps: float
    sigma: float
    kappa: float
    peak_users: float | None
    """sqrt((1 - sigma) / kappa): users at the highest X, which is not a knee. None if X rises without bound."""
    peak_rps: float | None
    r_squared: float
    unreliable_why: Literal["few_levels", "no_bend", "poor_fit"] | None = msgspec.field(default=None, name="grey")
    """Why the fit is not reliable; None if it is. The log's key is `grey`: charts draw an unreliable fit in grey."""


class CurveFit(Reading, frozen=True, kw_only=True):
    """The lines of the capacity curve."""

    low_load_rps_per_user: float
    """lambda0: slope of the low-load line."""
    low_load_se: float
    """Its standard error."""
    baseline_users: tuple[float, ...]
    """Users of the levels that it was fitted to."""
    capacity_rps: float | None = None
    """Goodput of the capacity line; None without a knee."""
    capacity_se_rps: float | None = None
    """Its standard error."""
    usl: UslFit | None = None


MissingKind = Literal[
    "levels",
    "lower_levels",
    "higher_levels",
    "between_levels",
    "longer_levels",
    "soak",
    "beyond",
    "return_to_first",
    "return_to_clean",
]


class Missing(Reading, frozen=True, kw_only=True):
    """Levels that would make the verdict more precise: `count` of this kind, with users in these bounds."""

    kind: MissingKind
    count: int = 1
    seconds: float | None = None
    """Least duration of each level; None: as long as other levels."""
    users_below: float | None = None
    users_above: float | None = None


class CapacityVerdict(Reading, frozen=True, kw_only=True):
    """The verdict on the levels of users of one epoch."""

    epoch: int = 0
    knee: KneeVerdict | None = None
    """Of the kind `knee`, `at_or_below`, `bend` or `no_knee`; None before three levels have settled."""
    latency_knee: KneeVerdict | None = None
    curve: CurveFit | None = None
    missing: tuple[Missing, ...] = ()


class EndpointDegradation(Reading, frozen=True, kw_only=True):
    """The endpoint whose latency or failures rise first, while those of the others do not."""

    method: str
    name: str
    """Data from a target or its users: escape before display."""
    users: float
    """Users of the lowest level at which they have risen; its offered rate if `at_rates`."""
    column: Literal["latency", "failures"]
    before: float
    """p95 in ms, or failure ratio, at low load."""
    after: float
    """p95 in ms, or failure ratio, at that level."""
    at_rates: bool = False
    """Whether it was found at levels of offered rates."""


class SloVerdict(Reading, frozen=True, kw_only=True):
    """The highest load at which an objective is met."""

    name: Literal["p95_ms", "p99_ms", "failure_ratio"]
    limit: float
    state: Literal["crossed", "kept", "broken"]
    """`crossed`: met at low load and not at high load. `kept`: met at all levels, so the highest load is at least `users`.
    `broken`: met at no level, so it is below `users_high`, and `users` is None."""
    users: float | None = None
    users_low: float | None = None
    users_high: float | None = None
    goodput_rps: float | None = None
    goodput_low_rps: float | None = None
    goodput_high_rps: float | None = None
    epoch: int = 0
    thin: bool = False
    """Whether the percentile at the limit rests on too few values (fewer than 1,000 for a p99, 200 for a p95)."""
